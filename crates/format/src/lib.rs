//! Tarsia: a columnar file format for machine-learning data. Full scans and single rows from the same file, checksums down to the
//! block, tables of many thousand columns that open at once.
//!
//! This crate is the facade: [`Writer`] takes Arrow record batches, [`File`] gives them back, as scans ([`File::scan`]) or
//! as random rows ([`File::take`]). It is synchronous; decoding and encoding use the global rayon pool unless told otherwise.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Float32Array, RecordBatch, UInt64Array};
//! use tarsia::{File, WriteOptions, Writer};
//!
//! let batch = RecordBatch::try_from_iter([
//!     ("user", Arc::new(UInt64Array::from_iter_values(0..10_000)) as arrow_array::ArrayRef),
//!     ("score", Arc::new(Float32Array::from_iter_values((0..10_000).map(|i| i as f32 / 8.0)))),
//! ])?;
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("scores.tarsia");
//! let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//!
//! let file = File::open(&path)?;
//! assert_eq!(file.num_rows(), 10_000);
//! let mut rows = 0;
//! for batch in file.scan().columns(&["score"]).rows(100..5_000).build()? {
//!     rows += batch?.num_rows();
//! }
//! assert_eq!(rows, 4_900);
//! assert_eq!(file.take(&[9_999, 7, 7])?.num_rows(), 3);
//! file.verify()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what | where the bytes are specified |
//! |---|---|
//! | header, footer, records, digests | `docs/spec/file.md` |
//! | pages and blocks | `docs/spec/page.md` |
//! | each encoding | `docs/spec/encodings/` |
//! | kernels: the Wasm decoders that files carry | `docs/spec/kernel.md` |
//!
//! Files decode themselves: [`WriteOptions::with_embed_kernels`] puts a Wasm kernel into each, and [`OpenOptions::kernels`] says when a reader
//! runs it. The feature `kernels` (default) brings the engine; without it pages of unknown encodings are refused.
//!
//! # What this crate does not do
//! It knows nothing of tables made of several files, it filters nothing, it is not asynchronous. Fields of structs are projected with
//! the whole struct, or read one by one with [`File::take_element`]. Dictionaries of dictionaries are refused by name, and so are files
//! that an eraser has changed.
#![forbid(unsafe_code)]

mod api;
mod decode;
mod error;
mod exec;
mod options;
mod plan;
mod registry;
mod session;
mod source;
mod table;
mod write;

pub use api::{
    ColumnInspection, ElementPath, File, Inspection, KernelInspection, Scan, ScanBuilder,
    TakeBuilder, Taken, VerifyReport,
};
/// The arrays that are written and read.
pub use arrow_array;
/// Their types.
pub use arrow_schema;
pub use decode::DecoderCounts;
pub use error::{Error, ErrorKind, Result};
pub use options::{Access, Checksums, Kernels, OpenOptions, Threads};
pub use registry::{kernels, registry};
pub use source::Reads;
pub use table::{FileMetadata, Region};
/// The search for trees of encodings, and what a policy of your own has to implement.
pub mod choose {
    pub use tarsia_cascade::{Chooser, Found, Objective, Weights};
    pub use tarsia_page_writer::{Choice, Choose};
}
/// What encodings are made of, and what registries hold.
pub use tarsia_codec as codec;
pub use tarsia_codec::{Registry, Tree};
/// Readers and sinks of bytes.
pub use tarsia_io as io;
pub use tarsia_kernels::{Kernel, KernelEncoding};
pub use write::{
    ColumnOptions, EmbedKernels, LAYOUT_KEY, PageChooser, Preset, WriteOptions, WriteSummary,
    Writer,
};
