//! Why a file is refused, and what of it could not be carried.

use std::fmt;
use std::path::{Path, PathBuf};

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller asks for something that does not exist or makes no sense.
    Request,
    /// A file or its data is bad, missing, or holds what cannot be done.
    Data,
}

/// Why a table could not be read or written, and where, as far as that is known.
///
/// ```
/// use tarsia_convert::Error;
/// let error = Error::new("300 is no Int8").in_column("n").in_line(4).in_file("a.csv".as_ref());
/// assert_eq!(error.to_string(), "a.csv: line 4: column `n`: 300 is no Int8");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    file: Option<PathBuf>,
    /// Counted from 1.
    line: Option<u64>,
    column: Option<String>,
    /// Counted from 0.
    row: Option<u64>,
}

impl Error {
    /// A file or its data is bad.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Error {
        Error {
            kind: ErrorKind::Data,
            what: what.into(),
            file: None,
            line: None,
            column: None,
            row: None,
        }
    }

    /// The caller asks for what does not exist or makes no sense.
    #[must_use]
    pub fn request(what: impl Into<String>) -> Error {
        Error {
            kind: ErrorKind::Request,
            ..Error::new(what)
        }
    }

    /// Names the file of the error. The first file that is named stays.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Error {
        self.file.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Names the line of text, counted from 1.
    #[must_use]
    pub fn in_line(mut self, line: u64) -> Error {
        self.line.get_or_insert(line);
        self
    }

    /// Names the column, or a field inside one: `user.age`.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Error {
        self.column.get_or_insert_with(|| column.into());
        self
    }

    /// Names the row, counted from 0.
    #[must_use]
    pub fn in_row(mut self, row: u64) -> Error {
        self.row.get_or_insert(row);
        self
    }

    /// Whose mistake it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file, if it has a name.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The line of text, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The column, or the path of a field inside one.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// The row, counted from 0.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        self.row
    }

    /// The reason, without the place.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            // Readers of other crates name the file themselves at times.
            let name = file.display().to_string();
            if !self.what.starts_with(&name) {
                write!(f, "{name}: ")?;
            }
        }
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match (&self.column, self.row) {
            (Some(column), Some(row)) => write!(f, "column `{column}`, row {row}: ")?,
            (Some(column), None) => write!(f, "column `{column}`: ")?,
            (None, Some(row)) => write!(f, "row {row}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(what: String) -> Error {
        Error::new(what)
    }
}

impl From<&str> for Error {
    fn from(what: &str) -> Error {
        Error::new(what)
    }
}

/// A word on something that a file says and that is not carried, although every value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    column: Option<String>,
    what: String,
}

impl Note {
    /// A note on a whole file.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Note {
        Note {
            column: None,
            what: what.into(),
        }
    }

    /// A note on a column, or on a field inside one.
    #[must_use]
    pub fn on_column(column: impl Into<String>, what: impl Into<String>) -> Note {
        Note {
            column: Some(column.into()),
            what: what.into(),
        }
    }

    /// The column, if the note is on one.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// The text, without the column.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = &self.column {
            write!(f, "column `{column}`: ")?;
        }
        f.write_str(&self.what)
    }
}
