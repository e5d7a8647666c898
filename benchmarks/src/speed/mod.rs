//! `speed`: writing, opening, scanning and random rows of whole tables.
//!
//! Each format has a process of its own, so that none finds the other's threads and memory. This process says what is to be done,
//! to one format after the other, repetition by repetition: a slow moment of the machine meets all of them.

mod generate;
mod limits;
mod protocol;
mod random;
mod report;
mod touch;
mod worker;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::machine::{self, Environment};
use crate::sizes::tables;
use limits::Limits;
pub(crate) use protocol::Threads;
use protocol::{Answer, Request, Source};
use random::Random;
pub(crate) use worker::{WorkerArguments, work};

/// What the command line says.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; without it `TARSIA_DATA`, then `shared/data` beside the repository.
    folder: Option<PathBuf>,
    /// Where the numbers go [default: results/speed.json, if all tables are measured].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave docs/benchmarks.md as it is.
    #[arg(long)]
    no_docs: bool,
    /// Only the tables whose name contains this, generated ones too.
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Repetitions of every measurement.
    #[arg(long, default_value_t = 5, value_name = "N")]
    reps: usize,
    /// Where the files are written [default: /dev/shm if there is one, else the temporary folder].
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// The formats, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FormatName {
    #[cfg(feature = "tarsia")]
    Tarsia,
    Vortex,
    Parquet,
}

impl FormatName {
    const ALL: &[Self] = &[
        #[cfg(feature = "tarsia")]
        Self::Tarsia,
        Self::Vortex,
        Self::Parquet,
    ];

    fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "tarsia")]
            Self::Tarsia => "tarsia",
            Self::Vortex => "vortex",
            Self::Parquet => "parquet",
        }
    }
}

/// What is timed.
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
}

impl Measure {
    /// Those of an ordinary table.
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

    /// Those of a table of very many columns.
    const WIDE: [Self; 4] = [
        Self::WriteOne,
        Self::Open,
        Self::OpenAndScanTen,
        Self::TakeOneRow,
    ];

    /// In a heading.
    fn label(self) -> &'static str {
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
        }
    }
}

/// One table with all its times.
#[derive(Clone, Debug, Serialize)]
struct Table {
    table: String,
    rows: usize,
    columns: usize,
    arrow_bytes: usize,
    /// Generated with very many columns.
    wide: bool,
    file_bytes: BTreeMap<FormatName, u64>,
    /// Seconds of each repetition.
    seconds: BTreeMap<Measure, BTreeMap<FormatName, Vec<f64>>>,
}

impl Table {
    fn seconds(&self, measure: Measure, format: FormatName) -> Option<f64> {
        let seconds = self.seconds.get(&measure)?.get(&format)?;
        crate::report::median(seconds.iter().copied())
    }
}

#[derive(Clone, Debug, Serialize)]
struct Failure {
    table: String,
    format: FormatName,
    why: String,
}

/// Everything a run found.
#[derive(Clone, Debug)]
struct Speed {
    environment: Environment,
    /// Load of the machine before the first table and after the last.
    load: [Option<f64>; 2],
    repetitions: usize,
    limits: Limits,
    tables: Vec<Table>,
    /// Tables with nested columns.
    skipped: Vec<String>,
    failed: Vec<Failure>,
}

/// Measures, prints, stores.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the crate has no parent folder")?;
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => std::env::var_os("TARSIA_DATA")
            .map_or_else(|| repository.join("../shared/data"), PathBuf::from),
    };
    let speed = measure(&folder, arguments)?;
    print!("{}", report::text(&speed));

    // What is kept in the repository is complete.
    let whole = cfg!(feature = "tarsia") && arguments.table.is_none() && speed.failed.is_empty();
    let json = arguments
        .json
        .clone()
        .or_else(|| whole.then(|| repository.join("benchmarks/results/speed.json")));
    if let Some(json) = json {
        if let Some(parent) = json.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&json, report::json(&speed)?)
            .with_context(|| format!("writing {}", json.display()))?;
    }
    if whole && !arguments.no_docs {
        let section = report::markdown(&speed);
        let docs = repository.join("docs/benchmarks.md");
        crate::report::refresh_docs(&docs, "speed", "Speed", &section)?;
    }
    if !speed.failed.is_empty() {
        bail!("not measured: {} tables of a format", speed.failed.len());
    }
    Ok(())
}

fn measure(folder: &Path, arguments: &Arguments) -> Result<Speed> {
    let scratch = match &arguments.scratch {
        Some(folder) => tempfile::tempdir_in(folder)?,
        // Memory, so that no format waits for a disk; what a disk adds depends on the size of the file.
        None if Path::new("/dev/shm").is_dir() => tempfile::tempdir_in("/dev/shm")?,
        None => tempfile::tempdir()?,
    };
    let mut speed = Speed {
        environment: Environment::here(),
        load: [machine::load(), None],
        repetitions: arguments.reps.max(1),
        limits: limits::measure(),
        tables: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    let mut sources = Vec::new();
    for path in tables::parquet_files(folder)? {
        let name = tables::name(&path);
        sources.push((name, Source::Parquet(path), false));
    }
    sources.push(("generated_mixed".to_owned(), Source::Mixed, false));
    for n_columns in [1_000, 10_000] {
        let name = format!("generated_wide_{n_columns}");
        sources.push((name, Source::Wide(n_columns), true));
    }
    for (name, source, wide) in sources {
        if arguments.table.as_ref().is_some_and(|t| !name.contains(t)) {
            continue;
        }
        if let Source::Parquet(path) = &source
            && !tables::open(path)?.nested.is_empty()
        {
            speed.skipped.push(name);
            continue;
        }
        eprintln!("{name}");
        measure_table(&mut speed, &name, &source, wide, scratch.path())
            .with_context(|| format!("table {name}"))?;
    }
    speed.load[1] = machine::load();
    Ok(speed)
}

fn measure_table(
    speed: &mut Speed,
    name: &str,
    source: &Source,
    wide: bool,
    scratch: &Path,
) -> Result<()> {
    let mut table = Table {
        table: name.to_owned(),
        rows: 0,
        columns: 0,
        arrow_bytes: 0,
        wide,
        file_bytes: BTreeMap::new(),
        seconds: BTreeMap::new(),
    };
    let mut failed = |format, why| {
        speed.failed.push(Failure {
            table: name.to_owned(),
            format,
            why,
        });
    };
    let mut workers = Vec::new();
    let mut column_names = Vec::new();
    for &format in FormatName::ALL {
        let mut worker = Worker::start(format)?;
        let request = Request::Prepare {
            source: source.clone(),
            file: scratch.join(format!("{name}.{}", format.name())),
        };
        match worker.ask(&request)? {
            Answer::Prepared {
                rows,
                columns,
                arrow_bytes,
                file_bytes,
            } => {
                (table.rows, table.columns, table.arrow_bytes) = (rows, columns.len(), arrow_bytes);
                table.file_bytes.insert(format, file_bytes);
                column_names = columns;
                workers.push(worker);
            }
            Answer::Failed(why) => failed(format, why),
            Answer::Seconds(_) => bail!("{format:?} answered with a time"),
        }
    }

    let measures: &[Measure] = match wide {
        true => &Measure::WIDE,
        false => &Measure::ORDINARY,
    };
    for repetition in 0..speed.repetitions {
        for &measure in measures {
            let mut random = Random::new(((repetition as u64) << 8) | measure as u64);
            let Some(request) = request(measure, &mut random, &table, &column_names) else {
                continue;
            };
            let mut still = Vec::new();
            // Nobody is always the first.
            let first = repetition % workers.len().max(1);
            workers.rotate_left(first);
            for mut worker in workers.drain(..) {
                match worker.ask(&request)? {
                    Answer::Seconds(seconds) => {
                        let times = table.seconds.entry(measure).or_default();
                        times.entry(worker.format).or_default().push(seconds);
                        still.push(worker);
                    }
                    Answer::Failed(why) => {
                        failed(worker.format, format!("{}: {why}", measure.label()));
                    }
                    Answer::Prepared { .. } => bail!("{:?} prepared twice", worker.format),
                }
            }
            workers = still;
        }
    }
    for worker in workers {
        worker.end()?;
    }
    // The next table's files are to find the memory free.
    for entry in std::fs::read_dir(scratch)? {
        std::fs::remove_file(entry?.path())?;
    }
    speed.tables.push(table);
    Ok(())
}

/// `None` where the table is too small for it to say anything new.
fn request(
    measure: Measure,
    random: &mut Random,
    table: &Table,
    columns: &[String],
) -> Option<Request> {
    let mut some_columns = |count| -> Vec<String> {
        random
            .rows(count, columns.len())
            .into_iter()
            .filter_map(|i| columns.get(usize::try_from(i).ok()?).cloned())
            .collect()
    };
    Some(match measure {
        Measure::WriteOne => Request::Write {
            threads: Threads::One,
        },
        Measure::WriteAll => Request::Write {
            threads: Threads::All,
        },
        Measure::Open => Request::Open {
            column: some_columns(1).pop()?,
        },
        Measure::ScanOne => Request::Scan {
            threads: Threads::One,
            columns: None,
        },
        Measure::ScanAll => Request::Scan {
            threads: Threads::All,
            columns: None,
        },
        Measure::ScanTwoColumns if columns.len() <= 2 => return None,
        Measure::ScanTwoColumns => Request::Scan {
            threads: Threads::All,
            columns: Some(some_columns(2)),
        },
        Measure::OpenAndScanTen => Request::OpenAndScan {
            columns: some_columns(10),
        },
        Measure::TakeOneRow => take(random, 32, 1, table.rows)?,
        Measure::TakeSixteenRows => take(random, 16, 16, table.rows)?,
        Measure::TakeManyRows => take(random, 8, 256, table.rows)?,
    })
}

fn take(random: &mut Random, n_lists: usize, count: usize, rows: usize) -> Option<Request> {
    (rows > count).then(|| Request::Take {
        lists: (0..=n_lists).map(|_| random.rows(count, rows)).collect(),
    })
}

/// A process that measures one format.
struct Worker {
    format: FormatName,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(format: FormatName) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["speed-worker", format.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self {
            format,
            input: child.stdin.take().context("no pipe")?,
            output: BufReader::new(child.stdout.take().context("no pipe")?),
            child,
        })
    }

    /// A worker that dies has failed; the others go on.
    fn ask(&mut self, request: &Request) -> Result<Answer> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let sent = self.input.write_all(line.as_bytes());
        line.clear();
        match sent.and_then(|()| self.output.read_line(&mut line)) {
            Ok(n_bytes) if n_bytes > 0 => Ok(serde_json::from_str(&line)?),
            _ => Ok(Answer::Failed(format!("ended: {}", self.child.wait()?))),
        }
    }

    fn end(self) -> Result<()> {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        child.wait()?;
        Ok(())
    }
}
