//! A store that counts requests, and can answer late.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tarsia_io::{
    Access, Capabilities, Get, Got, List, ListPage, ObjectMeta, PutIfAbsent, ReadOptions, Store,
    StoreFuture, Upload,
};

/// Requests and bytes of a [`CountingStore`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Requests that read: objects, lists.
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    /// Requests that write.
    pub(crate) puts: u64,
    pub(crate) put_bytes: u64,
    /// Objects below `data` that were written.
    pub(crate) data_puts: u64,
}

/// Rounds of requests: those that are on their way at the same time are one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rounds {
    pub(crate) all: u64,
    /// Rounds of requests that write.
    pub(crate) puts: u64,
}

/// Requests on their way, and how often there was none before one began.
#[derive(Debug, Default)]
struct Running {
    now: AtomicU64,
    rounds: AtomicU64,
}

impl Running {
    fn begin(&self) {
        if self.now.fetch_add(1, Ordering::Relaxed) == 0 {
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn end(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Passes requests on, counts them, and answers after a time.
#[derive(Debug)]
pub(crate) struct CountingStore {
    inner: Arc<dyn Store>,
    latency: Duration,
    counts: Arc<Mutex<Counts>>,
    running: Arc<Running>,
    writing: Arc<Running>,
}

impl CountingStore {
    /// A store whose answers take `latency` more.
    pub(crate) fn new(inner: Arc<dyn Store>, latency: Duration) -> Self {
        Self {
            inner,
            latency,
            counts: Arc::default(),
            running: Arc::default(),
            writing: Arc::default(),
        }
    }

    /// The counts since the last call.
    pub(crate) fn take(&self) -> Counts {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counts)
    }

    /// Rounds since the last call.
    pub(crate) fn take_rounds(&self) -> Rounds {
        Rounds {
            all: self.running.rounds.swap(0, Ordering::Relaxed),
            puts: self.writing.rounds.swap(0, Ordering::Relaxed),
        }
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The answer of the inner store, not before its time.
    fn later<T: Send + 'static>(&self, answer: StoreFuture<T>) -> StoreFuture<T> {
        self.running.begin();
        let running = self.running.clone();
        let delay = Delay {
            end: Instant::now() + self.latency,
            is_asked: false,
        };
        let is_late = !self.latency.is_zero();
        Box::pin(async move {
            if is_late {
                delay.await;
            }
            let answer = answer.await;
            running.end();
            answer
        })
    }

    /// The answer of the inner store to a request that writes.
    fn written<T: Send + 'static>(&self, answer: StoreFuture<T>) -> StoreFuture<T> {
        self.writing.begin();
        let writing = self.writing.clone();
        let answer = self.later(answer);
        Box::pin(async move {
            let answer = answer.await;
            writing.end();
            answer
        })
    }
}

/// Ready at a time.
struct Delay {
    end: Instant,
    is_asked: bool,
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        if !self.is_asked {
            self.is_asked = true;
            let waker = context.waker().clone();
            thread::spawn(move || {
                thread::sleep(left);
                waker.wake();
            });
        }
        Poll::Pending
    }
}

impl Store for CountingStore {
    fn url(&self, key: &str) -> String {
        self.inner.url(key)
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        self.count(|counts| counts.reads += 1);
        let counts = self.counts.clone();
        let answer = self.inner.get(get);
        self.later(Box::pin(async move {
            let got = answer.await?;
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.read_bytes += got.bytes.len() as u64;
            Ok(got)
        }))
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        self.count(|counts| counts.reads += 1);
        self.later(self.inner.head(key))
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        self.count(|counts| {
            counts.puts += 1;
            counts.put_bytes += bytes.len() as u64;
            counts.data_puts += u64::from(key.starts_with("data/"));
        });
        self.written(self.inner.put(key, bytes))
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        self.count(|counts| {
            counts.puts += 1;
            counts.put_bytes += bytes.len() as u64;
        });
        self.written(self.inner.put_if_absent(key, bytes))
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        self.count(|counts| {
            counts.puts += 1;
            counts.data_puts += u64::from(key.starts_with("data/"));
        });
        self.written(self.inner.upload(key))
    }

    fn list(&self, list: List) -> StoreFuture<ListPage> {
        self.count(|counts| counts.reads += 1);
        self.later(self.inner.list(list))
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        self.count(|counts| counts.puts += 1);
        self.written(self.inner.delete(key))
    }

    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        self.later(self.inner.now(probe))
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        self.inner.read_options(access)
    }
}
