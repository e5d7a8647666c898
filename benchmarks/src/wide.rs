//! `wide`: tables of thousands of lists and structs, beside Vortex, Parquet and Lance.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::report::table;
use crate::speed::{self, FormatName, Measure, Speed, Table};

/// Columns and rows of the tables.
const SIZES: [(usize, usize); 4] = [(1_000, 100), (20_000, 100), (50_000, 100), (20_000, 1_500)];

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only tables of at most so many columns; nothing is stored then.
    #[arg(long, value_name = "N")]
    columns_max: Option<usize>,
    /// Only tables of so many rows; nothing is stored then.
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Repetitions of every measurement, of which the median counts.
    #[arg(long, default_value_t = 5, value_name = "N")]
    reps: usize,
    /// Where the files are written [default: /dev/shm if there is one, else the temporary folder].
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
    /// Leave docs/benchmarks.md as it is.
    #[arg(long)]
    no_docs: bool,
}

/// Measures, prints, stores.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let most = arguments.columns_max.unwrap_or(usize::MAX);
    let asked = |&(columns, rows): &(usize, usize)| {
        columns <= most && arguments.rows.is_none_or(|asked| rows == asked)
    };
    let sizes: Vec<_> = SIZES.into_iter().filter(asked).collect();
    let speed = speed::measuring::wide(&sizes, arguments.reps, arguments.scratch.as_ref())?;
    let section = markdown(&speed);
    println!("{section}");
    let whole = arguments.columns_max.is_none() && arguments.rows.is_none();
    if whole && !arguments.no_docs && cfg!(feature = "tarsia") {
        let docs = crate::machine::repository()?.join("docs/benchmarks.md");
        crate::report::refresh_docs(&docs, "wide", "Wide tables", &section)?;
    }
    let failed = speed.failed.iter().filter(|failure| !failure.late).count();
    if failed > 0 {
        bail!("failures: {failed}, listed above");
    }
    Ok(())
}

fn markdown(speed: &Speed) -> String {
    let mut out = format!(
        "{}; warm, medians of {} repetitions. Four fifths of the columns are lists of identifiers; the rest are lists of \
         weights, of lists and of byte strings, structs of lists, numbers and texts. Hardly two columns are alike. \
         *Peak* is what the memory of a process grows by, on all threads.\n\n",
        speed.environment.line(),
        speed.repetitions
    );
    let mut rows = vec![heads(&speed.formats)];
    for wide in &speed.tables {
        let name = format!("{} x {}", wide.columns, wide.rows);
        for measure in Measure::FEATURES {
            let seconds = |format| wide.seconds(measure, format);
            let milliseconds = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
            let row = row(
                &name,
                measure.label(),
                &speed.formats,
                seconds,
                milliseconds,
            );
            rows.push(row);
        }
        for (what, bytes) in bytes(wide) {
            let bytes = |format| bytes.get(&format).map(|bytes| *bytes as f64);
            let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
            rows.push(row(&name, what, &speed.formats, bytes, megabytes));
        }
    }
    out.push_str(&table(&rows));
    for failure in &speed.failed {
        let format = failure.format.map_or("all", FormatName::name);
        let _ = writeln!(out, "\n{}, {format}: {}.", failure.table, failure.why);
    }
    out
}

type BytesOfFormats<'t> = &'t std::collections::BTreeMap<FormatName, u64>;

fn bytes(table: &Table) -> [(&'static str, BytesOfFormats<'_>); 3] {
    [
        ("file", &table.file_bytes),
        ("peak of writing", &table.peak_bytes_of_write),
        ("peak of a scan", &table.peak_bytes_of_scan),
    ]
}

fn heads(formats: &[FormatName]) -> Vec<String> {
    let mut heads = vec!["columns x rows".to_owned(), "what".to_owned()];
    heads.extend(formats.iter().map(|format| format.name().to_owned()));
    heads.push("best peer / Tarsia".to_owned());
    heads
}

/// One line of the table; the last cell compares the best peer with the first format.
fn row(
    name: &str,
    what: &str,
    formats: &[FormatName],
    value: impl Fn(FormatName) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> Vec<String> {
    let mut row = vec![name.to_owned(), what.to_owned()];
    let values: Vec<Option<f64>> = formats.iter().map(|format| value(*format)).collect();
    let shown = values
        .iter()
        .map(|value| value.map_or("-".to_owned(), &show));
    row.extend(shown);
    let ratio = values.split_first().and_then(|(first, peers)| {
        let best = peers.iter().flatten().copied().reduce(f64::min)?;
        Some(best / (*first)?)
    });
    row.push(ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
    row
}
