//! Object stores: objects that are read in ranges and appear whole.

use std::fmt;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::SystemTime;

use crate::coalesce::{Access, ReadOptions};
use crate::store_error::StoreError;

/// Work of a store. It may be polled by any executor and on any thread, [`block_on`] included; to drop it cancels it.
/// Work may go on between polls, on threads that the store brings.
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Objects under keys: a bucket, a container, a server, a folder.
///
/// A method answers for one object. It retries, limits and orders its requests as the store thinks right, so callers
/// do none of that. They say what is needed first ([`Get::priority`]), and drop what is no longer needed.
///
/// An object is replaced as a whole: [`ObjectMeta::etag`] names its content, and a [`Get`] that names an ETag never
/// returns bytes of other content.
///
/// Methods that are added later have a default that answers [`StoreErrorKind::Unsupported`](crate::StoreErrorKind).
pub trait Store: fmt::Debug + Send + Sync {
    /// Names an object in errors: its URL, without anything secret.
    fn url(&self, key: &str) -> String;

    /// Reads bytes of an object. The answer has all bytes asked for, or it is an error.
    fn get(&self, get: Get) -> StoreFuture<Got>;

    /// Returns what is known of an object, without its bytes.
    fn head(&self, key: &str) -> StoreFuture<ObjectMeta>;

    /// Writes an object at once, over an older one if there is one. Returns its ETag, if the store says it.
    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>>;

    /// Begins to write an object in parts. It appears when the upload is completed.
    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>>;

    /// Returns which ranges are worth joining, and the largest request.
    fn read_options(&self, access: Access) -> ReadOptions {
        match access {
            Access::Take => ReadOptions::REMOTE_TAKE,
            Access::Scan => ReadOptions::REMOTE_SCAN,
        }
    }
}

/// An object that is written in parts, several of them at the same time and in any order.
pub trait Upload: fmt::Debug + Send + Sync {
    /// Writes part `index`, counted from 0. All parts but the last have at least 5 MiB, which is what S3 asks for. A
    /// part that is written twice counts as it was last written.
    fn put_part(&self, index: u32, bytes: Arc<Vec<u8>>) -> StoreFuture<()>;

    /// Makes the object of the parts `0 .. n_parts`. Returns its ETag, if the store says it. After an error that says
    /// that the outcome is unknown ([`StoreErrorKind::Unknown`](crate::StoreErrorKind)) the object may be there.
    fn complete(&self, n_parts: u32) -> StoreFuture<Option<String>>;

    /// Removes what was written. The work goes on if the future is dropped.
    fn abort(&self) -> StoreFuture<()>;
}

/// State of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Bytes.
    pub size: u64,
    /// A name for the content, as the store gives it; other content has another one.
    pub etag: Option<String>,
    /// Time of the last change, by the store's clock.
    pub last_modified: Option<SystemTime>,
}

impl ObjectMeta {
    /// Returns the ETag if a request can make it a condition. A weak one (`W/"…"`) cannot: by RFC 9110, 13.1.1, no
    /// weak ETag fulfils `If-Match`.
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| !etag.starts_with("W/"))
    }

    /// Compares with a later state. Returns what shows that the object was changed; `None` if nothing does.
    pub fn difference(&self, later: &Self) -> Option<&'static str> {
        if self.size != later.size {
            return Some("length");
        }
        match (&self.etag, &later.etag) {
            (Some(one), Some(other)) => (one != other).then_some("ETag"),
            _ => match (self.last_modified, later.last_modified) {
                (Some(one), Some(other)) if one != other => Some("time of modification"),
                _ => None,
            },
        }
    }
}

/// A request for bytes of an object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Get {
    /// Name of the object.
    pub key: Arc<str>,
    /// Bytes wanted.
    pub range: GetRange,
    /// ETag that the object must have; a strong one.
    pub if_match: Option<String>,
    /// Place among the requests that wait.
    pub priority: Priority,
}

impl Get {
    /// A request without a condition, behind those that were made before.
    pub fn new(key: impl Into<Arc<str>>, range: GetRange) -> Self {
        Self {
            key: key.into(),
            range,
            if_match: None,
            priority: Priority::next(),
        }
    }
}

/// Bytes of an object that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GetRange {
    /// Bytes from the first place to before the second. The answer is an error if the object ends earlier.
    Bytes(Range<u64>),
    /// The last bytes, so many or all.
    Suffix(u64),
    /// All bytes, by a request without a range. The answer is an error, and little is transferred, if there are more
    /// than `bytes_max`.
    Whole {
        /// Most bytes accepted.
        bytes_max: u64,
    },
}

impl GetRange {
    /// Most bytes of an answer.
    pub fn bytes_max(&self) -> u64 {
        match self {
            Self::Bytes(range) => range.end.saturating_sub(range.start),
            Self::Suffix(n_bytes) => *n_bytes,
            Self::Whole { bytes_max } => *bytes_max,
        }
    }
}

/// Bytes of an object, and its state when they were read.
#[derive(Clone)]
pub struct Got {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The place of the first of them.
    pub start: u64,
    /// The state of the object.
    pub meta: ObjectMeta,
}

impl fmt::Debug for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.start + self.bytes.len() as u64;
        write!(f, "Got({}..{end} of {:?})", self.start, self.meta)
    }
}

/// Place of a request among those that wait: the work that began first comes first, and within it the order that its
/// caller gives, such as that of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority {
    began: u64,
    place: u64,
}

impl Priority {
    /// The place behind all work that began before.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            began: NEXT.fetch_add(1, Ordering::Relaxed),
            place: 0,
        }
    }

    /// A place within this work.
    #[must_use]
    pub fn at(self, place: u64) -> Self {
        Self { place, ..self }
    }
}

/// Waits on this thread until the future is ready. The future gets no runtime: those of a [`Store`] need none.
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
    use std::time::Duration;

    use super::*;

    fn meta(size: u64, etag: Option<&str>, seconds: Option<u64>) -> ObjectMeta {
        ObjectMeta {
            size,
            etag: etag.map(str::to_owned),
            last_modified: seconds.map(|n| SystemTime::UNIX_EPOCH + Duration::from_secs(n)),
        }
    }

    #[test]
    fn an_object_is_known_by_its_etag() {
        let known = meta(9, Some("\"a\""), Some(5));
        assert_eq!(known.difference(&known), None);
        // Copies between servers keep the content and its ETag.
        assert_eq!(known.difference(&meta(9, Some("\"a\""), Some(6))), None);
        assert_eq!(
            known.difference(&meta(9, Some("\"b\""), Some(5))),
            Some("ETag")
        );
        assert_eq!(
            known.difference(&meta(8, Some("\"a\""), Some(5))),
            Some("length")
        );
        assert_eq!(
            known.difference(&meta(9, None, Some(6))),
            Some("time of modification")
        );
        assert_eq!(known.difference(&meta(9, None, None)), None);
        assert_eq!(known.strong_etag(), Some("\"a\""));
        assert_eq!(meta(9, Some("W/\"a\""), None).strong_etag(), None);
        assert_eq!(meta(9, None, None).strong_etag(), None);
    }

    #[test]
    fn earlier_work_comes_first_and_then_the_order_within_it() {
        let (first, second) = (Priority::next(), Priority::next());
        assert!(first < second);
        assert!(first.at(7) < second.at(1));
        assert!(first.at(1) < first.at(2));
    }

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
