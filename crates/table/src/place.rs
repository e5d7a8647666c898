//! Places of tables: no table lies inside of another one, whose garbage collection would delete it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarsia_io::Store;
use tarsia_table_meta::{limits, names};

use crate::error::{Error, Result};

/// The folder of a table that a folder, which need not be there, lies in. The folder itself may be one of a table.
pub fn enclosing_table(folder: &Path) -> Option<PathBuf> {
    let folder = resolved(folder)?;
    let mut above = folder.ancestors().skip(1);
    above.find(|it| is_table(it)).map(Path::to_owned)
}

/// The path of a folder, which need not be there, without links: they lead to the folders that a collection goes
/// through.
fn resolved(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let there = folder.ancestors().find(|it| it.exists())?;
    let rest = folder.strip_prefix(there).ok()?;
    let there = there.canonicalize().ok()?;
    Some(match rest.as_os_str().is_empty() {
        true => there,
        false => there.join(rest),
    })
}

fn is_table(folder: &Path) -> bool {
    let Ok(file) = File::open(folder.join(names::TABLE_KEY)) else {
        return false;
    };
    let mut bytes = Vec::new();
    let read = file
        .take(limits::JSON_BYTES_MAX as u64)
        .read_to_end(&mut bytes);
    // Also one of a version that this build does not know.
    let format = b"\"tarsia-table\"";
    read.is_ok() && bytes.windows(format.len()).any(|it| it == format)
}

/// Refuses a local store inside of a table.
pub(crate) fn check_place(store: &Arc<dyn Store>) -> Result<()> {
    // Other stores have URLs with a scheme.
    let url = store.url("");
    let folder = Path::new(&url);
    let table = folder.is_absolute().then(|| enclosing_table(folder));
    match table.flatten() {
        None => Ok(()),
        Some(table) => Err(Error::invalid(inside(&table)).of_object(&url)),
    }
}

fn inside(table: &Path) -> String {
    format!(
        "it lies in the table {}, whose garbage collection would delete it",
        table.display()
    )
}

/// Whether no other store has this URL: that of a local folder is its path, others name a host or a bucket.
fn names_a_place(url: &str) -> bool {
    let host = url.split_once("://").map(|(_, rest)| rest);
    Path::new(url).is_absolute() || host.is_some_and(|host| !host.starts_with('/'))
}

/// Refuses a copy to the table itself, to a place inside of it, and to one that it lies in.
pub(crate) fn check_apart(from: &Arc<dyn Store>, to: &Arc<dyn Store>) -> Result<()> {
    let folder = |store: &Arc<dyn Store>| {
        let url = store.url("");
        let path = Path::new(&url)
            .is_absolute()
            .then(|| resolved(Path::new(&url)));
        let path = path.flatten();
        let url = path.map_or(url, |path| path.to_string_lossy().into_owned());
        format!("{}/", url.trim_end_matches('/'))
    };
    let (one, other) = (folder(from), folder(to));
    let what = match (other.starts_with(&one), one.starts_with(&other)) {
        // Stores in memory have one name, and are many.
        (true, true) if names_a_place(&one) => "it is the table that is copied",
        (true, true) | (false, false) => return Ok(()),
        (true, false) => "it lies in the table, whose garbage collection would delete it",
        (false, true) => "the table lies in it, and its garbage collection would delete the table",
    };
    Err(Error::invalid(what).of_object(&to.url("")))
}
