//! Some columns of a row group, then the next ones: each page is decompressed once, however many columns there are and
//! however large the row group is. It is for targets that take rows of some columns at a time.

use std::fs::File;
use std::ops::Range;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::in_groups::{BATCH_BYTES, groups_of, n_rows, wrong_rows};
use super::selected::{Selected, open};
use super::sizes::{TOO_MANY_BYTES, decoded_bytes_of, decoded_bytes_of_fields};
use crate::Error;
use crate::guarded::arrow_text;

/// Bytes and rows of a batch of some columns.
const PART_BYTES: u64 = 8 << 20;
const PART_ROWS: u64 = 1 << 16;

/// Whether a row group has more rows than one batch of all columns.
pub(super) fn is_better(metadata: &ParquetMetaData) -> bool {
    let mut groups = metadata.row_groups().iter();
    groups.any(|group| decoded_bytes_of(group) > BATCH_BYTES)
}

/// Rows of some columns.
pub(super) struct Part {
    /// The first of the top-level fields.
    pub(super) first: usize,
    /// The first of the rows in the file.
    pub(super) first_row: u64,
    pub(super) batch: RecordBatch,
}

/// Reads the rows of a file, some columns at a time.
pub(super) struct ByColumn {
    row_group: usize,
    /// Rows of the row groups before.
    rows_before: u64,
    /// Top-level fields that are read together in this row group, and how many of these groups were read.
    groups: Vec<Range<usize>>,
    group: usize,
    /// Rows of these fields that were read, and rows of the next batch at most.
    done: u64,
    batch_rows: u64,
    reader: Option<ParquetRecordBatchReader>,
}

impl ByColumn {
    /// Before the first row.
    pub(super) fn new(metadata: &ParquetMetaData) -> Self {
        let mut reader = Self {
            row_group: 0,
            rows_before: 0,
            groups: Vec::new(),
            group: 0,
            done: 0,
            batch_rows: 0,
            reader: None,
        };
        reader.enter(metadata, 0);
        reader
    }

    /// Goes to a row group.
    fn enter(&mut self, metadata: &ParquetMetaData, row_group: usize) {
        self.row_group = row_group;
        self.groups = metadata
            .row_groups()
            .get(row_group)
            .map_or(Vec::new(), groups_of);
        self.enter_fields(metadata, 0);
    }

    /// Goes to the fields of a group.
    fn enter_fields(&mut self, metadata: &ParquetMetaData, group: usize) {
        self.group = group;
        self.done = 0;
        self.reader = None;
        let row_group = metadata.row_groups().get(self.row_group);
        if let (Some(row_group), Some(fields)) = (row_group, self.groups.get(group)) {
            self.batch_rows = batch_rows(row_group, fields);
        }
    }

    /// Rows that were read, as if all columns were read together.
    pub(super) fn progress(&self, metadata: &ParquetMetaData) -> u64 {
        let of_group = metadata.row_groups().get(self.row_group).map_or(0, n_rows);
        let share = self.group as f64 / self.groups.len().max(1) as f64;
        self.rows_before + (of_group as f64 * share) as u64
    }

    /// The next rows of some columns.
    ///
    /// # Errors
    /// A page is bad, or columns of a row group have another number of rows than it states.
    pub(super) fn next_part(
        &mut self,
        file: &File,
        metadata: &ArrowReaderMetadata,
    ) -> Result<Option<Part>, Error> {
        loop {
            let of_file = metadata.metadata();
            let Some(row_group) = of_file.row_groups().get(self.row_group) else {
                return Ok(None);
            };
            let stated = n_rows(row_group);
            let fields = self.groups.get(self.group).filter(|_| stated > 0);
            let Some(fields) = fields.cloned() else {
                self.rows_before += stated;
                self.enter(of_file, self.row_group + 1);
                continue;
            };
            let Some(batch) = self.read(file, metadata, &fields, stated)? else {
                if self.done != stated {
                    return Err(wrong_rows(
                        self.row_group,
                        metadata,
                        &fields,
                        &self.done.to_string(),
                    ));
                }
                self.enter_fields(of_file, self.group + 1);
                continue;
            };
            let first_row = self.rows_before + self.done;
            self.done += batch.num_rows() as u64;
            if self.done > stated {
                return Err(wrong_rows(self.row_group, metadata, &fields, "more"));
            }
            let first = fields.start;
            return Ok(Some(Part {
                first,
                first_row,
                batch,
            }));
        }
    }

    /// The next rows of some fields. Where the bytes of a column are more than an Arrow array holds, since one text of
    /// a dictionary is repeated, fewer rows are read at a time.
    fn read(
        &mut self,
        file: &File,
        metadata: &ArrowReaderMetadata,
        fields: &Range<usize>,
        stated: u64,
    ) -> Result<Option<RecordBatch>, Error> {
        loop {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => {
                    let selected = Selected {
                        row_group: self.row_group,
                        fields: fields.clone(),
                        // A row behind the last one shows that the pages have more rows than the row group.
                        rows: self.done..stated.saturating_add(1),
                        batch_rows: self.batch_rows,
                    };
                    self.reader.insert(open(file, metadata, &selected)?)
                }
            };
            let error = match reader.next().transpose() {
                Ok(batch) => return Ok(batch),
                Err(error) => arrow_text(error),
            };
            if !error.contains(TOO_MANY_BYTES) || self.batch_rows == 1 {
                return Err(error.into());
            }
            self.batch_rows = self.batch_rows.div_ceil(16);
            self.reader = None;
        }
    }
}

/// Rows of a batch of some fields of a row group, as far as the footer says how large they are.
fn batch_rows(group: &RowGroupMetaData, fields: &Range<usize>) -> u64 {
    let row_bytes = decoded_bytes_of_fields(group, fields) / n_rows(group).max(1);
    (PART_BYTES / row_bytes.max(1)).clamp(1, PART_ROWS)
}
