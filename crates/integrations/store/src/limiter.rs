//! Limits how many requests run at the same time, and how many bytes they transfer.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tarsia_io::Priority;

/// Lets requests run in the order of their priorities, while limits allow. A request that is older than all that run is
/// never kept waiting, whatever runs: so a large one comes through, and nobody waits for work that began later.
///
/// Bytes count from when a request is let through until its answer is complete. Whoever keeps answers limits them by
/// what it asks for.
#[derive(Debug)]
pub(crate) struct Limiter {
    requests_max: usize,
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Ticket, Waiting>,
    running: BTreeMap<Ticket, u64>,
    running_bytes: u64,
    next_number: u64,
}

/// Order among requests; no two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ticket {
    priority: Priority,
    number: u64,
}

#[derive(Debug)]
struct Waiting {
    n_bytes: u64,
    waker: Waker,
}

impl Limiter {
    pub(crate) fn new(requests_max: usize, bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            requests_max,
            bytes_max,
            state: Mutex::default(),
        })
    }

    /// Waits until a request of so many bytes may run. It runs until the permit is dropped. The request is in the queue
    /// at once, so that requests whose waits are polled by several threads still come in order.
    pub(crate) fn acquire(self: &Arc<Self>, n_bytes: u64, priority: Priority) -> Acquire {
        let mut state = self.lock();
        let ticket = Ticket {
            priority,
            number: state.next_number,
        };
        state.next_number += 1;
        let waker = Waker::noop().clone();
        state.waiting.insert(ticket, Waiting { n_bytes, waker });
        drop(state);
        Acquire {
            limiter: Arc::clone(self),
            ticket: Some(ticket),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is complete before the lock is released.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets all run that may, and wakes them.
    fn admit(&self, mut state: MutexGuard<'_, State>) {
        let mut woken = Vec::new();
        while let Some(first) = state.waiting.first_entry() {
            let (ticket, n_bytes) = (*first.key(), first.get().n_bytes);
            let fits = state.running.len() < self.requests_max
                && state.running_bytes.saturating_add(n_bytes) <= self.bytes_max;
            let is_oldest = state
                .running
                .first_key_value()
                .is_none_or(|(oldest, _)| ticket < *oldest);
            if !fits && !is_oldest {
                break;
            }
            if let Some(waiting) = state.waiting.remove(&ticket) {
                woken.push(waiting.waker);
            }
            state.running.insert(ticket, n_bytes);
            state.running_bytes = state.running_bytes.saturating_add(n_bytes);
        }
        drop(state);
        for waker in woken {
            waker.wake();
        }
    }

    /// Forgets a request, whether it waits or runs.
    fn release(&self, ticket: Ticket) {
        let mut state = self.lock();
        state.waiting.remove(&ticket);
        if let Some(n_bytes) = state.running.remove(&ticket) {
            state.running_bytes = state.running_bytes.saturating_sub(n_bytes);
        }
        self.admit(state);
    }
}

/// Waits for a [`Permit`]; forgotten when it is dropped.
#[derive(Debug)]
pub(crate) struct Acquire {
    limiter: Arc<Limiter>,
    /// `None` once the permit has it.
    ticket: Option<Ticket>,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        let Some(ticket) = self.ticket else {
            // Polled after it was ready.
            return Poll::Pending;
        };
        let mut state = self.limiter.lock();
        if let Some(waiting) = state.waiting.get_mut(&ticket) {
            waiting.waker.clone_from(context.waker());
            self.limiter.admit(state);
            state = self.limiter.lock();
        }
        if !state.running.contains_key(&ticket) {
            return Poll::Pending;
        }
        drop(state);
        self.ticket = None;
        Poll::Ready(Permit {
            limiter: Arc::clone(&self.limiter),
            ticket,
        })
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.limiter.release(ticket);
        }
    }
}

/// A request that runs.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    ticket: Ticket,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.release(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(acquire: &mut Acquire) -> Option<Permit> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(acquire).poll(&mut context) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    #[test]
    fn requests_run_in_the_order_of_rows_within_the_limits() {
        let limiter = Limiter::new(2, 100);
        let scan = Priority::next();
        let mut all: Vec<_> = (0..4)
            .map(|row| limiter.acquire(40, scan.at(row)))
            .collect();
        let first = poll(&mut all[0]).unwrap();
        let second = poll(&mut all[1]).unwrap();
        // The later row asks first, and still comes later.
        assert!(poll(&mut all[3]).is_none());
        assert!(poll(&mut all[2]).is_none());
        drop(second);
        assert!(poll(&mut all[3]).is_none());
        let third = poll(&mut all[2]).unwrap();
        drop(first);
        let fourth = poll(&mut all[3]).unwrap();
        drop((third, fourth));
        let state = limiter.lock();
        assert_eq!((state.running.len(), state.running_bytes), (0, 0));
        assert!(state.waiting.is_empty());
    }

    #[test]
    fn bytes_are_limited_and_a_large_request_comes_through_alone() {
        let limiter = Limiter::new(10, 100);
        let scan = Priority::next();
        let small = poll(&mut limiter.acquire(60, scan.at(1))).unwrap();
        let mut large = limiter.acquire(1_000, scan.at(2));
        assert!(poll(&mut large).is_none());
        // Nothing overtakes it, however small.
        let mut later = limiter.acquire(1, scan.at(3));
        assert!(poll(&mut later).is_none());
        drop(small);
        let large = poll(&mut large).unwrap();
        assert!(poll(&mut later).is_none());
        drop(large);
        assert!(poll(&mut later).is_some());
    }

    #[test]
    fn the_oldest_is_always_let_through() {
        let limiter = Limiter::new(1, 10);
        let (old, new) = (Priority::next(), Priority::next());
        let running = poll(&mut limiter.acquire(10, new)).unwrap();
        let oldest = poll(&mut limiter.acquire(10, old)).unwrap();
        assert!(poll(&mut limiter.acquire(10, new)).is_none());
        drop((running, oldest));
        assert!(limiter.lock().waiting.is_empty());
    }

    #[test]
    fn who_stops_waiting_is_forgotten() {
        let limiter = Limiter::new(1, 10);
        let scan = Priority::next();
        let running = poll(&mut limiter.acquire(10, scan.at(0))).unwrap();
        let mut gone = limiter.acquire(10, scan.at(1));
        let mut next = limiter.acquire(10, scan.at(2));
        assert!(poll(&mut gone).is_none() && poll(&mut next).is_none());
        drop(gone);
        drop(running);
        // Let through, but never told: it gives its place back.
        assert_eq!(limiter.lock().running.len(), 1);
        drop(next);
        assert_eq!(limiter.lock().running.len(), 0);
    }
}
