//! DuckDB, a process of Python (`worker.py`) that answers statements.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Asked<'a> {
    statement: &'a str,
    rows_to: &'a Path,
}

#[derive(Deserialize)]
struct Answer {
    seconds: Option<f64>,
    version: Option<String>,
    error: Option<String>,
}

/// A running process. It ends when its input does.
pub(crate) struct DuckDb {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    rows: PathBuf,
    /// The version, once a statement was answered.
    pub(crate) version: Option<String>,
}

impl DuckDb {
    /// Starts the process on the Parquet files of a folder.
    pub(crate) fn new(python: &Path, folder: &Path, n_threads: usize, rows: &Path) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("worker.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(folder)
            .arg(n_threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", python.display()))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("the process has no output")?);
        Ok(Self {
            child,
            input,
            output,
            rows: rows.to_owned(),
            version: None,
        })
    }

    /// The rows of a statement, and the seconds that it took.
    pub(crate) fn run(&mut self, statement: &str) -> Result<(Vec<RecordBatch>, f64)> {
        let asked = Asked {
            statement,
            rows_to: &self.rows,
        };
        let input = self.input.as_mut().context("the process has no input")?;
        writeln!(input, "{}", serde_json::to_string(&asked)?)?;
        input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Answer = serde_json::from_str(&line).context("the process gave no answer")?;
        if let Some(error) = answer.error {
            bail!("DuckDB: {error}");
        }
        self.version = answer.version;
        let reader = StreamReader::try_new_buffered(File::open(&self.rows)?, None)?;
        let rows = reader.collect::<Result<Vec<_>, _>>()?;
        Ok((rows, answer.seconds.context("an answer without seconds")?))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
