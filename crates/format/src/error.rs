//! Errors of the facade: what went wrong, and where in which file.

use std::fmt;
use std::io;

use arrow_schema::ArrowError;
use tarsia_io::Conflict;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a failure. Programs decide by this, never by the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system or the store refused.
    Io,
    /// The file's bytes are damaged or malicious.
    Corrupt,
    /// The file, or a type, needs what this build does not have.
    Unsupported,
    /// The caller's data or options do not fit.
    InvalidInput,
    /// A limit of the format would be exceeded.
    LimitExceeded,
    /// The file has no column of that name, or several; or the column has no element of that path.
    NoSuchColumn,
    /// A row or page the file does not have.
    OutOfRange,
    /// A row that was deleted.
    RowDeleted,
    /// A filter that does not suit the columns that it looks at.
    InvalidFilter,
    /// The file was changed while it was open.
    FileChanged,
    /// Somebody changes the file in place, or reads it zero-copy, which excludes what was asked for. Later it may work.
    Busy,
    /// A scan that was cancelled; see [`Scan::cancel_handle`](crate::Scan::cancel_handle).
    Cancelled,
}

/// A failure with its place: file, column, page and block as far as they are known.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    what: String,
    file: Option<String>,
    column: Option<String>,
    page: Option<u64>,
    block: Option<u64>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            what: what.into(),
            file: None,
            column: None,
            page: None,
            block: None,
            source: None,
        }))
    }

    fn with_source(
        kind: ErrorKind,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let mut error = Self::new(kind, source.to_string());
        error.0.source = Some(Box::new(source));
        error
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether there are several columns of a name, so that it leads to none.
    pub(crate) fn is_of_several_columns(&self) -> bool {
        let source = self.0.source.as_deref();
        let metadata = source.and_then(|it| it.downcast_ref::<tarsia_metadata::Error>());
        matches!(metadata, Some(tarsia_metadata::Error::AmbiguousPath { .. }))
    }

    /// The file's name, where it has one.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The column.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The page of the column, from 0.
    pub fn page(&self) -> Option<u64> {
        self.0.page
    }

    /// The block of the page, from 0.
    pub fn block(&self) -> Option<u64> {
        self.0.block
    }

    // Each adds a place only where an inner layer has not named one already.
    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.0.file.get_or_insert_with(|| file.to_owned());
        self
    }

    pub(crate) fn in_column(mut self, column: &str) -> Self {
        self.0.column.get_or_insert_with(|| column.to_owned());
        self
    }

    pub(crate) fn in_page(mut self, page: usize) -> Self {
        self.0.page.get_or_insert(page as u64);
        self
    }

    pub(crate) fn in_block(mut self, block: u64) -> Self {
        self.0.block.get_or_insert(block);
        self
    }

    pub(crate) fn prefixed(mut self, what: &str) -> Self {
        self.0.what = format!("{what}: {}", self.0.what);
        self
    }
}

impl fmt::Display for Error {
    /// One line: `file: column `x`, page 2, block 17: what`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        if let Some(file) = &inner.file {
            write!(f, "{file}: ")?;
        }
        let mut separator = "";
        if let Some(column) = &inner.column {
            write!(f, "column `{}`", column.escape_debug())?;
            separator = ", ";
        }
        if let Some(page) = inner.page {
            write!(f, "{separator}page {page}")?;
            separator = ", ";
        }
        if let Some(block) = inner.block {
            write!(f, "{separator}block {block}")?;
            separator = ", ";
        }
        if !separator.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&inner.what.replace(['\n', '\r'], " "))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    /// The cause of the cause: the text of the cause itself is part of this error's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().and_then(|source| source.source())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let kind = match (Conflict::of(&error), error.kind()) {
            (Some(Conflict::Changed { .. } | Conflict::Replaced { .. }), _) => {
                ErrorKind::FileChanged
            }
            (Some(Conflict::BeingChanged { .. } | Conflict::InUse { .. }), _) => ErrorKind::Busy,
            // Reading beyond the end is a damaged file, not a failing disk.
            (_, io::ErrorKind::UnexpectedEof) => ErrorKind::Corrupt,
            _ => ErrorKind::Io,
        };
        Self::with_source(kind, error)
    }
}

impl From<Error> for ArrowError {
    /// An [`ArrowError::ExternalError`] that carries the error; [`Error::from`] gives it back.
    fn from(error: Error) -> Self {
        Self::ExternalError(Box::new(error))
    }
}

impl From<ArrowError> for Error {
    /// The error of this crate that is inside; of others, what Arrow says.
    fn from(error: ArrowError) -> Self {
        let kind = match &error {
            ArrowError::ExternalError(_) | ArrowError::IoError(..) => ErrorKind::Io,
            ArrowError::NotYetImplemented(_) => ErrorKind::Unsupported,
            ArrowError::MemoryError(_)
            | ArrowError::DictionaryKeyOverflowError
            | ArrowError::OffsetOverflowError(_) => ErrorKind::LimitExceeded,
            _ => ErrorKind::InvalidInput,
        };
        match error {
            ArrowError::ExternalError(inside) => match inside.downcast::<Self>() {
                Ok(error) => *error,
                Err(other) => Self::with_source(kind, ArrowError::ExternalError(other)),
            },
            other => Self::with_source(kind, other),
        }
    }
}

impl From<tarsia_codec::Error> for Error {
    fn from(error: tarsia_codec::Error) -> Self {
        use tarsia_codec::ErrorKind as E;
        let kind = match error.kind() {
            E::Truncated { .. } | E::Corrupt { .. } => ErrorKind::Corrupt,
            E::Unsupported { .. } => ErrorKind::Unsupported,
            E::LimitExceeded { .. } => ErrorKind::LimitExceeded,
            _ => ErrorKind::InvalidInput,
        };
        Self::with_source(kind, error)
    }
}

/// While reading, an argument that does not fit was computed from the file's bytes: the file is to blame.
pub(crate) fn while_reading(error: tarsia_codec::Error) -> Error {
    let mut error = Error::from(error);
    if error.0.kind == ErrorKind::InvalidInput {
        error.0.kind = ErrorKind::Corrupt;
    }
    error
}

impl From<tarsia_compliance::RegionError> for Error {
    fn from(error: tarsia_compliance::RegionError) -> Self {
        Self::with_source(ErrorKind::Corrupt, error)
    }
}

impl From<tarsia_metadata::Error> for Error {
    fn from(error: tarsia_metadata::Error) -> Self {
        use tarsia_metadata::Error as E;
        let kind = match &error {
            error if error.is_corruption() => ErrorKind::Corrupt,
            E::Unsupported { .. } | E::UnsupportedFeature { .. } | E::UnsupportedVersion { .. } => {
                ErrorKind::Unsupported
            }
            E::LimitExceeded { .. } => ErrorKind::LimitExceeded,
            E::AmbiguousPath { .. } => ErrorKind::NoSuchColumn,
            _ => ErrorKind::InvalidInput,
        };
        Self::with_source(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrow_errors_give_back_what_they_carry() {
        let error = Error::new(ErrorKind::Corrupt, "bad")
            .in_block(7)
            .in_column("a");
        let text = error.to_string();
        let arrow = ArrowError::from(error);
        assert!(arrow.to_string().contains(&text), "{arrow}");
        let back = Error::from(arrow);
        assert_eq!((back.kind(), back.block()), (ErrorKind::Corrupt, Some(7)));
        assert_eq!(back.to_string(), text);
        let other = Error::from(ArrowError::SchemaError(String::from("no such field")));
        assert_eq!(other.kind(), ErrorKind::InvalidInput);
        assert!(other.to_string().contains("no such field"));
        let outside = io::Error::other("gone");
        let outside = Error::from(ArrowError::ExternalError(Box::new(outside)));
        assert_eq!(outside.kind(), ErrorKind::Io);
    }
}
