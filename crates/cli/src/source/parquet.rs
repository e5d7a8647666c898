//! Parquet to Arrow, with what the reader of the `parquet` crate leaves unchecked: numbers of rows, and timestamps that
//! do not fit.

use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataReader};

use super::limits::{BATCH_BYTES, BATCH_ROWS};
use super::{int96, ipc};
use crate::foreign::arrow_text;

/// Reads a file whose numbers of rows agree.
pub(super) struct Reader {
    batches: ParquetRecordBatchReader,
    schema: SchemaRef,
    n_rows: u64,
    rows_read: u64,
}

impl Reader {
    /// # Errors
    /// The file is no Parquet file, its metadata contradict themselves, or a column of INT96 has no unit.
    pub(super) fn new(file: File) -> Result<Reader, String> {
        let metadata = ParquetMetaDataReader::new()
            .parse_and_finish(&file)
            .map_err(|error| error.to_string())?;
        let n_rows = rows_in_row_groups(&metadata)?;
        let metadata = with_readable_schema(metadata)?;
        let decoded_bytes: u64 = metadata
            .row_groups()
            .iter()
            .map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0))
            .sum();
        let metadata = arrow_metadata(&file, Arc::new(metadata))?;
        let schema = metadata.schema().clone();
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_batch_size(batch_rows(n_rows, decoded_bytes))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Reader {
            batches,
            schema,
            n_rows,
            rows_read: 0,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Rows in the file, as its metadata say.
    pub(super) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// # Errors
    /// A page is bad, or the file ends with another number of rows than it states.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>, String> {
        let batch = self.batches.next().transpose().map_err(arrow_text)?;
        self.rows_read += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        let (read, stated) = (self.rows_read, self.n_rows);
        if read > stated || (batch.is_none() && read < stated) {
            let read = if read > stated {
                "more"
            } else {
                &read.to_string()
            };
            return Err(format!(
                "the footer states {stated} rows, the pages have {read}"
            ));
        }
        Ok(batch)
    }
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

/// Makes the metadata of the file's Arrow schema UTF-8 (see [`ipc`]).
fn with_readable_schema(metadata: ParquetMetaData) -> Result<ParquetMetaData, String> {
    let file = metadata.file_metadata();
    let mut pairs = file.key_value_metadata().cloned();
    let schema = pairs.iter_mut().flatten();
    let mut schema = schema.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY);
    let Some(value) = schema.find_map(|pair| pair.value.as_mut()) else {
        return Ok(metadata);
    };
    // What is no base64 is the reader's to refuse.
    let Ok(message) = STANDARD.decode(&value) else {
        return Ok(metadata);
    };
    let readable = ipc::readable_schema(&message);
    let Some(readable) = readable.map_err(|what| format!("{ARROW_SCHEMA_META_KEY}: {what}"))?
    else {
        return Ok(metadata);
    };
    *value = STANDARD.encode(readable);
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        pairs,
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    Ok(ParquetMetaData::new(file, metadata.row_groups().to_vec()))
}

/// The Arrow schema, in which columns of INT96 have a unit that holds them.
fn arrow_metadata(
    file: &File,
    metadata: Arc<ParquetMetaData>,
) -> Result<ArrowReaderMetadata, String> {
    let options = ArrowReaderOptions::new();
    let plain = ArrowReaderMetadata::try_new(metadata.clone(), options.clone())
        .map_err(|error| error.to_string())?;
    let Some(fields) = int96::fields_that_hold(file, &metadata, plain.schema().fields())? else {
        return Ok(plain);
    };
    let schema = Schema::new_with_metadata(fields, plain.schema().metadata().clone());
    ArrowReaderMetadata::try_new(metadata, options.with_schema(Arc::new(schema)))
        .map_err(|error| error.to_string())
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
