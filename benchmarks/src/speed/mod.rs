//! `speed`: writing, opening, scanning and random rows of whole tables.
//!
//! Each format has a process of its own, so that none is affected by the threads and the memory of another. This
//! process asks one format after the other, repetition by repetition, so that a slow moment of the machine affects all
//! of them.

pub(crate) mod arrow_bytes;
mod check;
mod child;
mod cold;
mod features;
pub(crate) mod generate;
mod ipc;
pub(crate) mod lance;
pub(crate) mod limits;
pub(crate) mod measuring;
mod memory;
mod protocol;
pub(crate) mod random;
mod random_access;
pub(crate) mod report;
pub(crate) mod touch;
mod views;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::machine::{self, Environment};
use limits::Limits;
use protocol::Overhead;
pub(crate) use protocol::{Goal, Threads};
pub(crate) use worker::{WorkerArguments, work};

/// Options of the command line.
#[derive(Clone, clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; without it `TARSIA_DATA`, then `shared/data` beside the repository.
    pub(crate) folder: Option<PathBuf>,
    /// Where the numbers go [default: results/speed.json, if all tables are measured].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave docs/benchmarks.md as it is.
    #[arg(long)]
    pub(crate) no_docs: bool,
    /// Only the tables whose name contains this, generated ones too.
    #[arg(long, value_name = "TEXT")]
    pub(crate) table: Option<String>,
    /// Repetitions of every measurement.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) reps: usize,
    /// Where the files are written [default: /dev/shm if there is one, else the temporary folder].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) scratch: Option<PathBuf>,
    /// Where files lie that are read from the disk [default: the folder of the builds].
    #[arg(long, value_name = "FOLDER")]
    cold: Option<PathBuf>,
    /// Leave out the generated table of 1 GiB, not those of random access.
    #[arg(long)]
    no_large: bool,
    /// Fail if Lance cannot be had, instead of measuring without it.
    #[arg(long, conflicts_with = "no_lance")]
    lance: bool,
    /// Tarsia's preset; docs and results are kept of the default alone.
    #[arg(long, value_name = "fast|balanced|compact")]
    preset: Option<String>,
    /// Leave out Lance.
    #[arg(long)]
    no_lance: bool,
}

/// The formats, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FormatName {
    #[cfg(feature = "tarsia")]
    Tarsia,
    Vortex,
    Parquet,
    Lance,
}

impl FormatName {
    /// Formats that are always there.
    const BUILT_IN: &[Self] = &[
        #[cfg(feature = "tarsia")]
        Self::Tarsia,
        Self::Vortex,
        Self::Parquet,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "tarsia")]
            Self::Tarsia => "tarsia",
            Self::Vortex => "vortex",
            Self::Parquet => "parquet",
            Self::Lance => "lance",
        }
    }

    /// Whether it is compared with Tarsia.
    fn is_peer(self) -> bool {
        matches!(self, Self::Vortex | Self::Parquet | Self::Lance)
    }
}

/// Operations that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Measure {
    WriteOne,
    WriteAll,
    Open,
    ScanOne,
    ScanAll,
    ScanTwoColumns,
    TakeOneRow,
    TakeSixteenRows,
    TakeManyRows,
    OpenAndScanTen,
    TakeOneRowFixedWidth,
    TakeSixteenRowsFixedWidth,
    TakeManyRowsFixedWidth,
    ColdTakeOneRow,
    ColdTakeSixteenRows,
    ColdTakeManyRows,
    ScanOneAsViews,
    ScanAllAsViews,
}

impl Measure {
    /// Measures of an ordinary table.
    const ORDINARY: [Self; 9] = [
        Self::WriteOne,
        Self::WriteAll,
        Self::Open,
        Self::ScanOne,
        Self::ScanAll,
        Self::ScanTwoColumns,
        Self::TakeOneRow,
        Self::TakeSixteenRows,
        Self::TakeManyRows,
    ];

    /// More of an ordinary table: random rows of its fixed-width columns, and random rows from the disk.
    const MORE_TAKES: [Self; 6] = [
        Self::TakeOneRowFixedWidth,
        Self::TakeSixteenRowsFixedWidth,
        Self::TakeManyRowsFixedWidth,
        Self::ColdTakeOneRow,
        Self::ColdTakeSixteenRows,
        Self::ColdTakeManyRows,
    ];

    /// More of a table with byte strings.
    const VIEWS: [Self; 2] = [Self::ScanAllAsViews, Self::ScanOneAsViews];

    /// Measures of a table that is only scanned.
    const SCANS: [Self; 2] = [Self::ScanOne, Self::ScanAll];

    /// Measures of a table of very many columns.
    const WIDE: [Self; 4] = [
        Self::WriteOne,
        Self::Open,
        Self::OpenAndScanTen,
        Self::TakeOneRow,
    ];

    /// Measures of a table of very many lists and structs.
    pub(crate) const FEATURES: [Self; 4] = [
        Self::WriteOne,
        Self::Open,
        Self::OpenAndScanTen,
        Self::ScanOne,
    ];

    /// In a heading.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::WriteOne => "write, 1 thread",
            Self::WriteAll => "write, all threads",
            Self::Open => "open",
            Self::ScanOne => "scan, 1 thread",
            Self::ScanAll => "scan, all threads",
            Self::ScanTwoColumns => "scan of 2 columns",
            Self::TakeOneRow => "take 1",
            Self::TakeSixteenRows => "take 16",
            Self::TakeManyRows => "take 256",
            Self::OpenAndScanTen => "open + 10 columns",
            Self::TakeOneRowFixedWidth => "take 1, fixed width",
            Self::TakeSixteenRowsFixedWidth => "take 16, fixed width",
            Self::TakeManyRowsFixedWidth => "take 256, fixed width",
            Self::ColdTakeOneRow => "cold open + take 1",
            Self::ColdTakeSixteenRows => "cold open + take 16",
            Self::ColdTakeManyRows => "cold open + take 256",
            Self::ScanOneAsViews => "scan as views, 1 thread",
            Self::ScanAllAsViews => "scan as views, all threads",
        }
    }
}

/// One table with all its times.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) table: String,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    fixed_width_columns: usize,
    pub(crate) arrow_bytes: usize,
    /// Columns of lists and structs.
    nested_columns: usize,
    /// Generated with very many columns.
    wide: bool,
    /// All bytes of the file; of Lance, of all files of the dataset.
    pub(crate) file_bytes: BTreeMap<FormatName, u64>,
    /// Not in these: the bytes that an embedded decoder would add.
    kernel_bytes: BTreeMap<FormatName, u64>,
    /// Options that were chosen for this table.
    settings: BTreeMap<FormatName, String>,
    /// Seconds of each repetition.
    seconds: BTreeMap<Measure, BTreeMap<FormatName, Vec<f64>>>,
    /// Growth of the resident memory of a process that writes on all threads.
    pub(crate) peak_bytes_of_write: BTreeMap<FormatName, u64>,
    /// Peak memory of a process that opens the file and scans it on all threads.
    pub(crate) peak_bytes_of_scan: BTreeMap<FormatName, u64>,
    /// Time that Lance's worker spends on itself.
    lance_overhead_seconds: Option<Overhead>,
}

impl Table {
    pub(crate) fn seconds(&self, measure: Measure, format: FormatName) -> Option<f64> {
        let seconds = self.seconds.get(&measure)?.get(&format)?;
        crate::report::median(seconds.iter().copied())
    }
}

/// Something that gave no number.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure {
    pub(crate) table: String,
    /// `None` if the table could not be made.
    pub(crate) format: Option<FormatName>,
    pub(crate) why: String,
    /// It did not end in the time it was given, which is a result.
    pub(crate) late: bool,
}

/// Everything a run found.
#[derive(Clone, Debug)]
pub(crate) struct Speed {
    pub(crate) environment: Environment,
    /// Load of the machine before the first table and after the last.
    pub(crate) load: [Option<f64>; 2],
    pub(crate) repetitions: usize,
    pub(crate) limits: Limits,
    /// Formats that are measured.
    pub(crate) formats: Vec<FormatName>,
    pub(crate) tables: Vec<Table>,
    evictions: cold::Evictions,
    /// Parts that were not to be measured, or could not be, and why.
    left_out: Vec<String>,
    pub(crate) failed: Vec<Failure>,
}

impl Speed {
    /// Returns the formats that Tarsia is compared with.
    pub(crate) fn peers(&self) -> Vec<FormatName> {
        let formats = self.formats.iter().copied();
        formats.filter(|format| format.is_peer()).collect()
    }
}

/// Measures, prints, stores.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let repository = machine::repository()?;
    let folder = machine::data_folder(arguments.folder.as_ref())?;
    // What is kept in the repository is of all tables.
    let whole = cfg!(feature = "tarsia") && arguments.table.is_none() && arguments.preset.is_none();
    let json = arguments
        .json
        .clone()
        .or_else(|| whole.then(|| repository.join("benchmarks/results/speed.json")));
    if let Some(parent) = json.as_ref().and_then(|json| json.parent()) {
        std::fs::create_dir_all(parent)?;
    }
    // Lies there until the run is complete, or to show what a broken one had found.
    let partial = json
        .as_ref()
        .map(|json| json.with_extension("partial.json"));
    let save = |path: &Option<PathBuf>, speed: &Speed| -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        std::fs::write(path, report::json(speed)?)
            .with_context(|| format!("writing {}", path.display()))
    };

    let speed = measuring::measure(&folder, arguments, &|speed| save(&partial, speed))?;
    print!("{}", report::text(&speed));
    save(&json, &speed)?;
    if let Some(partial) = partial.filter(|partial| partial.exists()) {
        std::fs::remove_file(partial)?;
    }
    if whole && !arguments.no_docs {
        let section = report::markdown(&speed);
        let docs = repository.join("docs/benchmarks.md");
        crate::report::refresh_docs(&docs, "speed", "Speed", &section)?;
    }
    let n_failed = speed.failed.iter().filter(|f| !f.late).count();
    if n_failed > 0 {
        bail!("failures: {n_failed}, listed above");
    }
    Ok(())
}

/// Runs that were never made, for tests of reports.
#[cfg(all(test, feature = "tarsia"))]
pub(crate) mod made_up {
    use super::*;

    pub(crate) fn empty_speed() -> Speed {
        Speed {
            environment: Environment {
                cpu: String::new(),
                threads: 1,
                memory_gib: None,
                system: String::new(),
                rustc: String::new(),
                commit: String::new(),
                versions: BTreeMap::new(),
            },
            load: [None, None],
            repetitions: 3,
            limits: Limits {
                copy_reused: 1.0,
                copy_fresh: 1.0,
                store_reused: 4.0,
                store_fresh: 1.0,
                copy_reused_all: 1.0,
                copy_fresh_all: 1.0,
                store_reused_all: 8.0,
                store_fresh_all: 1.0,
            },
            formats: FormatName::BUILT_IN.to_vec(),
            tables: Vec::new(),
            evictions: cold::Evictions::default(),
            left_out: Vec::new(),
            failed: Vec::new(),
        }
    }

    pub(crate) fn empty_table(name: &str, arrow_bytes: usize) -> Table {
        Table {
            table: name.to_owned(),
            rows: 10,
            columns: 1,
            fixed_width_columns: 0,
            arrow_bytes,
            nested_columns: 0,
            wide: false,
            file_bytes: BTreeMap::new(),
            kernel_bytes: BTreeMap::new(),
            settings: BTreeMap::new(),
            seconds: BTreeMap::new(),
            peak_bytes_of_write: BTreeMap::new(),
            peak_bytes_of_scan: BTreeMap::new(),
            lance_overhead_seconds: None,
        }
    }

    /// A table that was scanned, with the bytes of the file and the seconds of both scans of each format.
    pub(crate) fn scanned(name: &str, arrow_bytes: usize, formats: &[Scanned]) -> Table {
        let mut table = empty_table(name, arrow_bytes);
        for scanned in formats {
            table.file_bytes.insert(scanned.format, scanned.file_bytes);
            for measure in Measure::SCANS {
                let times = table.seconds.entry(measure).or_default();
                times.insert(scanned.format, vec![scanned.seconds]);
            }
        }
        table
    }

    pub(crate) struct Scanned {
        pub(crate) format: FormatName,
        pub(crate) file_bytes: u64,
        pub(crate) seconds: f64,
    }
}
