//! Tasks that every format has to do, by its best ordinary API, to be timed.

use std::path::Path;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use crate::speed::{Goal, Threads};

/// Takes a batch, on whatever thread has made it.
pub(crate) type Consumer<'c> = &'c (dyn Fn(RecordBatch) + Sync);

/// A format with its default options.
pub(crate) trait Format {
    /// Tries the options that change speed most on batches of a table, in files beside `path`, and keeps the better
    /// ones. Returns their name.
    fn tune(
        &mut self,
        _path: &Path,
        _batches: &[RecordBatch],
        _goal: Goal,
    ) -> Result<Option<String>> {
        Ok(None)
    }

    /// Sets what `tune` has named in another process.
    fn set(&mut self, _settings: &str) -> Result<()> {
        Ok(())
    }

    /// Writes a file and waits until it is on its device, as a writer that must not lose it does.
    fn write(&self, path: &Path, batches: &[RecordBatch], threads: Threads) -> Result<()>;

    /// Opens a file. `schema` says which Arrow types are asked for; it is no substitute for the file's own.
    fn open(&self, path: &Path, schema: &SchemaRef, threads: Threads) -> Result<Box<dyn Opened>>;

    /// Opens a file, where `schema` has views for the strings of the file.
    fn open_views(
        &self,
        path: &Path,
        schema: &SchemaRef,
        threads: Threads,
    ) -> Result<Box<dyn Opened>> {
        self.open(path, schema, threads)
    }

    /// Bytes that an embedded decoder would add to the file with these batches; 0 if the format has no embedded
    /// decoders.
    fn kernel_bytes(&self, _path: &Path, _batches: &[RecordBatch]) -> Result<u64> {
        Ok(0)
    }
}

/// An open file.
pub(crate) trait Opened {
    /// The type that the file says a column has.
    fn data_type(&self, column: &str) -> Result<DataType>;

    /// All rows of these columns, or of all. Where columns are split between threads, a batch may hold some of them.
    fn scan(&self, columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()>;

    /// These rows of these columns, or of all; rows rise, and none comes twice.
    fn take(&self, rows: &[u64], columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()>;
}
