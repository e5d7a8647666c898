//! The process of one format: does what the lines on its input ask for, and says how long it took.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use super::protocol::{Answer, Goal, Request, Threads};
use super::{FormatName, arrow_bytes, check, ipc, memory, touch, views};
use crate::peers::speed::{Format, Opened};

/// Options of the command line of a worker.
#[derive(clap::Args)]
pub(crate) struct WorkerArguments {
    format: FormatName,
    /// Tarsia's preset.
    #[arg(long)]
    preset: Option<String>,
}

/// Something quick is repeated until this much time is spent, or so often.
const MEASURE_TIME: Duration = Duration::from_millis(30);
const MEASURE_COUNT_MAX: usize = 64;

/// Time above which nothing is warmed up.
const WARM_UP_MAX: Duration = Duration::from_secs(5);

/// Lists of rows are left out after this time, but for the first few.
const TAKE_TIME_MAX: Duration = Duration::from_secs(2);
const TAKE_LISTS_MIN: usize = 3;

/// Answers requests until the input ends.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<()> {
    memory::limit_this_process();
    let format: Box<dyn Format> = match arguments.format {
        #[cfg(feature = "tarsia")]
        FormatName::Tarsia => {
            let preset = arguments.preset.as_deref().map(str::parse).transpose()?;
            let preset = preset.unwrap_or_default();
            Box::new(crate::peers::tarsia::speed::Tarsia::with_preset(preset))
        }
        FormatName::Vortex => Box::new(crate::peers::vortex::speed::Vortex::new()),
        FormatName::Parquet => Box::new(crate::peers::parquet::speed::Parquet::new()),
        FormatName::Lance => bail!("Lance's worker is lance/worker.py"),
    };
    let mut worker = Worker {
        format,
        table: None,
        file: None,
    };
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        // A panic costs the request, and the next ones say whether the format can go on.
        let answer = crate::peers::without_panic(|| worker.answer(request))
            .unwrap_or_else(|error| Answer::Failed(without_backtrace(&format!("{error:#}"))));
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

struct Worker {
    format: Box<dyn Format>,
    table: Option<Table>,
    file: Option<OpenFile>,
}

/// A table in memory.
struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// A table in a file.
struct OpenFile {
    path: PathBuf,
    one: Box<dyn Opened>,
    all: Box<dyn Opened>,
    /// The open files with strings as views, where there are byte strings.
    views: Option<[Box<dyn Opened>; 2]>,
}

impl Worker {
    fn answer(&mut self, request: Request) -> Result<Answer> {
        match request {
            Request::Load { table } => {
                let (schema, batches) = ipc::read(&table)?;
                // The first to read a page of the mapping waits for it, which is not to be the writer.
                for batch in &batches {
                    black_box(touch::batch(batch));
                }
                let answer = Answer::Loaded {
                    rows: batches.iter().map(RecordBatch::num_rows).sum(),
                    columns: names(&schema, |_| true),
                    fixed_width: names(&schema, is_fixed_width),
                    binary: views::has_binary(&schema),
                    arrow_bytes: arrow_bytes::of(&batches),
                };
                self.table = Some(Table { schema, batches });
                return Ok(answer);
            }
            Request::Store {
                file,
                threads,
                goal,
            } => {
                let table = self.table.as_ref().context("no table is loaded")?;
                let settings = self.format.tune(&file, &table.batches, goal);
                let settings = settings.context("tuning")?;
                let begin = Instant::now();
                self.format.write(&file, &table.batches, threads)?;
                let seconds = begin.elapsed().as_secs_f64();
                return Ok(Answer::Stored {
                    seconds,
                    file_bytes: std::fs::metadata(&file)?.len(),
                    kernel_bytes: match goal {
                        Goal::Scans => 0,
                        _ => self.format.kernel_bytes(&file, &table.batches)?,
                    },
                    settings,
                });
            }
            Request::Check { file, goal } => {
                let table = self.table.as_ref().context("no table is loaded")?;
                let open = |threads| {
                    let opened = self.format.open(&file, &table.schema, threads);
                    opened.context("opening")
                };
                let opened = OpenFile {
                    one: open(Threads::One)?,
                    all: open(Threads::All)?,
                    path: file.clone(),
                    views: None,
                };
                let (one, all) = (&*opened.one, &*opened.all);
                check::same(&table.schema, &table.batches, one, all, goal)?;
                let views = match goal != Goal::Scans && views::has_binary(&table.schema) {
                    false => None,
                    true => {
                        let schema = views::schema(&table.schema);
                        let open = |threads| self.format.open_views(&file, &schema, threads);
                        let views = [open(Threads::One)?, open(Threads::All)?];
                        check::same_views(&schema, &table.batches, &*views[0])?;
                        Some(views)
                    }
                };
                self.file = Some(OpenFile { views, ..opened });
                return Ok(Answer::Checked { settings: None });
            }
            Request::PeakOfWrite { file, settings } => {
                if let Some(settings) = settings {
                    self.format.set(&settings)?;
                }
                let table = self.table.as_ref().context("no table is loaded")?;
                let peak = memory::peak(|| self.format.write(&file, &table.batches, Threads::All))?;
                std::fs::remove_file(&file)?;
                return Ok(Answer::Bytes(peak));
            }
            Request::PeakOfScan {
                table,
                file,
                settings,
            } => {
                if let Some(settings) = settings {
                    self.format.set(&settings)?;
                }
                let schema = ipc::read(&table)?.0;
                let peak = memory::peak(|| {
                    let opened = self.format.open(&file, &schema, Threads::All)?;
                    opened.scan(None, &consume)
                })?;
                return Ok(Answer::Bytes(peak));
            }
            Request::Overhead { .. } => bail!("a call costs nothing here"),
            Request::Write { .. }
            | Request::Open { .. }
            | Request::Scan { .. }
            | Request::ScanAsViews { .. }
            | Request::Take { .. }
            | Request::OpenAndScan { .. }
            | Request::OpenAndTake { .. } => {}
        }
        self.seconds(&request).map(Answer::Seconds)
    }

    fn seconds(&self, request: &Request) -> Result<f64> {
        let format = &*self.format;
        let table = self.table.as_ref().context("no table is loaded")?;
        let file = self.file.as_ref().context("no file is open")?;
        match request {
            Request::Write { threads } => {
                // Beside the file that is open.
                let path = file.path.with_extension("again");
                let begin = Instant::now();
                format.write(&path, &table.batches, *threads)?;
                let seconds = begin.elapsed().as_secs_f64();
                std::fs::remove_file(&path)?;
                Ok(seconds)
            }
            Request::Open { column } => repeated(|| {
                let opened = format.open(&file.path, &table.schema, Threads::All)?;
                black_box(opened.data_type(column)?);
                Ok(())
            }),
            Request::Scan { threads, columns } => {
                let opened = match threads {
                    Threads::One => &file.one,
                    Threads::All => &file.all,
                };
                repeated(|| opened.scan(columns.as_deref(), &consume))
            }
            Request::ScanAsViews { threads } => {
                let [one, all] = file.views.as_ref().context("no byte strings")?;
                let opened = match threads {
                    Threads::One => one,
                    Threads::All => all,
                };
                repeated(|| opened.scan(None, &consume))
            }
            Request::Take { lists, columns } => {
                let mut seconds = Vec::new();
                let whole = Instant::now();
                for rows in lists {
                    if seconds.len() >= TAKE_LISTS_MIN && whole.elapsed() > TAKE_TIME_MAX {
                        break;
                    }
                    let begin = Instant::now();
                    file.one.take(rows, columns.as_deref(), &consume)?;
                    seconds.push(begin.elapsed().as_secs_f64());
                }
                // The first warms up.
                median(seconds.get(1..).unwrap_or_default()).context("no rows")
            }
            Request::OpenAndScan { columns } => repeated(|| {
                let opened = format.open(&file.path, &table.schema, Threads::One)?;
                opened.scan(Some(columns), &consume)
            }),
            Request::OpenAndTake { file, rows } => {
                let begin = Instant::now();
                let opened = format.open(file, &table.schema, Threads::One)?;
                opened.take(rows, None, &consume)?;
                Ok(begin.elapsed().as_secs_f64())
            }
            Request::Load { .. }
            | Request::Store { .. }
            | Request::Check { .. }
            | Request::PeakOfWrite { .. }
            | Request::PeakOfScan { .. }
            | Request::Overhead { .. } => bail!("answered elsewhere"),
        }
    }
}

/// Where in a library an error was made is no reason that a reader of a report asks for.
fn without_backtrace(why: &str) -> String {
    let why = why.split("Backtrace:").next().unwrap_or_default();
    why.trim_end().to_owned()
}

fn consume(batch: RecordBatch) {
    black_box(touch::batch(&batch));
}

fn names(schema: &SchemaRef, which: fn(&DataType) -> bool) -> Vec<String> {
    let fields = schema.fields().iter().filter(|f| which(f.data_type()));
    fields.map(|field| field.name().clone()).collect()
}

/// Whether a row's place in the values follows from its number. `lance/worker.py` need not know: names are sent to it.
fn is_fixed_width(data_type: &DataType) -> bool {
    data_type == &DataType::Boolean
        || matches!(data_type, DataType::FixedSizeBinary(_))
        || data_type.primitive_width().is_some()
}

/// The median time of `work`, after a first time that does not count, unless it is long.
fn repeated(work: impl Fn() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    work()?;
    if begin.elapsed() > WARM_UP_MAX {
        return Ok(begin.elapsed().as_secs_f64());
    }
    let mut seconds = Vec::new();
    let begin = Instant::now();
    while seconds.is_empty()
        || (begin.elapsed() < MEASURE_TIME && seconds.len() < MEASURE_COUNT_MAX)
    {
        let begin = Instant::now();
        work()?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    median(&seconds).context("measured nothing")
}

fn median(seconds: &[f64]) -> Option<f64> {
    crate::report::median(seconds.iter().copied())
}
