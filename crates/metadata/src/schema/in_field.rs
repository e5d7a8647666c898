//! Errors that name a field.

use crate::error::Error;
use crate::path::display_path;

/// The error with the path of the field that it is about.
pub(super) fn in_field(path: &[u8], error: Error) -> Error {
    let name = display_path(path);
    match error {
        Error::Unsupported { what } => Error::Unsupported {
            what: format!("field {name:?}: {what}"),
        },
        Error::InvalidInput { what } => Error::invalid(format!("field {name:?}: {what}")),
        other => other,
    }
}
