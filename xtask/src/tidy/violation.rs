//! Finds of a rule.

use std::fmt;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) path: String,
    /// 0 for the whole file.
    pub(super) line: usize,
    pub(super) what: String,
    pub(super) repair: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: ", self.path)?,
            line => write!(f, "{}:{line}: ", self.path)?,
        }
        write!(f, "{}\n    repair: {}", self.what, self.repair)
    }
}
