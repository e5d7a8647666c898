//! Counts of requests and bytes.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ReadAt;

/// Counts of a [`CountingReader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoStats {
    /// Calls of [`ReadAt::read_at`], failed ones included.
    pub requests: u64,
    /// Bytes they asked for.
    pub bytes: u64,
}

/// Counts the requests to another reader. Its [`ReadAt::mapped`] is always `None`, because bytes that are borrowed from
/// a map could not be counted.
#[derive(Debug)]
pub struct CountingReader<R> {
    inner: R,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl<R: ReadAt> CountingReader<R> {
    /// A reader with both counts at zero.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The counts so far. A request that another thread makes at the same time may be in only one of the two numbers.
    pub fn stats(&self) -> IoStats {
        IoStats {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Sets the counts to zero and returns those so far.
    pub fn reset(&self) -> IoStats {
        IoStats {
            requests: self.requests.swap(0, Ordering::Relaxed),
            bytes: self.bytes.swap(0, Ordering::Relaxed),
        }
    }

    /// The reader inside.
    pub fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: ReadAt> ReadAt for CountingReader<R> {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(buf.len() as u64, Ordering::Relaxed);
        self.inner.read_at(place, buf)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) {
        self.inner.prefetch(ranges);
    }

    fn check_unchanged(&self) -> io::Result<()> {
        self.inner.check_unchanged()
    }
}
