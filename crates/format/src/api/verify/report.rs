//! Report of a verification.

use crate::error::{Error, ErrorKind};

/// Counts of what was checked and found good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Columns.
    pub columns: u64,
    /// Pages, shared pages counted.
    pub pages: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of those blocks, and of the metadata where the whole file was checked.
    pub bytes: u64,
}

impl VerifyReport {
    pub(super) fn sum(reports: Vec<Self>) -> Self {
        reports.into_iter().fold(Self::default(), Self::add)
    }

    pub(super) fn add(mut self, other: Self) -> Self {
        self.columns += other.columns;
        self.pages += other.pages;
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self
    }
}

/// The error for a file that is damaged, or lies.
pub(super) fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}
