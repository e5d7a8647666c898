//! Writing: batches in, pages out, metadata at the end.

use std::collections::HashMap;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use rayon::prelude::*;
use tarsia_cascade::Chooser;
use tarsia_codec::Version;
use tarsia_compliance as compliance;
use tarsia_io::{FileSink, Sink};
use tarsia_metadata as metadata;
use tarsia_metadata::PageDescriptor;
use tarsia_structure::arrow::LeafBuffer;
use tarsia_structure::{BlockRows, EncodeContext, EncodedPage, PageInput, encode_page};

use crate::error::{Error, ErrorKind, Result};
use crate::options::{Threads, WriteOptions};
use crate::registry::registry;

/// Pages of more than one flush start at multiples of this many rows, so that blocks of different columns align.
const PAGE_ROWS_MULTIPLE: usize = 1024;

/// Rows taken from an input batch at a time: bounds what is held beyond the budget.
const STEP_ROWS: usize = 65_536;

/// A page's strings stay below this, so that offsets and lengths fit 32 bits.
const PAGE_DATA_BYTES_MAX: usize = i32::MAX as usize;

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
    /// Pages of all columns, dictionary pages not counted.
    pub pages: u64,
    /// Bytes of the values, offsets and validity that went in.
    pub logical_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
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
    schema: SchemaRef,
    options: WriteOptions,
    name: Option<String>,
    columns: Vec<ColumnWriter>,
    metas: Metas,
    file_id: [u8; 16],
    rows: u64,
    logical_bytes: u64,
}

struct ColumnWriter {
    field: FieldRef,
    leaf: u32,
    buffer: LeafBuffer,
    next_row: u64,
    pages: Vec<WrittenPage>,
    dictionaries: Vec<WrittenPage>,
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
    index: HashMap<Vec<u8>, u16>,
    encodings: Vec<(String, Version)>,
}

impl Metas {
    fn index_of(&mut self, meta: &tarsia_structure::Meta) -> Result<u16> {
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
        for tree in meta
            .trees
            .iter()
            .chain(meta.layers.iter().flat_map(|layer| &layer.trees))
        {
            tree.visit(&mut |node| {
                let used = (node.id.clone(), node.version);
                if !self.encodings.contains(&used) {
                    self.encodings.push(used);
                }
            });
        }
        self.blobs.push(blob.clone());
        self.index.insert(blob, index);
        Ok(index)
    }
}

/// A page encoded by some thread, waiting to be appended.
struct EncodedFlush {
    page: Finished,
    dictionary: Option<Finished>,
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
        let columns = column_writers(&schema).map_err(|error| error.in_file(&name))?;
        let sink = FileSink::create(path).map_err(|error| Error::from(error).in_file(&name))?;
        Self::start(Box::new(sink), columns, schema, options, Some(name))
    }

    /// A writer into any sink.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn new(sink: Box<dyn Sink>, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        let columns = column_writers(&schema)?;
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
        let mut writer = Self {
            sink,
            schema,
            options,
            name,
            columns,
            metas: Metas::default(),
            file_id,
            rows: 0,
            logical_bytes: 0,
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

    fn place(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => error.in_file(name),
            None => error,
        }
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_columns() != self.columns.len() {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "a batch of {} columns for a file of {}",
                    batch.num_columns(),
                    self.columns.len()
                ),
            ));
        }
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            let name = column.field.name();
            if array.data_type() != column.field.data_type() {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!(
                        "the batch holds {}, the file {}",
                        array.data_type(),
                        column.field.data_type()
                    ),
                )
                .in_column(name));
            }
            let may_be_null =
                column.field.is_nullable() || array.data_type() == &arrow_schema::DataType::Null;
            if !may_be_null && array.logical_null_count() > 0 {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    "nulls in a column that allows none",
                )
                .in_column(name));
            }
        }
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = STEP_ROWS.min(batch.num_rows() - start);
            self.write_step(&batch.slice(start, rows))?;
            start += rows;
        }
        Ok(())
    }

    /// Takes a run of rows into the buffers and flushes what is full.
    fn write_step(&mut self, batch: &RecordBatch) -> Result<()> {
        for index in 0..self.columns.len() {
            let array = batch.column(index);
            let mut start = 0;
            while start < array.len() {
                let rest = array.slice(start, array.len() - start);
                let column = &mut self.columns[index];
                let rows = column
                    .buffer
                    .rows_that_fit(rest.as_ref(), PAGE_DATA_BYTES_MAX)
                    .map_err(|error| Error::from(error).in_column(column.field.name()))?;
                let before = column.buffer.logical_bytes();
                column
                    .buffer
                    .push(rest.slice(0, rows).as_ref())
                    .map_err(|error| Error::from(error).in_column(column.field.name()))?;
                self.logical_bytes += (column.buffer.logical_bytes() - before) as u64;
                start += rows;
                if start < array.len() {
                    // The strings held are as many as a page may have.
                    self.flush(&[(index, self.columns[index].buffer.rows())])?;
                }
            }
        }
        self.rows += batch.num_rows() as u64;
        self.flush_full()
    }

    fn flush_full(&mut self) -> Result<()> {
        let page_bytes = self.options.page_bytes.max(1);
        let mut flush = Vec::new();
        let mut held = 0;
        for (index, column) in self.columns.iter().enumerate() {
            let bytes = column.buffer.logical_bytes() as u64;
            match bytes >= page_bytes {
                true => flush.push(index),
                false => held += bytes,
            }
        }
        if held > self.options.memory_budget_bytes {
            let mut rest: Vec<_> = (0..self.columns.len())
                .filter(|index| !flush.contains(index))
                .map(|index| (self.columns[index].buffer.logical_bytes() as u64, index))
                .collect();
            rest.sort_by_key(|(bytes, index)| (std::cmp::Reverse(*bytes), *index));
            for (bytes, index) in rest {
                // Half at once, so that the next flush is not one column later.
                if held <= self.options.memory_budget_bytes / 2 {
                    break;
                }
                held -= bytes;
                flush.push(index);
            }
        }
        let flush: Vec<_> = flush
            .into_iter()
            .map(|index| {
                let rows = self.columns[index].buffer.rows();
                match rows - rows % PAGE_ROWS_MULTIPLE {
                    0 => (index, rows),
                    whole => (index, whole),
                }
            })
            .collect();
        self.flush(&flush)
    }

    /// Encodes the first rows of columns as one page each, in parallel, and appends them in order.
    fn flush(&mut self, columns: &[(usize, usize)]) -> Result<()> {
        // Few at a time, so that encoded pages do not pile up for wide tables.
        for columns in columns.chunks(64) {
            let objective = self.options.preset.objective();
            let encode = |(index, rows): &(usize, usize)| {
                let column = &self.columns[*index];
                column
                    .encode(*rows, objective)
                    .map_err(|error| error.in_column(column.field.name()))
            };
            let encoded: Vec<Result<Option<EncodedFlush>>> = match self.options.threads {
                Threads::All if columns.len() > 1 => columns.par_iter().map(encode).collect(),
                _ => columns.iter().map(encode).collect(),
            };
            for ((index, rows), encoded) in columns.iter().zip(encoded) {
                let encoded = encoded?;
                self.append_page(*index, *rows, encoded)?;
            }
        }
        Ok(())
    }

    fn append_page(
        &mut self,
        index: usize,
        rows: usize,
        encoded: Option<EncodedFlush>,
    ) -> Result<()> {
        if let Some(encoded) = encoded {
            let mut dictionary = None;
            if let Some(entries) = encoded.dictionary {
                let number = self.columns[index].dictionaries.len();
                dictionary = Some(
                    u16::try_from(number)
                        .ok()
                        .filter(|n| *n < u16::MAX)
                        .ok_or_else(|| {
                            Error::new(ErrorKind::LimitExceeded, "65,535 dictionaries in a column")
                        })?,
                );
                let written = self.append_finished(entries, 0, None)?;
                self.columns[index].dictionaries.push(written);
            }
            let first_row = self.columns[index].next_row;
            let written = self.append_finished(encoded.page, first_row, dictionary)?;
            self.columns[index].pages.push(written);
        }
        let column = &mut self.columns[index];
        column.next_row += rows as u64;
        column.buffer.drain(rows)?;
        Ok(())
    }

    fn append_finished(
        &mut self,
        finished: Finished,
        first_row: u64,
        dictionary: Option<u16>,
    ) -> Result<WrittenPage> {
        let page = finished.page;
        if page.bytes.len() >= PAGE_ALIGN_FROM_BYTES {
            self.pad_to(PAGE_ALIGN)?;
        }
        let too_large = || Error::new(ErrorKind::LimitExceeded, "a page is larger than 4 GiB");
        let length = |len: usize| u32::try_from(len).map_err(|_| too_large());
        let descriptor = PageDescriptor {
            first_row,
            place: self.sink.position(),
            // Known when the metadata region is written.
            side_place: 0,
            epoch: 1,
            length: length(page.bytes.len())?,
            rows: length(page.rows as usize)?,
            n_blocks: length(page.starts.len())?,
            side_length: length(finished.side.len())?,
            null_count: length(page.null_count as usize)?,
            meta: self.metas.index_of(&page.meta)?,
            dictionary,
            digest: finished.digest,
        };
        self.append(&page.bytes)?;
        Ok(WrittenPage {
            descriptor,
            side: finished.side,
        })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.sink.write_all(bytes)?)
    }

    fn pad_to(&mut self, align: u64) -> Result<()> {
        let pad = self.sink.position().next_multiple_of(align) - self.sink.position();
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
        let rest: Vec<_> = (0..self.columns.len())
            .map(|index| (index, self.columns[index].buffer.rows()))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        self.flush(&rest)?;
        let pages = self
            .columns
            .iter()
            .map(|column| column.pages.len() as u64)
            .sum();
        let file_bytes = self.write_metadata()?;
        let header = metadata::Header::new(self.file_id)
            .with_first_slot(file_bytes)
            .to_bytes()?;
        // A sink that cannot go back leaves both slots zero: the postscript at its end counts then.
        self.sink.write_at(0, &header)?;
        self.sink.commit()?;
        Ok(WriteSummary {
            rows: self.rows,
            columns: self.schema.fields().len() as u32,
            pages,
            logical_bytes: self.logical_bytes,
            file_bytes,
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

fn column_writers(schema: &SchemaRef) -> Result<Vec<ColumnWriter>> {
    schema
        .fields()
        .iter()
        .enumerate()
        .map(|(leaf, field)| {
            let buffer = LeafBuffer::new(field.data_type()).map_err(|unsupported| {
                Error::new(
                    ErrorKind::Unsupported,
                    format!("type {unsupported} is not stored by this version"),
                )
                .in_column(field.name())
            })?;
            Ok(ColumnWriter {
                field: field.clone(),
                leaf: leaf as u32,
                buffer,
                next_row: 0,
                pages: Vec::new(),
                dictionaries: Vec::new(),
            })
        })
        .collect()
}

impl ColumnWriter {
    /// Encodes the first `rows` rows; `None` for a column without pages.
    fn encode(
        &self,
        rows: usize,
        objective: tarsia_cascade::Objective,
    ) -> Result<Option<EncodedFlush>> {
        let Some(input) = self.buffer.page(rows)? else {
            return Ok(None);
        };
        let chooser = Chooser::new(objective);
        let page = encode_page(input, &context(&chooser))?;
        let dictionary = match page.shared.first() {
            None => None,
            Some(entries) => {
                let input = PageInput {
                    validity: None,
                    values: entries.as_values()?,
                };
                let chooser = Chooser::for_dictionary_entries(objective);
                let page = encode_page(input, &context(&chooser))?;
                let number = compliance::DICTIONARY_PAGE_FIRST + self.dictionaries.len() as u32;
                Some(finish_page(page, self.leaf, number)?)
            }
        };
        let page = finish_page(page, self.leaf, self.pages.len() as u32)?;
        Ok(Some(EncodedFlush { page, dictionary }))
    }
}

fn context<'a>(chooser: &'a Chooser) -> EncodeContext<'a> {
    EncodeContext {
        registry: registry(),
        chooser,
        checksum: |bytes| metadata::crc32c(&[bytes]),
    }
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
    /// Everything behind the pages; returns the length of the file.
    fn write_metadata(&mut self) -> Result<u64> {
        self.pad_to(8)?;
        let meta_place = self.sink.position();
        // The region is small beside the pages, and its digest tree needs it whole.
        let mut region = Vec::new();
        let shape = metadata::FileShape {
            rows: self.rows,
            n_metas: self.metas.blobs.len() as u32,
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
        let mut encodings = std::mem::take(&mut self.metas.encodings);
        encodings.sort();
        let footer = metadata::Footer {
            encodings: encodings
                .into_iter()
                .map(|(id, version)| metadata::EncodingUse { id, version })
                .collect(),
            metas: std::mem::take(&mut self.metas.blobs),
            sections: Vec::new(),
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
        Ok(committed_bytes)
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
        for page in self.pages.iter_mut().chain(&mut self.dictionaries) {
            if !page.side.is_empty() {
                page.descriptor.side_place = region_place + region.len() as u64;
                region.append(&mut page.side);
            }
        }
        if let ([page], []) = (self.pages.as_slice(), self.dictionaries.as_slice()) {
            return Ok(metadata::ColumnRecord::of_page(&page.descriptor)?);
        }
        let digest = compliance::column_digest(
            self.leaf,
            &digests(&self.pages),
            &digests(&self.dictionaries),
        );
        let descriptors = |pages: &[WrittenPage]| -> Vec<PageDescriptor> {
            pages.iter().map(|page| page.descriptor).collect()
        };
        let meta = metadata::ColumnMeta {
            pages: descriptors(&self.pages),
            dictionaries: descriptors(&self.dictionaries),
        }
        .to_bytes(shape)?;
        let place = region_place + region.len() as u64;
        region.extend_from_slice(&meta);
        Ok(metadata::ColumnRecord::of_meta(place, &meta, digest)?)
    }
}
