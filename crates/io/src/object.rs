//! Objects of stores: their state, and requests for their bytes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::store_error::{StoreError, StoreErrorKind};

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

    /// Returns the bytes that this is of an object of `size` bytes.
    ///
    /// # Errors
    /// A range that ends behind the object: it was changed ([`StoreErrorKind::Changed`](crate::StoreErrorKind)), since
    /// whoever asks knows its size. More bytes than [`GetRange::Whole`] accepts are
    /// [`StoreErrorKind::NoRanges`](crate::StoreErrorKind).
    pub fn inside(&self, size: u64, url: &str) -> Result<Range<u64>, StoreError> {
        match self {
            Self::Bytes(range) if range.start > range.end => {
                let what = format!("{} to {} is no range", range.start, range.end);
                Err(StoreError::new(StoreErrorKind::Invalid, url, what))
            }
            Self::Bytes(range) if range.end > size => Err(StoreError::changed(url, "length")),
            Self::Bytes(range) => Ok(range.clone()),
            Self::Suffix(n_bytes) => Ok(size.saturating_sub(*n_bytes)..size),
            Self::Whole { bytes_max } if size > *bytes_max => {
                let what =
                    format!("{size} bytes, and no more than {bytes_max} are read as a whole");
                Err(StoreError::new(StoreErrorKind::NoRanges, url, what))
            }
            Self::Whole { .. } => Ok(0..size),
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

#[cfg(test)]
mod tests {
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
}
