//! The section of `docs/benchmarks.md`.

use std::fmt::Write as _;

use super::measuring::{Measured, Report, Times};
use crate::report::{geometric_mean, table};

pub(super) fn markdown(report: &Report) -> String {
    let mut out = format!(
        "{}; lineitem of scale factor {}. Milliseconds on one thread, warm, medians. *Filter* is the format's own \
         filter, *scan* a scan of the same columns, filtered with Arrow. Parquet prunes pages by its index in both.\n\n",
        report.machine.line(),
        report.scale_factor
    );
    let mut rows = vec![heads()];
    rows.extend(report.cases.iter().map(row));
    out.push_str(&table(&rows));
    let ratio = |peer: usize| {
        geometric_mean(report.cases.iter().filter_map(|case| {
            let [tarsia, ..] = case.formats.as_slice() else {
                return None;
            };
            Some(best(case.formats.get(peer)?) / tarsia.filter_ms)
        }))
    };
    let slower = report.cases.iter().filter_map(|case| case.formats.first());
    let worst = slower
        .map(|tarsia| tarsia.filter_ms / tarsia.scan_ms)
        .fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "\nGeometric mean of the better time of a peer over that of Tarsia's filter: Vortex {:.2}, Parquet {:.2}. \
         Tarsia's filter takes at most {worst:.2} of the time of its scan.",
        ratio(1).unwrap_or_default(),
        ratio(2).unwrap_or_default(),
    );
    out
}

fn best(times: &Times) -> f64 {
    times.filter_ms.min(times.scan_ms)
}

fn heads() -> Vec<String> {
    let heads = [
        "condition",
        "rows that pass",
        "Tarsia filter",
        "Tarsia scan",
        "Vortex filter",
        "Vortex scan",
        "Parquet filter",
        "Parquet scan",
        "Vortex / Tarsia",
        "Parquet / Tarsia",
    ];
    heads.map(String::from).to_vec()
}

fn row(case: &Measured) -> Vec<String> {
    let mut row = vec![
        format!("{}: {}", case.table, case.case),
        format!("{} ({:.2} %)", case.rows, case.share * 100.0),
    ];
    for times in &case.formats {
        row.push(format!("{:.2}", times.filter_ms));
        row.push(format!("{:.2}", times.scan_ms));
    }
    let tarsia = case.formats.first().map_or(1.0, |tarsia| tarsia.filter_ms);
    for peer in case.formats.iter().skip(1) {
        row.push(format!("{:.2}", best(peer) / tarsia));
    }
    row
}
