//! Keys in the metadata of schemas and fields that belong to the format.

use arrow_schema::{DataType, Field};

/// Keys of schemas and fields that start with it belong to the format.
pub const RESERVED_KEY_PREFIX: &str = "tarsia.";

/// Whether only the format may use this key in the metadata of a schema. Writers refuse such keys from callers; readers
/// pass on what they find.
///
/// ```
/// use tarsia_metadata::{LAYOUT_KEY, is_reserved_key};
/// assert!(is_reserved_key(LAYOUT_KEY) && is_reserved_key("tarsia."));
/// assert!(!is_reserved_key("tarsia") && !is_reserved_key("my.tarsia.key"));
/// ```
pub fn is_reserved_key(key: &str) -> bool {
    key.starts_with(RESERVED_KEY_PREFIX)
}

/// The key in the metadata of a top-level field that says how it is stored.
pub const LAYOUT_KEY: &str = "tarsia.layout";

/// The value of [`LAYOUT_KEY`] that makes full-zip pages, if the values allow it.
pub const LAYOUT_FULL_ZIP: &str = "full-zip";

/// The value of [`LAYOUT_KEY`] that makes mini-block pages.
pub const LAYOUT_MINI_BLOCK: &str = "mini-block";

/// The value of [`LAYOUT_KEY`] that makes a struct with fields one column of whole rows. Of other fields, and below the
/// top level, it means nothing.
pub const LAYOUT_PACKED: &str = "packed";

/// Whether a top-level field is a struct whose rows are one column.
pub fn is_packed(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Struct(fields) if !fields.is_empty())
        && field.metadata().get(LAYOUT_KEY).map(String::as_str) == Some(LAYOUT_PACKED)
}
