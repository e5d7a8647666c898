//! `types`: scans of one column of every flat type, and of `lineitem` of TPC-H.

mod cases;
pub(crate) mod lineitem;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use arrow_schema::DataType;

use crate::machine;
use crate::speed::measuring::{Make, scans};
use cases::Case;

const ROWS: usize = 1_000_000;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Rows of the tables of one column.
    #[arg(long, default_value_t = ROWS, value_name = "N")]
    rows: usize,
    /// Repetitions of every measurement.
    #[arg(long, default_value_t = 5, value_name = "N")]
    reps: usize,
    /// Only the tables whose name contains this.
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Leave out `lineitem`.
    #[arg(long)]
    no_lineitem: bool,
    /// Where the numbers go [default: results/types.json, if all tables are measured].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave docs/benchmarks.md as it is.
    #[arg(long)]
    no_docs: bool,
    /// Where the files are written [default: /dev/shm if there is one, else the temporary folder].
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

impl Arguments {
    /// Returns the options of a run that measures everything else too.
    pub(crate) fn of_all(arguments: &crate::speed::Arguments) -> Self {
        Self {
            rows: ROWS,
            reps: arguments.reps,
            table: arguments.table.clone(),
            no_lineitem: false,
            json: None,
            no_docs: arguments.no_docs,
            scratch: arguments.scratch.clone(),
        }
    }

    /// Whether a table has the name that is asked for.
    pub(crate) fn names_something(&self) -> bool {
        !self.tables().is_empty()
    }

    fn tables(&self) -> Vec<(String, Make)> {
        let mut tables: Vec<(String, Make)> = Vec::new();
        let n_rows = self.rows.max(1);
        for case in Case::all() {
            let name = case.name();
            let make = move || {
                let batches = case.batches(n_rows)?;
                Ok((case.schema(), Box::new(batches) as _))
            };
            tables.push((name, Box::new(make)));
        }
        for (name, strings) in [("utf8", DataType::Utf8), ("utf8_view", DataType::Utf8View)] {
            if self.no_lineitem {
                break;
            }
            let make = move || {
                let (schema, batches) = lineitem::table(lineitem::SCALE_FACTOR, &strings);
                Ok((schema, Box::new(batches) as _))
            };
            tables.push((format!("{}{name}", report::LINEITEM), Box::new(make)));
        }
        if let Some(text) = &self.table {
            tables.retain(|(name, _)| name.contains(text));
        }
        tables
    }
}

/// Measures, prints, stores.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let tables = arguments.tables();
    if tables.is_empty() {
        bail!("no table is named so");
    }
    let speed = scans(tables, arguments.reps, arguments.scratch.as_ref())?;
    print!("{}", report::text(&speed));

    let repository = machine::repository()?;
    // What is kept in the repository is of all tables.
    let whole = cfg!(feature = "tarsia")
        && arguments.table.is_none()
        && !arguments.no_lineitem
        && arguments.rows == ROWS;
    let json = arguments
        .json
        .clone()
        .or_else(|| whole.then(|| repository.join("benchmarks/results/types.json")));
    if let Some(json) = json {
        if let Some(parent) = json.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&json, crate::speed::report::json(&speed)?)
            .with_context(|| format!("writing {}", json.display()))?;
    }
    if whole && !arguments.no_docs {
        let docs = repository.join("docs/benchmarks.md");
        crate::report::refresh_docs(&docs, "types", "Types", &report::markdown(&speed))?;
    }
    // A peer may lack a type; Tarsia has all of them.
    let failed = speed.failed.iter().filter(|f| report::is_of_tarsia(f));
    match failed.count() {
        0 => Ok(()),
        n => bail!("failures: {n}, listed above"),
    }
}
