//! Parts that benchmarks have in common that measure Tarsia alone, table by table.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;
use tempfile::TempDir;

use crate::machine;
use crate::sizes::tables;

/// Which tables, how often, and whether the results are kept.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of Parquet files; else TARSIA_DATA, else shared/data beside the repository.
    folder: Option<PathBuf>,
    /// Tables whose name contains this; the docs are not rewritten then.
    #[arg(long)]
    table: Option<String>,
    /// Repetitions, of which the median counts.
    #[arg(long, default_value_t = 9)]
    reps: usize,
    /// Leave docs/benchmarks.md and the results as they are.
    #[arg(long)]
    no_docs: bool,
}

impl Arguments {
    /// Measures each table, with the number of repetitions.
    pub(crate) fn each<R>(
        &self,
        mut measure: impl FnMut(&Path, usize) -> Result<R>,
    ) -> Result<Vec<R>> {
        let folder = machine::data_folder(self.folder.as_ref())?;
        let mut rows = Vec::new();
        for path in tables::parquet_files(&folder)? {
            let name = tables::name(&path);
            if self.table.as_ref().is_some_and(|part| !name.contains(part)) {
                continue;
            }
            rows.push(measure(&path, self.reps()).with_context(|| name)?);
        }
        Ok(rows)
    }

    /// Repetitions, of which the median counts.
    pub(crate) fn reps(&self) -> usize {
        self.reps.max(1)
    }

    /// Prints the section, and keeps it and the results of a whole run under `name`.
    pub(crate) fn publish(
        &self,
        name: &str,
        title: &str,
        report: &impl Serialize,
        section: &str,
    ) -> Result<()> {
        println!("{section}");
        if self.table.is_some() || self.no_docs {
            return Ok(());
        }
        crate::report::publish(name, title, report, section)
    }
}

/// All rows of a Parquet file, in batches of 65,536.
pub(crate) fn batches(path: &Path) -> Result<Vec<RecordBatch>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path)?)?
        .with_batch_size(65_536)
        .build()?;
    Ok(reader.collect::<Result<Vec<_>, _>>()?)
}

/// A folder in memory, where the system has such.
pub(crate) fn folder_in_memory() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    Ok(match memory.is_dir() {
        true => tempfile::tempdir_in(memory)?,
        false => tempfile::tempdir()?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;

    use super::*;

    #[test]
    fn tables_of_every_codec_are_read() {
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..1000).map(|i| format!("row {}", i % 9)),
        ));
        let table = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        for codec in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::BROTLI(Default::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::ZSTD(Default::default()),
        ] {
            let properties = WriterProperties::builder().set_compression(codec).build();
            let file = std::fs::File::create(&path).unwrap();
            let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).unwrap();
            writer.write(&table).unwrap();
            writer.close().unwrap();
            assert_eq!(batches(&path).unwrap(), [table.clone()], "{codec}");
        }
    }
}
