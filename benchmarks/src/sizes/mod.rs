//! `sizes`: bytes per column.

mod classes;
mod report;
pub(crate) mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use arrow_array::Array;
use serde::Serialize;

use crate::machine::{self, Environment};
use crate::peers::parquet::ParquetSize;
use crate::peers::tarsia::TarsiaSize;
use crate::peers::vortex::{Vortex, VortexSize};
use classes::Class;
use tables::Table;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; without it `TARSIA_DATA`, then `shared/data` beside the repository.
    folder: Option<PathBuf>,
    /// Where the numbers go [default: results/sizes.json, if Tarsia is measured too].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave docs/benchmarks.md as it is.
    #[arg(long)]
    no_docs: bool,
    /// Also measure the flat columns of tables that have nested ones. They are listed, but count in
    /// no median.
    #[arg(long)]
    mixed: bool,
    /// Only the tables whose name contains this.
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Fail if a median is above 1.0 or a column above its plain size.
    #[arg(long)]
    check: bool,
}

impl Arguments {
    /// Returns the options of a run that measures everything else too.
    pub(crate) fn of_all(folder: Option<PathBuf>, table: Option<String>, no_docs: bool) -> Self {
        Self {
            folder,
            json: None,
            no_docs,
            mixed: false,
            table,
            check: false,
        }
    }
}

/// One column with all its sizes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) table: String,
    pub(crate) column: String,
    /// False if the table has nested columns beside this one.
    pub(crate) table_is_flat: bool,
    pub(crate) data_type: String,
    pub(crate) class: Class,
    pub(crate) rows: u64,
    pub(crate) nulls: u64,
    /// Distinct values without null; counted for strings only.
    pub(crate) distinct: Option<usize>,
    pub(crate) plain_arrow_bytes: u64,
    pub(crate) vortex: VortexSize,
    pub(crate) parquet: ParquetSize,
    /// `None` if Tarsia is not measured, or failed.
    pub(crate) tarsia: Option<TarsiaSize>,
}

/// Something that was not measured, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Unmeasured {
    pub(crate) table: String,
    /// `None` if it is the whole table.
    pub(crate) column: Option<String>,
    pub(crate) why: String,
}

/// Everything a run found.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) environment: Environment,
    pub(crate) columns: Vec<Column>,
    /// Left out on purpose.
    pub(crate) skipped: Vec<Unmeasured>,
    /// A format failed.
    pub(crate) failed: Vec<Unmeasured>,
}

/// Measures, prints, stores.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let repository = machine::repository()?;
    let folder = machine::data_folder(arguments.folder.as_ref())?;

    let sizes = measure(&folder, arguments)?;
    print!("{}", report::text(&sizes));

    let with_tarsia = cfg!(feature = "tarsia");
    // What is kept in the repository is complete.
    let whole = with_tarsia && arguments.table.is_none() && sizes.failed.is_empty();
    let json = arguments
        .json
        .clone()
        .or_else(|| whole.then(|| repository.join("benchmarks/results/sizes.json")));
    if let Some(json) = json {
        if let Some(parent) = json.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&json, report::json(&sizes)?)
            .with_context(|| format!("writing {}", json.display()))?;
    }
    if whole && !arguments.no_docs {
        report::refresh_docs(&repository.join("docs/benchmarks.md"), &sizes)?;
    }

    if !sizes.failed.is_empty() {
        bail!("not measured: {} columns", sizes.failed.len());
    }
    if arguments.check {
        let complaints = report::complaints(&sizes);
        if !complaints.is_empty() {
            bail!("{}", complaints.join("; "));
        }
    }
    Ok(())
}

fn measure(folder: &Path, arguments: &Arguments) -> Result<Sizes> {
    let mut sizes = Sizes {
        environment: Environment::here(),
        columns: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    let vortex = Vortex::new();
    for path in tables::parquet_files(folder)? {
        let name = tables::name(&path);
        if arguments.table.as_ref().is_some_and(|t| !name.contains(t)) {
            continue;
        }
        let table = tables::open(&path).with_context(|| format!("table {name}"))?;
        if !table.nested.is_empty() {
            let n_columns = table.nested.len() + table.flat.len();
            let what = if arguments.mixed {
                "those columns"
            } else {
                "the table"
            };
            sizes.skipped.push(Unmeasured {
                table: name.clone(),
                column: None,
                why: format!(
                    "{what}, since {} of {n_columns} columns are nested",
                    table.nested.len()
                ),
            });
            if !arguments.mixed {
                continue;
            }
        }
        eprintln!("{name}: {} columns", table.flat.len());
        for &idx in &table.flat {
            let mut failed = |error: anyhow::Error| {
                sizes.failed.push(Unmeasured {
                    table: name.clone(),
                    column: Some(table.column_name(idx).to_owned()),
                    why: format!("{error:#}"),
                });
            };
            match measure_column(&vortex, &table, idx) {
                Ok((column, None)) => sizes.columns.push(column),
                // The peers' sizes stay, so that a class shows how much of it is missing.
                Ok((column, Some(error))) => {
                    failed(error);
                    sizes.columns.push(column);
                }
                Err(error) => failed(error),
            }
        }
    }
    Ok(sizes)
}

/// The column, and what went wrong in Tarsia. If a peer fails, the column is of no use.
fn measure_column(
    vortex: &Vortex,
    table: &Table,
    idx: usize,
) -> Result<(Column, Option<anyhow::Error>)> {
    let batches = table.read_column(idx)?;
    let array = tables::one_array(&batches)?;
    let (class, distinct) = classes::classify(&array)?;
    #[cfg_attr(
        not(feature = "tarsia"),
        expect(unused_mut, reason = "nothing is added")
    )]
    let mut column = Column {
        table: table.name.clone(),
        column: table.column_name(idx).to_owned(),
        table_is_flat: table.nested.is_empty(),
        data_type: array.data_type().to_string(),
        class,
        rows: array.len() as u64,
        nulls: array.null_count() as u64,
        distinct,
        plain_arrow_bytes: classes::plain_arrow_bytes(&array)?,
        vortex: vortex.measure(&batches).context("Vortex")?,
        parquet: crate::peers::parquet::measure(&batches).context("Parquet")?,
        tarsia: None,
    };
    #[cfg(feature = "tarsia")]
    match crate::peers::tarsia::measure(&batches).context("Tarsia") {
        Ok(size) => column.tarsia = Some(size),
        Err(error) => return Ok((column, Some(error))),
    }
    Ok((column, None))
}
