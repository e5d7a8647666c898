//! Kinds of cases, and one case from its seed.

mod certificates;
mod crashes;
mod hidden;
mod journals;
mod neighbours;
mod nulls;
mod readers;
mod search;
mod twins;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use tarsia::{ErrorKind, WriteOptions};

use crate::kind::Kind;
use crate::outcome::Outcome;
use crate::scene;

/// What cases are given besides their seed.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The `tarsia` command.
    pub(crate) command: &'a Path,
    /// An empty folder for the case's files.
    pub(crate) folder: &'a Path,
    /// The library that makes the command die, where there is one.
    pub(crate) interpose: Option<&'a Path>,
}

/// Runs the case of a seed. What stops it is a find, too.
pub(crate) fn run(seed: u64, context: &Context<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let kind = Kind::of_seed(seed);
    let body = match kind {
        Kind::Search => search::run,
        Kind::Twins => twins::run,
        Kind::Neighbours => neighbours::run,
        Kind::Nulls => nulls::run,
        Kind::Hidden => hidden::run,
        Kind::Certificates => certificates::run,
        Kind::Journals => journals::run,
        Kind::Crashes => crashes::run,
        Kind::Readers => readers::run,
    };
    let ran = catch_unwind(AssertUnwindSafe(|| body(seed, context, &mut outcome)));
    match ran {
        Ok(Ok(())) => {}
        Ok(Err(what)) => outcome.find(what),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            outcome.find(format!("a panic: {}", text.unwrap_or("without a text")));
        }
    }
    outcome
}

/// A table as a file; `None` where the writer refuses it by a rule, which is counted.
fn written(
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
