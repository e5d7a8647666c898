//! Writing: batches in, pages out, metadata at the end.

mod kernels;
mod options;

pub use options::{ColumnOptions, EmbedKernels, LAYOUT_KEY, PageChooser, Preset, WriteOptions};

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use rayon::prelude::*;
use tarsia_cascade::Chooser;
use tarsia_codec::{LogicalType, Registry, Statistics, Tree};
use tarsia_compliance as compliance;
use tarsia_io::{FileSink, Sink};
use tarsia_kernels::Kernel;
use tarsia_metadata as metadata;
use tarsia_metadata::{ColumnMeta, PageDescriptor};
use tarsia_structure::arrow::{LeafBuffer, Packing, leaf_paths};
use tarsia_structure::{
    BlockRows, Choice, Choose, EncodeContext, EncodedPage, PageInput, SHARED_DEPTH_MAX, encode_page,
};

use crate::column::Stored;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Threads;
use crate::write::kernels::Needs;

/// Pages hold multiples of this many rows where they are long enough, so that blocks of different columns align.
const PAGE_ROWS_MULTIPLE: usize = 1024;

/// Rows taken from an input batch at a time: bounds what is held beyond the budget. Where the input is cut decides nothing else.
const STEP_ROWS: usize = 65_536;

/// At least this many bytes of a column are taken at a time, however small its pages are.
const STEP_BYTES_MIN: u64 = 1 << 20;

/// More cannot be asked for as [`WriteOptions::page_bytes`].
const PAGE_BYTES_MAX: u64 = 1 << 30;

/// A page's strings stay below this unless it is one row, so that offsets and lengths fit 32 bits.
const PAGE_DATA_BYTES_MAX: usize = i32::MAX as usize;

/// A page has at most so many rows, which are counted in 32 bits.
const PAGE_ROWS_MAX: usize = 1 << 30;

/// Whether the budget is exceeded is asked at multiples of so many rows of the table, or fewer in wide tables.
const BUDGET_ROWS_MAX: u64 = 1024;
const BUDGET_ROWS_MIN: u64 = 64;

/// Encoded pages of a group wait in memory to be appended in order.
const FLUSH_PAGES_MAX: usize = 64;

/// Pages below this size are packed at multiples of 8, others start at multiples of 64.
const PAGE_ALIGN_FROM_BYTES: usize = 4096;
const PAGE_ALIGN: u64 = 64;

/// What a finished file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteSummary {
    /// Rows of the table.
    pub rows: u64,
    /// Top-level fields.
    pub columns: u32,
    /// Pages of all columns, shared pages not counted.
    pub pages: u64,
    /// Bytes of the values, offsets and validity that went in.
    pub logical_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The kernels in the file by name, in the order in which its pages number them.
    pub kernels: Vec<String>,
    /// Bytes that they take, compressed.
    pub kernel_bytes: u64,
}

/// Writes a table into a file that appears only when it is complete.
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
/// let mut writer = tarsia::Writer::create(&path, schema, tarsia::WriteOptions::default())?;
/// writer.write(&batch)?;
/// let summary = writer.finish()?;
/// assert_eq!((summary.rows, summary.columns), (3, 2));
/// let file = tarsia::File::open(&path)?;
/// assert_eq!(file.take(&[0, 1, 2])?, batch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    sink: Box<dyn Sink>,
    /// Bytes appended so far.
    position: u64,
    schema: SchemaRef,
    options: WriteOptions,
    name: Option<String>,
    columns: Vec<ColumnWriter>,
    metas: Metas,
    /// Those that may be embedded; `None` where none are to be.
    kernels: Option<Vec<Arc<Kernel>>>,
    file_id: [u8; 16],
    rows: u64,
    logical_bytes: u64,
    /// A call failed half-way: columns may hold different numbers of rows.
    failed: bool,
}

struct ColumnWriter {
    /// The top-level field it is a part of, and its number.
    field: FieldRef,
    index: usize,
    leaf: u32,
    buffer: LeafBuffer,
    /// The row of the table that the buffer's first is.
    next_row: u64,
    pages: Vec<WrittenPage>,
    shared_pages: Vec<WrittenPage>,
    shared_lists: Vec<u16>,
    /// Numbers of shared pages by what they hold, so that pages with the same buffers share them.
    shared_numbers: HashMap<SharedContent, u16>,
    chooser: ColumnChooser,
    /// Of packed structs.
    packing: Option<Packing>,
}

/// What a shared page holds: digest of its blocks, META, rows, and its own list.
type SharedContent = ([u8; 32], u16, u64, Option<u16>);

/// What chooses a column's trees.
enum ColumnChooser {
    Search(Chooser),
    Custom(PageChooser, u32),
}

impl Choose for ColumnChooser {
    fn choose(&self, values: &Statistics<'_>) -> tarsia_codec::Result<Choice> {
        match self {
            Self::Search(chooser) => chooser.choose(values),
            Self::Custom(chooser, _) => chooser.0.choose(values),
        }
    }

    fn full_zip_bytes_min(&self) -> u32 {
        match self {
            Self::Search(chooser) => chooser.full_zip_bytes_min(),
            Self::Custom(_, full_zip_bytes_min) => *full_zip_bytes_min,
        }
    }
}

/// A page that is in the sink already; its side data waits for the metadata region.
struct WrittenPage {
    descriptor: PageDescriptor,
    side: Vec<u8>,
}

/// META blobs by their index in the footer.
#[derive(Default)]
struct Metas {
    blobs: Vec<Vec<u8>>,
    /// What decoding the pages of each takes.
    needs: Vec<Needs>,
    index: HashMap<Vec<u8>, u16>,
    /// Those of all blobs.
    trees: Vec<Tree>,
}

impl Metas {
    /// The index of a description; one that is new has to be decoded by one of `kernels`.
    fn index_of(
        &mut self,
        meta: &tarsia_structure::Meta,
        kernels: Option<&[Arc<Kernel>]>,
    ) -> Result<u16> {
        let mut blob = Vec::new();
        meta.write_to(&mut blob)?;
        if let Some(index) = self.index.get(&blob) {
            return Ok(*index);
        }
        let index = u16::try_from(self.blobs.len()).map_err(|_| {
            Error::new(
                ErrorKind::LimitExceeded,
                "more than 65,536 different page descriptions in a file",
            )
        })?;
        let needs = Needs::of(meta);
        if let Some(kernels) = kernels {
            kernels::check(kernels, &needs)?;
        }
        self.trees.extend(meta.all_trees().cloned());
        self.blobs.push(blob.clone());
        self.needs.push(needs);
        self.index.insert(blob, index);
        Ok(index)
    }
}

/// Rows of a column that become a page.
struct Cut {
    /// Rows of the table that had to come in before the page could end: pages are appended in this order, then by column, so that
    /// their places in the file do not depend on batches either.
    known_at: u64,
    column: usize,
    /// Its number among the pages of the column, if it will be stored.
    page: usize,
    /// Rows of the column's buffer.
    rows: Range<usize>,
}

/// A page encoded by some thread, waiting to be appended.
struct EncodedFlush {
    page: Finished,
    shared: Vec<EncodedShared>,
}

/// The page of a shared buffer. Its number, which its digest needs, is known when it is appended.
struct EncodedShared {
    page: EncodedPage,
    /// What it is decoded with.
    shared: Vec<EncodedShared>,
}

struct Finished {
    page: EncodedPage,
    /// Block table and digests; empty for one block.
    side: Vec<u8>,
    digest: [u8; 32],
}

impl Writer {
    /// A writer of the file `path`. Until [`Writer::finish`] the bytes lie beside it under a temporary name.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::Unsupported`] for a column type that is not stored, by name.
    pub fn create(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let columns = column_writers(&schema, &options).map_err(|error| error.in_file(&name))?;
        let sink = FileSink::create(path).map_err(|error| Error::from(error).in_file(&name))?;
        Self::start(Box::new(sink), columns, schema, options, Some(name))
    }

    /// A writer into any sink.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn new(sink: Box<dyn Sink>, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        let columns = column_writers(&schema, &options)?;
        Self::start(sink, columns, schema, options, None)
    }

    fn start(
        sink: Box<dyn Sink>,
        columns: Vec<ColumnWriter>,
        schema: SchemaRef,
        options: WriteOptions,
        name: Option<String>,
    ) -> Result<Self> {
        let file_id = match options.deterministic {
            true => [0; 16],
            false => random_id()?,
        };
        let kernels = match options.kernels {
            EmbedKernels::Embed => Some(kernels::candidates(&options.kernels_to_embed)),
            EmbedKernels::Omit => None,
        };
        let mut writer = Self {
            kernels,
            sink,
            position: 0,
            schema,
            options,
            name,
            columns,
            metas: Metas::default(),
            file_id,
            rows: 0,
            logical_bytes: 0,
            failed: false,
        };
        let header = metadata::Header::new(file_id).to_bytes()?;
        writer.append(&header)?;
        Ok(writer)
    }

    /// The schema every batch must have.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends rows. Columns are matched by position; names and metadata are the writer's own.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a batch of other types, nulls in a column that allows none, or a value of 2 GiB or more;
    /// [`ErrorKind::Io`].
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.write_batch(batch).map_err(|error| self.place(error))
    }

    /// That no write failed half-way.
    fn check_whole(&self) -> Result<()> {
        match self.failed {
            false => Ok(()),
            true => Err(Error::new(
                ErrorKind::InvalidInput,
                "a write failed before; its rows are there in part",
            )),
        }
    }

    fn place(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => error.in_file(name),
            None => error,
        }
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        let fields = self.schema.fields();
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
            let name = field.name();
            if array.data_type() != field.data_type() {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!(
                        "the batch holds {}, the file {}",
                        array.data_type(),
                        field.data_type()
                    ),
                )
                .in_column(name));
            }
            let may_be_null =
                field.is_nullable() || array.data_type() == &arrow_schema::DataType::Null;
            if !may_be_null && array.logical_null_count() > 0 {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    "nulls in a column that allows none",
                )
                .in_column(name));
            }
        }
        // Packed rows are copies, so they are made of some rows at a time.
        let is_packed = self.columns.iter().any(|column| column.packing.is_some());
        let step = match is_packed {
            true => STEP_ROWS,
            false => batch.num_rows().max(1),
        };
        for first in (0..batch.num_rows()).step_by(step) {
            // The rows before these are in.
            self.failed = first > 0;
            let rows = step.min(batch.num_rows() - first);
            let arrays = self.stored_arrays(&batch.slice(first, rows))?;
            let mut start = 0;
            while start < rows {
                self.failed = true;
                start += self.write_step(&arrays, start..rows)?;
            }
            self.failed = false;
        }
        Ok(())
    }

    /// The arrays of a batch, packed where they are stored so.
    fn stored_arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let mut arrays = batch.columns().to_vec();
        for column in &self.columns {
            if let Some(packing) = &column.packing {
                let array = packing.pack(batch.column(column.index));
                arrays[column.index] =
                    array.map_err(|error| Error::from(error).in_column(column.field.name()))?;
            }
        }
        Ok(arrays)
    }

    /// Takes rows from the first of `of` on into the buffers, encodes what is full, and returns how many rows it took. How many
    /// that are leaves no trace in the file.
    fn write_step(&mut self, arrays: &[ArrayRef], of: Range<usize>) -> Result<usize> {
        let start = of.start;
        let page_bytes = self.page_bytes();
        let bytes_max = page_bytes.max(STEP_BYTES_MIN) as usize;
        let mut rows = STEP_ROWS.min(of.len());
        let mut held_bytes = 0;
        for column in &self.columns {
            let array = &arrays[column.index];
            let fit = column
                .buffer
                .fit(
                    array.as_ref(),
                    start..start + rows,
                    bytes_max,
                    PAGE_DATA_BYTES_MAX,
                )
                .map_err(|error| Error::from(error).in_column(column.field.name()))?;
            rows = fit.rows;
            held_bytes += column.buffer.logical_bytes() + fit.bytes as u64;
        }
        // Pages that end meanwhile make what is held less, so the budget cannot be exceeded at any row in between unless it may be
        // at the end.
        let budget = self.options.memory_budget_bytes;
        let budget_rows = self.budget_rows();
        if held_bytes > budget {
            rows = rows.min((budget_rows - self.rows % budget_rows) as usize);
        }
        for column in &mut self.columns {
            let array = &arrays[column.index];
            let before = column.buffer.logical_bytes();
            column
                .buffer
                .push(array.slice(start, rows).as_ref())
                .map_err(|error| Error::from(error).in_column(column.field.name()))?;
            self.logical_bytes += column.buffer.logical_bytes() - before;
        }
        self.rows += rows as u64;
        self.flush_full(page_bytes)?;
        if held_bytes > budget && self.rows.is_multiple_of(budget_rows) {
            self.flush_largest()?;
        }
        Ok(rows)
    }

    fn page_bytes(&self) -> u64 {
        self.options.page_bytes.clamp(1, PAGE_BYTES_MAX)
    }

    /// Rows between two looks at the budget: a function of the schema and the options, and a power of two.
    fn budget_rows(&self) -> u64 {
        let row_bytes = 16 * self.columns.len().max(1) as u64;
        let rows = (self.options.memory_budget_bytes / 8 / row_bytes).max(1);
        (1 << rows.ilog2()).clamp(BUDGET_ROWS_MIN, BUDGET_ROWS_MAX)
    }

    /// Encodes all pages that are full.
    fn flush_full(&mut self, page_bytes: u64) -> Result<()> {
        let mut cuts = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            column.push_full_pages(index, page_bytes, &mut cuts);
        }
        cuts.sort_by_key(|cut| (cut.known_at, cut.column, cut.rows.start));
        self.flush(cuts)
    }

    /// Encodes the columns that hold most until half the budget is free.
    fn flush_largest(&mut self) -> Result<()> {
        let mut by_size: Vec<(u64, usize)> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column.buffer.logical_bytes(), index))
            .collect();
        let mut held: u64 = by_size.iter().map(|(bytes, _)| bytes).sum();
        if held <= self.options.memory_budget_bytes {
            return Ok(());
        }
        by_size.sort_by_key(|(bytes, index)| (std::cmp::Reverse(*bytes), *index));
        let mut cuts = Vec::new();
        for (bytes, index) in by_size {
            // Half at once, so that the next flush is not one column later.
            if held <= self.options.memory_budget_bytes / 2 {
                break;
            }
            held -= bytes;
            let rows = whole_rows(self.columns[index].buffer.rows());
            cuts.push(self.columns[index].cut(index, 0..rows));
        }
        self.flush(cuts)
    }

    /// Encodes pages in parallel and appends them in the order given. Those of a column follow each other, from its first row on.
    fn flush(&mut self, cuts: Vec<Cut>) -> Result<()> {
        // Few at a time, so that encoded pages do not pile up for wide tables.
        for cuts in cuts.chunks(FLUSH_PAGES_MAX) {
            let registry = &self.options.registry;
            let encode = |cut: &Cut| {
                let column = &self.columns[cut.column];
                column
                    .encode(cut, registry)
                    .map_err(|error| error.in_column(column.field.name()))
            };
            let encoded: Vec<Result<Option<EncodedFlush>>> = match self.options.threads {
                Threads::All if cuts.len() > 1 => cuts.par_iter().map(encode).collect(),
                _ => cuts.iter().map(encode).collect(),
            };
            for (cut, encoded) in cuts.iter().zip(encoded) {
                self.append_page(cut, encoded?)?;
            }
        }
        if cuts.is_empty() {
            return Ok(());
        }
        // The rows of a column's pages lie one after the other, so the last page's end is where all of them end.
        let mut ends = vec![0; self.columns.len()];
        for cut in &cuts {
            ends[cut.column] = cut.rows.end;
        }
        for (column, end) in self.columns.iter_mut().zip(ends) {
            if end > 0 {
                column.buffer.drain(end)?;
                column.next_row += end as u64;
            }
        }
        Ok(())
    }

    fn append_page(&mut self, cut: &Cut, encoded: Option<EncodedFlush>) -> Result<()> {
        let Some(encoded) = encoded else {
            return Ok(());
        };
        let column = &self.columns[cut.column];
        let first_row = column.next_row + cut.rows.start as u64;
        let shared = self.append_shared(cut.column, encoded.shared)?;
        let written = self.append_finished(encoded.page, first_row, shared)?;
        self.columns[cut.column].pages.push(written);
        Ok(())
    }

    /// Appends the pages of shared buffers, each unless the column has one like it, and returns where their list
    /// starts.
    fn append_shared(&mut self, column: usize, shared: Vec<EncodedShared>) -> Result<Option<u16>> {
        let mut numbers = Vec::with_capacity(shared.len());
        for EncodedShared { page, shared } in shared {
            let list = self.append_shared(column, shared)?;
            let meta = self.metas.index_of(&page.meta, self.kernels.as_deref())?;
            // Any digest of the blocks alone; the page's own depends on its number.
            let digest = compliance::section_digest(0, &page.bytes);
            let content = (digest, meta, page.rows, list);
            if let Some(known) = self.columns[column].shared_numbers.get(&content) {
                numbers.push(*known);
                continue;
            }
            let (leaf, n) = {
                let column = &self.columns[column];
                (column.leaf, column.shared_pages.len())
            };
            let number = u16::try_from(n)
                .ok()
                .filter(|number| *number < u16::MAX)
                .ok_or_else(|| {
                    let what = "65,535 shared pages in a column";
                    Error::new(ErrorKind::LimitExceeded, what)
                })?;
            let page_number = compliance::SHARED_PAGE_FIRST + u32::from(number);
            let finished = finish_page(page, leaf, page_number)?;
            let written = self.append_finished(finished, 0, list)?;
            let column = &mut self.columns[column];
            column.shared_pages.push(written);
            column.shared_numbers.insert(content, number);
            numbers.push(number);
        }
        let lists = &mut self.columns[column].shared_lists;
        Ok(ColumnMeta::push_list(lists, &numbers)?)
    }

    fn append_finished(
        &mut self,
        finished: Finished,
        first_row: u64,
        shared: Option<u16>,
    ) -> Result<WrittenPage> {
        let page = finished.page;
        if page.bytes.len() >= PAGE_ALIGN_FROM_BYTES {
            self.pad_to(PAGE_ALIGN)?;
        }
        let too_large = || Error::new(ErrorKind::LimitExceeded, "a page is larger than 4 GiB");
        let length = |len: usize| u32::try_from(len).map_err(|_| too_large());
        let descriptor = PageDescriptor {
            first_row,
            place: self.position,
            // Known when the metadata region is written.
            side_place: 0,
            epoch: 1,
            length: length(page.bytes.len())?,
            rows: length(page.rows as usize)?,
            n_blocks: length(page.starts.len())?,
            side_length: length(finished.side.len())?,
            null_count: length(page.null_count as usize)?,
            meta: self.metas.index_of(&page.meta, self.kernels.as_deref())?,
            shared,
            digest: finished.digest,
        };
        self.append(&page.bytes)?;
        Ok(WrittenPage {
            descriptor,
            side: finished.side,
        })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.append(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn pad_to(&mut self, align: u64) -> Result<()> {
        let pad = self.position.next_multiple_of(align) - self.position;
        self.append(&[0; PAGE_ALIGN as usize][..pad as usize])
    }

    /// Writes what is left and the metadata, makes the file durable and gives it its name.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], [`ErrorKind::LimitExceeded`]. The file does not exist then, or is the one from before.
    pub fn finish(mut self) -> Result<WriteSummary> {
        let name = self.name.take();
        let finished = self.finish_file();
        finished.map_err(|error| match &name {
            Some(name) => error.in_file(name),
            None => error,
        })
    }

    fn finish_file(mut self) -> Result<WriteSummary> {
        self.check_whole()?;
        let rest = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.buffer.rows() > 0)
            .map(|(index, column)| column.cut(index, 0..column.buffer.rows()))
            .collect();
        self.flush(rest)?;
        let pages = self
            .columns
            .iter()
            .map(|column| column.pages.len() as u64)
            .sum();
        let (file_bytes, kernels) = self.write_metadata()?;
        let header = metadata::Header::new(self.file_id)
            .with_first_slot(file_bytes)
            .to_bytes()?;
        // A sink that cannot go back leaves both slots zero: the postscript at its end counts then.
        self.sink.overwrite(0, &header)?;
        self.sink.commit()?;
        Ok(WriteSummary {
            rows: self.rows,
            columns: self.schema.fields().len() as u32,
            pages,
            logical_bytes: self.logical_bytes,
            file_bytes,
            kernel_bytes: kernels.iter().map(|it| it.compressed.len() as u64).sum(),
            kernels: kernels.iter().map(|it| it.name.to_string()).collect(),
        })
    }
}

fn random_id() -> Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("no random bytes for the file id: {error}"),
        )
    })?;
    Ok(id)
}

/// What chooses the trees of a leaf column of this name. All columns share what `base` finds out about fallbacks.
fn column_chooser(
    options: &WriteOptions,
    base: &Chooser,
    names: (&str, &str),
    full_zip_bytes_min: Option<u32>,
    named: &mut HashSet<String>,
) -> ColumnChooser {
    let (field, leaf) = names;
    let own = [leaf, field].into_iter().find_map(|name| {
        let own = options.columns.get(name)?;
        named.insert(name.to_owned());
        Some(own)
    });
    named.insert(field.to_owned());
    let full_zip_bytes_min = full_zip_bytes_min.unwrap_or(options.full_zip_bytes_min);
    let custom = own.and_then(|own| own.chooser.clone());
    let has_tree = own.is_some_and(|own| own.tree.is_some());
    if let Some(custom) = custom.or_else(|| options.chooser.clone().filter(|_| !has_tree)) {
        return ColumnChooser::Custom(custom, full_zip_bytes_min);
    }
    let preset = own.and_then(|own| own.preset).unwrap_or(options.preset);
    let chooser = base
        .clone()
        .with_weights(preset.objective().weights())
        .with_full_zip_bytes_min(full_zip_bytes_min);
    ColumnChooser::Search(match own.and_then(|own| own.tree.clone()) {
        None => chooser,
        Some(tree) => chooser.with_tree(tree),
    })
}

fn column_writers(schema: &SchemaRef, options: &WriteOptions) -> Result<Vec<ColumnWriter>> {
    let base = Chooser::new(options.registry.clone(), options.preset.objective());
    let mut named = HashSet::new();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let stored = Stored::of(field)?;
        let paths = leaf_paths(&stored.data_type, field.is_nullable()).map_err(|unsupported| {
            Error::new(
                ErrorKind::Unsupported,
                format!("type {unsupported} is not stored by this version"),
            )
            .in_column(field.name())
        })?;
        let full_zip_bytes_min = match field.metadata().get(LAYOUT_KEY).map(String::as_str) {
            None => None,
            Some("full-zip") => Some(0),
            Some("mini-block") => Some(u32::MAX),
            Some(_) if stored.packing.is_some() => None,
            Some(metadata::LAYOUT_PACKED) => {
                let what = format!(
                    "{} cannot be packed: no struct with fields",
                    field.data_type()
                );
                return Err(Error::new(ErrorKind::InvalidInput, what).in_column(field.name()));
            }
            Some(other) => {
                let what = format!("{LAYOUT_KEY} is full-zip, mini-block or packed, not `{other}`");
                return Err(Error::new(ErrorKind::InvalidInput, what).in_column(field.name()));
            }
        };
        for path in paths {
            let leaf_name = std::iter::once(field.name())
                .chain(path.names())
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(".");
            let names = (field.name().as_str(), leaf_name.as_str());
            columns.push(ColumnWriter {
                chooser: column_chooser(options, &base, names, full_zip_bytes_min, &mut named),
                shared_lists: Vec::new(),
                shared_numbers: HashMap::new(),
                field: field.clone(),
                index,
                leaf: columns.len() as u32,
                buffer: LeafBuffer::new(&stored.data_type, path),
                next_row: 0,
                pages: Vec::new(),
                shared_pages: Vec::new(),
                packing: stored.packing.clone(),
            });
        }
    }
    let mut unknown = options.columns.keys().filter(|name| !named.contains(*name));
    if let Some(name) = unknown.next() {
        let what = "options for a column that the schema does not have";
        return Err(Error::new(ErrorKind::InvalidInput, what).in_column(name));
    }
    Ok(columns)
}

/// Rows of a page that could end at row `rows`: fewer, so that they are a multiple, where there are enough.
fn whole_rows(rows: usize) -> usize {
    match rows - rows % PAGE_ROWS_MULTIPLE {
        0 => rows,
        whole => whole,
    }
}

impl ColumnWriter {
    fn cut(&self, column: usize, rows: Range<usize>) -> Cut {
        Cut {
            known_at: self.next_row + rows.end as u64,
            column,
            page: self.pages.len(),
            rows,
        }
    }

    /// Finds the pages that are full. A page is full at the first row at which its rows take `page_bytes`, wherever batches end.
    fn push_full_pages(&self, column: usize, page_bytes: u64, cuts: &mut Vec<Cut>) {
        let buffer = &self.buffer;
        let mut start = 0;
        let mut page = self.pages.len();
        loop {
            let full = match buffer.rows_that_reach(start, page_bytes) {
                Some(rows) => rows.min(PAGE_ROWS_MAX),
                None if buffer.rows() - start >= PAGE_ROWS_MAX => PAGE_ROWS_MAX,
                None => return,
            };
            // One string may be as long as a page's all may be together.
            let data_bytes = buffer.data_bytes_of(start..start + full);
            let rows = match full {
                2.. if data_bytes > PAGE_DATA_BYTES_MAX as u64 => full - 1,
                _ => full,
            };
            let end = start + whole_rows(rows);
            cuts.push(Cut {
                known_at: self.next_row + (start + full) as u64,
                column,
                page,
                rows: start..end,
            });
            page += 1;
            start = end;
        }
    }

    /// Encodes a page; `None` for a column without pages.
    fn encode(&self, cut: &Cut, registry: &Registry) -> Result<Option<EncodedFlush>> {
        let Some(input) = self.buffer.page(cut.rows.clone())? else {
            return Ok(None);
        };
        let context = EncodeContext {
            registry,
            chooser: &self.chooser,
            checksum: |bytes| metadata::crc32c(&[bytes]),
        };
        let (value_type, logical_type) = (input.values.value_type(), input.logical_type);
        let page = encode_page(input, &context)?;
        let of_column = (value_type, logical_type);
        let shared = encode_shared(&page, of_column, &context, 0)?;
        let number = u32::try_from(cut.page)
            .ok()
            .filter(|number| *number < compliance::SHARED_PAGE_FIRST)
            .ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "2^31 pages in a column"))?;
        let page = finish_page(page, self.leaf, number)?;
        Ok(Some(EncodedFlush { page, shared }))
    }
}

/// The pages of a page's shared buffers, and of theirs. What buffers of the column's type mean, its values do.
fn encode_shared(
    page: &EncodedPage,
    of_column: (tarsia_codec::ValueType, LogicalType),
    context: &EncodeContext<'_>,
    depth: u32,
) -> Result<Vec<EncodedShared>> {
    if depth > SHARED_DEPTH_MAX && !page.shared.is_empty() {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("shared buffers of shared buffers more than {SHARED_DEPTH_MAX} deep"),
        ));
    }
    let mut pages = Vec::with_capacity(page.shared.len());
    for (spec, values) in page.meta.shared.iter().zip(&page.shared) {
        let input = PageInput {
            shared: Some(spec.kind),
            logical_type: match spec.value_type == of_column.0 {
                true => of_column.1,
                false => LogicalType::Unknown,
            },
            ..PageInput::of_values(values.as_values()?)
        };
        let page = encode_page(input, context)?;
        let shared = encode_shared(&page, of_column, context, depth + 1)?;
        pages.push(EncodedShared { page, shared });
    }
    Ok(pages)
}

/// Adds block table and digests.
fn finish_page(page: EncodedPage, column: u32, number: u32) -> Result<Finished> {
    let n_blocks = page.starts.len() as u32;
    if n_blocks == 1 {
        let digest = compliance::block_digest(column, number, 0, page.block(0));
        return Ok(Finished {
            page,
            side: Vec::new(),
            digest,
        });
    }
    let row_starts: Vec<u32>;
    let rows = match &page.block_rows {
        BlockRows::Uniform(log2) => metadata::Rows::Uniform(*log2),
        BlockRows::Table(rows) => {
            let start = |next: &mut u32, rows: &u32| {
                let start = *next;
                *next += rows;
                Some(start)
            };
            row_starts = rows.iter().scan(0, start).collect();
            metadata::Rows::Table(&row_starts)
        }
    };
    let starts = page
        .starts
        .iter()
        .map(|start| u32::try_from(start / 8))
        .collect::<Result<Vec<u32>, _>>()
        .map_err(|_| Error::new(ErrorKind::LimitExceeded, "a page is larger than 32 GiB"))?;
    let mut side = metadata::build_block_table(&starts, rows)?;
    let digests: Vec<[u8; 16]> = (0..n_blocks)
        .map(|block| {
            let digest =
                compliance::block_digest(column, number, block, page.block(block as usize));
            compliance::stored_block_digest(&digest)
        })
        .collect();
    let digest = compliance::page_digest(column, number, &digests);
    side.extend_from_slice(digests.as_flattened());
    Ok(Finished { page, side, digest })
}

impl Writer {
    /// Appends kernels as sections.
    fn embed_kernels(
        kernels: &[Arc<Kernel>],
        region_place: u64,
        region: &mut Vec<u8>,
    ) -> Vec<metadata::Section> {
        let mut sections = Vec::with_capacity(kernels.len());
        for kernel in kernels {
            let bytes = metadata::KernelSection {
                digest: kernel.digest,
                raw_bytes: kernel.raw_bytes,
                compressed: &kernel.compressed,
            }
            .to_bytes();
            let start = region_place + region.len() as u64;
            sections.push(metadata::Section {
                id: metadata::SECTION_KERNEL,
                version: tarsia_codec::Version::new(1, 0),
                range: start..start + bytes.len() as u64,
                digest: compliance::section_digest(metadata::SECTION_KERNEL, &bytes),
                flags: metadata::SectionFlags::default(),
                columns: Vec::new(),
            });
            region.extend_from_slice(&bytes);
            region.resize(region.len().next_multiple_of(8), 0);
        }
        sections
    }

    /// Everything behind the pages; returns the length of the file, and the kernels in it.
    fn write_metadata(&mut self) -> Result<(u64, Vec<Arc<Kernel>>)> {
        self.pad_to(8)?;
        let meta_place = self.position;
        // The region is small beside the pages, and its digest tree needs it whole.
        let mut region = Vec::new();
        let encodings = metadata::EncodingUse::of_trees(&self.metas.trees);
        let (kernels, numbers) = match &self.kernels {
            Some(candidates) => kernels::choose(candidates, &self.metas.needs)?,
            None => (Vec::new(), Vec::new()),
        };
        let sections = Self::embed_kernels(&kernels, meta_place, &mut region);
        // Of a file that needs no kernel at all, none is named.
        let numbers = numbers
            .into_iter()
            .map(|it| (!kernels.is_empty()).then_some(it));
        let numbers = numbers.chain(std::iter::repeat(None));
        let metas = std::mem::take(&mut self.metas.blobs).into_iter();
        let metas: Vec<_> = metas
            .zip(numbers)
            .map(|(bytes, kernel)| metadata::MetaBlob { bytes, kernel })
            .collect();
        let shape = metadata::FileShape {
            rows: self.rows,
            n_metas: metas.len() as u32,
            meta_place,
            // Not known yet; only an upper bound is needed for the check of places.
            tree_place: u64::MAX,
        };
        let mut records = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let record = column
                .write_metadata(&mut region, meta_place, &shape)
                .map_err(|error| error.in_column(column.field.name()))?;
            records.push(record);
        }
        let root_place = meta_place + region.len() as u64;
        let encoded = metadata::write_schema(&self.schema, &records, root_place)?;
        region.extend_from_slice(&encoded.records);
        let bucket_place = meta_place + region.len() as u64;
        let (buckets_log2, buckets) = metadata::Buckets::build(encoded.entries)?;
        region.extend_from_slice(&buckets);
        let tree_place = meta_place + region.len() as u64;

        let tree = compliance::DigestTree::build(&region);
        let footer = metadata::Footer {
            encodings,
            metas,
            sections,
            features: metadata::FeatureWords::default(),
            meta_place,
            tree_place,
            n_nodes: encoded.n_nodes,
            n_leaves: encoded.n_leaves,
            root_place,
            root_bytes: encoded.root_bytes,
            created_by: concat!("tarsia ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
        .to_bytes()?;
        let committed_bytes = tree_place
            + tree.stored.len() as u64
            + footer.len() as u64
            + metadata::limits::POSTSCRIPT_BYTES as u64;
        let mut postscript = metadata::Postscript {
            committed_bytes,
            rows: self.rows,
            buckets_log2,
            bucket_place,
            footer_bytes: footer.len() as u32,
            root_digest: [0; 32],
        };
        let header = metadata::Header::new(self.file_id).to_bytes()?;
        postscript.root_digest = compliance::root_digest(
            &header,
            &tree.top,
            &footer,
            &postscript.bytes_for_root_digest(&footer)?,
        );
        let postscript = postscript.to_bytes(&footer)?;
        for part in [&region[..], &tree.stored, &footer, &postscript] {
            self.append(part)?;
        }
        Ok((committed_bytes, kernels))
    }
}

impl ColumnWriter {
    /// Appends block tables, digests and, where there are several pages, their list; returns the column's record.
    fn write_metadata(
        &mut self,
        region: &mut Vec<u8>,
        region_place: u64,
        shape: &metadata::FileShape,
    ) -> Result<metadata::ColumnRecord> {
        let digests = |pages: &[WrittenPage]| -> Vec<[u8; 32]> {
            pages.iter().map(|page| page.descriptor.digest).collect()
        };
        if self.pages.is_empty() {
            return Ok(metadata::ColumnRecord::EMPTY);
        }
        for page in self.pages.iter_mut().chain(&mut self.shared_pages) {
            if !page.side.is_empty() {
                page.descriptor.side_place = region_place + region.len() as u64;
                region.append(&mut page.side);
            }
        }
        if let ([page], []) = (self.pages.as_slice(), self.shared_pages.as_slice()) {
            return Ok(metadata::ColumnRecord::of_page(&page.descriptor)?);
        }
        let digest = compliance::column_digest(
            self.leaf,
            &digests(&self.pages),
            &digests(&self.shared_pages),
        );
        let descriptors = |pages: &[WrittenPage]| -> Vec<PageDescriptor> {
            pages.iter().map(|page| page.descriptor).collect()
        };
        let meta = ColumnMeta {
            pages: descriptors(&self.pages),
            shared_pages: descriptors(&self.shared_pages),
            shared_lists: std::mem::take(&mut self.shared_lists),
        }
        .to_bytes(shape)?;
        let place = region_place + region.len() as u64;
        region.extend_from_slice(&meta);
        Ok(metadata::ColumnRecord::of_meta(place, &meta, digest)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, StringArray};
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    #[test]
    fn a_page_ends_with_the_row_that_fills_it() {
        let check = |text_bytes: usize, rows: usize, page_bytes: u64, expect: &[(usize, u64)]| {
            let array: ArrayRef = Arc::new(StringArray::from_iter_values(
                (0..rows).map(|i| format!("{i:0text_bytes$}")),
            ));
            let field = Field::new("x", array.data_type().clone(), false);
            let mut columns = column_writers(
                &Arc::new(Schema::new(vec![field])),
                &WriteOptions::default(),
            )
            .unwrap();
            columns[0].buffer.push(array.as_ref()).unwrap();
            let mut cuts = Vec::new();
            columns[0].push_full_pages(0, page_bytes, &mut cuts);
            let found: Vec<_> = cuts
                .iter()
                .map(|cut| (cut.rows.end, cut.known_at))
                .collect();
            assert_eq!(found, expect);
        };
        // 100 bytes of text and 4 of length for each row, and a byte of validity for each eight.
        check(100, 300, 105 * 104 + 14, &[(105, 105), (210, 210)]);
        check(100, 300, 105 * 104 + 15, &[(106, 106), (212, 212)]);
        check(100, 105, 105 * 104 + 15, &[]);
        // Longer pages end at multiples of 1,024 rows, and the rows behind belong to the next.
        check(
            10,
            5000,
            1500 * 14 + 188,
            &[(1024, 1500), (2048, 2524), (3072, 3548), (4096, 4572)],
        );
        check(10, 5000, 2500 * 14 + 313, &[(2048, 2500), (4096, 4548)]);
        check(50_000, 3, 40_000, &[(1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn the_budget_is_looked_at_more_often_in_wide_tables() {
        let rows = |columns: usize, memory_budget_bytes| {
            let fields: Vec<_> = (0..columns)
                .map(|i| Field::new(format!("{i}"), arrow_schema::DataType::Int64, true))
                .collect();
            let options = WriteOptions {
                memory_budget_bytes,
                ..WriteOptions::default()
            };
            let sink = Box::new(tarsia_io::MemorySink::new());
            let writer = Writer::new(sink, Arc::new(Schema::new(fields)), options).unwrap();
            writer.budget_rows()
        };
        assert_eq!(rows(10, 256 << 20), 1024);
        assert_eq!(rows(10_000, 256 << 20), 128);
        assert_eq!(rows(100, 0), 64);
        assert_eq!(rows(0, u64::MAX), 1024);
    }
}
