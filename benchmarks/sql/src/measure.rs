//! One run: files, statements, times.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use crate::duckdb::DuckDb;
use crate::engines::{self, Engine, Source};
use crate::far::{self, Far, Store};
use crate::{answer, machine, report, section, tables};

const QUERIES: &str = include_str!("../../../crates/integrations/datafusion/tests/all/tpch.sql");

/// Measures SQL: the 22 queries of TPC-H by DataFusion on Tarsia, Parquet and Vortex files, and by DuckDB on Parquet.
#[derive(clap::Parser)]
#[command(version)]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: Run,
    /// Print the plan of a query with its counts, for each format, and measure nothing
    #[arg(long, value_name = "QUERY")]
    explain: Option<usize>,
}

#[derive(Args)]
struct Run {
    /// Scale factor of TPC-H
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// A folder for the tables, which stay there (default: made anew and removed)
    #[arg(long, value_name = "FOLDER")]
    kept: Option<PathBuf>,
    /// Partitions of a plan, and threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Runs of a query in each system, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Measure these queries alone
    #[arg(long, value_delimiter = ',')]
    only: Vec<usize>,
    /// A Python with the packages of requirements.txt (default: without DuckDB)
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Leave out the store that answers late
    #[arg(long)]
    no_far: bool,
    /// Leave docs/benchmarks.md and benchmarks/results as they are
    #[arg(long)]
    no_docs: bool,
}

/// The seconds of one query, in each system.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Found {
    pub(crate) query: usize,
    pub(crate) rows: usize,
    pub(crate) tarsia: f64,
    pub(crate) parquet: f64,
    pub(crate) parquet_pushdown: f64,
    /// None where it failed, which the standard error says.
    pub(crate) vortex: Option<f64>,
    pub(crate) duckdb: Option<f64>,
}

/// All that was found.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) scale: f64,
    pub(crate) threads: usize,
    pub(crate) runs: usize,
    /// Bytes of the files, in the order of [`Source::ALL`] without the second Parquet.
    pub(crate) bytes: [u64; 3],
    pub(crate) duckdb: Option<String>,
    pub(crate) found: Vec<Found>,
    /// From a store that answers late.
    pub(crate) far: Vec<Far>,
}

/// The statements, in the order of their numbers.
fn queries() -> Vec<&'static str> {
    let queries = QUERIES.split(';').map(str::trim);
    queries.filter(|query| !query.is_empty()).collect()
}

/// Measures what the arguments ask for.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let run = &arguments.run;
    let made = tempfile::tempdir()?;
    let folder = run.kept.as_deref().unwrap_or(made.path());
    std::fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    eprintln!("making the tables of scale factor {}", run.scale);
    tables::make(&folder, run.scale)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(run.threads)
        .enable_all()
        .build()?;
    runtime.block_on(engines::make_vortex(&folder))?;
    match arguments.explain {
        Some(number) => runtime.block_on(explain(run, &folder, number)),
        None => {
            let report = runtime.block_on(measured(run, &folder, made.path()))?;
            let text = section::text(&report);
            println!("{text}");
            if run.no_docs || !run.only.is_empty() || run.no_far {
                return Ok(());
            }
            report::publish("sql", "SQL", &report, &text)
        }
    }
}

async fn explain(run: &Run, folder: &Path, number: usize) -> Result<()> {
    let query = *queries()
        .get(number.wrapping_sub(1))
        .with_context(|| format!("there is no query {number}"))?;
    for source in Source::ALL {
        let engine = Engine::new(source, folder, run.threads).await?;
        println!("{source:?}\n{}", engine.explain(query).await?);
    }
    Ok(())
}

async fn measured(run: &Run, folder: &Path, scratch: &Path) -> Result<Report> {
    let mut sources = Vec::new();
    for source in Source::ALL {
        sources.push(Engine::new(source, folder, run.threads).await?);
    }
    let rows_to = scratch.join("rows.arrows");
    let duckdb = run.python.as_deref();
    let duckdb = duckdb.map(|python| DuckDb::new(python, folder, run.threads, &rows_to));
    let mut duckdb = duckdb.transpose()?;
    let mut found = Vec::new();
    for (idx, query) in queries().into_iter().enumerate() {
        let number = idx + 1;
        if run.only.is_empty() || run.only.contains(&number) {
            let one = one_query(run.runs, number, query, &sources, duckdb.as_mut()).await;
            let one = one.with_context(|| format!("query {number}"))?;
            eprintln!("{}", section::line(&one));
            found.push(one);
        }
    }
    let mut far = Vec::new();
    if !run.no_far {
        let store = Store::new(folder, run.threads).await?;
        for number in far::QUERIES {
            let query = queries()[number - 1];
            far.extend(store.run(run.runs, number, query).await?);
        }
    }
    let bytes = [Source::Tarsia, Source::Parquet, Source::Vortex];
    Ok(Report {
        machine: machine::line(),
        scale: run.scale,
        threads: run.threads,
        runs: run.runs,
        bytes: bytes.map(|source| bytes_of(folder, source)),
        duckdb: duckdb.and_then(|duckdb| duckdb.version.clone()),
        found,
        far,
    })
}

fn bytes_of(folder: &Path, source: Source) -> u64 {
    let bytes = |name: &&str| {
        let path = tables::path(folder, name, source.extension());
        std::fs::metadata(path).map_or(0, |file| file.len())
    };
    tables::NAMES.iter().map(bytes).sum()
}

/// Runs a query in every system, by turns, and compares the answers.
async fn one_query(
    n_runs: usize,
    number: usize,
    query: &str,
    sources: &[Engine],
    mut duckdb: Option<&mut DuckDb>,
) -> Result<Found> {
    let mut seconds = vec![Vec::new(); sources.len() + 1];
    let mut expected = None;
    // The first run reads files into the memory of the system and of each session.
    for run in 0..=n_runs {
        for (source, (engine, seconds)) in Source::ALL.iter().zip(sources.iter().zip(&mut seconds))
        {
            let (rows, took) = match engine.run(query).await {
                Ok(found) => found,
                Err(error) if *source == Source::Vortex => {
                    eprintln!("query {number}: Vortex: {error:#}");
                    continue;
                }
                Err(error) => return Err(error.context(format!("{source:?}"))),
            };
            match &expected {
                None => expected = Some(rows),
                Some(expected) => answer::compare(&rows, expected)
                    .with_context(|| format!("the answer of {source:?}"))?,
            }
            if run > 0 {
                seconds.push(took);
            }
        }
        if let Some(duckdb) = &mut duckdb {
            let (rows, took) = duckdb.run(query)?;
            let expected = expected.as_deref().unwrap_or_default();
            answer::compare(&rows, expected).context("the answer of DuckDB")?;
            if run > 0 {
                seconds[sources.len()].push(took);
            }
        }
    }
    let medians: Vec<_> = seconds
        .into_iter()
        .map(|seconds| report::median(seconds.into_iter()))
        .collect();
    let of = |idx: usize| medians[idx].context("a query that was not measured");
    Ok(Found {
        query: number,
        rows: expected
            .iter()
            .flatten()
            .map(|batch| batch.num_rows())
            .sum(),
        tarsia: of(0)?,
        parquet: of(1)?,
        parquet_pushdown: of(2)?,
        vortex: medians[3],
        duckdb: medians[4],
    })
}
