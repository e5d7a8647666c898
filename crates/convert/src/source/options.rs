//! Choices of whoever reads a file.

use super::limits::INFERENCE_ROWS;
use super::types::Types;

/// How a source is to be read, where the file leaves it open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Types of columns of CSV and JSON lines, instead of those that the first rows suggest. Errors call them
    /// `--types`, as the command does.
    pub types: Types,
    /// The rows of CSV and JSON lines that say the columns and types, from the first on; `u64::MAX` for all.
    pub inference_rows: u64,
    /// Whether the first line of CSV names the columns; else they are `column_0`, `column_1` and so on.
    pub header: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            types: Types::default(),
            inference_rows: INFERENCE_ROWS,
            header: true,
        }
    }
}
