//! Rows as a source gives them.

use arrow_array::RecordBatch;

/// Rows of a file: of all columns, or of some.
#[derive(Debug)]
pub enum Part {
    /// Rows of all columns.
    Rows(RecordBatch),
    /// Rows of some columns of a wide table: those from number `first` on. Other parts have as many rows of the others;
    /// all parts together have all rows of each column in their order.
    Columns {
        /// The number of the first column in the schema.
        first: usize,
        /// Rows of this column and of those that follow it.
        batch: RecordBatch,
    },
}
