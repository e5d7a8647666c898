//! The formats that are read in Rust, each behind one trait.

#[expect(
    deprecated,
    reason = "the reader of object_store that parquet 59 has: the one that others use"
)]
mod parquet;
mod tarsia;

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub(crate) use parquet::Parquet;
pub(crate) use tarsia::Tarsia;

use crate::operation::Read;

/// The bucket of all files.
pub(crate) const BUCKET: &str = "bucket";
/// A key, since clients want one; the server takes any.
pub(crate) const KEY_ID: &str = "KEYID";
pub(crate) const SECRET: &str = "SECRETKEY";

/// Batches of a table, to be written.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// Called with each batch that was read, in order.
pub(crate) type Consumer<'c> = &'c mut dyn FnMut(RecordBatch) -> Result<()>;

/// A format: writes a local file, and reads one from a store.
pub(crate) trait Format {
    /// Writes a table. Returns how it is written, and will be read.
    fn store(&self, schema: SchemaRef, batches: Batches, file: &str) -> Result<String>;

    /// Makes the client of a store. The file has so many bytes, as a list of files would say.
    fn connect(&mut self, endpoint: &str, key: &str, file_bytes: u64) -> Result<()>;

    /// Opens the file anew, and keeps it.
    fn open(&mut self) -> Result<()>;

    /// Reads from the file that was opened.
    fn read(&mut self, read: &Read, consumer: Consumer<'_>) -> Result<()>;

    /// Returns how often the file that was opened has been waited for, if the format counts it.
    fn waves(&self) -> Option<u64>;
}
