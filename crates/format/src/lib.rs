//! Tarsia: a columnar file format for machine-learning data. Full scans and single rows from the same file, checksums
//! down to the block, tables of many thousand columns that open at once.
//!
//! This crate is the facade: [`Writer`] takes Arrow record batches, [`File`] gives them back, as scans
//! ([`File::scan`]) or as single rows ([`File::take`]), and [`Eraser`] removes rows from a file. It is synchronous;
//! decoding and encoding use a pool of threads that
//! the process makes when it first needs one, unless told otherwise ([`Threads`]).
//!
//! ```
//! use std::sync::Arc;
//! use tarsia::arrow_array::{ArrayRef, Float32Array, RecordBatch, UInt64Array};
//! use tarsia::{File, WriteOptions, Writer};
//!
//! let user: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..10_000));
//! let score = Float32Array::from_iter_values((0..10_000).map(|i| i as f32 / 8.0));
//! let batch = RecordBatch::try_from_iter([("user", user), ("score", Arc::new(score))])?;
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("scores.tarsia");
//! let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//!
//! let file = File::open(&path)?;
//! assert_eq!(file.num_rows(), 10_000);
//! let rows = file.take(&[9_999, 7, 7]).columns(&["score"]).read()?;
//! assert_eq!(rows.num_rows(), 3);
//! file.verify()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A scan is a [`RecordBatchReader`](arrow_array::RecordBatchReader), so other Arrow libraries take it as it is. Its
//! errors are [`ArrowError`](arrow_schema::ArrowError)s, and [`Error`] and `ArrowError` convert into each other without
//! a loss. A file may be in memory, too:
//!
//! ```
//! use std::sync::Arc;
//! use tarsia::arrow_array::{ArrayRef, ListArray, RecordBatch, RecordBatchReader, types::Int32Type};
//! use tarsia::arrow_schema::ArrowError;
//! use tarsia::{File, OpenOptions, WriteOptions, Writer};
//!
//! fn count(reader: impl RecordBatchReader + Send) -> Result<usize, ArrowError> {
//!     reader.map(|batch| Ok(batch?.num_rows())).sum()
//! }
//!
//! # fn main() -> Result<(), ArrowError> {
//! let frames = [Some(vec![Some(1), Some(2)]), None, Some(vec![Some(3)])];
//! let frames: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(frames));
//! let batch = RecordBatch::try_from_iter_with_nullable([("frames", frames, true)])?;
//! let mut writer = Writer::new(Vec::new(), batch.schema(), WriteOptions::new())?;
//! writer.write(&batch)?;
//! let (bytes, summary) = writer.finish_into()?;
//! assert_eq!(summary.rows, 3);
//!
//! let file = File::from_bytes(bytes, OpenOptions::new())?;
//! assert_eq!(count(file.scan().columns(&["frames"]).rows(1..3).build()?)?, 2);
//! // The second item of two rows, without the rest of their lists.
//! let second = file.take(&[2, 0]).element(&"frames[1]".parse()?).read()?;
//! assert_eq!(second.column(0).null_count(), 1);
//! // Errors keep their kind and place as they pass through Arrow.
//! let missing = ArrowError::from(file.scan().columns(&["frame"]).build().unwrap_err());
//! assert_eq!(tarsia::Error::from(missing).kind(), tarsia::ErrorKind::NoSuchColumn);
//! # Ok(())
//! # }
//! ```
//!
//! A scan may have a [filter], and read selected rows ([`RowSelection`]):
//!
//! ```
//! use std::sync::Arc;
//! use tarsia::arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
//! use tarsia::filter::col;
//! use tarsia::{File, OpenOptions, WriteOptions, Writer};
//!
//! let country: ArrayRef = Arc::new(StringArray::from(vec!["NL", "BE", "NL", "DE"]));
//! let clicks: ArrayRef = Arc::new(Int64Array::from(vec![3, 9, 12, 40]));
//! let batch = RecordBatch::try_from_iter([("country", country), ("clicks", clicks)])?;
//! let mut writer = Writer::new(Vec::new(), batch.schema(), WriteOptions::new())?;
//! writer.write(&batch)?;
//! let file = File::from_bytes(writer.finish_into()?.0, OpenOptions::new())?;
//!
//! let filter = col("country").is_in(["NL", "BE"]).and(col("clicks").gt(5));
//! assert_eq!(file.scan().filter(filter.clone()).count()?, 2);
//! let rows = file.scan().filter(filter).matching_rows()?;
//! assert_eq!(rows.runs().collect::<Vec<_>>(), [1..3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | where the bytes are specified |
//! |---|---|
//! | header, footer, records, digests | `docs/spec/file.md` |
//! | pages and blocks | `docs/spec/page.md` |
//! | each encoding | `docs/spec/encodings/` |
//! | kernels: the Wasm decoders that files carry | `docs/spec/kernel.md` |
//! | files whose rows were erased, the journal | `docs/spec/erasure.md` |
//!
//! Files decode themselves: [`WriteOptions::with_embed_kernels`] puts Wasm kernels into each, and
//! [`OpenOptions::with_kernels`] says when a reader runs them. The feature `kernels` (default) brings the engine,
//! wasmtime; without it, pages of unknown encodings are refused.
//!
//! # Layers
//! Dependencies between the folders of this crate point one way: `api` → `exec` → `decode` → `plan` → `table` →
//! `source`. `plan` and `decode` say which byte ranges they need and get their bytes; `exec` holds the synchronous
//! driver. Only `source` reads, except for `erase`, which lies between `api` and `exec`: it plans erasures, and commits
//! them to a file that it holds open for changes. `reorder` copies pages in another order; it stands on `exec` and on
//! `write`. `write` stands beside all of them and shares `table`'s view of
//! fields.
//!
//! # What this crate does not do
//! It knows nothing of tables made of several files, it is not asynchronous, and its files have no statistics: a filter
//! reads all blocks of the columns that it looks at. Dictionaries of dictionaries are refused by name.
#![forbid(unsafe_code)]

mod api;
mod decode;
mod end;
mod erase;
mod error;
mod exec;
mod options;
mod plan;
mod random;
mod registry;
mod reorder;
mod session;
mod source;
mod table;
mod threads;
mod write;

#[cfg(feature = "certificate")]
pub use api::CertificateCheck;
pub use api::{
    Audit, AuditedColumn, ColumnInspection, ColumnStatistics, ElementPath, Eraser, File, FileCache,
    Inspection, KernelInspection, Precision, Scan, ScanBuilder, ScanCancel, Statistics,
    TakeBuilder, Taken, VerifyReport, recover, recover_with,
};
/// The arrays that are written and read.
pub use arrow_array;
/// Their types.
pub use arrow_schema;
pub use decode::DecoderCounts;
pub use erase::{
    ErasedBlock, ErasedColumn, ErasurePlan, ErasureReport, ErasureSummary, Recovery, Residue,
    RowsOfErasure,
};
pub use error::{Error, ErrorKind, Result};
pub use exec::{ConjunctCounts, ROW_NUMBER};
pub use options::{Access, Checksums, DeletedRows, Kernels, OpenOptions};
pub use plan::RowSelection;
pub use registry::{kernels, registry};
pub use reorder::{ReadLog, ReorderSummary};
pub use source::Reads;
pub use table::{FileMetadata, Region};
pub use threads::{ThreadPool, Threads};
/// The search for trees of encodings, and what a policy of your own has to implement.
pub mod choose {
    pub use tarsia_cascade::{Candidate, Chooser, Objective, Outline, Weights};
    pub use tarsia_page_writer::{Choice, Choose};
}
/// The contract of encodings, and registries of them.
pub use tarsia_codec as codec;
pub use tarsia_codec::{Registry, Tree};
/// Sets of rows, digests.
pub use tarsia_compliance as compliance;
pub use tarsia_compliance::RowSet;
/// Conditions on rows.
pub use tarsia_filter as filter;
/// Readers and sinks of bytes.
pub use tarsia_io as io;
pub use tarsia_kernels::{Kernel, KernelEncoding};
pub use tarsia_metadata::ErasureLevel;
pub use write::{
    CapturedLayout, ColumnOptions, EmbedKernels, LAYOUT_KEY, LAYOUTS, PageChooser, Preset,
    ROUNDED_KEY_PREFIX, WriteOptions, WriteSummary, Writer, WriterMemory,
};
