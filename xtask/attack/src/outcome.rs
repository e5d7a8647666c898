//! Counts and finds of a case.

use std::collections::BTreeMap;

/// Checks of a case, and its finds.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Names of checks, and how often each was made.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Finds: what must not be.
    pub(crate) finds: Vec<String>,
    /// Notes of `--replay`.
    pub(crate) notes: Vec<String>,
}

impl Outcome {
    /// Counts checks.
    pub(crate) fn count(&mut self, what: &'static str, n: u64) {
        *self.counts.entry(what).or_default() += n;
    }

    /// Notes a find.
    pub(crate) fn find(&mut self, what: impl Into<String>) {
        // A text of a file or of a command may have several lines.
        self.finds.push(what.into().replace('\n', " / "));
    }

    /// Counts a check; a find where it failed.
    pub(crate) fn check(&mut self, counted: &'static str, result: Result<(), String>) {
        self.count(counted, 1);
        if let Err(what) = result {
            self.find(what);
        }
    }

    /// Notes what happened on the way.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }
}
