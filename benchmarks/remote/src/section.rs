//! The section "Reading from a store" of docs/benchmarks.md.

use std::fmt::Write as _;

use crate::measure::{BYTES_PER_SECOND, Found, LATENCY, OfTable, Report};
use crate::operation::Operation;
use crate::process::Format;
use crate::report::table;

/// The section, without its heading.
pub(crate) fn markdown(report: &Report, formats: &[Format]) -> String {
    let mut out = format!(
        "Measured by `cargo run --release` in `benchmarks/remote/`, which rewrites this section. {}; medians of {} \
         repetitions, what is slow fewer.\n\n\
         A server on loopback answers each request after {} ms and sends {} MB/s to all of them together. It speaks \
         the dialect of S3. All values that are read are compared with the table once. *MB asked* are the bytes of \
         the ranges that were asked for. *Waves* are times that Tarsia waited for the server; a time of N waves is \
         at least N × {} ms. *Of the bandwidth* is the time of a scan, divided by the time that the server takes to \
         send the file of that format; *of the least* the same, after two answers were waited for, since no file can \
         be opened and read with less.\n\n",
        report.machine,
        report.repetitions,
        LATENCY.as_millis(),
        BYTES_PER_SECOND / 1_000_000,
        LATENCY.as_millis(),
    );
    for of_table in &report.tables {
        out.push_str(&of_one(of_table, formats));
    }
    out.push_str(&asked(report));
    out
}

fn of_one(of_table: &OfTable, formats: &[Format]) -> String {
    let mut out = format!(
        "**{}**, {} rows, {} columns:\n\n",
        of_table.name, of_table.rows, of_table.columns
    );
    let mut rows = vec![heads(formats)];
    for operation in Operation::ALL {
        let found = |format| of_table.found(operation, format);
        if !formats.iter().any(|format| found(*format).is_some()) {
            continue;
        }
        let label = operation.label();
        let mut line = |what: &str, value: &dyn Fn(&Found) -> Option<f64>, digits: usize| {
            let values = formats.iter().map(|format| found(*format).and_then(value));
            rows.push(row(label, what, &values.collect::<Vec<_>>(), digits));
        };
        line("ms", &|found| Some(found.seconds * 1e3), 1);
        line("requests", &|found| Some(found.requests), 0);
        line("MB asked", &|found| Some(found.bytes / 1e6), 2);
        if operation == Operation::OpenScan {
            line(
                "of the bandwidth",
                &|found| of_bandwidth(of_table, found),
                2,
            );
            line("of the least", &|found| of_least(of_table, found), 2);
        }
        if let Some(waves) = found(Format::Tarsia).and_then(|found| found.waves) {
            let mut cells = vec![None; formats.len()];
            if let Some(cell) = cells.first_mut() {
                *cell = Some(waves);
            }
            let mut cells = row(label, "waves", &cells, 0);
            if let Some(last) = cells.last_mut() {
                "-".clone_into(last);
            }
            rows.push(cells);
        }
    }
    let files = formats.iter().map(|format| of_table.file_bytes.get(format));
    let files: Vec<_> = files
        .map(|bytes| bytes.map(|bytes| *bytes as f64 / 1e6))
        .collect();
    rows.push(row("file", "MB", &files, 2));
    out.push_str(&table(&rows));
    out.push('\n');
    for (format, settings) in &of_table.settings {
        let _ = writeln!(out, "- {}: {settings}", format.name());
    }
    for failure in &of_table.failures {
        let what = failure.operation.map_or("writing", Operation::label);
        let (name, why) = (failure.format.name(), &failure.why);
        let _ = writeln!(out, "- {name} FAILED, {what}: {why}");
    }
    out.push('\n');
    out
}

/// Seconds of a scan, over those that the bytes of the file take.
fn of_bandwidth(of_table: &OfTable, found: &Found) -> Option<f64> {
    let bytes = *of_table.file_bytes.get(&found.format)? as f64;
    Some(found.seconds * BYTES_PER_SECOND as f64 / bytes)
}

/// Seconds of a scan, over those of two answers and the bytes of the file.
fn of_least(of_table: &OfTable, found: &Found) -> Option<f64> {
    let bytes = *of_table.file_bytes.get(&found.format)? as f64;
    let least = 2.0 * LATENCY.as_secs_f64() + bytes / BYTES_PER_SECOND as f64;
    Some(found.seconds / least)
}

fn heads(formats: &[Format]) -> Vec<String> {
    let mut heads = vec!["what is done".to_owned(), String::new()];
    heads.extend(formats.iter().map(|format| format.name().to_owned()));
    heads.push("best peer / Tarsia".to_owned());
    heads
}

/// A line of a table; the last cell compares the best peer with the first format.
fn row(label: &str, what: &str, values: &[Option<f64>], digits: usize) -> Vec<String> {
    let mut row = vec![label.to_owned(), what.to_owned()];
    row.extend(
        values
            .iter()
            .map(|value| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))),
    );
    let ratio = values.split_first().and_then(|(first, peers)| {
        let best = peers.iter().flatten().copied().reduce(f64::min)?;
        Some(best / (*first)?)
    });
    row.push(ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
    row
}

/// The criteria of Tarsia, with what was found.
fn asked(report: &Report) -> String {
    let mut out = "Asked of Tarsia, and found:\n\n".to_owned();
    for of_table in &report.tables {
        let name = of_table.name;
        let found = |operation| of_table.found(operation, Format::Tarsia);
        let waves = |found: &Found| found.waves.unwrap_or(f64::NAN);
        if let Some(open) = found(Operation::Open) {
            let mark = mark(open.requests <= 1.0);
            let requests = open.requests;
            let _ = writeln!(out, "- {name}: open in 1 request: {requests:.0}{mark}");
        }
        if let Some(scan) = found(Operation::OpenScan)
            && let (Some(bandwidth), Some(least)) =
                (of_bandwidth(of_table, scan), of_least(of_table, scan))
        {
            let mark = mark(bandwidth <= 1.15);
            let _ = writeln!(
                out,
                "- {name}: open + scan within 1.15 of the bandwidth: {bandwidth:.2}{mark}; {least:.2} of the least"
            );
        }
        for operation in [Operation::OpenTake, Operation::WarmTake] {
            if let Some(take) = found(operation) {
                // Opening is one more.
                let most = match operation {
                    Operation::OpenTake => 4.0,
                    _ => 3.0,
                };
                let waves = waves(take);
                let label = operation.label();
                let mark = mark(waves <= most);
                let _ = writeln!(
                    out,
                    "- {name}: {label} in {most:.0} waves: {waves:.0}{mark}"
                );
            }
        }
        if let Some(row) = found(Operation::OpenColumns) {
            let (waves, requests) = (waves(row), row.requests);
            let mark = mark(waves <= 4.0 && requests <= 32.0);
            let _ = writeln!(
                out,
                "- {name}: open + a row of 10 columns in 4 waves and 32 requests: {waves:.0} and {requests:.0}{mark}"
            );
        }
    }
    out
}

fn mark(is_met: bool) -> &'static str {
    match is_met {
        true => "",
        false => " (**not met**)",
    }
}
