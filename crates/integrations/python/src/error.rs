//! Errors as exceptions.
//!
//! The classes are those of `tarsia._errors`, so that a class can have several bases, such as `ValueError` too.

use std::io;

use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tarsia::ErrorKind;

/// The exceptions of the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exception {
    Error,
    Io,
    Corrupt,
    Unsupported,
    InvalidInput,
    LimitExceeded,
    NoSuchColumn,
    OutOfRange,
    RowDeleted,
    InvalidFilter,
    FileChanged,
    Busy,
    Internal,
}

impl Exception {
    fn class(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Io => "IoError",
            Self::Corrupt => "CorruptError",
            Self::Unsupported => "UnsupportedError",
            Self::InvalidInput => "InvalidInput",
            Self::LimitExceeded => "LimitExceeded",
            Self::NoSuchColumn => "NoSuchColumn",
            Self::OutOfRange => "OutOfRange",
            Self::RowDeleted => "RowDeleted",
            Self::InvalidFilter => "InvalidFilter",
            Self::FileChanged => "FileChanged",
            Self::Busy => "Busy",
            Self::Internal => "InternalError",
        }
    }

    fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Io => Self::Io,
            ErrorKind::Corrupt => Self::Corrupt,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::InvalidInput => Self::InvalidInput,
            ErrorKind::LimitExceeded => Self::LimitExceeded,
            ErrorKind::NoSuchColumn => Self::NoSuchColumn,
            ErrorKind::OutOfRange => Self::OutOfRange,
            ErrorKind::RowDeleted => Self::RowDeleted,
            ErrorKind::InvalidFilter => Self::InvalidFilter,
            ErrorKind::FileChanged => Self::FileChanged,
            ErrorKind::Busy => Self::Busy,
            _ => Self::Error,
        }
    }

    /// The exception with a text and no place.
    pub(crate) fn with(self, text: impl AsRef<str>) -> PyErr {
        Python::attach(|py| self.made(py, text.as_ref(), None))
    }

    fn made(self, py: Python<'_>, text: &str, place: Option<&Bound<'_, PyDict>>) -> PyErr {
        let made = py
            .import("tarsia._errors")
            .and_then(|module| module.getattr(self.class()))
            .and_then(|class| class.call((text,), place));
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

/// An error of the facade as an exception, with its place.
pub(crate) fn raised(error: tarsia::Error) -> PyErr {
    Python::attach(|py| {
        let place = PyDict::new(py);
        let filled = || -> PyResult<()> {
            place.set_item("file", error.file())?;
            place.set_item("column", error.column())?;
            place.set_item("page", error.page())?;
            place.set_item("block", error.block())
        };
        match filled() {
            Ok(()) => Exception::of(error.kind()).made(py, &error.to_string(), Some(&place)),
            Err(other) => other,
        }
    })
}

/// A panic as an exception.
pub(crate) fn panicked(text: &str) -> PyErr {
    Exception::Internal.with(format!("a bug in tarsia, please report it: {text}"))
}

/// An error of the system about a file, as Python's own functions raise it: `FileNotFoundError` and so on.
pub(crate) fn of_system(error: io::Error, file: &str) -> PyErr {
    match (error.raw_os_error(), error.kind()) {
        (Some(number), _) => {
            let text = error.to_string();
            let text = text
                .rsplit_once(" (os error")
                .map_or(&*text, |(text, _)| text);
            PyOSError::new_err((number, text.to_owned(), file.to_owned()))
        }
        (None, io::ErrorKind::NotFound) => {
            pyo3::exceptions::PyFileNotFoundError::new_err(error.to_string())
        }
        (None, io::ErrorKind::PermissionDenied) => {
            pyo3::exceptions::PyPermissionError::new_err(error.to_string())
        }
        (None, io::ErrorKind::InvalidInput) => Exception::InvalidInput.with(error.to_string()),
        (None, io::ErrorKind::Unsupported) => Exception::Unsupported.with(error.to_string()),
        _ => Exception::Io.with(error.to_string()),
    }
}

/// An argument of another type than asked for.
pub(crate) fn wrong_type(argument: &str, wanted: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let name = found.get_type().name();
    let name = name.map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{argument} is {wanted}, not {name}"))
}

/// Error for a value that belongs to another process.
pub(crate) fn other_process(what: &str) -> PyErr {
    let text = format!("{what} belongs to another process: this one was forked from it");
    Exception::InvalidInput.with(text)
}
