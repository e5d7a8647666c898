//! Errors of this crate.

use arrow_schema::ArrowError;

/// An argument that cannot be used, and why.
pub(crate) fn invalid(why: impl Into<String>) -> ArrowError {
    ArrowError::InvalidArgumentError(why.into())
}
