//! Requests to the server, their faults, and what its threads share.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    /// GET, PUT and so on.
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// By their names in lower case.
    pub headers: HashMap<String, String>,
    /// Number among the requests of this server, from 0.
    pub index: usize,
}

impl Request {
    /// Returns a header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The bounds of a range with a start.
    pub fn start(&self) -> Option<u64> {
        let range = self.header("range")?.strip_prefix("bytes=")?;
        range.split('-').next()?.parse().ok()
    }

    /// Returns the bytes that are asked for of an object of `size` bytes: all, if the request names no range. `None` if
    /// the object has none of them.
    pub fn range(&self, size: u64) -> Option<Range<u64>> {
        match self.header("range") {
            Some(range) => range_of(range, size),
            None => Some(0..size),
        }
    }

    /// The name of the object. Google's dialect spells slashes otherwise.
    pub(crate) fn path(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        path.replace("%2F", "/")
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        let mut pairs = query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// As it should be.
    None,
    /// This status, with a body that nobody should show.
    Status(u16),
    /// Half of the body, and the connection is closed.
    ShortBody,
    /// Half of the body, as if it were all.
    HalfRange,
    /// More bytes than asked for.
    LongBody,
    /// The connection is closed without an answer.
    Reset,
    /// No answer, for longer than anybody should wait.
    StallBefore,
    /// Half of the body, and then nothing.
    StallInside,
    /// A byte now and then.
    Trickle,
    /// The whole object, whatever range was asked for.
    NoRanges,
    /// As if there were no `If-Match` and no `If-None-Match`.
    NoCondition,
    /// The status 409, with the code of S3 for a create that runs into another one.
    CreateConflict,
    /// A page of a list backwards.
    Disorder,
    /// As many bytes as asked for, one of them another one.
    WrongByte,
    /// Does what was asked for, and closes the connection without saying so.
    LostAnswer,
}

/// An object of the server.
#[derive(Clone, Default)]
pub(crate) struct Object {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
}

/// Parts by their numbers, from 1.
pub(crate) type Parts = BTreeMap<u32, Arc<Vec<u8>>>;

/// Says how a request is answered.
pub(crate) type Faults = Box<dyn Fn(&Request) -> Fault + Send + Sync>;

/// All that the threads of a server share.
pub(crate) struct Shared {
    pub(crate) objects: Mutex<HashMap<String, Object>>,
    pub(crate) uploads: Mutex<HashMap<String, Parts>>,
    pub(crate) requests: Mutex<Vec<Request>>,
    pub(crate) faults: Mutex<Arc<Faults>>,
    pub(crate) latency: Mutex<Duration>,
    pub(crate) bytes_per_second: Mutex<Option<u64>>,
    pub(crate) keeps_bodies: AtomicBool,
    /// When the line is free again.
    pub(crate) line: Mutex<Instant>,
    pub(crate) now: AtomicUsize,
    pub(crate) at_once: AtomicUsize,
    pub(crate) stops: AtomicBool,
}

/// Locks, whatever a thread that panicked left.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of a header `Range`; `None` if there are none.
pub(crate) fn range_of(header: &str, size: u64) -> Option<Range<u64>> {
    let range = header.strip_prefix("bytes=")?;
    let (start, end) = range.split_once('-')?;
    let range = match start.parse::<u64>() {
        Ok(start) => start..end.parse::<u64>().map_or(size, |end| (end + 1).min(size)),
        Err(_) => size.saturating_sub(end.parse().ok()?)..size,
    };
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_requests() {
        let request = |range: Option<&str>| {
            let range = range.map(|range| ("range".to_owned(), range.to_owned()));
            Request {
                method: "GET".to_owned(),
                target: "/".to_owned(),
                headers: range.into_iter().collect(),
                index: 0,
            }
        };
        assert_eq!(request(None).range(10), Some(0..10));
        assert_eq!(request(Some("bytes=2-5")).range(10), Some(2..6));
        assert_eq!(request(Some("bytes=2-50")).range(10), Some(2..10));
        assert_eq!(request(Some("bytes=-3")).range(10), Some(7..10));
        assert_eq!(request(Some("bytes=10-12")).range(10), None);
    }
}
