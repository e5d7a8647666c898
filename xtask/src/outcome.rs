//! How a task ends.

/// The error is text for the person in front of it.
pub(crate) type Outcome = Result<(), String>;
