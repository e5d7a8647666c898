//! Tables and their stores, opened for commands, and how they are shown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tarsia::io::{LocalStore, Store};
use tarsia_filter::Expr;
use tarsia_table::meta::names;
use tarsia_table::{CommitInfo, ErrorKind, Table};

use crate::args::{Condition, Said};
use crate::failure::Failure;
use crate::place::{Place, Places};

use super::output::{Out, summarise};

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

/// Says what a command did: as one JSON document, or as facts for people.
pub(super) fn show_done(
    path: &Path,
    is_json: bool,
    document: &Value,
    facts: &[(&str, String)],
) -> Result<(), Failure> {
    if !is_json {
        return summarise(path, facts);
    }
    let mut out = Out::new();
    out.document(document)?;
    out.finish()
}

/// The condition of a command whose rows are given by one, or are all.
pub(super) fn rows_wanted(condition: Option<&Condition>) -> Result<Expr, Failure> {
    match condition {
        Some(condition) => Ok(condition.read()?.into_owned()),
        None => Ok(Expr::And(Vec::new())),
    }
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

/// Folders of a local table in the place of its refs: they are no objects, so no list shows them.
pub(super) fn folders_as_refs(place: &Place) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let root = place.name();
    let mut left = vec!["refs".to_owned()];
    while let (Some(folder), None) = (left.pop(), place.url()) {
        let path = root.join(&folder);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::bad(&path, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| Failure::bad(&path, error))?;
            let kind = entry.file_type();
            let kind = kind.map_err(|error| Failure::bad(&entry.path(), error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| kind.is_dir()) else {
                continue;
            };
            let key = format!("{folder}/{name}");
            let is_ref = names::ref_of_key(&key).is_some()
                || names::tag_of_key(&key).is_some()
                || names::pin_of_key(&key).is_some()
                || names::policy_of_key(&key).is_some();
            match is_ref {
                true => found.push(key),
                false => left.push(key),
            }
        }
    }
    found.sort();
    Ok(found)
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
