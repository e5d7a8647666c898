//! Errors of object stores.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::Conflict;

/// Why a store did not do what it was asked for: one line that names the object and holds nothing secret.
///
/// It is inside an [`io::Error`] that was made of it; [`StoreError::of`] finds it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    kind: StoreErrorKind,
    object: String,
    what: String,
    operation: Option<StoreOperation>,
}

/// Operations of a store, by the name of the method of [`Store`](crate::Store).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreOperation {
    /// Reading bytes.
    Get,
    /// Asking for size, ETag and time.
    Head,
    /// Writing an object at once.
    Put,
    /// Writing an object if there is none.
    PutIfAbsent,
    /// Writing an object in parts.
    Upload,
    /// Listing objects.
    List,
    /// Removing an object.
    Delete,
    /// Asking for the time.
    Now,
}

impl fmt::Display for StoreOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::Head => "head",
            Self::Put => "put",
            Self::PutIfAbsent => "put if absent",
            Self::Upload => "upload",
            Self::List => "list",
            Self::Delete => "delete",
            Self::Now => "now",
        })
    }
}

/// Kinds of [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// There is no such object, or no such bucket.
    NotFound,
    /// The object is not as it was when it was opened. The part is `"ETag"`, `"length"` or `"time of modification"`.
    /// An [`io::Error`] of it holds a [`Conflict::Changed`].
    Changed {
        /// The part of its state that shows it.
        part: &'static str,
    },
    /// The server ignores the ranges of requests.
    NoRanges,
    /// Nothing of the object is inside the range: it is empty, or shorter than it was.
    Outside,
    /// The credentials are missing, wrong or do not suffice.
    Permission,
    /// The store was busy, out of reach or silent, and stayed so while the request was retried.
    Transient,
    /// The store has no such operation.
    Unsupported,
    /// The request makes no sense: a bad URL, key or option.
    Invalid,
    /// No answer came to a change, so it may have been made, or may be made later.
    Unknown,
    /// Anything else.
    Other,
}

impl StoreError {
    /// An error about an object (or a store). `object` and `what` hold nothing secret.
    pub fn new(kind: StoreErrorKind, object: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            kind,
            object: object.into(),
            what: what.into(),
            operation: None,
        }
    }

    /// An error about an object that was changed since it was opened.
    pub fn changed(object: impl Into<String>, part: &'static str) -> Self {
        let what = format!("was changed while it was open (its {part}): open it again");
        Self::new(StoreErrorKind::Changed { part }, object, what)
    }

    /// Returns the kind.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Returns the URL of the object, without anything secret.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Returns what the store was asked to do, if the error is about one operation.
    pub fn operation(&self) -> Option<StoreOperation> {
        self.operation
    }

    /// Says what the store was asked to do; the text ends with it, unless it was reading.
    #[must_use]
    pub fn during(mut self, operation: StoreOperation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Returns the text without the object and the operation.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Adds words at the end of the text.
    #[must_use]
    pub fn with(mut self, more: &str) -> Self {
        self.what.push_str(more);
        self
    }

    /// Returns the store's error that `error` was made of. There is none for an object that was changed: that is a
    /// [`Conflict`].
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = match self.kind {
            StoreErrorKind::Changed { .. } => "",
            _ => ":",
        };
        write!(f, "{}{colon} {}", self.object, self.what)?;
        match self.operation {
            // Whoever reads knows that it was reading.
            None | Some(StoreOperation::Get | StoreOperation::Head) => Ok(()),
            Some(operation) => write!(f, " ({operation})"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind {
            StoreErrorKind::Changed { part } => {
                let path = Some(PathBuf::from(error.object));
                return Conflict::Changed { path, what: part }.into();
            }
            StoreErrorKind::NotFound => io::ErrorKind::NotFound,
            StoreErrorKind::NoRanges | StoreErrorKind::Unsupported => io::ErrorKind::Unsupported,
            StoreErrorKind::Permission => io::ErrorKind::PermissionDenied,
            StoreErrorKind::Transient => io::ErrorKind::TimedOut,
            StoreErrorKind::Invalid => io::ErrorKind::InvalidInput,
            StoreErrorKind::Outside | StoreErrorKind::Unknown | StoreErrorKind::Other => {
                io::ErrorKind::Other
            }
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_as_errors_of_the_system() {
        let cases = [
            (StoreErrorKind::NotFound, io::ErrorKind::NotFound),
            (StoreErrorKind::NoRanges, io::ErrorKind::Unsupported),
            (StoreErrorKind::Permission, io::ErrorKind::PermissionDenied),
            (StoreErrorKind::Transient, io::ErrorKind::TimedOut),
            (StoreErrorKind::Invalid, io::ErrorKind::InvalidInput),
            (StoreErrorKind::Unknown, io::ErrorKind::Other),
        ];
        for (kind, expected) in cases {
            let error = io::Error::from(StoreError::new(kind, "s3://bucket/key", "no"));
            assert_eq!(error.kind(), expected);
            assert_eq!(StoreError::of(&error).unwrap().kind(), kind);
            assert_eq!(error.to_string(), "s3://bucket/key: no");
        }
    }

    #[test]
    fn texts_say_the_operation_unless_it_is_reading() {
        let error = StoreError::new(StoreErrorKind::Other, "s3://bucket/key", "no");
        let text = |operation| error.clone().during(operation).to_string();
        assert_eq!(
            text(StoreOperation::PutIfAbsent),
            "s3://bucket/key: no (put if absent)"
        );
        assert_eq!(text(StoreOperation::Get), "s3://bucket/key: no");
        let error = error.during(StoreOperation::Head);
        assert_eq!(error.operation(), Some(StoreOperation::Head));
    }

    #[test]
    fn a_changed_object_is_a_conflict_as_a_changed_file_is() {
        let error = StoreError::changed("s3://bucket/key", "ETag");
        let text = error.to_string();
        assert_eq!(
            text,
            "s3://bucket/key was changed while it was open (its ETag): open it again"
        );
        let error = io::Error::from(error);
        assert_eq!(error.to_string(), text);
        assert!(matches!(
            Conflict::of(&error),
            Some(Conflict::Changed { what: "ETag", .. })
        ));
        assert_eq!(StoreError::of(&error), None);
    }
}
