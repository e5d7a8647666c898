//! Parquet to Arrow, with what the reader of the `parquet` crate leaves unchecked: numbers of rows, values that do not
//! fit, and Arrow schemas that are no longer those of the file.

mod back_to_back;
mod by_column;
mod columns;
mod each_value;
mod encrypted;
mod footer;
mod in_groups;
mod int96;
mod pages;
mod scan;
mod schema;
mod selected;
mod sizes;
mod thrift;
mod values;

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::SchemaDescriptor;

use super::limits::{BATCH_BYTES, BATCH_ROWS};
use super::part::Part;
use crate::guarded::arrow_text;
use crate::nested::converted;
use crate::{Error, Note};
use by_column::ByColumn;
use columns::Columns;
use footer::Footer;
use in_groups::InGroups;
use sizes::{TOO_MANY_BYTES, decoded_bytes};

/// Reads a file whose numbers of rows agree.
pub(super) struct ParquetReader {
    file: Arc<File>,
    metadata: ArrowReaderMetadata,
    batches: Batches,
    schema: SchemaRef,
    n_rows: u64,
    rows_read: u64,
    notes: Vec<Note>,
}

/// The batches of a file as they are read.
enum Batches {
    /// The columns of all row groups are open together.
    Together {
        reader: ParquetRecordBatchReader,
        /// Rows of a batch.
        batch_rows: usize,
    },
    /// There are too many columns for that.
    InGroups(InGroups),
    /// And row groups are too large to be read several times.
    ByColumn(ByColumn),
}

impl ParquetReader {
    /// # Errors
    /// The file is no Parquet file, or two of them, its metadata contradict themselves, or a column of INT96 has no
    /// unit.
    pub(super) fn new(file: File, bytes: u64) -> Result<ParquetReader, Error> {
        let file = Arc::new(file);
        let metadata = footer_metadata(&file, bytes)?;
        let n_rows = rows_in_row_groups(&metadata)?;
        let mut notes = Vec::new();
        let embedded = schema::embedded(metadata.file_metadata(), &mut notes);
        let original = metadata.file_metadata().schema_descr_ptr();
        let stored = schema::as_stored(&original).map_err(|error| error.to_string())?;
        let stored = Arc::new(stored);
        let plain = arrow_metadata(&metadata, &stored, None)?;
        let hint = embedded.hint.as_ref().map(Schema::fields);
        let columns = Columns::of(&file, &metadata);
        let plain_fields = plain.schema().fields();
        let resolved = schema::resolve(&original, plain_fields, hint, &columns, &mut notes)?;
        let metadata = match &resolved.read == plain_fields {
            true => plain,
            false => arrow_metadata(&metadata, &stored, Some(&Schema::new(resolved.read)))?,
        };
        let made = resolved.made;
        let schema = Arc::new(Schema::new_with_metadata(made, embedded.metadata));
        let batches = match in_groups::are_needed(metadata.metadata()) {
            true => Batches::InGroups(InGroups::new(metadata.metadata())),
            false => {
                let batch_rows = batch_rows(n_rows, decoded_bytes(metadata.metadata()));
                let reader = batches(&file, &metadata, batch_rows, 0)?;
                Batches::Together { reader, batch_rows }
            }
        };
        Ok(ParquetReader {
            file,
            metadata,
            batches,
            schema,
            n_rows,
            rows_read: 0,
            notes,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Whether the `parquet` crate of arrow-rs has written it, as exports are.
    pub(super) fn is_of_arrow_rs(&self) -> bool {
        let by = self.metadata.metadata().file_metadata().created_by();
        by.is_some_and(|by| by.starts_with("parquet-rs"))
    }

    /// Rows in the file, as its metadata say.
    pub(super) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The values of dictionaries as the pages of each row group have them, by the path of the field.
    ///
    /// # Errors
    /// A page is bad.
    pub(super) fn categories(&self) -> Result<HashMap<String, Vec<ArrayRef>>, Error> {
        let columns = Columns::of(&self.file, self.metadata.metadata());
        pages::categories(&columns, &self.schema)
    }

    /// Reads some columns at a time from now on, where that is better: where very many columns have large row groups,
    /// and no rows of all columns were read. Returns whether the file is read so.
    pub(super) fn read_by_column(&mut self) -> bool {
        let metadata = self.metadata.metadata();
        let is_wide = matches!(self.batches, Batches::InGroups(_)) && self.rows_read == 0;
        if is_wide && by_column::is_better(metadata) {
            self.batches = Batches::ByColumn(ByColumn::new(metadata));
        }
        matches!(self.batches, Batches::ByColumn(_))
    }

    /// Rows that were read, as if all columns were read together.
    pub(super) fn progress(&self) -> u64 {
        match &self.batches {
            Batches::ByColumn(reader) => reader.progress(self.metadata.metadata()),
            Batches::Together { .. } | Batches::InGroups(_) => self.rows_read,
        }
    }

    /// The next rows of some columns, of a file that is read so.
    ///
    /// # Errors
    /// As [`ParquetReader::next_batch`].
    pub(super) fn next_columns(&mut self) -> Result<Option<Part>, Error> {
        let Batches::ByColumn(reader) = &mut self.batches else {
            return Ok(None);
        };
        let Some(part) = reader.next_part(&self.file, &self.metadata)? else {
            return Ok(None);
        };
        let first = part.first;
        let batch = self.made(&part.batch, first, part.first_row)?;
        Ok(Some(Part::Columns { first, batch }))
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        self.notes.clone()
    }

    /// # Errors
    /// A page is bad, a value is none of its type, or the file ends with another number of rows than it states.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let batch = self.read()?;
        let first_row = self.rows_read;
        self.rows_read += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        let (read, stated) = (self.rows_read, self.n_rows);
        if read > stated || (batch.is_none() && read < stated) {
            let read = if read > stated {
                "more"
            } else {
                &read.to_string()
            };
            let what = format!("the footer states {stated} rows, the pages have {read}");
            return Err(what.into());
        }
        batch
            .map(|batch| self.made(&batch, 0, first_row))
            .transpose()
    }

    /// The next rows as they are read. Where the bytes of a column are more than an Arrow array holds, since one text
    /// of a dictionary is repeated, fewer rows are read at a time.
    fn read(&mut self) -> Result<Option<RecordBatch>, Error> {
        let (of_batches, batch_rows) = match &mut self.batches {
            Batches::InGroups(reader) => return reader.next_batch(&self.file, &self.metadata),
            Batches::ByColumn(_) => {
                return Err(Error::request(
                    "some columns were read alone: read on with next_part",
                ));
            }
            Batches::Together { reader, batch_rows } => (reader, batch_rows),
        };
        loop {
            let error = match of_batches.next().transpose() {
                Ok(batch) => return Ok(batch),
                Err(error) => arrow_text(error),
            };
            if !error.contains(TOO_MANY_BYTES) || *batch_rows == 1 {
                return Err(error.into());
            }
            *batch_rows = batch_rows.div_ceil(16);
            *of_batches = batches(&self.file, &self.metadata, *batch_rows, self.rows_read)?;
        }
    }

    /// A batch of the fields from `first` on, with the types that the file says.
    fn made(
        &self,
        batch: &RecordBatch,
        first: usize,
        first_row: u64,
    ) -> Result<RecordBatch, Error> {
        let of_all = self.schema.fields();
        let fields = of_all.iter().skip(first).zip(batch.columns());
        let columns = fields.map(|(field, array)| -> Result<ArrayRef, Error> {
            converted(array, field.data_type(), &values::leaf).map_err(|misfit| {
                let error = Error::new(misfit.what).in_column(field.name());
                match misfit.index {
                    Some(row) => error.in_row(first_row + row as u64),
                    None => error,
                }
            })
        });
        let columns = columns.collect::<Result<Vec<_>, Error>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = match columns.len() == of_all.len() {
            true => self.schema.clone(),
            false => {
                let fields = of_all.iter().skip(first).take(columns.len());
                Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
            }
        };
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|error| error.to_string().into())
    }
}

/// The metadata in the footer of a file.
///
/// # Errors
/// The file has no footer, encrypted columns, or another file in front.
fn footer_metadata(file: &File, bytes: u64) -> Result<ParquetMetaData, Error> {
    let text = |error: ParquetError| error.to_string();
    let Some(footer) = Footer::read(file, bytes) else {
        // It says why there is none.
        let metadata = ParquetMetaDataReader::new().parse_and_finish(file);
        return Ok(metadata.map_err(text)?);
    };
    let metadata = footer.metadata();
    if let Some(column) = encrypted::first_column(&footer.bytes) {
        let of_file = metadata.as_ref().map(ParquetMetaData::file_metadata).ok();
        let columns = of_file.map_or(&[][..], |file| file.schema_descr().columns());
        let name = columns.get(column).map(|column| column.path().string());
        let name = name.unwrap_or_else(|| format!("number {column}"));
        return Err(Error::new("it is encrypted, which is not read").in_column(name));
    }
    let metadata = metadata.map_err(text)?;
    match back_to_back::second_start(file, &metadata, footer.start) {
        None => Ok(metadata),
        Some(second) => Err(Error::new(format!(
            "two Parquet files lie back to back, the second from byte {second} on; a file holds one table, so take \
             them apart"
        ))),
    }
}

/// The rows from `first` on.
fn batches(
    file: &File,
    metadata: &ArrowReaderMetadata,
    batch_rows: usize,
    first: u64,
) -> Result<ParquetRecordBatchReader, Error> {
    let file = file.try_clone().map_err(|error| error.to_string())?;
    let first = usize::try_from(first).map_err(|error| error.to_string())?;
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
        .with_batch_size(batch_rows);
    if first > 0 {
        builder = builder.with_offset(first);
    }
    builder.build().map_err(|error| error.to_string().into())
}

/// Returns the types as which the `parquet` crate reads a file of this Parquet schema, with an Arrow schema that it
/// goes by, if any.
fn arrow_metadata(
    metadata: &ParquetMetaData,
    stored: &Arc<SchemaDescriptor>,
    hint: Option<&Schema>,
) -> Result<ArrowReaderMetadata, Error> {
    let file = metadata.file_metadata();
    let hint = hint.map(|hint| {
        let value = encode_arrow_schema(hint);
        vec![KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), value)]
    });
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        hint,
        Arc::clone(stored),
        file.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(file, metadata.row_groups().to_vec());
    ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new())
        .map_err(|error| error.to_string().into())
}

/// The number of rows. The footer states it three times: for the file, for each row group, and as the number of values
/// of each column that is not repeated. The reader goes by one of them and would lose rows without a word.
fn rows_in_row_groups(metadata: &ParquetMetaData) -> Result<u64, String> {
    let mut n_rows = 0_u64;
    for (i, group) in metadata.row_groups().iter().enumerate() {
        let of_group = u64::try_from(group.num_rows())
            .map_err(|_| format!("row group {i}: {} rows", group.num_rows()))?;
        let flat = group.columns().iter();
        let mut flat = flat.filter(|column| column.column_descr().max_rep_level() == 0);
        if let Some(other) = flat.find(|column| column.num_values() != group.num_rows()) {
            return Err(format!(
                "row group {i}: the footer states {of_group} rows, and {} values of column `{}`",
                other.num_values(),
                other.column_path().string()
            ));
        }
        let sum = n_rows.checked_add(of_group);
        n_rows = sum.ok_or("row groups of more than 2^64 rows")?;
    }
    let of_file = metadata.file_metadata().num_rows();
    if u64::try_from(of_file) != Ok(n_rows) {
        return Err(format!(
            "the footer states {of_file} rows for the file, and {n_rows} for its row groups"
        ));
    }
    Ok(n_rows)
}

/// Rows per batch so that a batch of average rows has about [`BATCH_BYTES`].
fn batch_rows(rows: u64, bytes: u64) -> usize {
    let row_bytes = (bytes / rows.max(1)).max(1);
    usize::try_from(BATCH_BYTES / row_bytes)
        .unwrap_or(BATCH_ROWS)
        .clamp(1, BATCH_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_rows_make_small_batches() {
        assert_eq!(batch_rows(0, 0), BATCH_ROWS);
        assert_eq!(batch_rows(1_000_000, 8_000_000), BATCH_ROWS);
        assert_eq!(batch_rows(1_000, 1_000 << 20), 16);
        assert_eq!(batch_rows(1, u64::MAX), 1);
    }
}
