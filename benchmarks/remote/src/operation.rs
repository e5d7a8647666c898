//! The operations that are measured, and the lines that a worker is told and answers.

use serde::{Deserialize, Serialize};

/// An operation that is measured. All but [`Operation::WarmTake`] begin with opening the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Operation {
    /// Opening.
    Open,
    /// Opening, and all rows of all columns.
    OpenScan,
    /// Opening, and some rows of all columns.
    OpenTake,
    /// Some rows of all columns, from a file that other rows were taken from before.
    WarmTake,
    /// Opening, and a row of some columns.
    OpenColumns,
}

impl Operation {
    pub(crate) const ALL: [Self; 5] = [
        Self::Open,
        Self::OpenScan,
        Self::OpenTake,
        Self::WarmTake,
        Self::OpenColumns,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::OpenScan => "open + scan",
            Self::OpenTake => "open + 256 rows",
            Self::WarmTake => "256 rows, open",
            Self::OpenColumns => "open + a row of 10 columns",
        }
    }
}

/// A request to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Write the table of an Arrow IPC file to a local file.
    Store { table: String, file: String },
    /// Read from here from now on.
    Connect {
        endpoint: String,
        key: String,
        file_bytes: u64,
    },
    /// Open the file and keep it open.
    Open,
    /// Read from the file, opened anew unless `warm`.
    Read(Read),
}

/// Rows and columns that are read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Read {
    /// From the file that [`Request::Open`] opened.
    pub(crate) warm: bool,
    /// These rows, rising; all if there are none.
    pub(crate) rows: Option<Vec<u64>>,
    /// Names of columns; all if there are none.
    pub(crate) columns: Option<Vec<String>>,
    /// The Arrow IPC file with the same table: what was read is compared with it, value by value.
    pub(crate) expected: Option<String>,
}

/// An answer of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The file was written.
    Stored {
        /// How it was written and will be read.
        settings: String,
    },
    /// A request without a result was done.
    Done,
    /// The file was read, or opened.
    Read(Spent),
    /// Something went wrong.
    Failed(String),
}

/// Time and waves of a read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// Rows that were read.
    pub(crate) rows: u64,
    /// Times that something was waited for, if the format says it.
    pub(crate) waves: Option<u64>,
}
