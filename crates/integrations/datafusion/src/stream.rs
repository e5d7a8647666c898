//! Streams of what is computed on threads that may block.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures_util::Stream;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::cancel::Cancel;
use crate::memory::bytes_of;
use crate::task::Task;

/// A step takes about as long, and has as many batches as come in that time: to change threads and to wake them takes
/// 50 to 100 µs, in which a batch of 8,192 rows may be decoded.
const STEP_TIME: Duration = Duration::from_millis(2);

/// Most batches of a step, which are held until the caller has worked on them.
const STEP_BATCHES_MAX: usize = 16;

/// Batches, and how it goes on behind them.
struct Step {
    batches: VecDeque<RecordBatch>,
    /// `None` if no more batches come.
    then: Result<Option<Task>>,
}

impl Step {
    fn new(mut task: Task) -> Self {
        let (start, window) = (Instant::now(), task.window_number());
        let mut batches = VecDeque::new();
        let then = loop {
            match task.next_batch() {
                Ok(Some(batch)) => batches.push_back(batch),
                Ok(None) => break Ok(None),
                Err(error) => break Err(error),
            }
            // Behind the first batch of a window, so that the next one begins with what the caller learns of this one.
            let is_new = task.window_number() != window;
            if is_new || batches.len() >= STEP_BATCHES_MAX || start.elapsed() >= STEP_TIME {
                break Ok(Some(task));
            }
        };
        Self { batches, then }
    }
}

/// The batches of a task. The next ones are computed while the caller works on the last. No thread waits for the
/// caller, so any number of streams may be open. `held` has the memory of those that the caller has not taken.
pub(crate) fn ahead(task: Task, held: Option<MemoryReservation>) -> Ahead {
    Ahead {
        cancel: task.cancel(),
        held,
        ready: VecDeque::new(),
        next: Next::Step(spawn(task)),
    }
}

fn spawn(task: Task) -> JoinHandle<Step> {
    spawn_blocking(move || Step::new(task))
}

pub(crate) struct Ahead {
    cancel: Arc<Cancel>,
    /// Batches that the caller has not seen.
    ready: VecDeque<RecordBatch>,
    /// Their memory, as the engine counts it. They share buffers, so it is held until the last is taken.
    held: Option<MemoryReservation>,
    next: Next,
}

/// The continuation of a stream, behind the batches that are ready.
enum Next {
    Step(JoinHandle<Step>),
    Error(DataFusionError),
    End,
}

impl Stream for Ahead {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                if let (true, Some(held)) = (self.ready.is_empty(), &self.held) {
                    held.free();
                }
                return Poll::Ready(Some(Ok(batch)));
            }
            let ended = match &mut self.next {
                Next::Step(step) => ready!(Pin::new(step).poll(cx)),
                Next::Error(_) | Next::End => {
                    return Poll::Ready(match std::mem::replace(&mut self.next, Next::End) {
                        Next::Error(error) => Some(Err(error)),
                        Next::Step(_) | Next::End => None,
                    });
                }
            };
            self.next = Next::End;
            self.next = match ended {
                Ok(Step { batches, then }) => {
                    if let Some(held) = &self.held {
                        held.resize(bytes_of(&batches));
                    }
                    self.ready = batches;
                    match then {
                        Ok(Some(task)) => Next::Step(spawn(task)),
                        Ok(None) => Next::End,
                        Err(error) => Next::Error(error),
                    }
                }
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(stopped) => Next::Error(DataFusionError::ExecutionJoin(Box::new(stopped))),
                },
            };
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
