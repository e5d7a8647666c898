//! Lance, which deletes rows, compacts, and removes old versions: in a process of its own, by `lance/erase.py`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tarsia::RowSet;

/// Rows are named by SQL, in which more runs of rows than these take too long.
const RANGES_MAX: usize = 20_000;

/// The interpreter that has Lance.
pub(super) struct Lance {
    python: PathBuf,
}

#[derive(Serialize)]
struct Request<'a> {
    /// The table.
    parquet: &'a Path,
    /// For the dataset and its copies.
    folder: &'a Path,
    /// Runs of rows to delete, each from its first to before its last.
    cases: Vec<Vec<(u64, u64)>>,
    repetitions: usize,
    budget_seconds: f64,
}

/// Lance's answer.
#[derive(Deserialize)]
struct Answer {
    file_bytes: u64,
    cases: Vec<Deleted>,
}

/// Rows deleted, compacted away, and the old versions removed.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Deleted {
    /// Median.
    pub(super) seconds: f64,
    pub(super) bytes_written: u64,
}

/// A table in Lance.
pub(super) struct LanceTable {
    /// Bytes of the dataset before.
    pub(super) file_bytes: u64,
    /// One for each case; `None` where the rows are in too many runs.
    pub(super) cases: Vec<Option<Deleted>>,
}

impl Lance {
    /// Fetches the package where it is not there yet.
    pub(super) fn fetched() -> Result<Self> {
        let python = crate::speed::lance::python()?;
        Ok(Self { python })
    }

    /// Deletes the rows of each case from a fresh copy of the table.
    pub(super) fn measure(
        &self,
        parquet: &Path,
        folder: &Path,
        cases: &[RowSet],
        repetitions: usize,
        budget_seconds: f64,
    ) -> Result<LanceTable> {
        let runs = |rows: &RowSet| -> Vec<(u64, u64)> {
            let runs = rows.ranges(0..u64::MAX);
            runs.map(|run| (run.start, run.end)).collect()
        };
        let runs: Vec<_> = cases.iter().map(runs).collect();
        let few = |runs: &&Vec<_>| runs.len() <= RANGES_MAX;
        let request = Request {
            parquet,
            folder,
            cases: runs.iter().filter(few).cloned().collect(),
            repetitions,
            budget_seconds,
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("lance/erase.py");
        let mut command = Command::new(&self.python);
        command
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.env("LANCE_LOG", "error");
        // With one thread for reading, too (LANCE_IO_THREADS), pylance 14.0.2 compacts for ever.
        command.env("LANCE_CPU_THREADS", "1");
        let mut child = command.spawn().context("starting lance/erase.py")?;
        let mut input = child.stdin.take().context("no standard input")?;
        input.write_all(&serde_json::to_vec(&request)?)?;
        drop(input);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "lance/erase.py: {}", output.status);
        let answer: Answer = serde_json::from_slice(&output.stdout).context("lance/erase.py")?;
        let n_cases = request.cases.len();
        ensure!(
            answer.cases.len() == n_cases,
            "lance/erase.py left out a case"
        );
        let mut measured = answer.cases.into_iter();
        let cases = runs.iter().map(|runs| match few(&runs) {
            true => measured.next(),
            false => None,
        });
        Ok(LanceTable {
            file_bytes: answer.file_bytes,
            cases: cases.collect(),
        })
    }
}
