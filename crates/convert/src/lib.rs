//! Tables of other formats as Arrow record batches, and record batches as files of other formats: Parquet, Arrow IPC,
//! CSV, JSON lines.
//!
//! | module | job |
//! |---|---|
//! | [`source`] | files to read: a schema and an iterator of record batches |
//! | [`target`] | files to write: record batches to any [`Sink`](tarsia_io::Sink), finished or abandoned |
//! | [`text`] | one Arrow value as JSON or as a CSV field |
//! | [`Error`], [`Note`] | why a file is refused, with file, line, column and row; what could not be carried |
//!
//! # Nothing is lost without a word
//! What a file says about its rows, columns and types is read, or refused with an [`Error`], or listed as a [`Note`].
//! A value is never changed. What a target cannot hold, it refuses before it writes the value.
//!
//! # Example
//! ```
//! use tarsia_convert::{Format, source::{Options, Source}, target::Target};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("t.csv");
//! std::fs::write(&path, "id,name\n1,a\n2,b\n")?;
//! let source = Source::open(&path, &Options::default())?;
//! let mut target = Target::new(Vec::new(), Format::JsonLines, source.schema())?;
//! for batch in source {
//!     target.write(&batch?)?;
//! }
//! let (bytes, _) = target.finish()?;
//! assert_eq!(bytes, b"{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! Every byte of a source is hostile: lengths are compared with the bytes at hand before memory is taken, where the
//! readers of other crates do not. These have no limits of their own, so a program that reads files of strangers limits
//! memory and time of the process, as the `tarsia` command does.
//!
//! # What this crate does not do
//! It knows nothing of Tarsia files, of command lines, signals or the standard output.
#![deny(unsafe_code)]

mod categories;
mod error;
mod format;
mod guarded;
mod logical;
mod merged;
mod nested;
pub mod source;
pub mod target;
pub mod text;

pub use error::{Error, ErrorKind, Note};
pub use format::Format;
pub use guarded::quiet_foreign_panics;
