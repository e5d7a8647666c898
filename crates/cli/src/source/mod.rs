//! Files to import, as a stream of Arrow record batches. No source holds a whole table in memory.

mod builders;
mod csv;
mod int96;
mod ipc;
mod json;
mod limits;
mod number;
mod parquet;
mod timestamp;
mod types;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, SchemaRef};
use clap::ValueEnum;
use tarsia::codec::limits::SCHEMA_DEPTH_MAX;

pub use limits::INFERENCE_ROWS;
pub(crate) use timestamp::{parse_date, parse_timestamp};
pub use types::{TYPE_NAMES, Types, parse_type};

use crate::failure::Failure;
use crate::foreign::guarded;

/// The kinds of file that can be imported and exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Apache Parquet
    Parquet,
    /// Arrow IPC: the file format, when reading also the stream format
    Arrow,
    /// Comma-separated values with a header line (RFC 4180)
    Csv,
    /// One JSON object per line
    #[value(name = "jsonl")]
    JsonLines,
}

impl Format {
    /// The format that a file name's extension says, in either case.
    ///
    /// ```
    /// use std::path::Path;
    /// use tarsia_cli::source::Format;
    /// assert_eq!(Format::of(Path::new("a/b.NDJSON")), Some(Format::JsonLines));
    /// assert_eq!(Format::of(Path::new("b.tarsia")), None);
    /// ```
    #[must_use]
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Format::Parquet),
            "arrow" | "feather" => Some(Format::Arrow),
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            _ => None,
        }
    }

    /// As [`Format::of`].
    ///
    /// # Errors
    /// [`Failure::Usage`] with the extensions that are known.
    pub fn of_or_usage(path: &Path) -> Result<Format, Failure> {
        Format::of(path).ok_or_else(|| {
            Failure::Usage(format!(
                "{}: unknown file extension; known are .parquet, .arrow, .feather, .csv, .jsonl and .ndjson",
                path.display()
            ))
        })
    }
}

/// A file being imported.
pub struct Source {
    path: PathBuf,
    schema: SchemaRef,
    batches: Batches,
    bytes: u64,
    position: Position,
}

/// The readers of the four formats. Each yields `None` at its end.
enum Batches {
    Parquet(parquet::Reader),
    Ipc(ipc::Reader<BufReader<Counted>>),
    Csv(csv::Reader<BufReader<Counted>>),
    Json(json::Reader<BufReader<Counted>>),
}

/// How far the reading is.
enum Position {
    /// In rows, of so many.
    Rows { done: u64, total: u64 },
    /// In bytes, of the file's length.
    Bytes(Rc<Cell<u64>>),
}

impl Source {
    /// Opens a file whose name says its format and reads its schema, which for CSV and JSON lines means its first
    /// [`INFERENCE_ROWS`] rows.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown extension; [`Failure::Bad`] when the file is missing or not what its name
    /// says.
    pub fn open(path: &Path) -> Result<Source, Failure> {
        Source::open_as(path, &Types::default())
    }

    /// As [`Source::open`], with types for columns of CSV and JSON lines.
    ///
    /// # Errors
    /// Those of [`Source::open`], and [`Failure::Usage`] for a column that the file does not have or a format whose
    /// files have types.
    pub fn open_as(path: &Path, types: &Types) -> Result<Source, Failure> {
        let format = Format::of_or_usage(path)?;
        if !types.is_empty() && matches!(format, Format::Parquet | Format::Arrow) {
            return Err(Failure::Usage(format!(
                "{}: --types is for CSV and JSON lines; columns of Parquet and Arrow keep their types",
                path.display()
            )));
        }
        let bad = |what: String| Failure::bad(path, what);
        // Before the file is opened, since a pipe would wait for a writer.
        let metadata = path.metadata().map_err(|error| bad(error.to_string()))?;
        if metadata.is_dir() {
            return Err(bad("is a directory".into()));
        }
        if !metadata.is_file() {
            let what = "is a pipe or a device; a file is read more than once, so write it to a regular file first";
            return Err(bad(what.into()));
        }
        let mut file = File::open(path).map_err(|error| bad(error.to_string()))?;
        let bytes = metadata.len();
        let read_bytes = Rc::new(Cell::new(0));
        let mut position = Position::Bytes(Rc::clone(&read_bytes));
        let (schema, batches) = match format {
            Format::Parquet => guarded(|| {
                let reader = parquet::Reader::new(file)?;
                position = Position::Rows {
                    done: 0,
                    total: reader.n_rows(),
                };
                Ok((reader.schema(), Batches::Parquet(reader)))
            }),
            Format::Arrow => guarded(|| {
                let reader = ipc::Reader::new(counted(file, &read_bytes), bytes)?;
                Ok((reader.schema(), Batches::Ipc(reader)))
            }),
            Format::Csv => (|| {
                let columns = csv::infer(&mut counted(&mut file, &read_bytes), types)?;
                file.seek(SeekFrom::Start(0))
                    .map_err(|error| error.to_string())?;
                read_bytes.set(0);
                let reader = csv::Reader::new(counted(file, &read_bytes), columns, types.clone())?;
                Ok((reader.schema(), Batches::Csv(reader)))
            })(),
            Format::JsonLines => (|| {
                let columns = json::infer(&mut counted(&mut file, &read_bytes), types)?;
                file.seek(SeekFrom::Start(0))
                    .map_err(|error| error.to_string())?;
                read_bytes.set(0);
                let reader = json::Reader::new(counted(file, &read_bytes), &columns);
                Ok((reader.schema(), Batches::Json(reader)))
            })(),
        }
        .map_err(bad)?;
        types.check_names(path, &schema)?;
        if let Some(field) = schema.fields().iter().find(|f| depth(f) > SCHEMA_DEPTH_MAX) {
            return Err(bad(format!(
                "column `{}`: {} types inside each other, at most {SCHEMA_DEPTH_MAX} are stored",
                field.name(),
                depth(field)
            )));
        }
        Ok(Source {
            path: path.to_owned(),
            schema,
            batches,
            bytes,
            position,
        })
    }

    /// The schema of every batch, with all metadata.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Length of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much is done of how much, in rows or bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        match &self.position {
            Position::Rows { done, total } => (*done, *total),
            Position::Bytes(read_bytes) => (read_bytes.get(), self.bytes),
        }
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// [`Failure::Bad`] with the file's name and, for CSV and JSON lines, the line and column.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        let next = match &mut self.batches {
            Batches::Parquet(reader) => guarded(|| reader.next_batch()),
            Batches::Ipc(reader) => guarded(|| reader.next_batch()),
            Batches::Csv(reader) => reader.next_batch(),
            Batches::Json(reader) => reader.next_batch(),
        };
        let batch = next.map_err(|what| Failure::bad(&self.path, what))?;
        if let (Position::Rows { done, .. }, Some(batch)) = (&mut self.position, &batch) {
            *done += batch.num_rows() as u64;
        }
        Ok(batch)
    }
}

/// A file that counts what is read of it, for the progress bar.
struct Counted<F = File> {
    file: F,
    read_bytes: Rc<Cell<u64>>,
}

impl<F: Read> Read for Counted<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read_bytes.set(self.read_bytes.get() + n as u64);
        Ok(n)
    }
}

impl<F: Seek> Seek for Counted<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn counted<F: Read>(file: F, read_bytes: &Rc<Cell<u64>>) -> BufReader<Counted<F>> {
    BufReader::with_capacity(
        1 << 18,
        Counted {
            file,
            read_bytes: Rc::clone(read_bytes),
        },
    )
}

/// How many types are inside each other.
fn depth(field: &Field) -> usize {
    let below = match field.data_type() {
        DataType::Struct(fields) => fields.iter().map(|f| depth(f)).max(),
        DataType::Union(fields, _) => fields.iter().map(|(_, f)| depth(f)).max(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => Some(depth(item)),
        _ => None,
    };
    1 + below.unwrap_or(0)
}
