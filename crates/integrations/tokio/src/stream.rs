//! Scans as streams.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use futures_core::{FusedStream, Stream};
use tarsia::{ScanBuilder, ScanCancel};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

/// Starts a scan on a blocking thread and returns its batches, in row order.
///
/// The scan is at most `n_ahead` batches ahead of the caller (at least one). Dropping the stream cancels it: what is
/// being decoded is given up between two pieces of work, a read that waits for its source comes to its end first.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn stream(scan: ScanBuilder, n_ahead: usize) -> BatchStream {
    let (sender, batches) = mpsc::channel(n_ahead.max(1));
    let cancel = Arc::new(Cancel::default());
    let of_worker = Arc::clone(&cancel);
    let worker = spawn_blocking(move || {
        // A scan that had to wait for its thread.
        if of_worker.is_dropped() {
            return;
        }
        let scan = match scan.build() {
            Ok(scan) => scan,
            Err(error) => {
                // Nobody waits for it where the stream was dropped.
                let _ = sender.blocking_send(Err(error.into()));
                return;
            }
        };
        of_worker.begins(scan.cancel_handle());
        for batch in scan {
            if sender.blocking_send(batch).is_err() {
                return;
            }
        }
    });
    BatchStream {
        batches,
        worker: Some(worker),
        cancel,
    }
}

/// Cancels a scan whether it has begun or not.
#[derive(Default)]
struct Cancel {
    is_dropped: AtomicBool,
    scan: OnceLock<ScanCancel>,
}

impl Cancel {
    fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::SeqCst)
    }

    /// Whoever of the two comes second, this or [`Cancel::cancel`], sees what the first has set.
    fn begins(&self, scan: ScanCancel) {
        let scan = self.scan.get_or_init(|| scan);
        if self.is_dropped() {
            scan.cancel();
        }
    }

    fn cancel(&self) {
        self.is_dropped.store(true, Ordering::SeqCst);
        if let Some(scan) = self.scan.get() {
            scan.cancel();
        }
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
    cancel: Arc<Cancel>,
}

impl Drop for BatchStream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
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
