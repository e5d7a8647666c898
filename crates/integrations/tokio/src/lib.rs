//! Tarsia files in programs on tokio.
//!
//! Reading a file computes and waits for disks and stores, so it blocks the thread that does it. Here it is done on
//! tokio's blocking threads, and decoded on the threads of [`tarsia::Threads`]; the threads of the runtime wait for
//! nothing and decode nothing.
//!
//! | item | job |
//! |---|---|
//! | [`AsyncFile`] | an open file: its schema and takes as futures, scans as streams |
//! | [`stream`], [`BatchStream`] | any scan as a stream, which cancels it when it is dropped |
//! | [`run`] | one step that blocks, such as an erasure or a verification |
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
//! # use futures_util::TryStreamExt;
//! # use tarsia::{OpenOptions, WriteOptions, Writer};
//! # use tarsia_tokio::AsyncFile;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("users.tarsia");
//! # let users: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..10_000));
//! # let batch = RecordBatch::try_from_iter([("user", users)])?;
//! # let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new())?;
//! # writer.write(&batch)?;
//! # writer.finish()?;
//! let file = AsyncFile::open(path, OpenOptions::default()).await?;
//! let mut batches = file.scan(|scan| scan.columns(&["user"]));
//! let mut n_rows = 0;
//! while let Some(batch) = batches.try_next().await? {
//!     n_rows += batch.num_rows();
//! }
//! assert_eq!(n_rows, 10_000);
//! let rows = file.take(vec![17, 3, 17], |take| take.columns(&["user"])).await?;
//! assert_eq!(rows.num_rows(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate does not do
//! It knows no stores: [`AsyncFile::open_with`] takes what opens a reader, such as `tarsia_store::open`.
#![forbid(unsafe_code)]

mod file;
mod stream;

use tokio::task::{JoinError, spawn_blocking};

pub use file::AsyncFile;
pub use stream::{BatchStream, stream};

/// Runs one step on a blocking thread.
///
/// Dropping the future does not stop a step that has begun.
///
/// # Errors
/// [`JoinError`] where the step panics, or where the runtime shuts down before it begins.
///
/// # Panics
/// Outside of a tokio runtime.
pub async fn run<T, F>(step: F) -> Result<T, JoinError>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    spawn_blocking(step).await
}
