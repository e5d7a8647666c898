//! Errors of tables.

use std::fmt;

use arrow_schema::ArrowError;
use tarsia_io::{StoreError, StoreErrorKind};
use tarsia_table_meta::TxnId;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The place has no table.
    NotATable,
    /// There is a table, a branch or a tag of that name already.
    Exists,
    /// There is no such branch, tag, commit, field or row.
    NotFound,
    /// The arguments are wrong.
    InvalidInput,
    /// Somebody else changed the same thing since the transaction began. Nothing was committed.
    Conflict,
    /// No answer says whether the commit was made. [`Table::outcome`](crate::Table::outcome) finds out later.
    Unknown,
    /// A commit between the transaction's begin and the newest one is gone. Nothing was committed.
    TooOld,
    /// The table's policy forbids it. Nothing was committed.
    Forbidden,
    /// This build or this store cannot do it.
    Unsupported,
    /// An object is damaged, missing or another one than what refers to it says.
    Corrupt,
    /// A limit would be exceeded.
    LimitExceeded,
    /// The store failed.
    Store,
    /// A data file could not be read or written.
    File,
}

/// A failure: one line that names the object, and nothing secret.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    object: Option<String>,
    what: String,
    txn: Option<TxnId>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            object: None,
            what: what.into(),
            txn: None,
        }))
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, what)
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, what)
    }

    pub(crate) fn conflict(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, what)
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, what)
    }

    /// Names the object, unless an inner layer has named one.
    pub(crate) fn of_object(mut self, object: &str) -> Self {
        self.0.object.get_or_insert_with(|| object.to_owned());
        self
    }

    pub(crate) fn of_txn(mut self, txn: TxnId) -> Self {
        self.0.txn = Some(txn);
        self
    }

    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Key or URL of the object, if the failure is about one.
    pub fn object(&self) -> Option<&str> {
        self.0.object.as_deref()
    }

    /// The transaction whose outcome is [unknown](ErrorKind::Unknown).
    pub fn txn(&self) -> Option<TxnId> {
        self.0.txn
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.0.object {
            write!(f, "{object}: ")?;
        }
        f.write_str(&self.0.what.replace(['\n', '\r'], " "))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind() {
            StoreErrorKind::Unsupported => ErrorKind::Unsupported,
            // Keys are made here: one that cannot be used is in the way of something else in the store.
            _ => ErrorKind::Store,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<tarsia_table_meta::Error> for Error {
    fn from(error: tarsia_table_meta::Error) -> Self {
        use tarsia_table_meta::Error as E;
        let kind = match &error {
            E::Corrupt { .. } => ErrorKind::Corrupt,
            E::Unsupported { .. } => ErrorKind::Unsupported,
            E::LimitExceeded { .. } => ErrorKind::LimitExceeded,
            E::File { .. } => ErrorKind::File,
            _ => ErrorKind::InvalidInput,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<tarsia::Error> for Error {
    fn from(error: tarsia::Error) -> Self {
        use tarsia::ErrorKind as K;
        let kind = match error.kind() {
            K::Corrupt => ErrorKind::Corrupt,
            K::Unsupported => ErrorKind::Unsupported,
            K::NoSuchColumn => ErrorKind::NotFound,
            K::InvalidInput | K::InvalidFilter | K::OutOfRange => ErrorKind::InvalidInput,
            K::LimitExceeded => ErrorKind::LimitExceeded,
            _ => ErrorKind::File,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inside) => match inside.downcast::<Self>() {
                Ok(error) => *error,
                // An error of a reader says itself what is wrong.
                Err(other) => match other.downcast::<tarsia::Error>() {
                    Ok(error) => (*error).into(),
                    Err(other) => Self::new(ErrorKind::File, other.to_string()),
                },
            },
            other => tarsia::Error::from(other).into(),
        }
    }
}

impl From<Error> for ArrowError {
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

impl From<tarsia_filter::FilterError> for Error {
    fn from(error: tarsia_filter::FilterError) -> Self {
        Self::invalid(format!("filter: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_reader_is_told_as_it_is() {
        let outside = ArrowError::ExternalError("line 3 has two values".into());
        let error = Error::from(outside);
        assert_eq!(error.kind(), ErrorKind::File);
        assert_eq!(error.to_string(), "line 3 has two values");
        let own = Error::not_found("no field").of_object("data/3f");
        let error = Error::from(ArrowError::from(own));
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.to_string(), "data/3f: no field");
    }
}
