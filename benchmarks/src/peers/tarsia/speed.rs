//! Tarsia, timed: balanced, mapped. The checksum of each block is compared when the block is first read from an open
//! file (the default).

use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use tarsia::{EmbedKernels, File, OpenOptions, Preset, WriteOptions, Writer};

use super::write_options;
use crate::peers::speed::{Consumer, Format, Opened};
use crate::speed::Threads;

/// Under one preset.
pub(crate) struct Tarsia {
    preset: Preset,
}

impl Tarsia {
    pub(crate) fn with_preset(preset: Preset) -> Self {
        Self { preset }
    }
}

fn threads(threads: Threads) -> tarsia::Threads {
    match threads {
        Threads::One => tarsia::Threads::One,
        Threads::All => tarsia::Threads::All,
    }
}

fn write(path: &Path, batches: &[RecordBatch], options: WriteOptions) -> Result<()> {
    let schema = batches.first().context("no batch")?.schema();
    let mut writer = Writer::create(path, schema, options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(())
}

fn open(path: &Path, n_threads: Threads, views: bool) -> Result<Box<dyn Opened>> {
    let options = OpenOptions::new()
        .with_threads(threads(n_threads))
        .with_views(views);
    Ok(Box::new(File::open_with(path, options)?))
}

impl Format for Tarsia {
    fn write(&self, path: &Path, batches: &[RecordBatch], n_threads: Threads) -> Result<()> {
        let options = write_options(threads(n_threads)).with_preset(self.preset);
        write(path, batches, options)
    }

    fn open(&self, path: &Path, _: &SchemaRef, n_threads: Threads) -> Result<Box<dyn Opened>> {
        open(path, n_threads, false)
    }

    fn open_views(
        &self,
        path: &Path,
        _: &SchemaRef,
        n_threads: Threads,
    ) -> Result<Box<dyn Opened>> {
        open(path, n_threads, true)
    }

    fn kernel_bytes(&self, path: &Path, batches: &[RecordBatch]) -> Result<u64> {
        let with_kernel = path.with_extension("kernel");
        let options = write_options(tarsia::Threads::All)
            .with_embed_kernels(EmbedKernels::Embed)
            .with_preset(self.preset);
        write(&with_kernel, batches, options)?;
        let bytes = std::fs::metadata(&with_kernel)?.len();
        std::fs::remove_file(&with_kernel)?;
        Ok(bytes.saturating_sub(std::fs::metadata(path)?.len()))
    }
}

impl Opened for File {
    fn data_type(&self, column: &str) -> Result<DataType> {
        let scan = self.scan().columns(&[column]).build()?;
        Ok(scan.schema().field(0).data_type().clone())
    }

    fn scan(&self, columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()> {
        let scan = match columns {
            Some(columns) => File::scan(self).columns(columns),
            None => File::scan(self),
        };
        for batch in scan.build()? {
            consumer(batch?);
        }
        Ok(())
    }

    fn take(&self, rows: &[u64], columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()> {
        consumer(match columns {
            Some(columns) => File::take(self, rows).columns(columns).read()?,
            None => File::take(self, rows).read()?,
        });
        Ok(())
    }
}
