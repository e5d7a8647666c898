//! Parquet: zstd 3, with every setting that changes size much, the smallest.

pub(crate) mod speed;

use anyhow::{Context, Result, ensure};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use serde::Serialize;

/// The smallest of the settings tried.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ParquetSize {
    /// Compressed bytes of all column chunks, page headers and dictionary pages included, the footer
    /// and the page indexes left out.
    pub(crate) bytes: u64,
    /// The settings that gave them.
    pub(crate) settings: String,
}

/// Writes batches of one column to memory with each of the settings: dictionary on or off, and
/// encodings of version 1 or 2 (version 2 has delta encodings where there is no dictionary).
pub(crate) fn measure(batches: &[RecordBatch]) -> Result<ParquetSize> {
    let mut smallest: Option<ParquetSize> = None;
    for (version, version_name) in [
        (WriterVersion::PARQUET_1_0, "v1"),
        (WriterVersion::PARQUET_2_0, "v2"),
    ] {
        for (dictionary, dictionary_name) in [(true, "dictionary"), (false, "no dictionary")] {
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
                .set_dictionary_enabled(dictionary)
                .set_writer_version(version)
                .build();
            let bytes = column_bytes(batches, properties)?;
            if smallest.as_ref().is_none_or(|s| bytes < s.bytes) {
                smallest = Some(ParquetSize {
                    bytes,
                    settings: format!("{version_name}, {dictionary_name}"),
                });
            }
        }
    }
    smallest.context("no settings")
}

fn column_bytes(batches: &[RecordBatch], properties: WriterProperties) -> Result<u64> {
    let schema = batches.first().context("no batch")?.schema();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    let metadata = writer.finish()?;
    let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let n_written = metadata.file_metadata().num_rows();
    ensure!(
        usize::try_from(n_written).ok() == Some(n_rows),
        "Parquet wrote {n_written} of {n_rows} rows"
    );
    let mut bytes = 0;
    for row_group in metadata.row_groups() {
        for column in row_group.columns() {
            bytes += u64::try_from(column.compressed_size())?;
        }
    }
    Ok(bytes)
}
