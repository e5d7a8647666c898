//! Files that commands read.

use std::path::Path;

use arrow_schema::Schema;
use tarsia_convert::text::repeated_name;
use tarsia_filter::Expr;

use crate::args::{Limits, Names, Rows, Trust};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::place::{Place, Places};
use crate::shown::printable;

use super::output::{Out, align_right, new_table};

/// Warning for a file whose last erasure was interrupted after it counted.
pub(super) const ERASURE_IS_PENDING: &str = "an erasure was interrupted: the bytes of its rows are still in the file, although \
    readers do not see them; `tarsia recover` finishes it";

/// Characters of a part of a condition that are shown.
const CONDITION_CHARS: usize = 100;

/// The limits of a command that reads a file of another format.
pub(super) fn budget_of(input: &Path, limits: &Limits) -> Budget {
    Budget::start(input, limits.memory_limit, limits.time_limit)
}

pub(super) fn open(places: &dyn Places, file: &Place) -> Result<tarsia::File, Failure> {
    open_with(places, file, options())
}

/// Options of a reader that also trusts these kernels.
pub(super) fn trusting(trust: &Trust) -> tarsia::OpenOptions {
    options().with_trusted_kernels(trust.kernels.clone())
}

/// A mapped file that another program cuts short ends the process by a signal. Positional reads are an error then.
fn options() -> tarsia::OpenOptions {
    tarsia::OpenOptions::new().with_access(tarsia::Access::Read)
}

pub(super) fn open_with(
    places: &dyn Places,
    file: &Place,
    options: tarsia::OpenOptions,
) -> Result<tarsia::File, Failure> {
    let name = file.name();
    let opened = match file.url() {
        None => tarsia::File::open_with(name, options),
        Some(url) => {
            let shown = name.display().to_string();
            tarsia::File::open_named(places.open(url)?, shown, options)
        }
    };
    opened.map_err(|error| Failure::of_tarsia(name, &error))
}

/// Columns and rows of a file that a command reads.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) names: Option<&'a Names>,
    pub(super) rows: &'a Rows,
    pub(super) condition: Option<&'a Expr>,
}

pub(super) fn build_scan(
    path: &Path,
    file: &tarsia::File,
    wanted: Wanted<'_>,
) -> Result<tarsia::Scan, Failure> {
    let scan = describe_scan(path, file, wanted)?;
    scan.build()
        .map_err(|error| Failure::of_tarsia(path, &error))
}

pub(super) fn describe_scan(
    path: &Path,
    file: &tarsia::File,
    wanted: Wanted<'_>,
) -> Result<tarsia::ScanBuilder, Failure> {
    let mut builder = file.scan();
    if let Some(names) = wanted.names {
        builder = builder.columns(&names.0);
    }
    if let Some(range) = wanted.rows.range {
        let n_rows = file.num_rows();
        let within = range.within(n_rows).ok_or_else(|| {
            Failure::Usage(format!(
                "{}: rows {range} are not all among its {n_rows} rows",
                path.display()
            ))
        })?;
        builder = builder.rows(within);
    }
    if let Some(condition) = wanted.condition {
        builder = builder.filter(condition.clone());
    }
    Ok(builder)
}

/// Shows on the standard error how many rows each part of a condition looked at.
pub(super) fn show_filter_counts(scan: &tarsia::Scan) -> Result<(), Failure> {
    let mut table = new_table(&[
        "part of the condition",
        "rejected by zones",
        "rejected by bloom filters",
        "passed by zones",
        "rows looked at",
        "rows that passed",
    ]);
    for column in 1..=5 {
        align_right(&mut table, column);
    }
    for count in scan.filter_counts() {
        table.add_row([
            printable(&count.conjunct, CONDITION_CHARS),
            count.rejected_by_bounds.to_string(),
            count.rejected_by_blooms.to_string(),
            count.passed_by_bounds.to_string(),
            count.rows.to_string(),
            count.passed.to_string(),
        ]);
    }
    let mut out = Out::to_standard_error();
    out.table(&table)?;
    out.finish()
}

/// How many rows a scan will give: those that were not deleted.
pub(super) fn selected_rows(file: &tarsia::File, rows: &Rows) -> u64 {
    let n_rows = file.num_rows();
    let range = rows.range.and_then(|range| range.within(n_rows));
    let range = range.unwrap_or(0..n_rows);
    range.end - range.start - file.deleted_rows().count(range)
}

/// The first rows that were not deleted, `n` if there are so many: they are all those of this range.
pub(super) fn first_rows(file: &tarsia::File, n: u64) -> std::ops::Range<u64> {
    let (n_rows, deleted) = (file.num_rows(), file.deleted_rows());
    let (mut low, mut high) = (0, n_rows);
    // The shortest range that has as many.
    while low < high {
        let middle = low + (high - low) / 2;
        match middle - deleted.count(0..middle) < n {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    0..low
}

/// The name is twice in the request or in the file. A JSON object cannot have a key twice.
pub(super) fn refuse_repeated_names(path: &Path, schema: &Schema) -> Result<(), Failure> {
    match repeated_name(schema) {
        Some(name) => Err(Failure::Usage(format!(
            "{}: column `{name}` would be there twice, and a JSON object holds a name only once",
            path.display()
        ))),
        None => Ok(()),
    }
}
