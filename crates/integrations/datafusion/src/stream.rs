//! Streams of what is computed on threads that may block.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow_array::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use futures_util::Stream;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::cancel::Cancel;
use crate::task::Task;

type Step = Result<Option<(Task, RecordBatch)>>;

/// The batches of a task. The next one is computed while the caller works on the last. No thread waits for the caller,
/// so any number of streams may be open.
pub(crate) fn ahead(task: Task) -> Ahead {
    Ahead {
        cancel: task.cancel(),
        next: Some(spawn(task)),
    }
}

fn spawn(mut task: Task) -> JoinHandle<Step> {
    spawn_blocking(move || {
        let batch = task.next_batch()?;
        Ok(batch.map(|batch| (task, batch)))
    })
}

pub(crate) struct Ahead {
    cancel: Arc<Cancel>,
    /// `None` once the stream has ended.
    next: Option<JoinHandle<Step>>,
}

impl Stream for Ahead {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let ended = ready!(Pin::new(next).poll(cx));
        self.next = None;
        Poll::Ready(match ended {
            Ok(Ok(Some((task, batch)))) => {
                self.next = Some(spawn(task));
                Some(Ok(batch))
            }
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some(Err(error)),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(stopped) => Some(Err(DataFusionError::ExecutionJoin(Box::new(stopped)))),
            },
        })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
