//! Tries, and the waits between them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tarsia_io::{Priority, StoreError};

use crate::failure::{Again, Failure};
use crate::limiter::{Acquire, Limiter};
use crate::policy::Policy;

/// Counts of requests to a store.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
}

pub(crate) fn add(count: &AtomicU64, n: u64) {
    count.fetch_add(n, Ordering::Relaxed);
}

/// Limits and counts that all tries of a store share.
#[derive(Debug, Clone)]
pub(crate) struct Tries {
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) policy: Policy,
    pub(crate) counts: Arc<Counts>,
}

/// A request that is to be made: its bytes, and its place among others, which it has from now on.
#[derive(Debug)]
pub(crate) struct Load {
    n_bytes: u64,
    priority: Priority,
    first: Acquire,
}

impl Tries {
    /// Puts a request into the queue.
    pub(crate) fn load(&self, n_bytes: u64, priority: Priority) -> Load {
        Load {
            n_bytes,
            priority,
            first: self.limiter.acquire(n_bytes, priority),
        }
    }

    /// Runs a request until it succeeds, fails for good, or was tried often enough. Each try is a whole new request,
    /// and waits for its place; between tries nothing is held. The second result counts the retries.
    pub(crate) async fn run<T>(
        self,
        load: Load,
        request: impl Fn() -> BoxFuture<'static, Result<T, Failure>> + Send,
    ) -> (Result<T, StoreError>, u32) {
        let mut n_retries = 0;
        let mut permit = load.first.await;
        let began = Instant::now();
        loop {
            add(&self.counts.requests, 1);
            let failure = match request().await {
                Ok(done) => return (Ok(done), n_retries),
                Err(failure) => failure,
            };
            drop(permit);
            let (most, after) = match failure.again {
                Again::No => (0, None),
                Again::Connect => (self.policy.connect_retries_max, None),
                Again::Soon { after } => (self.policy.retries_max, after),
            };
            let most = most.min(self.policy.retries_max);
            let wait = match after {
                // What the store says, with a part of our own, so that not all come back at once.
                Some(after) => after.min(self.policy.backoff_max) + self.wait(n_retries),
                None => self.wait(n_retries),
            };
            let is_late = began.elapsed().saturating_add(wait) > self.policy.retry_time_max;
            if n_retries >= most || is_late {
                let error = match (failure.again, n_retries) {
                    (Again::No, _) | (_, 0) => failure.error,
                    (_, n) => failure.error.with(&format!(", after {n} retries")),
                };
                return (Err(error), n_retries);
            }
            n_retries += 1;
            add(&self.counts.retries, 1);
            tokio::time::sleep(wait).await;
            permit = self.limiter.acquire(load.n_bytes, load.priority).await;
        }
    }

    /// A random time up to a limit that doubles with each retry ("full jitter" of the AWS Architecture Blog,
    /// "Exponential Backoff And Jitter").
    fn wait(&self, n_retries: u32) -> Duration {
        let doubled = 2u32.saturating_pow(n_retries);
        let limit = self.policy.backoff_first.saturating_mul(doubled);
        limit.min(self.policy.backoff_max).mul_f64(random_part())
    }
}

/// A random number from 0 to 1. The hash keys of the standard library are random, so no generator is needed.
fn random_part() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    random as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_random_and_limited() {
        let tries = Tries {
            limiter: Limiter::new(1, 1),
            policy: Policy::default(),
            counts: Arc::default(),
        };
        for n_retries in 0..40 {
            let limit = Duration::from_millis(100) * 2u32.saturating_pow(n_retries);
            let limit = limit.min(Duration::from_secs(10));
            assert!(tries.wait(n_retries) <= limit);
        }
        let parts: Vec<f64> = (0..100).map(|_| random_part()).collect();
        assert!(parts.iter().any(|part| *part < 0.3) && parts.iter().any(|part| *part > 0.7));
    }
}
