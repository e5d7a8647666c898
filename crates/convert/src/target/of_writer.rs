//! Errors of the writers of other crates.

use crate::Error;

/// Makes an error of what another crate's writer says.
pub(super) fn text(error: impl std::fmt::Display) -> Error {
    Error::new(error.to_string())
}
