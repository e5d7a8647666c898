//! Captured layouts: how a file's columns are encoded, for writers of tables like it.

use std::collections::HashMap;

use tarsia_cascade::Outline;

/// How the leaf columns of a file are encoded: the encodings that most rows of a column have, and whether rows lie one
/// by one. [`File::capture_layout`](crate::File::capture_layout) takes it from a file,
/// [`WriteOptions::with_layout`](crate::WriteOptions::with_layout) gives it to a writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedLayout {
    columns: HashMap<String, CapturedColumn>,
}

/// One leaf column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CapturedColumn {
    /// Rows lie one by one (full-zip).
    RowByRow,
    /// Values are encoded together (mini-block), under trees of this outline.
    Together(Outline),
}

impl CapturedLayout {
    /// Columns by the names of their leaves.
    pub(crate) fn new(columns: HashMap<String, CapturedColumn>) -> Self {
        Self { columns }
    }

    /// The number of leaf columns that it says something of.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The encodings of a leaf column, named from its field down with dots. `None` for a column that there is not, and
    /// for one whose rows lie one by one.
    pub fn outline(&self, leaf: &str) -> Option<&Outline> {
        match self.columns.get(leaf)? {
            CapturedColumn::RowByRow => None,
            CapturedColumn::Together(outline) => Some(outline),
        }
    }

    pub(crate) fn column(&self, leaf: &str) -> Option<&CapturedColumn> {
        self.columns.get(leaf)
    }
}
