//! `erasure`: what files cost that rows can be erased from, and what erasing them costs.

#[cfg(feature = "tarsia")]
mod lance;
#[cfg(feature = "tarsia")]
mod measuring;
#[cfg(feature = "tarsia")]
mod report;
#[cfg(feature = "tarsia")]
mod tables;

use std::path::PathBuf;

use anyhow::Result;

/// Repetitions of every measurement.
const REPETITIONS: usize = 3;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; without it `TARSIA_DATA`, then `shared/data` beside the repository.
    folder: Option<PathBuf>,
    /// Click sequences, as a Parquet file [default: ml_clk_seq.parquet of the folder].
    #[arg(long, value_name = "FILE")]
    clk_seq: Option<PathBuf>,
    /// At most so many rows of the click sequences [default: 100,000; 500,000 with --large].
    #[arg(long, value_name = "N")]
    clk_seq_rows: Option<usize>,
    /// A table `lineitem` whose file has about 1 GiB, instead of about 40 MB.
    #[arg(long)]
    large: bool,
    /// Only the tables whose name contains this.
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Repetitions of every measurement; what is slow is repeated less.
    #[arg(long, default_value_t = REPETITIONS, value_name = "N")]
    reps: usize,
    /// Where the numbers go [default: results/erasure.json, if all tables are measured].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave docs/benchmarks.md as it is.
    #[arg(long)]
    no_docs: bool,
    /// Do not measure Lance.
    #[arg(long)]
    no_lance: bool,
    /// Where the files are written; a disk, since erasing waits for it [default: the folder of the command].
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// Measures, prints, stores.
#[cfg(not(feature = "tarsia"))]
pub(crate) fn run(_: &Arguments) -> Result<()> {
    anyhow::bail!("built without Tarsia")
}

/// Measures, prints, stores.
#[cfg(feature = "tarsia")]
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    use anyhow::{Context, bail};

    use crate::machine;

    let tables = tables::tables(arguments)?;
    if tables.is_empty() {
        bail!("no table is named so");
    }
    let erasure = measuring::measure(arguments, tables)?;
    let section = report::markdown(&erasure);
    println!("{section}");

    let repository = machine::repository()?;
    // What is kept in the repository is of all tables.
    let whole = arguments.table.is_none() && erasure.failed.is_empty();
    let json = arguments
        .json
        .clone()
        .or_else(|| whole.then(|| repository.join("benchmarks/results/erasure.json")));
    if let Some(json) = json {
        if let Some(parent) = json.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&json, serde_json::to_string_pretty(&erasure)? + "\n")
            .with_context(|| format!("writing {}", json.display()))?;
    }
    if whole && !arguments.no_docs {
        let docs = repository.join("docs/benchmarks.md");
        crate::report::refresh_docs(&docs, "erasure", "Erasure", &section)?;
    }
    match erasure.failed.len() {
        0 => Ok(()),
        n => bail!("failures: {n}, listed above"),
    }
}
