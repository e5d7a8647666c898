//! Why a condition is refused.

use std::fmt;

/// Why a text is no condition, or a condition does not suit a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The character of the condition's text that it is about, counted from 1; `None` for a condition that was not
    /// text, and for mistakes without a place.
    pub at: Option<usize>,
    /// Describes the mistake.
    pub what: String,
}

impl FilterError {
    pub(crate) fn new(at: impl Into<Option<usize>>, what: impl Into<String>) -> FilterError {
        FilterError {
            at: at.into(),
            what: what.into(),
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "character {at}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for FilterError {}
