//! The state of an object, as object_store tells it.

use std::time::{Duration, SystemTime};

use tarsia_io::ObjectMeta;

/// Returns the state in our terms. Times are in whole seconds: heads of answers have no smaller unit, lists do.
pub(crate) fn meta_of(meta: &object_store::ObjectMeta) -> ObjectMeta {
    let seconds = u64::try_from(meta.last_modified.timestamp()).unwrap_or_default();
    let last_modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    ObjectMeta {
        size: meta.size,
        etag: meta.e_tag.as_deref().map(quoted),
        // object_store says the beginning of 1970 if the server says nothing.
        last_modified: last_modified.filter(|_| seconds > 0),
    }
}

/// An ETag as heads of answers have it. Azure's lists leave the quotes out.
fn quoted(etag: &str) -> String {
    match etag.ends_with('"') {
        true => etag.to_owned(),
        false => format!("\"{etag}\""),
    }
}
