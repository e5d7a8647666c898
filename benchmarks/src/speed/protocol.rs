//! Messages of the measuring process and its workers: one JSON value per line. The worker in `lance/worker.py` speaks
//! the same protocol, except for requests that only the other workers get.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How many threads a format may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Threads {
    One,
    All,
}

/// Aim for which a format's options are to be chosen, where it has some that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Goal {
    /// Scans as much as random rows.
    Everything,
    /// Takes of 256 rows.
    RandomRows,
    /// Scans alone; no other way of reading is checked.
    Scans,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Maps the table, an Arrow IPC file. Everything else is about it.
    Load { table: PathBuf },
    /// Chooses options if the format has some that matter, writes the file that all later requests read, and says how
    /// long writing took.
    Store {
        file: PathBuf,
        threads: Threads,
        goal: Goal,
    },
    /// Opens the file, reads it in every way that is measured, and compares with the table.
    Check { file: PathBuf, goal: Goal },
    /// Writes the table once more.
    Write { threads: Threads },
    /// Opens the file and asks for the type of one column.
    Open { column: String },
    /// Reads the open file; all columns where none is named.
    Scan {
        threads: Threads,
        columns: Option<Vec<String>>,
    },
    /// Reads all columns of the open file, strings and byte strings as views. Not asked of workers in another language.
    ScanAsViews { threads: Threads },
    /// Reads these rows of these columns, or of all, one list after the other.
    Take {
        lists: Vec<Vec<u64>>,
        columns: Option<Vec<String>>,
    },
    /// Opens the file and reads these columns.
    OpenAndScan { columns: Vec<String> },
    /// Opens another file with the same table, reads these rows of all columns, and closes it, once.
    OpenAndTake { file: PathBuf, rows: Vec<u64> },
    /// Writes the loaded table with these settings on all threads, and says how much memory that took.
    PeakOfWrite {
        file: PathBuf,
        settings: Option<String>,
    },
    /// Opens a file, scans it on all threads, and says how much memory that took. The table only provides the
    /// schema; it is not loaded.
    PeakOfScan {
        table: PathBuf,
        file: PathBuf,
        settings: Option<String>,
    },
    /// Cost of a call that hardly does anything. Asked of workers in another language.
    Overhead { file: PathBuf },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Loaded {
        rows: usize,
        columns: Vec<String>,
        /// Columns whose values have a fixed width.
        fixed_width: Vec<String>,
        /// Whether there are byte strings, which a format may return as borrowed views.
        #[serde(default)]
        binary: bool,
        arrow_bytes: usize,
    },
    Stored {
        seconds: f64,
        file_bytes: u64,
        /// Bytes that an embedded decoder would add.
        kernel_bytes: u64,
        settings: Option<String>,
    },
    /// Asked to check, with the settings chosen by then.
    Checked {
        settings: Option<String>,
    },
    /// The median of what was asked for, repeated until the clock shows something.
    Seconds(f64),
    Bytes(u64),
    Overhead(Overhead),
    Failed(String),
}

/// Seconds that a worker spends on itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Overhead {
    /// A take of one row of a table of one row and one column.
    pub(super) call: f64,
    /// Touching what a take of one row of all columns gives.
    pub(super) touch_of_row: f64,
    /// Touching what a scan of all columns gives.
    pub(super) touch_of_scan: f64,
}
