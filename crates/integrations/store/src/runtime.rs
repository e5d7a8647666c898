//! Threads that transfer, and what they share in a process.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};
use tarsia_io::{StoreError, StoreErrorKind, StoreFuture};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::limiter::Limiter;
use crate::policy::Policy;

/// Most threads that transfer: they copy and decrypt, at about 1 GB/s each.
const THREADS_MAX: usize = 4;

/// Most threads that look up names of hosts.
const LOOKUP_THREADS_MAX: usize = 8;

/// Where transfers of a process run: a runtime of our own, connections that all stores share, and the limiters. No
/// value is decoded on its threads.
pub(crate) struct Transfers {
    process: u32,
    runtime: Runtime,
    clients: Mutex<HashMap<String, HttpClient>>,
    limiters: Mutex<HashMap<String, Weak<Limiter>>>,
}

/// Transfers of a process, made when they are first needed.
static TRANSFERS: Mutex<Option<Arc<Transfers>>> = Mutex::new(None);

impl Transfers {
    /// Returns those of this process. A process that was forked makes its own: it has none of its parent's threads, and
    /// must not write to its connections.
    pub(crate) fn of_process() -> Result<Arc<Self>, StoreError> {
        Self::of(std::process::id())
    }

    fn of(process: u32) -> Result<Arc<Self>, StoreError> {
        let mut known = TRANSFERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(transfers) = &*known
            && transfers.process == process
        {
            return Ok(Arc::clone(transfers));
        }
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(n_processors.min(THREADS_MAX))
            .max_blocking_threads(LOOKUP_THREADS_MAX)
            .thread_name("tarsia-store")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| {
            let what = format!("no threads: {error}");
            // Nobody knows how far it came.
            StoreError::new(StoreErrorKind::Unknown, "object stores", what)
        })?;
        let transfers = Arc::new(Self {
            process,
            runtime,
            clients: Mutex::default(),
            limiters: Mutex::default(),
        });
        if let Some(of_parent) = known.replace(Arc::clone(&transfers)) {
            // To drop it would wait for threads that this process does not have.
            std::mem::forget(of_parent);
        }
        Ok(transfers)
    }

    /// Returns the process that made them.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Runs work on the threads that transfer.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<T> {
        Box::pin(Task(self.runtime.spawn(work)))
    }

    /// Runs work that goes on if nobody waits for it.
    pub(crate) fn spawn_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<T> {
        let task = self.runtime.spawn(work);
        Box::pin(async move { task.await.unwrap_or_else(|error| Err(stopped(&error))) })
    }

    /// Returns the connections for these options. A store's own header is no part of them.
    pub(crate) fn client(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // Timeouts are ours: this one would count from the start, however large the answer is.
        let options = options.clone().with_timeout_disabled();
        let key = format!("{options:?}");
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let _guard = self.handle().enter();
        let client = ReqwestConnector::default().connect(&options)?;
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Returns the limiter of a store, which all that read it share. The first to ask says the limits.
    pub(crate) fn limiter(&self, store: &str, policy: &Policy) -> Arc<Limiter> {
        let mut limiters = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limiter) = limiters.get(store).and_then(Weak::upgrade) {
            return limiter;
        }
        limiters.retain(|_, limiter| limiter.strong_count() > 0);
        let limiter = Limiter::new(policy.requests_max, policy.bytes_in_flight_max);
        limiters.insert(store.to_owned(), Arc::downgrade(&limiter));
        limiter
    }

    fn handle(&self) -> &Handle {
        self.runtime.handle()
    }
}

impl fmt::Debug for Transfers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Options of clients may have the password of a proxy.
        write!(f, "Transfers(process {})", self.process)
    }
}

/// Work on the threads that transfer; stopped when it is dropped.
struct Task<T>(JoinHandle<Result<T, StoreError>>);

impl<T> Future for Task<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let done = Pin::new(&mut self.0).poll(context);
        done.map(|done| done.unwrap_or_else(|error| Err(stopped(&error))))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn stopped(error: &tokio::task::JoinError) -> StoreError {
    let what = match error.is_panic() {
        true => "a transfer panicked",
        false => "a transfer was stopped",
    };
    StoreError::new(StoreErrorKind::Other, "object stores", what)
}

#[cfg(test)]
mod tests {
    use tarsia_io::block_on;

    use super::*;

    #[test]
    fn a_forked_process_has_threads_and_limiters_of_its_own() {
        let own = Transfers::of_process().unwrap();
        assert!(Arc::ptr_eq(&own, &Transfers::of_process().unwrap()));
        let policy = Policy::default();
        let limiter = own.limiter("s3://bucket", &policy);
        assert!(Arc::ptr_eq(&limiter, &own.limiter("s3://bucket", &policy)));
        // As if this were a child.
        let child = Transfers::of(u32::MAX).unwrap();
        assert!(!Arc::ptr_eq(&own, &child));
        assert!(!Arc::ptr_eq(
            &limiter,
            &child.limiter("s3://bucket", &policy)
        ));
        assert_eq!(block_on(child.spawn(async { Ok(7) })).unwrap(), 7);
        // Other tests of this program go on.
        *TRANSFERS.lock().unwrap() = Some(own);
        std::mem::forget(child);
    }

    #[test]
    fn work_that_panics_is_an_error() {
        let transfers = Transfers::of_process().unwrap();
        let error = block_on(transfers.spawn::<()>(async { panic!("on purpose") })).unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
    }
}
