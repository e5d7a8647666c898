//! Kinds of cases, and one case from its seed.

mod certificates;
mod context;
mod crashes;
mod hidden;
mod journals;
mod neighbours;
mod nulls;
mod readers;
mod search;
mod twins;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::kind::Kind;
use crate::outcome::Outcome;

pub(crate) use context::Context;

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
