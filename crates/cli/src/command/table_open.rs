//! Tables and their stores, opened for commands, and how they are shown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tarsia::io::{LocalStore, Store};
use tarsia_table::{CommitInfo, ErrorKind, Table};

use crate::args::Said;
use crate::failure::Failure;
use crate::place::{Place, Places};

/// Digits of a commit that lists show.
pub(super) const SHOWN_DIGITS: usize = 12;

/// An error about a table: a state or a column that is not there is the caller's mistake.
pub(super) fn failed(path: &Path) -> impl Fn(tarsia_table::Error) -> Failure + '_ {
    move |error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::Exists => {
            Failure::Usage(format!("{}: {error}", path.display()))
        }
        _ => Failure::bad(path, error),
    }
}

pub(super) fn commit_info(said: &Said) -> CommitInfo {
    let of_system = || std::env::var("USER").or_else(|_| std::env::var("USERNAME"));
    let author = said.author.clone().or_else(|| of_system().ok());
    let tool = concat!("tarsia ", env!("CARGO_PKG_VERSION"));
    CommitInfo::new(author.unwrap_or_default(), said.message.as_str()).tool(tool)
}

pub(super) fn open_table(place: &Place, places: &dyn Places) -> Result<Table, Failure> {
    let path = place.name();
    let store: Arc<dyn Store> = match place.url() {
        Some(url) => places.store(url)?,
        None => Arc::new(LocalStore::open(path).map_err(|error| Failure::bad(path, error))?),
    };
    Table::open(store).map_err(failed(path))
}

/// Age of temporary files that a killed writer left.
pub(super) const LEFT_AGE: Duration = Duration::from_secs(24 * 3600);

/// The folder of a local table, in which killed writers leave temporary files.
pub(super) fn temporaries(place: &Place) -> Result<Option<LocalStore>, Failure> {
    let path = place.name();
    let opened = place.url().is_none().then(|| LocalStore::open(path));
    opened
        .transpose()
        .map_err(|error| Failure::bad(path, error))
}

/// The store of a table that is to be made; a folder is made, too.
pub(super) fn new_store(place: &Place, places: &dyn Places) -> Result<Arc<dyn Store>, Failure> {
    let path = place.name();
    match place.url() {
        Some(url) => places.store(url),
        None => {
            check_place(path)?;
            let created = LocalStore::create(path).map_err(|error| Failure::bad(path, error));
            Ok(Arc::new(created?))
        }
    }
}

/// Refuses a folder inside of a table before it is made.
pub(super) fn check_place(path: &Path) -> Result<(), Failure> {
    match tarsia_table::enclosing_table(path) {
        None => Ok(()),
        Some(table) => Err(Failure::Usage(format!(
            "{}: it lies in the table {}, and `tarsia table gc` of that would delete it",
            path.display(),
            table.display()
        ))),
    }
}

/// A time as people read it, in UTC.
pub(super) fn time_text(millis: u64) -> String {
    let time = i64::try_from(millis)
        .ok()
        .and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or_else(
        || millis.to_string(),
        |time| time.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}
