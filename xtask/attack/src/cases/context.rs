//! Context of cases, and steps that several of them do.

use std::path::Path;

use arrow_array::RecordBatch;
use tarsia::{ErrorKind, WriteOptions};

use crate::outcome::Outcome;
use crate::scene;

/// Context that cases are given besides their seed.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The `tarsia` command.
    pub(crate) command: &'a Path,
    /// An empty folder for the case's files.
    pub(crate) folder: &'a Path,
    /// The library that makes the command die, where there is one.
    pub(crate) interpose: Option<&'a Path>,
}

/// A table as a file; `None` where the writer refuses it by a rule, which is counted.
pub(super) fn written(
    batch: &RecordBatch,
    options: &WriteOptions,
    outcome: &mut Outcome,
) -> Result<Option<Vec<u8>>, String> {
    use ErrorKind::{InvalidInput, LimitExceeded, Unsupported};
    match scene::write(batch, options) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if [InvalidInput, LimitExceeded, Unsupported].contains(&error.kind()) => {
            outcome.note(format!("the writer refuses the table: {error}"));
            outcome.count("tables that the writer refuses", 1);
            Ok(None)
        }
        Err(error) => Err(format!("writing: {error}")),
    }
}
