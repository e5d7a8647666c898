//! Writing: batches in, pages out, metadata at the end.
//!
//! Each file uses those after it alone:
//!
//! | file | what it does |
//! |---|---|
//! | `mod.rs` | [`Writer`]: checks batches, completes the file |
//! | `metadata.rs` | what lies behind the pages |
//! | `columns.rs` | all columns: which pages are written when |
//! | `by_column.rs`, `field_rows.rs` | rows that come some columns at a time |
//! | `placement.rs` | which columns' pages come first |
//! | `column.rs` | one leaf column: its rows and its pages |
//! | `cut.rs`, `budget.rs` | where pages end |
//! | `chooser.rs` | what chooses a column's trees of encodings |
//! | `shared.rs` | the pages of dictionaries, equal ones once |
//! | `body.rs` | appends pages |
//! | `page.rs` | encodes a page |
//! | `metas.rs` | page descriptions, each once |
//! | `kernels.rs` | which kernels are embedded |
//! | `output.rs` | the sink, and its length |
//! | `rounding.rs` | values rounded before they are encoded |
//! | `options.rs` | what callers may choose |
//!
//! The bytes are a function of the rows and the options: they depend neither on how rows are split into batches nor on
//! threads. Only where rows come some columns at a time, they depend on which came when.

mod body;
mod budget;
mod by_column;
mod captured;
mod chooser;
mod column;
mod columns;
mod cut;
mod field_rows;
mod kernels;
mod memory;
mod metadata;
mod metas;
mod options;
mod output;
mod page;
mod placement;
mod preset;
mod rounding;
mod shared;
mod zones;

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef, SchemaRef};
use tarsia_io::{FileSink, Sink};
use tarsia_metadata::{Header, RESERVED_KEY_PREFIX, is_reserved_key};

use crate::error::{Error, ErrorKind, Result};
use crate::random::random;
use crate::write::body::Body;
use crate::write::columns::{Columns, STEP_ROWS};
use crate::write::metas::{Metas, check_footer};

pub(crate) use captured::CapturedColumn;
pub use captured::CapturedLayout;
pub(crate) use kernels::Needs;
pub use memory::WriterMemory;
pub(crate) use metadata::{LeafPages, MetadataWriter, OfAllPages, Table, digest_of};
pub use options::{
    ColumnOptions, EmbedKernels, LAYOUT_KEY, LAYOUTS, PageChooser, ROUNDED_KEY_PREFIX, WriteOptions,
};
pub(crate) use options::{STRICT_KEY_PREFIX, STRICT_VALUE};
pub(crate) use output::Output;
pub(crate) use placement::{Fields, Placement};
pub use preset::Preset;

/// Counts of a finished file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteSummary {
    /// Rows of the table.
    pub rows: u64,
    /// Top-level fields.
    pub columns: u32,
    /// Pages of all columns, without those of shared buffers such as dictionaries.
    pub pages: u64,
    /// Bytes of the values, offsets and validity that went in.
    pub logical_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The names of the kernels in the file, in the order in which its pages number them.
    pub kernels: Vec<String>,
    /// Bytes of the kernels in the file, which holds them compressed.
    pub kernel_bytes: u64,
}

/// Writes record batches of one schema as a file.
///
/// [`Writer::create`] writes a local file, which appears under its name only when it is complete:
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch, StringArray};
/// use arrow_schema::{DataType, Field, Schema};
///
/// let schema = Arc::new(Schema::new(vec![
///     Field::new("id", DataType::Int64, false),
///     Field::new("name", DataType::Utf8, true),
/// ]));
/// let batch = RecordBatch::try_new(schema.clone(), vec![
///     Arc::new(Int64Array::from(vec![1, 2, 3])),
///     Arc::new(StringArray::from(vec![Some("oak"), None, Some("elm")])),
/// ])?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("woods.tarsia");
/// let mut writer = tarsia::Writer::create(&path, schema, tarsia::WriteOptions::new())?;
/// writer.write(&batch)?;
/// let summary = writer.finish()?;
/// assert_eq!((summary.rows, summary.columns), (3, 2));
/// let file = tarsia::File::open(&path)?;
/// assert_eq!(file.take(&[0, 1, 2]).read()?, batch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Writer::new`] writes to any [`std::io::Write`], for instance into memory:
///
/// ```
/// use arrow_array::{RecordBatch, UInt8Array};
/// use std::sync::Arc;
/// use tarsia::{WriteOptions, Writer};
///
/// let column = Arc::new(UInt8Array::from(vec![3, 1, 4])) as arrow_array::ArrayRef;
/// let batch = RecordBatch::try_from_iter([("digit", column)])?;
/// let options = WriteOptions::new().with_key_value("of", "pi");
/// let mut writer = Writer::new(Vec::new(), batch.schema(), options)?;
/// writer.write(&batch)?;
/// let (bytes, summary) = writer.finish_into()?;
/// assert_eq!(bytes.len() as u64, summary.file_bytes);
///
/// let file = tarsia::File::from_bytes(bytes, Default::default())?;
/// assert_eq!(file.num_rows(), 3);
/// assert_eq!(file.schema()?.metadata()["of"], "pi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Memory
/// A writer holds rows until they fill a page of their column ([`WriteOptions::with_page_bytes`]), for all columns
/// together not much more than [`WriteOptions::with_memory_budget_bytes`]. It copies rows, so that it never holds a
/// batch. Batches of a few rows take longer: some hundred nanoseconds for each column and batch.
pub struct Writer<W: Sink = FileSink> {
    body: Body<W>,
    columns: Columns,
    schema: SchemaRef,
    /// A memory that keeps what it found out.
    memory: Option<WriterMemory>,
    file_id: [u8; 16],
    /// Name of the file in errors.
    name: Option<String>,
    /// A call failed half-way: columns may hold different numbers of rows.
    failed: bool,
}

impl Writer {
    /// A writer of the local file `path`.
    ///
    /// Until [`Writer::finish`] the bytes lie beside it, under a temporary name. `finish` syncs them to the disk and
    /// renames the file over `path`, so whoever opens `path` sees the old file or the whole new one. A writer that is
    /// dropped before removes the temporary file; a crash may leave it behind.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::Unsupported`] for a column type that is not stored, with the column's name;
    /// [`ErrorKind::NoSuchColumn`] for options and an order of columns that the schema does not have;
    /// [`ErrorKind::InvalidInput`] for layouts that a field cannot have, an order that has a column twice, and reserved
    /// keys in the metadata ([`Writer::add_key_value`]).
    pub fn create(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let create = |schema| {
            let schema = with_key_values(schema, &options)?;
            let columns = Columns::new(&schema, &options)?;
            let sink = FileSink::create(path)?;
            Self::start(sink, columns, schema, &options)
        };
        match create(schema) {
            Ok(writer) => Ok(Self {
                name: Some(name),
                ..writer
            }),
            Err(error) => Err(error.in_file(&name)),
        }
    }
}

impl<W: Sink> Writer<W> {
    /// A writer into a sink: any [`std::io::Write`] that can be sent to another thread, or another [`Sink`].
    ///
    /// The bytes are written front to back, with one call for each page and a few at the end; wrap a sink whose calls
    /// are expensive in a [`BufWriter`](std::io::BufWriter). Bytes that the sink held before are not part of the
    /// file.
    ///
    /// A [`std::io::Write`] gets a complete file only with [`Writer::finish`], which flushes it. If the writer is
    /// dropped before, or fails, the sink keeps the bytes written so far, which readers refuse. A [`std::io::Write`]
    /// cannot go back to the header, so the header does not say where the file ends. Readers expect the last bytes of
    /// the file there: append nothing to it.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn new(sink: W, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        let schema = with_key_values(schema, &options)?;
        let columns = Columns::new(&schema, &options)?;
        Self::start(sink, columns, schema, &options)
    }

    fn start(sink: W, columns: Columns, schema: SchemaRef, options: &WriteOptions) -> Result<Self> {
        let file_id = match options.deterministic() {
            true => [0; 16],
            false => random()?,
        };
        let candidates = match options.embed_kernels() {
            EmbedKernels::Embed => Some(kernels::candidates(options.kernels())),
            EmbedKernels::Omit => None,
        };
        // A table that a reader would refuse is refused before a byte of it is written.
        check_footer(options.registry(), candidates.as_deref())?;
        tarsia_metadata::check_schema(&schema)?;
        let mut output = Output::new(sink);
        output.append(&Header::new(file_id).to_bytes()?)?;
        Ok(Self {
            body: Body {
                metas: Metas::new(candidates),
                output,
            },
            columns,
            schema,
            memory: options.memory().cloned(),
            file_id,
            name: None,
            failed: false,
        })
    }

    /// The schema of the file, with all metadata so far. Batches must have fields of the same types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of all columns written so far, whether they are in the sink already or not.
    pub fn rows_written(&self) -> u64 {
        self.columns.rows()
    }

    /// Bytes that went into the sink so far.
    pub fn bytes_written(&self) -> u64 {
        self.body.output.position()
    }

    /// Adds a pair to the metadata of the file's schema, which [`File::schema`](crate::File::schema) gives back. It
    /// replaces a pair with the same key. Use [`WriteOptions::with_key_value`] for
    /// what is known before the first row.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a key that starts with `tarsia.`: those are reserved. Nothing is added then, and
    /// the writer can be used further.
    pub fn add_key_value(
        &mut self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<()> {
        let key = key.into();
        check_key(&key).map_err(|error| in_file(error, self.name.as_deref()))?;
        let schema = Arc::make_mut(&mut self.schema);
        schema.metadata.insert(key, value.into());
        Ok(())
    }

    /// Appends rows. Columns are matched by position; names and metadata of the batch's schema do not matter.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a batch of other types, nulls in a column that allows none, a value of 2 GiB or
    /// more, or where [`Writer::write_columns`] left some columns behind; [`ErrorKind::Io`],
    /// [`ErrorKind::LimitExceeded`]. If some of the batch's rows were taken, all further calls fail.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.write_batch(batch)
            .map_err(|error| in_file(error, self.name.as_deref()))
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        self.check_level()?;
        check_batch(self.schema.fields(), batch)?;
        self.for_stored_arrays(batch, 0, |writer, arrays, rows| {
            let mut start = 0;
            while start < rows {
                writer.failed = true;
                start += writer.columns.push(arrays, start..rows, &mut writer.body)?;
            }
            Ok(())
        })
    }

    /// Appends rows of some columns: those from number `first` of the schema on, as many as `batch` has. The other
    /// columns must get as many rows before the next [`Writer::write`] or [`Writer::finish`].
    ///
    /// It serves tables so wide that the rows of a page do not fit into memory, from sources that have them column by
    /// column, as row groups of Parquet have. Each column ends a page only where it is full or all columns hold more
    /// than [`WriteOptions::with_memory_budget_bytes`], and columns that other calls are about end theirs with their
    /// last row: give all rows of a group for some columns, then for the next ones. Where pages end depends on these
    /// calls.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
    /// # use tarsia::{File, WriteOptions, Writer};
    /// let id = Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    /// let name = Arc::new(StringArray::from(vec!["oak", "elm"])) as ArrayRef;
    /// let ids = RecordBatch::try_from_iter([("id", id.clone())])?;
    /// let names = RecordBatch::try_from_iter([("name", name.clone())])?;
    /// let both = RecordBatch::try_from_iter([("id", id), ("name", name)])?;
    ///
    /// let mut writer = Writer::new(Vec::new(), both.schema(), WriteOptions::new())?;
    /// writer.write_columns(0, &ids)?;
    /// assert_eq!(writer.rows_written(), 0);
    /// writer.write_columns(1, &names)?;
    /// assert_eq!(writer.rows_written(), 2);
    /// let (bytes, _) = writer.finish_into()?;
    /// assert_eq!(File::from_bytes(bytes, Default::default())?.take(&[0, 1]).read()?, both);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Writer::write`]; [`ErrorKind::InvalidInput`] for columns that the schema does not have.
    pub fn write_columns(&mut self, first: usize, batch: &RecordBatch) -> Result<()> {
        self.write_some(first, batch)
            .map_err(|error| in_file(error, self.name.as_deref()))
    }

    fn write_some(&mut self, first: usize, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        let schema = self.schema.clone();
        let fields = schema.fields();
        let of_batch = first.checked_add(batch.num_columns());
        let Some(given) = of_batch.and_then(|end| fields.get(first..end)) else {
            let what = format!(
                "{} columns from number {first} on, for a file of {}",
                batch.num_columns(),
                fields.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, what));
        };
        check_batch(given, batch)?;
        self.for_stored_arrays(batch, first, |writer, arrays, rows| {
            writer.failed = true;
            writer
                .columns
                .push_fields(arrays, first, &mut writer.body)?;
            writer.columns.count_rows(first, arrays.len(), rows);
            Ok(())
        })
    }

    /// Hands out the rows of a batch as they are stored, all at once or some at a time.
    fn for_stored_arrays(
        &mut self,
        batch: &RecordBatch,
        first: usize,
        mut push: impl FnMut(&mut Self, &[ArrayRef], usize) -> Result<()>,
    ) -> Result<()> {
        // Packed rows are copies, so they are made of some rows at a time.
        let step = match self.columns.are_packed() {
            true => STEP_ROWS,
            false => batch.num_rows().max(1),
        };
        for row in (0..batch.num_rows()).step_by(step) {
            // The rows before these are in.
            self.failed = row > 0;
            let rows = step.min(batch.num_rows() - row);
            let arrays = match rows == batch.num_rows() {
                true => self.columns.stored_arrays(batch, first)?,
                false => self.columns.stored_arrays(&batch.slice(row, rows), first)?,
            };
            push(self, &arrays, rows)?;
            self.failed = false;
        }
        Ok(())
    }

    /// Checks that all columns have the same rows.
    fn check_level(&mut self) -> Result<()> {
        let Err(lacking) = self.columns.check_level() else {
            return Ok(());
        };
        let what = format!(
            "it has {} rows, another column {}",
            lacking.rows, lacking.most
        );
        let error = Error::new(ErrorKind::InvalidInput, what);
        let field = self.schema.fields().get(lacking.field);
        Err(match field {
            Some(field) => error.in_column(field.name()),
            None => error,
        })
    }

    /// Checks that no write failed half-way.
    fn check_whole(&self) -> Result<()> {
        match self.failed {
            false => Ok(()),
            true => Err(Error::new(
                ErrorKind::InvalidInput,
                "a write failed before; its rows are there in part",
            )),
        }
    }

    /// Writes what is left and the metadata, and completes the file: a file of [`Writer::create`] is made durable and
    /// gets its name, any other sink is flushed.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], [`ErrorKind::LimitExceeded`]; [`ErrorKind::InvalidInput`] if a write failed before, or
    /// [`Writer::write_columns`] left some columns behind. The file of [`Writer::create`] does not exist then, or is
    /// the one from before. Any other sink holds an incomplete file.
    pub fn finish(self) -> Result<WriteSummary> {
        Ok(self.finish_into()?.1)
    }

    /// As [`Writer::finish`], and gives the sink back: of a `Vec<u8>` the bytes of the file.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_into(mut self) -> Result<(W, WriteSummary)> {
        match self.complete() {
            Ok(summary) => Ok((self.body.output.into_sink(), summary)),
            Err(error) => Err(in_file(error, self.name.as_deref())),
        }
    }

    fn complete(&mut self) -> Result<WriteSummary> {
        self.check_whole()?;
        self.check_level()?;
        self.columns.flush_rest(&mut self.body)?;
        let rounded = self.columns.rounded();
        let metadata = &mut Arc::make_mut(&mut self.schema).metadata;
        metadata.extend(rounded);
        // Those of a file that the rows come from need not be true of this one.
        metadata.retain(|key, value| {
            !(key.starts_with(STRICT_KEY_PREFIX) && value.as_str() == STRICT_VALUE)
        });
        metadata.extend(self.columns.strict());
        let columns = &mut self.columns.writers;
        let pages = columns.iter().map(|column| column.pages.len() as u64).sum();
        let table = Table {
            schema: &self.schema,
            rows: self.columns.rows(),
            file_id: self.file_id,
        };
        let salt = self.columns.root_salt();
        let columns = &mut self.columns.writers;
        let committed = metadata::append(&table, salt, columns, &mut self.body)?;
        if let Some(memory) = self.memory.take() {
            columns
                .iter_mut()
                .for_each(|column| column.keep_in(&memory));
        }
        let header = Header::new(self.file_id).with_first_slot(committed.file_bytes);
        // A sink that cannot go back leaves both slots zero: the postscript at its end counts then.
        self.body.output.commit(&header.to_bytes()?)?;
        let kernels = &committed.kernels;
        Ok(WriteSummary {
            rows: self.columns.rows(),
            columns: self.schema.fields().len() as u32,
            pages,
            logical_bytes: self.columns.logical_bytes(),
            file_bytes: committed.file_bytes,
            kernel_bytes: kernels.iter().map(|it| it.compressed.len() as u64).sum(),
            kernels: kernels.iter().map(|it| it.name.to_string()).collect(),
        })
    }
}

/// The schema with the pairs that options add to its metadata.
fn with_key_values(mut schema: SchemaRef, options: &WriteOptions) -> Result<SchemaRef> {
    let mut added = options.key_values().peekable();
    if added.peek().is_some() {
        let added = added.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Arc::make_mut(&mut schema).metadata.extend(added);
    }
    // The first in order, so that errors do not depend on that of a hash map.
    let reserved = schema.metadata.keys().filter(|key| is_reserved_key(key));
    if let Some(key) = reserved.min() {
        check_key(key)?;
    }
    Ok(schema)
}

/// Checks that callers may use a key in the metadata of a schema.
fn check_key(key: &str) -> Result<()> {
    if !is_reserved_key(key) {
        return Ok(());
    }
    let what =
        format!("the key `{key}`: those that start with `{RESERVED_KEY_PREFIX}` are reserved");
    Err(Error::new(ErrorKind::InvalidInput, what))
}

/// Checks that a batch has columns of these types.
fn check_batch(fields: &[FieldRef], batch: &RecordBatch) -> Result<()> {
    if batch.num_columns() != fields.len() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!(
                "a batch of {} columns for a file of {}",
                batch.num_columns(),
                fields.len()
            ),
        ));
    }
    for (field, array) in fields.iter().zip(batch.columns()) {
        let refused =
            |what: String| Error::new(ErrorKind::InvalidInput, what).in_column(field.name());
        let (given, wanted) = (array.data_type(), field.data_type());
        if given != wanted {
            return Err(refused(format!(
                "the batch holds {given}, the file {wanted}"
            )));
        }
        let may_be_null = field.is_nullable() || given == &DataType::Null;
        if !may_be_null && array.logical_null_count() > 0 {
            return Err(refused("nulls in a column that allows none".to_owned()));
        }
    }
    Ok(())
}

fn in_file(error: Error, name: Option<&str>) -> Error {
    match name {
        Some(name) => error.in_file(name),
        None => error,
    }
}
