//! The server, the files on it, and the measurements in turns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use tarsia_store_testing::{Request as HttpRequest, Server};

use crate::formats::BUCKET;
use crate::operation::{Answer, Operation, Read, Request, Spent};
use crate::process::{Format, Worker, python};
use crate::report::{median, publish};
use crate::tables::random::Random;
use crate::tables::{Made, Table};
use crate::{machine, section};

/// Time before the server answers a request.
pub(crate) const LATENCY: Duration = Duration::from_millis(20);
/// Bytes per second of all answers together.
pub(crate) const BYTES_PER_SECOND: u64 = 200_000_000;

const TAKEN_ROWS: usize = 256;
const TAKEN_COLUMNS: usize = 10;

/// An operation that a format has spent so long on is not repeated.
const OPERATION_SECONDS_MAX: f64 = 30.0;

/// Options of the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder with `tpch_lineitem_sf0_1.parquet` [default: TARSIA_DATA, else shared/data beside the repository].
    folder: Option<PathBuf>,
    /// Only tables whose name has this text; nothing is stored then.
    #[arg(long, value_name = "TEXT")]
    table: Option<String>,
    /// Repetitions, of which the median counts.
    #[arg(long, default_value_t = 5, value_name = "N")]
    reps: usize,
    /// Leave Lance out; nothing is stored then.
    #[arg(long)]
    no_lance: bool,
    /// Leave the results and docs/benchmarks.md as they are.
    #[arg(long)]
    no_docs: bool,
}

/// All that was found.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) repetitions: usize,
    pub(crate) tables: Vec<OfTable>,
}

/// Results of a table.
#[derive(Serialize)]
pub(crate) struct OfTable {
    pub(crate) name: &'static str,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) file_bytes: BTreeMap<Format, u64>,
    pub(crate) settings: BTreeMap<Format, String>,
    pub(crate) found: Vec<Found>,
    pub(crate) failures: Vec<Failure>,
}

impl OfTable {
    pub(crate) fn found(&self, operation: Operation, format: Format) -> Option<&Found> {
        let mut found = self.found.iter();
        found.find(|found| found.operation == operation && found.format == format)
    }
}

/// Medians of the repetitions of an operation.
#[derive(Serialize)]
pub(crate) struct Found {
    pub(crate) operation: Operation,
    pub(crate) format: Format,
    pub(crate) repetitions: usize,
    pub(crate) seconds: f64,
    pub(crate) requests: f64,
    /// Bytes of the ranges that were asked for.
    pub(crate) bytes: f64,
    pub(crate) waves: Option<f64>,
}

/// A format that could not do something.
#[derive(Serialize)]
pub(crate) struct Failure {
    pub(crate) format: Format,
    /// None if it could not even write the file.
    pub(crate) operation: Option<Operation>,
    pub(crate) why: String,
}

/// Measures, prints, stores.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let python = match arguments.no_lance {
        true => None,
        false => Some(python()?),
    };
    let formats: Vec<Format> = Format::ALL
        .into_iter()
        .filter(|format| python.is_some() || *format != Format::Lance)
        .collect();
    let data = machine::data_folder(arguments.folder.as_ref())?;
    let scratch = match std::path::Path::new("/dev/shm") {
        folder if folder.is_dir() => tempfile::tempdir_in(folder),
        _ => tempfile::tempdir(),
    }?;
    let part = arguments.table.as_deref().unwrap_or_default();
    let mut report = Report {
        machine: machine::line(),
        repetitions: arguments.reps,
        tables: Vec::new(),
    };
    for table in Table::ALL {
        if !table.name().contains(part) {
            continue;
        }
        let made = table.make(scratch.path(), &data)?;
        let mut measured = Measured::new(table, &made);
        let mut readers = Vec::new();
        for format in &formats {
            match Reader::new(*format, python.as_deref(), &made, &mut measured.result) {
                Ok(reader) => readers.push(reader),
                Err(error) => measured.fail(*format, None, &error),
            }
        }
        measured.check(&mut readers);
        for repetition in 0..arguments.reps {
            measured.repeat(&mut readers, repetition);
        }
        report.tables.push(measured.finish(&formats));
        std::fs::remove_file(&made.path)?;
    }
    let text = section::markdown(&report, &formats);
    println!("{text}");
    let is_whole = arguments.table.is_none() && !arguments.no_lance;
    if is_whole && !arguments.no_docs {
        publish("remote", "Reading from a store", &report, &text)?;
    }
    let failures: usize = report.tables.iter().map(|table| table.failures.len()).sum();
    if failures > 0 {
        bail!("failures: {failures}, listed above");
    }
    Ok(())
}

/// A process with the server that it reads from. Each format has one of its own, so that no other's requests are
/// counted; only one works at a time.
struct Reader {
    format: Format,
    worker: Worker,
    server: Server,
    file_bytes: u64,
}

impl Reader {
    /// Starts the process, has it write the file, and puts that on the server.
    fn new(
        format: Format,
        python: Option<&std::path::Path>,
        made: &Made,
        result: &mut OfTable,
    ) -> Result<Self> {
        let mut worker = Worker::start(format, python)?;
        let table = made.path.to_string_lossy().into_owned();
        let file = made.path.with_extension(format.name());
        let store = Request::Store {
            table,
            file: file.to_string_lossy().into_owned(),
        };
        if let Answer::Stored { settings } = worker.ask(&store)? {
            result.settings.insert(format, settings);
        }
        let bytes = std::fs::read(&file)?;
        std::fs::remove_file(&file)?;
        let file_bytes = bytes.len() as u64;
        result.file_bytes.insert(format, file_bytes);
        let key = format!("table.{}", format.name());
        let server = Server::new();
        server.put(&format!("/{BUCKET}/{key}"), bytes, Some("\"etag\""));
        server.slow(LATENCY, Some(BYTES_PER_SECOND));
        let endpoint = server.url("");
        worker.ask(&Request::Connect {
            endpoint,
            key,
            file_bytes,
        })?;
        Ok(Self {
            format,
            worker,
            server,
            file_bytes,
        })
    }

    fn ask(&mut self, request: &Request) -> Result<Sample> {
        let before = self.server.n_requests();
        let Answer::Read(spent) = self.worker.ask(request)? else {
            bail!("another answer than asked for");
        };
        let requests = self.server.requests_from(before);
        Ok(Sample {
            spent,
            requests: requests.len(),
            bytes: requests
                .iter()
                .map(|request| bytes_of(request, self.file_bytes))
                .sum(),
        })
    }
}

/// One repetition.
struct Sample {
    spent: Spent,
    requests: usize,
    bytes: u64,
}

/// Bytes of a file of so many that a request asks for.
fn bytes_of(request: &HttpRequest, file_bytes: u64) -> u64 {
    match request.method.as_str() {
        "GET" => request
            .range(file_bytes)
            .map_or(0, |range| range.end - range.start),
        _ => 0,
    }
}

/// A table while it is measured.
struct Measured<'m> {
    table: Table,
    made: &'m Made,
    result: OfTable,
    samples: BTreeMap<(Operation, Format), Vec<Sample>>,
}

impl<'m> Measured<'m> {
    fn new(table: Table, made: &'m Made) -> Self {
        let result = OfTable {
            name: table.name(),
            rows: made.rows,
            columns: made.columns.len(),
            file_bytes: BTreeMap::new(),
            settings: BTreeMap::new(),
            found: Vec::new(),
            failures: Vec::new(),
        };
        Self {
            table,
            made,
            result,
            samples: BTreeMap::new(),
        }
    }

    fn fail(&mut self, format: Format, operation: Option<Operation>, error: &anyhow::Error) {
        let why = format!("{error:#}");
        eprintln!(
            "{}, {}, {operation:?}: {why}",
            self.result.name,
            format.name()
        );
        self.result.failures.push(Failure {
            format,
            operation,
            why,
        });
    }

    fn operations(&self) -> impl Iterator<Item = Operation> + use<> {
        let is_wide = self.table.is_wide();
        Operation::ALL
            .into_iter()
            .filter(move |operation| match operation {
                Operation::Open | Operation::OpenScan => true,
                Operation::OpenTake | Operation::WarmTake => !is_wide,
                Operation::OpenColumns => is_wide,
            })
    }

    /// The rows and columns that an operation reads; nothing for opening. They are others in each repetition, and the
    /// same for all formats.
    fn read(&self, operation: Operation, repetition: usize) -> Option<Read> {
        let mut random = Random::new((repetition as u64) << 8 | operation as u64);
        let mut read = Read {
            warm: operation == Operation::WarmTake,
            rows: None,
            columns: None,
            expected: None,
        };
        match operation {
            Operation::Open => return None,
            Operation::OpenScan => {}
            Operation::OpenTake | Operation::WarmTake => {
                read.rows = Some(random.rows(TAKEN_ROWS, self.made.rows));
            }
            Operation::OpenColumns => {
                read.rows = Some(random.rows(1, self.made.rows));
                let places = random.rows(TAKEN_COLUMNS, self.made.columns.len());
                let names = places
                    .iter()
                    .map(|place| self.made.columns[*place as usize].clone());
                read.columns = Some(names.collect());
            }
        }
        Some(read)
    }

    /// Reads everything once, not timed, and compares all values with the table.
    fn check(&mut self, readers: &mut [Reader]) {
        for reader in readers {
            for operation in self.operations() {
                let checked = self.checked(reader, operation);
                if let Err(error) = checked {
                    self.fail(reader.format, Some(operation), &error);
                }
            }
        }
    }

    fn checked(&self, reader: &mut Reader, operation: Operation) -> Result<()> {
        // As many repetitions as there may be: rows that no other repetition takes.
        let Some(mut read) = self.read(operation, usize::MAX >> 8) else {
            return reader.ask(&Request::Open).map(drop);
        };
        if read.warm {
            reader.ask(&Request::Open)?;
        }
        read.expected = Some(self.made.path.to_string_lossy().into_owned());
        reader.ask(&Request::Read(read)).map(drop)
    }

    /// Measures all operations once, the formats in turns.
    fn repeat(&mut self, readers: &mut [Reader], repetition: usize) {
        let n_readers = readers.len();
        for operation in self.operations() {
            for turn in 0..n_readers {
                let reader = &mut readers[(turn + repetition) % n_readers];
                let format = reader.format;
                let samples = self.samples.entry((operation, format)).or_default();
                let spent: f64 = samples.iter().map(|sample| sample.spent.seconds).sum();
                let mut failures = self.result.failures.iter();
                let failed = failures.any(|failure| {
                    failure.format == format && failure.operation == Some(operation)
                });
                if failed || spent > OPERATION_SECONDS_MAX {
                    continue;
                }
                match self.sample(reader, operation, repetition) {
                    Ok(sample) => self
                        .samples
                        .entry((operation, format))
                        .or_default()
                        .push(sample),
                    Err(error) => self.fail(format, Some(operation), &error),
                }
            }
        }
    }

    fn sample(
        &self,
        reader: &mut Reader,
        operation: Operation,
        repetition: usize,
    ) -> Result<Sample> {
        let Some(read) = self.read(operation, repetition) else {
            return reader.ask(&Request::Open);
        };
        if read.warm {
            reader.ask(&Request::Open)?;
            // Other rows, so that what is known of the file is known, and nothing of these rows.
            let before = Read {
                warm: true,
                ..self
                    .read(Operation::OpenTake, repetition)
                    .context("no rows")?
            };
            reader.ask(&Request::Read(before))?;
        }
        let rows = read.rows.as_ref().map_or(self.made.rows, Vec::len) as u64;
        let began = Instant::now();
        let sample = reader.ask(&Request::Read(read))?;
        let found = sample.spent.rows;
        ensure!(found == rows, "{found} rows were read, not {rows}");
        let outside = began.elapsed().as_secs_f64();
        ensure!(
            sample.spent.seconds <= outside,
            "the worker's clock is wrong"
        );
        Ok(sample)
    }

    fn finish(mut self, formats: &[Format]) -> OfTable {
        for operation in Operation::ALL {
            for format in formats {
                let Some(samples) = self.samples.remove(&(operation, *format)) else {
                    continue;
                };
                let middle = |value: fn(&Sample) -> f64| median(samples.iter().map(value));
                let (Some(seconds), Some(requests), Some(bytes)) = (
                    middle(|sample| sample.spent.seconds),
                    middle(|sample| sample.requests as f64),
                    middle(|sample| sample.bytes as f64),
                ) else {
                    continue;
                };
                let waves = samples.iter().map(|sample| sample.spent.waves);
                let waves: Option<Vec<u64>> = waves.collect();
                self.result.found.push(Found {
                    operation,
                    format: *format,
                    repetitions: samples.len(),
                    seconds,
                    requests,
                    bytes,
                    waves: waves.and_then(|waves| median(waves.into_iter().map(|n| n as f64))),
                });
            }
        }
        self.result
    }
}
