//! What the measuring process and its workers say to each other: a JSON value per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a table comes from. A generated one is the same in every process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Source {
    Parquet(PathBuf),
    Mixed,
    Wide(usize),
}

/// How many threads a format may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Threads {
    One,
    All,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Reads the table, writes it to `file`, reads it back in every way that is measured, and compares.
    Prepare { source: Source, file: PathBuf },
    /// Writes the table once more.
    Write { threads: Threads },
    /// Opens the file and asks for the type of one column.
    Open { column: String },
    /// Reads the open file; all columns where none is named.
    Scan {
        threads: Threads,
        columns: Option<Vec<String>>,
    },
    /// Reads these rows of all columns, one list after the other.
    Take { lists: Vec<Vec<u64>> },
    /// Opens the file and reads these columns.
    OpenAndScan { columns: Vec<String> },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Prepared {
        rows: usize,
        columns: Vec<String>,
        arrow_bytes: usize,
        file_bytes: u64,
    },
    /// The median of what was asked for, repeated until the clock shows something.
    Seconds(f64),
    Failed(String),
}
