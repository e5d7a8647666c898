//! The process of one format: does what the lines on its input ask for, and says how long it took.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::protocol::{Answer, Request, Source, Threads};
use super::{FormatName, generate, touch};
use crate::peers::speed::{Consumer, Format, Opened};

/// What the command line of a worker says.
#[derive(clap::Args)]
pub(crate) struct WorkerArguments {
    format: FormatName,
}

/// Something quick is repeated until this much time is spent, or so often.
const MEASURE_TIME: Duration = Duration::from_millis(30);
const MEASURE_COUNT_MAX: usize = 64;

/// Rows per batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

/// Answers requests until the input ends.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<()> {
    let format: Box<dyn Format> = match arguments.format {
        #[cfg(feature = "tarsia")]
        FormatName::Tarsia => Box::new(crate::peers::tarsia::speed::Tarsia),
        FormatName::Vortex => Box::new(crate::peers::vortex::speed::Vortex::new()),
        FormatName::Parquet => Box::new(crate::peers::parquet::speed::Parquet),
    };
    let mut table = None;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let answer = answer(&*format, &mut table, request)
            .unwrap_or_else(|error| Answer::Failed(format!("{error:#}")));
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

/// A table in memory and in a file.
struct Table {
    file: PathBuf,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    one: Box<dyn Opened>,
    all: Box<dyn Opened>,
}

fn answer(format: &dyn Format, table: &mut Option<Table>, request: Request) -> Result<Answer> {
    if let Request::Prepare { source, file } = request {
        // What is held of the table before goes first.
        *table = None;
        let prepared = prepare(format, &source, file)?;
        let answer = Answer::Prepared {
            rows: prepared.batches.iter().map(RecordBatch::num_rows).sum(),
            columns: prepared
                .schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            arrow_bytes: prepared
                .batches
                .iter()
                .flat_map(RecordBatch::columns)
                .map(|column| column.to_data().get_slice_memory_size().unwrap_or(0))
                .sum(),
            file_bytes: std::fs::metadata(&prepared.file)?.len(),
        };
        *table = Some(prepared);
        return Ok(answer);
    }
    let table = table.as_ref().context("no table is prepared")?;
    let consume = |batch: RecordBatch| {
        black_box(touch::batch(&batch));
    };
    let seconds = match request {
        Request::Prepare { .. } => bail!("answered above"),
        Request::Write { threads } => {
            // Beside the file that is open.
            let file = table.file.with_extension("again");
            let begin = Instant::now();
            format.write(&file, &table.batches, threads)?;
            let seconds = begin.elapsed().as_secs_f64();
            std::fs::remove_file(&file)?;
            seconds
        }
        Request::Open { column } => repeated(|| {
            let opened = format.open(&table.file, &table.schema, Threads::All)?;
            black_box(opened.data_type(&column)?);
            Ok(())
        })?,
        Request::Scan { threads, columns } => {
            let opened = match threads {
                Threads::One => &table.one,
                Threads::All => &table.all,
            };
            repeated(|| opened.scan(columns.as_deref(), &consume))?
        }
        Request::Take { lists } => {
            let mut seconds = Vec::new();
            for rows in &lists {
                let begin = Instant::now();
                table.one.take(rows, &consume)?;
                seconds.push(begin.elapsed().as_secs_f64());
            }
            // The first warms up.
            median(&mut seconds[1..]).context("no rows")?
        }
        Request::OpenAndScan { columns } => repeated(|| {
            let opened = format.open(&table.file, &table.schema, Threads::One)?;
            opened.scan(Some(&columns), &consume)
        })?,
    };
    Ok(Answer::Seconds(seconds))
}

/// The median time of `work`, after a first time that does not count.
fn repeated(work: impl Fn() -> Result<()>) -> Result<f64> {
    work()?;
    let mut seconds = Vec::new();
    let begin = Instant::now();
    while seconds.is_empty()
        || (begin.elapsed() < MEASURE_TIME && seconds.len() < MEASURE_COUNT_MAX)
    {
        let begin = Instant::now();
        work()?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    median(&mut seconds).context("measured nothing")
}

fn median(seconds: &mut [f64]) -> Option<f64> {
    crate::report::median(seconds.iter().copied())
}

fn prepare(format: &dyn Format, source: &Source, file: PathBuf) -> Result<Table> {
    let batches = read(source)?;
    let schema = batches.first().context("no rows")?.schema();
    format
        .write(&file, &batches, Threads::All)
        .context("writing")?;
    let open = |threads| format.open(&file, &schema, threads).context("opening");
    let table = Table {
        one: open(Threads::One)?,
        all: open(Threads::All)?,
        file,
        schema,
        batches,
    };
    check(&table)?;
    Ok(table)
}

fn read(source: &Source) -> Result<Vec<RecordBatch>> {
    match source {
        Source::Parquet(path) => read_parquet(path),
        Source::Mixed => generate::mixed(),
        Source::Wide(n_columns) => generate::wide(*n_columns),
    }
}

fn read_parquet(path: &Path) -> Result<Vec<RecordBatch>> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path)?)?;
    Ok(builder
        .with_batch_size(BATCH_ROWS)
        .build()?
        .collect::<Result<Vec<_>, _>>()?)
}

/// That the file gives back what was written, by every way that is timed. A fast wrong answer is no result.
fn check(table: &Table) -> Result<()> {
    let expected = concat_batches(&table.schema, &table.batches)?;
    let collect = |work: &dyn Fn(Consumer<'_>) -> Result<()>| -> Result<_> {
        let batches = Mutex::new(Vec::new());
        work(&|batch| {
            if let Ok(mut batches) = batches.lock() {
                batches.push(batch);
            }
        })?;
        batches.into_inner().ok().context("a consumer panicked")
    };
    let same = |expected: &RecordBatch, found: &[RecordBatch], what: &str| -> Result<()> {
        let first = found.first().with_context(|| format!("{what}: no batch"))?;
        let found = concat_batches(&first.schema(), found)?;
        ensure!(
            expected.num_columns() == found.num_columns(),
            "{what}: {} columns",
            found.num_columns()
        );
        for (i, (expected, found)) in expected.columns().iter().zip(found.columns()).enumerate() {
            ensure!(
                expected.data_type() == found.data_type(),
                "{what}: column {i} is {}, not {}",
                found.data_type(),
                expected.data_type()
            );
            // Arrow compares floats by their bytes, so NaN payloads and −0.0 count too.
            ensure!(
                expected.to_data() == found.to_data(),
                "{what}: column {i} has other values than those written"
            );
        }
        Ok(())
    };
    let scanned = collect(&|consumer| table.one.scan(None, consumer))?;
    same(&expected, &scanned, "scan")?;
    drop(scanned);
    // Columns may come one by one, so only their types and rows are looked at.
    let scanned = collect(&|consumer| table.all.scan(None, consumer))?;
    let values: usize = scanned
        .iter()
        .map(|batch| batch.num_rows() * batch.num_columns())
        .sum();
    ensure!(
        values == expected.num_rows() * expected.num_columns(),
        "scan on all threads: {values} values"
    );
    for batch in &scanned {
        for field in batch.schema().fields() {
            let written = table.schema.field_with_name(field.name())?;
            ensure!(
                written.data_type() == field.data_type(),
                "scan on all threads: {} is {}",
                field.name(),
                field.data_type()
            );
        }
    }
    drop(scanned);
    let mut random = super::random::Random::new(2);
    let rows = random.rows(64, expected.num_rows());
    let taken = collect(&|consumer| table.one.take(&rows, consumer))?;
    let expected = take_record_batch(&expected, &UInt64Array::from(rows))?;
    same(&expected, &taken, "take")
}
