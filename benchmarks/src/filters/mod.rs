//! `filters`: rows by a condition, beside Vortex's and Parquet's filters and beside filtering what a scan gives.

#[cfg(feature = "tarsia")]
mod cases;
#[cfg(feature = "tarsia")]
mod measuring;
#[cfg(feature = "tarsia")]
mod readers;
#[cfg(feature = "tarsia")]
mod report;

use std::path::PathBuf;

use anyhow::Result;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; without it `TARSIA_DATA`, then `shared/data` beside the repository.
    folder: Option<PathBuf>,
    /// Scale factor of the table `lineitem`.
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    scale_factor: f64,
    /// Only the tables whose name contains this; nothing is stored then.
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Repetitions of every measurement, of which the median counts.
    #[arg(long, default_value_t = 7, value_name = "N")]
    reps: usize,
    /// Leave docs/benchmarks.md and the results as they are.
    #[arg(long)]
    no_docs: bool,
}

/// Measures, prints, stores.
#[cfg(not(feature = "tarsia"))]
pub(crate) fn run(_: &Arguments) -> Result<()> {
    anyhow::bail!("built without Tarsia")
}

/// Measures, prints, stores.
#[cfg(feature = "tarsia")]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let report = measuring::measure(arguments)?;
    let section = report::markdown(&report);
    println!("{section}");
    if arguments.table.is_some() || arguments.no_docs {
        return Ok(());
    }
    crate::report::publish("filters", "Filters", &report, &section)
}
