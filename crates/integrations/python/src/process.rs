//! Threads and values that belong to one process, and work that signals interrupt.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use tarsia::{ThreadPool, Threads};

use crate::error::{self, Exception};

/// The time between two looks for signals.
const TICK: Duration = Duration::from_millis(50);

/// The stack of a thread that works for the main thread: as large as that one's usually is.
const HELPER_STACK_BYTES: usize = 8 << 20;

/// A value that is of use only in the process that made it: it may wait for threads that a forked process does not
/// have. There it is neither used nor dropped.
pub(crate) struct OfProcess<T> {
    process: u32,
    value: Option<T>,
}

impl<T> OfProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            process: std::process::id(),
            value: Some(value),
        }
    }

    /// The value, in the process that made it.
    pub(crate) fn get(&self) -> Option<&T> {
        match self.is_ours() {
            true => self.value.as_ref(),
            false => None,
        }
    }

    /// The value, in the process that made it.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        match self.is_ours() {
            true => self.value.take(),
            false => None,
        }
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take()
            && !self.is_ours()
        {
            mem::forget(value);
        }
    }
}

/// A pool, the process that made it, and how many threads were asked for (0: one for each processor).
struct Known {
    process: u32,
    asked: usize,
    pool: ThreadPool,
}

/// The pools of this process. Only threads that hold Python's lock come here, so no other thread is here while a
/// process forks.
static POOLS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The threads that are asked for: `None` for one for each processor. Pools are made when they are first needed, one
/// for each number; a forked process makes its own.
pub(crate) fn threads(_py: Python<'_>, asked: Option<usize>) -> tarsia::Result<Threads> {
    if asked == Some(1) {
        return Ok(Threads::One);
    }
    let (asked, process) = (asked.unwrap_or(0), std::process::id());
    let mut known = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if known.iter().any(|known| known.process != process) {
        // To drop them would wait for threads that this process does not have.
        mem::forget(mem::take(&mut *known));
    }
    if let Some(found) = known.iter().find(|known| known.asked == asked) {
        return Ok(Threads::Of(found.pool.clone()));
    }
    let pool = ThreadPool::new(asked)?;
    known.push(Known {
        process,
        asked,
        pool: pool.clone(),
    });
    Ok(Threads::Of(pool))
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that works while the main thread looks for signals.
struct Helper {
    process: u32,
    jobs: Sender<Job>,
}

thread_local! {
    /// The main thread's; empty while it works.
    static HELPER: Cell<Option<Helper>> = const { Cell::new(None) };
}

impl Helper {
    fn take() -> std::io::Result<Self> {
        let process = std::process::id();
        match HELPER.take() {
            Some(helper) if helper.process == process => return Ok(helper),
            // Its thread is the parent's.
            Some(helper) => mem::forget(helper),
            None => {}
        }
        let (jobs, received) = mpsc::channel::<Job>();
        let builder = thread::Builder::new().name("tarsia-call".to_owned());
        builder
            .stack_size(HELPER_STACK_BYTES)
            .spawn(move || received.into_iter().for_each(|job| job()))?;
        Ok(Self { process, jobs })
    }
}

/// The fate of work whose caller is interrupted.
pub(crate) enum OnSignal<'a> {
    /// It is told, and left to end alone. Its result is dropped.
    Leave(&'a dyn Fn()),
    /// It is told, and waited for: it ends soon.
    Wait(&'a dyn Fn()),
}

/// Work that needs not be told that nobody waits for it.
pub(crate) const LEAVE: OnSignal<'static> = OnSignal::Leave(&|| ());

/// Does work that takes some milliseconds at most. A panic is an error.
pub(crate) fn at_once<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    caught(work).map_err(|panic| error::panicked(&panic))
}

/// Does work that takes long. On the main thread signals are looked for meanwhile: if a handler raises an exception,
/// that is returned at once. A panic is an error.
///
/// The caller does not hold Python's lock.
pub(crate) fn run<T: Send + 'static>(
    on_signal: OnSignal<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !may_be_main_thread() {
        return at_once(work);
    }
    // Without threads there is no Ctrl-C, but all else works.
    let Ok(helper) = Helper::take() else {
        return at_once(work);
    };
    let (sender, result) = mpsc::sync_channel(1);
    if helper.jobs.send(job(work, sender)).is_err() {
        return Err(Exception::Internal.with("a thread has ended"));
    }
    loop {
        match result.recv_timeout(TICK) {
            Ok(done) => {
                HELPER.set(Some(helper));
                return done.map_err(|panic| error::panicked(&panic));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Exception::Internal.with("a thread has ended"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            match on_signal {
                OnSignal::Leave(tell) => tell(),
                OnSignal::Wait(tell) => {
                    tell();
                    // Whatever it is, nobody wants it.
                    if result.recv().is_ok() {
                        HELPER.set(Some(helper));
                    }
                }
            }
            return Err(raised);
        }
    }
}

fn job<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    sender: SyncSender<Result<T, String>>,
) -> Job {
    Box::new(move || {
        // Nobody waits for it where the caller was interrupted.
        let _ = sender.send(caught(work));
    })
}

/// Does work; the text of a panic in it is returned.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| text_of(&*panic))
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}

/// Whether Python runs the handlers of signals on this thread. Elsewhere than on Linux any thread may be the one.
fn may_be_main_thread() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::thread::gettid() == rustix::process::getpid();
    #[cfg(not(target_os = "linux"))]
    return true;
}
