//! Waiting for a future without a runtime.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Waits on this thread until the future is ready. The future gets no runtime: those of a [`Store`](crate::Store) need
/// none.
///
/// ```
/// assert_eq!(tarsia_io::block_on(async { 1 + 1 }), 2);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let wakes = Arc::new(Wakes {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        // Others may unpark a thread, too, so the flag says whether it was for us.
        while !wakes.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

struct Wakes {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn a_thread_waits_until_another_one_wakes_it() {
        let mut polls = 0;
        let value = block_on(poll_fn(|context| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(polls);
            }
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        }));
        assert_eq!(value, 3);
    }
}
