//! Tarsia, timed: balanced, mapped, checksums on.

use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use tarsia::{File, OpenOptions, WriteOptions, Writer};

use crate::peers::speed::{Consumer, Format, Opened};
use crate::speed::Threads;

pub(crate) struct Tarsia;

fn threads(threads: Threads) -> tarsia::Threads {
    match threads {
        Threads::One => tarsia::Threads::One,
        Threads::All => tarsia::Threads::All,
    }
}

impl Format for Tarsia {
    fn write(&self, path: &Path, batches: &[RecordBatch], n_threads: Threads) -> Result<()> {
        let schema = batches.first().context("no batch")?.schema();
        let options = WriteOptions {
            threads: threads(n_threads),
            ..WriteOptions::default()
        };
        let mut writer = Writer::create(path, schema, options)?;
        for batch in batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        Ok(())
    }

    fn open(&self, path: &Path, _: &SchemaRef, n_threads: Threads) -> Result<Box<dyn Opened>> {
        let options = OpenOptions {
            threads: threads(n_threads),
            ..OpenOptions::default()
        };
        Ok(Box::new(File::open_with(path, options)?))
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

    fn take(&self, rows: &[u64], consumer: Consumer<'_>) -> Result<()> {
        consumer(File::take(self, rows)?);
        Ok(())
    }
}
