//! The processes that read: started, asked, and ended.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::machine;
use crate::operation::{Answer, Request};

/// An answer that takes longer is a failure.
const ANSWER_SECONDS_MAX: u64 = 180;

/// A format beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    Tarsia,
    Parquet,
    ParquetTuned,
    Lance,
}

impl Format {
    pub(crate) const ALL: [Self; 4] =
        [Self::Tarsia, Self::Parquet, Self::ParquetTuned, Self::Lance];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tarsia => "tarsia",
            Self::Parquet => "parquet",
            Self::ParquetTuned => "parquet-tuned",
            Self::Lance => "lance",
        }
    }

    fn command(self, python: Option<&Path>) -> Result<Command> {
        if self == Self::Lance {
            let mut command = Command::new(python.context("there is no Lance")?);
            command.arg(machine::repository()?.join("benchmarks/remote/lance_worker.py"));
            return Ok(command);
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["worker", self.name()]);
        Ok(command)
    }
}

/// A process of one format.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    answers: Receiver<std::io::Result<String>>,
}

impl Worker {
    pub(crate) fn start(format: Format, python: Option<&Path>) -> Result<Self> {
        let mut command = format.command(python)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("starting a worker")?;
        let input = child.stdin.take().context("no input")?;
        let output = child.stdout.take().context("no output")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            // The receiver is gone when the worker is.
            lines.map(|line| sender.send(line)).all(|sent| sent.is_ok())
        });
        Ok(Self {
            child,
            input,
            answers,
        })
    }

    /// Asks, and waits for the answer. [`Answer::Failed`] is an error.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer> {
        writeln!(self.input, "{}", serde_json::to_string(request)?)?;
        self.input.flush()?;
        let wait = Duration::from_secs(ANSWER_SECONDS_MAX);
        let line = match self.answers.recv_timeout(wait) {
            Ok(line) => line?,
            Err(RecvTimeoutError::Timeout) => bail!("no answer in {ANSWER_SECONDS_MAX} s"),
            Err(RecvTimeoutError::Disconnected) => bail!("the process ended"),
        };
        match serde_json::from_str(&line).with_context(|| line.clone())? {
            Answer::Failed(why) => bail!("{why}"),
            answer => Ok(answer),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended, and may be in the middle of a read.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The interpreter that has Lance: made by `benchmarks/lance/venv.sh` in the target folder, unless it is there.
pub(crate) fn python() -> Result<std::path::PathBuf> {
    let executable = std::env::current_exe()?;
    let target = executable.ancestors().nth(2).context("no target folder")?;
    let folder = target.join("lance-venv");
    let status = Command::new(machine::repository()?.join("benchmarks/lance/venv.sh"))
        .arg(&folder)
        .status()?;
    ensure!(status.success(), "benchmarks/lance/venv.sh failed");
    Ok(folder.join("bin/python"))
}
