//! Tarsia files in programs on tokio.
//!
//! Reading a file computes and waits for disks, so it blocks the thread that does it. The functions here do it on
//! tokio's blocking threads: [`run`] for one step (opening, a take), [`stream`] for a scan.
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
//! # use futures_util::TryStreamExt;
//! # use tarsia::{File, WriteOptions, Writer};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("users.tarsia");
//! # let users: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..10_000));
//! # let batch = RecordBatch::try_from_iter([("user", users)])?;
//! # let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new())?;
//! # writer.write(&batch)?;
//! # writer.finish()?;
//! let file = tarsia_tokio::run(move || File::open(path)).await??;
//! let mut batches = tarsia_tokio::stream(file.scan().columns(&["user"]), 2);
//! let mut n_rows = 0;
//! while let Some(batch) = batches.try_next().await? {
//!     n_rows += batch.num_rows();
//! }
//! assert_eq!(n_rows, 10_000);
//! # Ok(())
//! # }
//! ```
//!
//! # What this crate does not do
//! It does not read from stores or networks: the bytes come from a local file or from memory.
#![forbid(unsafe_code)]

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use futures_core::{FusedStream, Stream};
use tarsia::ScanBuilder;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

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

/// Starts a scan on a blocking thread and returns its batches, in row order.
///
/// The scan is at most `n_ahead` batches ahead of the caller (at least one), and ends soon after the stream is dropped.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn stream(scan: ScanBuilder, n_ahead: usize) -> BatchStream {
    let (sender, batches) = mpsc::channel(n_ahead.max(1));
    let worker = spawn_blocking(move || {
        let scan = match scan.build() {
            Ok(scan) => scan,
            Err(error) => {
                // Nobody waits for it where the stream was dropped.
                let _ = sender.blocking_send(Err(error.into()));
                return;
            }
        };
        for batch in scan {
            if sender.blocking_send(batch).is_err() {
                return;
            }
        }
    });
    BatchStream {
        batches,
        worker: Some(worker),
    }
}

/// The batches of a scan that runs on a blocking thread; made by [`stream`].
///
/// Its errors are [`ArrowError`]s that carry a [`tarsia::Error`], as those of [`tarsia::Scan`]. After an error there
/// are no more batches. A scan that panics ends with an error, too, never as if it were complete.
pub struct BatchStream {
    batches: mpsc::Receiver<Result<RecordBatch, ArrowError>>,
    /// `None` once the stream has ended.
    worker: Option<JoinHandle<()>>,
}

impl Stream for BatchStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(worker) = &mut this.worker else {
            return Poll::Ready(None);
        };
        if let Some(batch) = ready!(this.batches.poll_recv(cx)) {
            if batch.is_err() {
                this.worker = None;
            }
            return Poll::Ready(Some(batch));
        }
        // All batches are out: the worker says whether that is because the scan is complete.
        let ended = ready!(Pin::new(worker).poll(cx));
        this.worker = None;
        let error = ended
            .err()
            .map(|error| ArrowError::ExternalError(Box::new(error)));
        Poll::Ready(error.map(Err))
    }
}

impl FusedStream for BatchStream {
    fn is_terminated(&self) -> bool {
        self.worker.is_none()
    }
}

impl fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchStream")
            .field("is_terminated", &self.worker.is_none())
            .finish_non_exhaustive()
    }
}
