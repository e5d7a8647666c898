//! Conditions on the rows of a table, such as `user_id = 42 AND day IN ('2026-01-30', '2026-01-31')`.
//!
//! | file | job |
//! |---|---|
//! | `parse` | text to tests of columns |
//! | `number` | numbers with all their digits |
//! | `literal` | literals to values of a column's type |
//! | `evaluate` | which rows of a batch pass the tests |
//!
//! A test is `column = literal`, `column IN (literal, …)`, `column BETWEEN literal AND literal` (with both ends),
//! `column IS NULL` or `column IS NOT NULL`. Tests are joined by `AND`. Keywords may be in any case, names may not. A
//! name that is no word stands in double quotes.
//!
//! Literals are numbers (`-1.5e3`), `'text'` with `''` for a quote inside, bytes (`X'0aff'`), `true` and `false`. Text
//! stands for dates, times and timestamps, too.
//!
//! Conditions choose what is erased, so they are strict. A literal must be a value of its column's type, and so must
//! both ends of a range: `3.5` and `300` are errors for UInt8, since no row equals them. A decimal stands for the
//! nearest floating-point number. Text is compared byte by byte. Null passes no test but `IS NULL`; what is not a
//! number passes none but `IS NOT NULL`.

mod evaluate;
mod literal;
mod number;
mod parse;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{FieldRef, Schema};
use tarsia::{ErasureLevel, ErrorKind, RowSet};

use crate::failure::Failure;
use crate::progress::Bar;
use crate::ranges::push_rising;
use evaluate::Matcher;

pub use parse::{Predicate, PredicateError};

/// The rows of a file that pass all tests of a condition, as rising ranges. Only the columns that it names are read.
/// Rows that were deleted pass no test, unless rows are to be erased, and values of hidden ones with them: then only
/// rows that were erased pass none.
///
/// # Errors
/// [`Failure::Usage`] with the character of the condition where it does not suit the file: a column that the file does
/// not have or that is nested, a literal that is no value of its column's type. Else what a scan meets.
pub fn matching_rows(
    path: &Path,
    file: &tarsia::File,
    predicate: &Predicate,
    level: ErasureLevel,
) -> Result<Vec<Range<u64>>, Failure> {
    let unfit =
        |error: PredicateError| Failure::Usage(format!("{}: condition: {error}", path.display()));
    let failed = |error: tarsia::Error| Failure::of_tarsia(path, &error);
    let schema = schema_of(file, predicate).map_err(|wrong| match wrong {
        Wrong::Condition(error) => unfit(error),
        Wrong::File(error) => failed(error),
    })?;
    let matcher = Matcher::new(predicate, &schema).map_err(unfit)?;
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let bar = Bar::new("searching");
    let total = file.num_rows();
    let mut found = Vec::new();
    let mut first = 0;
    let scan = file.scan().columns(&names);
    let (scan, unseen) = match level {
        ErasureLevel::Erase => (scan.with_hidden_rows(), file.erased_rows()),
        _ => (scan, file.deleted_rows()),
    };
    for batch in scan.build().map_err(failed)? {
        let batch = batch.map_err(|error| failed(error.into()))?;
        let rows = matcher
            .matches(&batch)
            .map_err(|error| Failure::bad(path, error))?;
        for (start, end) in rows.set_slices() {
            push_rising(&mut found, first + start as u64..first + end as u64);
        }
        first += batch.num_rows() as u64;
        bar.set(first, total, first);
    }
    Ok(positions(found, unseen, file.num_rows()))
}

/// Ranges of the rows that a scan gives, as ranges of the file's rows: those that it leaves out are between them.
fn positions(found: Vec<Range<u64>>, unseen: &RowSet, n_rows: u64) -> Vec<Range<u64>> {
    if unseen.is_empty() {
        return found;
    }
    let mut all = Vec::new();
    let mut found = found.into_iter().peekable();
    // Rows of the scan before `at`, a row of the file.
    let (mut at, mut before) = (0, 0);
    let end = n_rows..n_rows;
    for gap in unseen.ranges(0..n_rows).chain(std::iter::once(end)) {
        let live = before..before + (gap.start - at);
        while let Some(range) = found.peek_mut() {
            let start = range.start.max(live.start);
            let end = range.end.min(live.end);
            if start < end {
                push_rising(&mut all, at + (start - before)..at + (end - before));
            }
            if range.end > live.end {
                break;
            }
            found.next();
        }
        before = live.end;
        at = gap.end;
    }
    all
}

enum Wrong {
    Condition(PredicateError),
    File(tarsia::Error),
}

/// The columns that a condition names, each once, by name.
fn schema_of(file: &tarsia::File, predicate: &Predicate) -> Result<Schema, Wrong> {
    let mut fields: BTreeMap<&str, FieldRef> = BTreeMap::new();
    for term in &predicate.terms {
        let name = term.column.as_str();
        if fields.contains_key(name) {
            continue;
        }
        let missing = || {
            let what = format!("no column `{name}`");
            Wrong::Condition(PredicateError::new(term.at, what))
        };
        let scan = file
            .scan()
            .columns(&[name])
            .build()
            .map_err(|error| match error.kind() {
                ErrorKind::NoSuchColumn => missing(),
                _ => Wrong::File(error),
            })?;
        let schema = scan.schema();
        // A path into a nested column gives that column.
        let [field] = schema.fields().as_ref() else {
            return Err(missing());
        };
        if field.name() != name {
            let what = format!(
                "`{name}` is a field of column `{}`; only flat columns can be tested",
                field.name()
            );
            return Err(Wrong::Condition(PredicateError::new(term.at, what)));
        }
        fields.insert(name, Arc::clone(field));
    }
    Ok(Schema::new(fields.into_values().collect::<Vec<_>>()))
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests;
