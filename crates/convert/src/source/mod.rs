//! Files of other formats as a stream of Arrow record batches. No source holds a whole table in memory.

mod binary_metadata;
mod builders;
mod categories;
mod csv;
mod foreign;
pub(crate) mod ipc;
mod json;
mod limits;
mod number;
mod options;
mod parquet;
mod part;
mod stated;
mod types;

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, SchemaRef};
use tarsia_codec::limits::SCHEMA_DEPTH_MAX;
use tarsia_io::{LocalFile, ReadAt};

pub use categories::LateMetadata;
pub use limits::INFERENCE_ROWS;
pub use options::Options;
pub use part::Part;
pub use tarsia_arrow::timestamp::{Timestamp, parse_date, parse_timestamp};
pub use types::{TYPE_NAMES, Types, parse_type};

use crate::guarded::guarded;
use crate::{Error, Format, Note};
use categories::Tracker;

/// A file being read: an iterator of its record batches, which all have one schema.
pub struct Source {
    path: PathBuf,
    /// The file as it was before anything was read of it.
    opened: LocalFile,
    schema: SchemaRef,
    batches: Batches,
    bytes: u64,
    position: Position,
    categories: Tracker,
    /// Metadata that were left out.
    stated_notes: Vec<Note>,
    rows_read: u64,
    /// After an error there are no more batches.
    is_over: bool,
}

/// The readers of the four formats. Each yields `None` at its end.
enum Batches {
    Parquet(parquet::ParquetReader),
    Ipc(ipc::IpcReader<Counted>),
    Csv(csv::CsvReader<BufReader<Counted>>),
    Json(json::JsonReader<BufReader<Counted>>),
}

/// How far the reading is.
enum Position {
    /// In rows, of so many.
    Rows(u64),
    /// In bytes, of the file's length.
    Bytes(Rc<Cell<u64>>),
}

impl Source {
    /// Opens a file whose name says its format and reads its schema, which for CSV and JSON lines means its first
    /// rows ([`Options::inference_rows`]).
    ///
    /// # Errors
    /// [`ErrorKind::Request`](crate::ErrorKind::Request) for an unknown extension, a column that the file does not
    /// have, or an option that is not for its format; else the file is missing or not what its name says.
    pub fn open(path: &Path, options: &Options) -> Result<Source, Error> {
        Source::open_as(path, Format::of_file(path)?, options)
    }

    /// Opens a file of this format, whatever its name is.
    ///
    /// # Errors
    /// Those of [`Source::open`].
    pub fn open_as(path: &Path, format: Format, options: &Options) -> Result<Source, Error> {
        open(path, format, options).map_err(|error| error.in_file(path))
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

    /// Rows of the batches so far.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// Rows of the file, where it states them.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        match self.position {
            Position::Rows(rows) => Some(rows),
            Position::Bytes(_) => None,
        }
    }

    /// Lists what the file says and the batches so far do not carry, although they have every value.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = match &self.batches {
            Batches::Parquet(reader) => reader.notes(),
            Batches::Ipc(reader) => reader.notes(),
            Batches::Csv(_) | Batches::Json(_) => Vec::new(),
        };
        notes.extend(self.stated_notes.iter().cloned());
        notes.extend(self.categories.notes());
        notes
    }

    /// Metadata of the schema that are known when all batches were read: the categories of dictionaries, where their
    /// order means something or no row has one of them.
    ///
    /// # Errors
    /// Names the column whose categories have no text.
    pub fn late_metadata(&self) -> Result<Vec<LateMetadata>, Error> {
        let late = self.categories.late_metadata();
        late.map_err(|error| error.in_file(&self.path))
    }

    /// How much is done of how much, in rows or bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        match &self.position {
            Position::Rows(rows) => match &self.batches {
                Batches::Parquet(reader) => (reader.progress(), *rows),
                _ => (self.rows_read, *rows),
            },
            Position::Bytes(read_bytes) => (read_bytes.get(), self.bytes),
        }
    }

    /// The next batch; `None` at the end, and after an error.
    ///
    /// # Errors
    /// With the file's name and, as far as they are known, line, column and row. At the end: that the file was changed
    /// in place since it was opened, so that the batches may be of several states of it.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let next = match &mut self.batches {
            Batches::Parquet(reader) => guarded(|| reader.next_batch()),
            Batches::Ipc(reader) => guarded(|| reader.next_batch()),
            Batches::Csv(reader) => reader.next_batch(),
            Batches::Json(reader) => reader.next_batch(),
        };
        let batch = self.of_one_state(next)?;
        if let Some(batch) = &batch {
            self.rows_read += batch.num_rows() as u64;
            self.categories.see(batch)?;
        }
        batch.map(|batch| self.with_schema(batch)).transpose()
    }

    /// The next rows: of all columns or, where a table is too wide for that, of some. `None` at the end, and after an
    /// error.
    ///
    /// A Parquet file of very many columns is read some columns at a time where its row groups are large, so that each
    /// page is decompressed once; [`Source::next_batch`] decompresses it for each batch that has rows of it. Of one
    /// source, call either this or that.
    ///
    /// # Errors
    /// As [`Source::next_batch`].
    pub fn next_part(&mut self) -> Result<Option<Part>, Error> {
        let Batches::Parquet(reader) = &mut self.batches else {
            return Ok(self.next_batch()?.map(Part::Rows));
        };
        if !reader.read_by_column() {
            return Ok(self.next_batch()?.map(Part::Rows));
        }
        if self.is_over {
            return Ok(None);
        }
        let next = guarded(|| reader.next_columns());
        self.rows_read = reader.progress();
        let part = self.of_one_state(next)?;
        if let Some(Part::Columns { batch, .. }) = &part {
            self.categories.see(batch)?;
        }
        Ok(part)
    }
}

impl Source {
    /// Passes on what was read, unless it is the end or an error, and the file was changed meanwhile: then nothing that
    /// was read is to be trusted, and the error says nothing about the file.
    fn of_one_state<T>(&mut self, next: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
        self.is_over = !matches!(next, Ok(Some(_)));
        let changed = self.is_over.then(|| self.opened.check_unchanged().err());
        let next = match changed.flatten() {
            Some(changed) => Err(Error::new(changed.to_string())),
            None => next,
        };
        next.map_err(|error| error.in_file(&self.path))
    }

    /// The batch with the metadata of the source's schema.
    fn with_schema(&self, batch: RecordBatch) -> Result<RecordBatch, Error> {
        if Arc::ptr_eq(&batch.schema(), &self.schema)
            || batch.schema_ref().metadata() == self.schema.metadata()
        {
            return Ok(batch);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| Error::from(error.to_string()).in_file(&self.path))
    }
}

impl Iterator for Source {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

fn open(path: &Path, format: Format, options: &Options) -> Result<Source, Error> {
    let types = &options.types;
    if !types.is_empty() && matches!(format, Format::Parquet | Format::Arrow) {
        return Err(Error::request(
            "--types is for CSV and JSON lines; columns of Parquet and Arrow keep their types",
        ));
    }
    if !options.header && format != Format::Csv {
        return Err(Error::request("--no-header is for CSV"));
    }
    // Before the file is opened, since a pipe would wait for a writer.
    let metadata = path.metadata().map_err(|error| error.to_string())?;
    if metadata.is_dir() {
        return Err("is a directory".into());
    }
    if !metadata.is_file() {
        let what = "is a pipe or a device; a file is read more than once, so write it to a regular file first";
        return Err(what.into());
    }
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let opened = file.try_clone().and_then(LocalFile::from_file);
    let opened = opened.map_err(|error| error.to_string())?;
    foreign::check(&mut file, format)?;
    let bytes = opened.len();
    let read_bytes = Rc::new(Cell::new(0));
    let mut position = Position::Bytes(Rc::clone(&read_bytes));
    let (schema, batches) = match format {
        Format::Parquet => guarded(|| {
            let reader = parquet::ParquetReader::new(file, bytes)?;
            position = Position::Rows(reader.n_rows());
            Ok((reader.schema(), Batches::Parquet(reader)))
        })?,
        Format::Arrow => guarded(|| {
            let reader = ipc::IpcReader::new(Counted::new(file, &read_bytes), bytes)?;
            Ok((reader.schema(), Batches::Ipc(reader)))
        })?,
        Format::Csv => {
            let columns = csv::infer(&mut counted(&mut file, &read_bytes), options)?;
            rewind(&mut file, &read_bytes)?;
            let reader = csv::CsvReader::new(counted(file, &read_bytes), columns, options.clone())?;
            (reader.schema(), Batches::Csv(reader))
        }
        Format::JsonLines => {
            let columns = json::infer(&mut counted(&mut file, &read_bytes), options)?;
            rewind(&mut file, &read_bytes)?;
            let reader = json::JsonReader::new(counted(file, &read_bytes), &columns, options);
            (reader.schema(), Batches::Json(reader))
        }
    };
    types.check_names(&schema)?;
    if let Some(field) = schema.fields().iter().find(|f| depth(f) > SCHEMA_DEPTH_MAX) {
        let n = depth(field);
        return Err(Error::new(format!(
            "{n} types inside each other, at most {SCHEMA_DEPTH_MAX} are stored"
        ))
        .in_column(field.name()));
    }
    let known = match &batches {
        Batches::Parquet(reader) => guarded(|| reader.categories())?,
        _ => HashMap::new(),
    };
    // Pages of an export have the values in the order of rows, and the metadata the categories. What other programs
    // write has dictionaries that say all, whatever metadata they pass on.
    let is_export = matches!(&batches, Batches::Parquet(reader) if reader.is_of_arrow_rs());
    let stated = stated::take(&schema, is_export.then_some(&known));
    Ok(Source {
        categories: Tracker::new(&stated, &known),
        path: path.to_owned(),
        opened,
        schema: stated.schema,
        stated_notes: stated.notes,
        batches,
        bytes,
        position,
        rows_read: 0,
        is_over: false,
    })
}

/// Goes back to the start, for the second time that a text is read.
fn rewind(file: &mut File, read_bytes: &Cell<u64>) -> Result<(), String> {
    file.rewind().map_err(|error| error.to_string())?;
    read_bytes.set(0);
    Ok(())
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

impl<F> Counted<F> {
    fn new(file: F, read_bytes: &Rc<Cell<u64>>) -> Counted<F> {
        Counted {
            file,
            read_bytes: Rc::clone(read_bytes),
        }
    }
}

fn counted<F: Read>(file: F, read_bytes: &Rc<Cell<u64>>) -> BufReader<Counted<F>> {
    BufReader::with_capacity(1 << 18, Counted::new(file, read_bytes))
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
