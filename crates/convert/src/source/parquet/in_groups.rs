//! Batches of files whose columns cannot all be open at the same time: some columns are read, then others.
//!
//! A reader of the `parquet` crate holds 35 kB for each column, and a page and its dictionary once it has decompressed
//! them. Here the columns of a row group are split into groups whose readers stay below [`READERS_BYTES_MAX`]. For each
//! batch the groups are opened one after the other, and each is dropped before the next. The price is that a page is
//! decompressed once for each batch that has rows of it, so batches are larger than those of other files.
//! `by_column.rs` does not pay it.

use std::fs::File;
use std::ops::Range;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::selected::{Selected, open};
use super::sizes::{TOO_MANY_BYTES, decoded_bytes_of};
use crate::Error;
use crate::guarded::arrow_text;

/// Files whose readers take less memory, as far as the footer says, are read without groups.
const TOGETHER_BYTES_MAX: u64 = 64 << 20;

/// Memory of the readers of a group.
const READERS_BYTES_MAX: u64 = 8 << 20;

/// Memory of the reader of a column without its pages.
const READER_BYTES: u64 = 40 << 10;

/// Bytes to which writers of Parquet limit pages, and dictionaries, unless they are told otherwise.
const PAGE_BYTES: u64 = 1 << 20;

/// Bytes and rows of a batch.
pub(super) const BATCH_BYTES: u64 = 40 << 20;
const BATCH_ROWS: u64 = 1 << 16;

/// Whether a row group has more columns than can be open at the same time.
pub(super) fn are_needed(metadata: &ParquetMetaData) -> bool {
    let mut groups = metadata.row_groups().iter();
    groups.any(|group| {
        let columns = group.columns().iter().map(reader_bytes);
        columns.fold(0, u64::saturating_add) > TOGETHER_BYTES_MAX
    })
}

/// Memory that reading a column of a row group takes: compressed and decompressed pages, or a page and its dictionary.
fn reader_bytes(column: &ColumnChunkMetaData) -> u64 {
    let pages = u64::try_from(column.uncompressed_size()).unwrap_or(0);
    READER_BYTES + 2 * pages.min(PAGE_BYTES)
}

/// Reads the rows of a file.
pub(super) struct InGroups {
    row_group: usize,
    /// Rows of the row group that are read.
    done: u64,
    /// Top-level fields whose columns are read together in this row group.
    fields: Vec<Range<usize>>,
    /// Rows per batch in this row group.
    batch_rows: u64,
    /// The most rows per batch that did not take much more memory than the footer says.
    rows_max: u64,
}

impl InGroups {
    /// Before the first row.
    pub(super) fn new(metadata: &ParquetMetaData) -> Self {
        let mut reader = Self {
            row_group: 0,
            done: 0,
            fields: Vec::new(),
            batch_rows: 0,
            rows_max: BATCH_ROWS,
        };
        reader.enter(metadata, 0);
        reader
    }

    /// Goes to a row group.
    fn enter(&mut self, metadata: &ParquetMetaData, row_group: usize) {
        self.row_group = row_group;
        self.done = 0;
        if let Some(group) = metadata.row_groups().get(row_group) {
            self.fields = groups_of(group);
            self.batch_rows = batch_rows(group, self.rows_max);
        }
    }

    /// The next rows.
    ///
    /// # Errors
    /// A page is bad, or columns of a row group have another number of rows than it states.
    pub(super) fn next_batch(
        &mut self,
        file: &File,
        metadata: &ArrowReaderMetadata,
    ) -> Result<Option<RecordBatch>, Error> {
        loop {
            let Some(group) = metadata.metadata().row_groups().get(self.row_group) else {
                return Ok(None);
            };
            let left = n_rows(group).saturating_sub(self.done);
            if left == 0 {
                self.enter(metadata.metadata(), self.row_group + 1);
                continue;
            }
            let rows = self.batch_rows.min(left);
            match self.read(file, metadata, rows, rows == left)? {
                Some(columns) => {
                    self.done += rows;
                    let rows = usize::try_from(rows).map_err(|error| error.to_string())?;
                    let options = RecordBatchOptions::new().with_row_count(Some(rows));
                    let schema = metadata.schema().clone();
                    let batch = RecordBatch::try_new_with_options(schema, columns, &options);
                    return Ok(Some(batch.map_err(|error| error.to_string())?));
                }
                None => {
                    self.rows_max = rows.div_ceil(4);
                    self.batch_rows = self.rows_max;
                }
            }
        }
    }

    /// All columns of the next `rows` rows, which are the last of the row group or not. `None` if they take much more
    /// memory than the footer says.
    fn read(
        &self,
        file: &File,
        metadata: &ArrowReaderMetadata,
        rows: u64,
        are_last: bool,
    ) -> Result<Option<Vec<ArrayRef>>, Error> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(metadata.schema().fields().len());
        let mut bytes = 0;
        for fields in &self.fields {
            let batch = match self.read_fields(file, metadata, fields, rows, are_last) {
                Ok(batch) => batch,
                Err(error) if error.to_string().contains(TOO_MANY_BYTES) && rows > 1 => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            let arrays = batch.columns().iter();
            bytes += arrays
                .map(|array| array.get_array_memory_size() as u64)
                .sum::<u64>();
            if bytes > 2 * BATCH_BYTES && rows > 1 {
                return Ok(None);
            }
            columns.extend_from_slice(batch.columns());
        }
        Ok(Some(columns))
    }

    /// Some fields of the next `rows` rows.
    fn read_fields(
        &self,
        file: &File,
        metadata: &ArrowReaderMetadata,
        fields: &Range<usize>,
        rows: u64,
        are_last: bool,
    ) -> Result<RecordBatch, Error> {
        let selected = Selected {
            row_group: self.row_group,
            fields: fields.clone(),
            // A row behind the last one shows that the pages have more rows than the row group.
            rows: self.done..(self.done + rows).saturating_add(are_last.into()),
            batch_rows: rows,
        };
        let mut reader = open(file, metadata, &selected)?;
        let batch = reader.next().transpose().map_err(arrow_text)?;
        let n_read = batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        let is_more = n_read == rows && reader.next().transpose().map_err(arrow_text)?.is_some();
        match batch {
            Some(batch) if n_read == rows && !is_more => Ok(batch),
            _ => {
                let read = match is_more {
                    true => "more".to_owned(),
                    false => (self.done + n_read).to_string(),
                };
                Err(wrong_rows(self.row_group, metadata, fields, &read))
            }
        }
    }
}

/// Says that columns of a row group have another number of rows than it states.
pub(super) fn wrong_rows(
    row_group: usize,
    metadata: &ArrowReaderMetadata,
    fields: &Range<usize>,
    read: &str,
) -> Error {
    let group = metadata.metadata().row_groups().get(row_group);
    let stated = group.map_or(0, n_rows);
    let what =
        format!("row group {row_group}: the footer states {stated} rows, the pages have {read}");
    let error = Error::new(what);
    let field = metadata.schema().fields().get(fields.start);
    match field.filter(|_| fields.len() == 1) {
        Some(field) => error.in_column(field.name()),
        None => error,
    }
}

pub(super) fn n_rows(group: &RowGroupMetaData) -> u64 {
    u64::try_from(group.num_rows()).unwrap_or(0)
}

/// Groups of top-level fields whose readers take at most [`READERS_BYTES_MAX`], or of one field that takes more.
pub(super) fn groups_of(group: &RowGroupMetaData) -> Vec<Range<usize>> {
    let schema = group.schema_descr();
    let mut of_fields = vec![0_u64; schema.root_schema().get_fields().len()];
    for (leaf, column) in group.columns().iter().enumerate() {
        if let Some(bytes) = of_fields.get_mut(schema.get_column_root_idx(leaf)) {
            *bytes = bytes.saturating_add(reader_bytes(column));
        }
    }
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut open_bytes = 0_u64;
    for (field, bytes) in of_fields.into_iter().enumerate() {
        open_bytes = open_bytes.saturating_add(bytes);
        match groups.last_mut() {
            Some(last) if open_bytes <= READERS_BYTES_MAX => last.end = field + 1,
            _ => {
                groups.push(field..field + 1);
                open_bytes = bytes;
            }
        }
    }
    groups
}

/// Rows per batch of a row group, at most `rows_max`. All of its batches have about as many.
fn batch_rows(group: &RowGroupMetaData, rows_max: u64) -> u64 {
    let rows = n_rows(group);
    let row_bytes = (decoded_bytes_of(group) / rows.max(1)).max(1);
    let batch_rows = (BATCH_BYTES / row_bytes).clamp(1, rows_max.max(1));
    let n_batches = rows.div_ceil(batch_rows).max(1);
    rows.div_ceil(n_batches).max(1)
}
