//! Panics and errors of the readers and writers of other crates.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;

use crate::Error;

thread_local! {
    /// Whether code of another crate runs now, so that a panic is reported as a bad file.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics of guarded code off the standard error, since they are reported as errors. A program calls it once.
pub fn quiet_foreign_panics() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !GUARDED.get() {
            loud(info);
        }
    }));
}

/// Runs a reader or writer of another crate. Some panic when they do not expect the bytes or types of a file, which is
/// no bug of this crate. After a panic the reader is not used again, so its state does not matter.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no reason given");
        Err(Error::new(format!("the reader gave up: {text}")))
    })
}

/// The inner message. Prefixes such as "Parquet argument error:" do not help the caller.
pub(crate) fn arrow_text(error: ArrowError) -> String {
    match error {
        ArrowError::ParquetError(text)
        | ArrowError::IpcError(text)
        | ArrowError::ParseError(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_readers_become_errors() {
        assert_eq!(guarded(|| Ok(1)), Ok(1));
        let caught = guarded::<()>(|| panic!("index {}", 7));
        assert_eq!(caught, Err("the reader gave up: index 7".into()));
    }
}
