//! Times each condition in each format, by its own filter and by filtering what it scans.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::Arguments;
use super::cases::{Case, tables};
use super::readers::{Reader, readers};
use crate::machine::Environment;
use crate::report::median;

/// All that was measured.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) machine: Environment,
    pub(super) scale_factor: f64,
    pub(super) cases: Vec<Measured>,
}

/// A condition.
#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) table: &'static str,
    pub(super) case: String,
    pub(super) rows: usize,
    /// Share of the table's rows that pass.
    pub(super) share: f64,
    pub(super) formats: Vec<Times>,
}

/// Medians of milliseconds.
#[derive(Serialize)]
pub(super) struct Times {
    pub(super) format: &'static str,
    /// By the format's filter.
    pub(super) filter_ms: f64,
    /// By a scan of the same columns, filtered with Arrow.
    pub(super) scan_ms: f64,
}

pub(super) fn measure(arguments: &Arguments) -> Result<Report> {
    let mut cases = Vec::new();
    for table in tables(arguments)? {
        let folder = tempfile::tempdir()?;
        let readers = readers(folder.path(), &table)?;
        let n_rows: usize = table.batches.iter().map(|batch| batch.num_rows()).sum();
        for case in &table.cases {
            eprintln!("{}: {}", table.name, case.name);
            let (rows, formats) = times(&readers, case, arguments.reps.max(1))?;
            cases.push(Measured {
                table: table.name,
                case: case.name.clone(),
                rows,
                share: rows as f64 / n_rows as f64,
                formats,
            });
        }
    }
    Ok(Report {
        machine: Environment::here(),
        scale_factor: arguments.scale_factor,
        cases,
    })
}

/// The rows that pass, and the times of each format. Formats take turns.
fn times(readers: &[Box<dyn Reader>], case: &Case, reps: usize) -> Result<(usize, Vec<Times>)> {
    let mut samples = vec![(Vec::new(), Vec::new()); readers.len()];
    let mut found = None;
    // The first time does not count.
    for rep in 0..=reps {
        for (reader, (by_filter, by_scan)) in readers.iter().zip(&mut samples) {
            let start = Instant::now();
            let n_rows = reader.filtered(case)?;
            let filter_ms = start.elapsed().as_secs_f64() * 1e3;
            let start = Instant::now();
            let n_scanned = reader.scanned(case)?;
            let scan_ms = start.elapsed().as_secs_f64() * 1e3;
            let expected = *found.get_or_insert(n_rows);
            ensure!(
                n_rows == expected && n_scanned == expected,
                "{}: {n_rows} rows by the filter, {n_scanned} by the scan, instead of {expected}",
                reader.name()
            );
            if rep > 0 {
                by_filter.push(filter_ms);
                by_scan.push(scan_ms);
            }
        }
    }
    let of = |times: &Vec<f64>| median(times.iter().copied()).unwrap_or_default();
    let times = readers
        .iter()
        .zip(&samples)
        .map(|(reader, (by_filter, by_scan))| Times {
            format: reader.name(),
            filter_ms: of(by_filter),
            scan_ms: of(by_scan),
        });
    Ok((found.unwrap_or_default(), times.collect()))
}
