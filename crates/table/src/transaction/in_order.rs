//! Work of many tasks on several threads, whose results come in the order of the tasks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use crate::error::Result;

/// Bytes of results that wait for those of earlier tasks.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// Most threads.
const THREADS_MAX: usize = 32;

/// A result of a task, and the bytes that it takes.
pub(super) struct Piece<T> {
    pub(super) value: T,
    pub(super) bytes: usize,
}

/// Where a task puts its results. False if nobody wants more.
pub(super) type Emit<'a, T> = &'a mut dyn FnMut(Piece<T>) -> bool;

/// Threads that work on so many tasks.
pub(super) fn threads_for(n_tasks: usize) -> usize {
    let n_threads = thread::available_parallelism().map_or(1, usize::from);
    n_threads.min(n_tasks).min(THREADS_MAX)
}

/// Does tasks `0..n_tasks` on threads. `take` gets their results on this thread, task by task, and `None` where one
/// ends. The first error ends all.
pub(super) fn in_order<T: Send>(
    n_tasks: usize,
    n_threads: usize,
    work: impl Fn(usize, Emit<'_, T>) -> Result<()> + Sync,
    mut take: impl FnMut(usize, Option<T>) -> Result<()>,
) -> Result<()> {
    if n_threads <= 1 || n_tasks <= 1 {
        for task in 0..n_tasks {
            let mut taken = Ok(());
            work(task, &mut |piece| {
                taken = take(task, Some(piece.value));
                taken.is_ok()
            })?;
            taken?;
            take(task, None)?;
        }
        return Ok(());
    }
    let (waiting, next) = (Waiting::default(), AtomicUsize::new(0));
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..n_threads {
            let sender = sender.clone();
            let (waiting, next, work) = (&waiting, &next, &work);
            scope.spawn(move || {
                let _guard = Guard(waiting);
                run(n_tasks, next, waiting, work, &sender);
            });
        }
        drop(sender);
        let taken = receive(n_tasks, &waiting, &receiver, &mut take);
        // Those who wait for space give up.
        waiting.stop();
        taken
    })
}

enum Message<T> {
    Piece(usize, Piece<T>),
    End(usize, Result<()>),
}

fn run<T>(
    n_tasks: usize,
    next: &AtomicUsize,
    waiting: &Waiting,
    work: &(impl Fn(usize, Emit<'_, T>) -> Result<()> + Sync),
    sender: &Sender<Message<T>>,
) {
    loop {
        let task = next.fetch_add(1, Ordering::Relaxed);
        if task >= n_tasks {
            return;
        }
        let done = work(task, &mut |piece| {
            waiting.reserve(task, piece.bytes) && sender.send(Message::Piece(task, piece)).is_ok()
        });
        let is_failed = done.is_err();
        // A task that was told to stop is not at its end.
        if waiting.is_over() && !is_failed {
            return;
        }
        if sender.send(Message::End(task, done)).is_err() || is_failed {
            return;
        }
    }
}

/// Hands results on in their order, and keeps those that came too early.
fn receive<T>(
    n_tasks: usize,
    waiting: &Waiting,
    receiver: &Receiver<Message<T>>,
    take: &mut impl FnMut(usize, Option<T>) -> Result<()>,
) -> Result<()> {
    let mut early: BTreeMap<usize, (Vec<Piece<T>>, bool)> = BTreeMap::new();
    let mut current = 0;
    while current < n_tasks {
        // No sender is left if a thread panicked: the scope says so.
        let Ok(message) = receiver.recv() else {
            return Ok(());
        };
        match message {
            Message::End(_, Err(error)) => return Err(error),
            Message::Piece(task, piece) => early.entry(task).or_default().0.push(piece),
            Message::End(task, Ok(())) => early.entry(task).or_default().1 = true,
        }
        while let Some((pieces, is_ended)) = early.get_mut(&current) {
            for piece in std::mem::take(pieces) {
                take(current, Some(piece.value))?;
                waiting.release(piece.bytes);
            }
            if !*is_ended {
                break;
            }
            early.remove(&current);
            take(current, None)?;
            current += 1;
            waiting.advance(current);
        }
    }
    Ok(())
}

/// Bytes of results that wait, and the task whose results are handed on: it waits for nobody.
#[derive(Default)]
struct Waiting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: usize,
    current: usize,
    is_over: bool,
}

impl Waiting {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits for space. False if nobody wants more.
    fn reserve(&self, task: usize, bytes: usize) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |state: &mut State| {
            let is_much = state.bytes.saturating_add(bytes) > WAITING_BYTES_MAX;
            is_much && task != state.current && !state.is_over
        };
        let state = self.changed.wait_while(state, is_full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.bytes = state.bytes.saturating_add(bytes);
        !state.is_over
    }

    fn release(&self, bytes: usize) {
        self.change(|state| state.bytes = state.bytes.saturating_sub(bytes));
    }

    fn advance(&self, current: usize) {
        self.change(|state| state.current = current);
    }

    fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).is_over
    }

    fn stop(&self) {
        self.change(|state| state.is_over = true);
    }
}

/// Lets the others give up if a thread panics.
struct Guard<'a>(&'a Waiting);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::Error;

    fn collected(n_threads: usize, bytes: usize) -> Vec<(usize, Option<usize>)> {
        let mut found = Vec::new();
        let work = |task: usize, emit: Emit<'_, usize>| {
            // Later tasks are done first.
            thread::sleep(Duration::from_millis(20 - 2 * task as u64));
            for value in 0..task % 4 {
                assert!(emit(Piece { value, bytes }));
            }
            Ok(())
        };
        in_order(9, n_threads, work, |task, value| {
            found.push((task, value));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let expect = collected(1, 1);
        assert_eq!(expect.len(), 9 + 12);
        for bytes in [1, WAITING_BYTES_MAX / 2, WAITING_BYTES_MAX, usize::MAX] {
            assert_eq!(collected(4, bytes), expect, "{bytes}");
        }
    }

    #[test]
    fn the_first_error_ends_all() {
        for n_threads in [1, 4] {
            let work = |task: usize, emit: Emit<'_, usize>| match task {
                5 => Err(Error::invalid("task 5")),
                _ => {
                    let bytes = WAITING_BYTES_MAX;
                    emit(Piece { value: task, bytes });
                    Ok(())
                }
            };
            let error = in_order(1_000, n_threads, work, |_, _| Ok(())).unwrap_err();
            assert_eq!(error.to_string(), "task 5");
            let work = |task: usize, emit: Emit<'_, usize>| {
                let bytes = WAITING_BYTES_MAX;
                emit(Piece { value: task, bytes });
                Ok(())
            };
            let mut n_taken = 0;
            let refused = in_order(1_000, n_threads, work, |_, _| {
                n_taken += 1;
                match n_taken {
                    3 => Err(Error::invalid("no more")),
                    _ => Ok(()),
                }
            });
            assert_eq!(refused.unwrap_err().to_string(), "no more");
            assert_eq!(n_taken, 3);
        }
    }

    #[test]
    fn a_panic_ends_all_threads() {
        let work = |task: usize, emit: Emit<'_, usize>| {
            assert_ne!(task, 2, "task 2");
            let bytes = WAITING_BYTES_MAX;
            emit(Piece { value: task, bytes });
            Ok(())
        };
        let caught = std::panic::catch_unwind(|| in_order(100, 4, work, |_, _| Ok(())));
        assert!(caught.is_err());
    }
}
