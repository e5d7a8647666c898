//! The peers: Python packages, by `peers.py` and `updates.py`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::commits::{COMMITS_EACH, PROCESSES, Race, Row, race_of};
use crate::found::Format;
use crate::made::PARTITIONS;
use crate::plans::{Plan, partition};
use crate::report::median;

/// The exit status of `timeout` for a command that took too long.
const TIMED_OUT: i32 = 124;

/// The interpreter that has the packages.
pub(crate) struct Peers {
    python: PathBuf,
    script: PathBuf,
    /// Seconds after which a command is given up.
    limit: u64,
}

#[derive(Deserialize)]
struct Made {
    seconds: f64,
}

#[derive(Deserialize)]
struct Planned {
    open: f64,
    seconds: Vec<f64>,
    /// Files of each plan, if the format has partitions.
    files: Vec<Option<usize>>,
    objects: u64,
    bytes: u64,
}

/// Updates of one table.
#[derive(Deserialize)]
pub(crate) struct Updated {
    pub(crate) seconds: Vec<f64>,
    pub(crate) bytes: Vec<f64>,
    pub(crate) scan: f64,
    pub(crate) scans: Vec<f64>,
    pub(crate) compacted: Option<f64>,
}

/// A new column of a table.
#[derive(Deserialize)]
pub(crate) struct Added {
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) make: f64,
    /// Opening the table and reading ten columns.
    pub(crate) ten: f64,
    /// Reading a column that the table had from the beginning, and the new one with the same values.
    pub(crate) plain: f64,
    pub(crate) new: f64,
}

#[derive(Deserialize)]
struct Appended {
    seconds: Vec<f64>,
    objects: f64,
    bytes: f64,
}

/// Plans of a peer that are measured.
fn n_plans(peer: Format) -> usize {
    match peer {
        Format::Tarsia | Format::Delta => 20,
        Format::Iceberg | Format::Lance => 2,
    }
}

impl Peers {
    /// Makes a virtual environment in the target folder, unless an earlier run did.
    pub(crate) fn install(limit: u64) -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = std::env::current_exe()?;
        let target = program.ancestors().nth(2).context("no target folder")?;
        let venv = target.join("table-venv");
        let status = Command::new(here.join("venv.sh")).arg(&venv).status()?;
        ensure!(status.success(), "the packages of the peers: {status}");
        Ok(Self {
            python: venv.join("bin/python"),
            script: here.join("peers.py"),
            limit,
        })
    }

    fn command(&self, what: &str, peer: Format, folder: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg(self.limit.to_string()).arg(&self.python);
        command.arg(&self.script).args([what, peer.name()]);
        command.arg(folder);
        command
    }

    fn ask<T: DeserializeOwned>(&self, mut command: Command) -> Result<T> {
        let output = command.output()?;
        if output.status.code() == Some(TIMED_OUT) {
            bail!("not done in {} s", self.limit);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.trim_end().lines().last().unwrap_or_default();
        if !output.status.success() {
            eprintln!("{command:?}: {errors}");
            bail!("{}: {last}", output.status);
        }
        let text = String::from_utf8(output.stdout)?;
        let last = text.lines().last().context("no answer")?;
        Ok(serde_json::from_str(last)?)
    }

    /// Makes a table. Returns the seconds. Nothing is left of a table that was not made.
    pub(crate) fn make(&self, peer: Format, folder: &Path, n_files: usize) -> Result<f64> {
        let mut command = self.command("make", peer, folder);
        command.arg(n_files.to_string());
        let made = self.ask::<Made>(command);
        if made.is_err() && folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        Ok(made?.seconds)
    }

    /// Plans partitions of a table, on one core.
    pub(crate) fn plan(
        &self,
        peer: Format,
        folder: &Path,
        n_files: usize,
        make: Option<f64>,
    ) -> Result<Plan> {
        let inner = self.command("plan", peer, folder);
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(inner.get_program());
        command.args(inner.get_args());
        for i in 0..=n_plans(peer) {
            command.arg(partition(i).to_string());
        }
        let planned: Planned = self.ask(command)?;
        let mut counts = planned.files.iter().flatten();
        ensure!(counts.all(|n| *n >= n_files / PARTITIONS), "too few files");
        let (first, warm) = planned.seconds.split_first().context("no plans")?;
        Ok(Plan {
            format: peer.name().to_owned(),
            files: n_files,
            make,
            open: planned.open,
            first: *first,
            warm: median(warm.iter().copied()).context("one plan")?,
            objects: planned.objects,
            bytes: planned.bytes,
            runs: None,
        })
    }

    /// Commits to a table of `n_table` files, one after the other.
    pub(crate) fn append(
        &self,
        peer: Format,
        folder: &Path,
        n_table: usize,
        n_commits: usize,
        n_files: usize,
    ) -> Result<Row> {
        let mut command = self.command("append", peer, folder);
        command.args([n_commits, n_files].map(|n| n.to_string()));
        let found: Appended = self.ask(command)?;
        Ok(Row {
            format: peer.name().to_owned(),
            table_files: n_table,
            commits: n_commits,
            files: n_files,
            median: median(found.seconds.iter().copied()).context("no commits")?,
            slowest: found.seconds.iter().copied().fold(0.0, f64::max),
            total: found.seconds.iter().sum(),
            bytes: found.bytes / n_commits as f64,
            objects: found.objects / n_commits as f64,
            bytes_median: None,
            bytes_most: None,
        })
    }

    /// Commits of several processes at once.
    pub(crate) fn race(&self, peer: Format, folder: &Path, n_table: usize) -> Result<Race> {
        let seconds = race_of(|| {
            let mut command = self.command("race", peer, folder);
            command.arg(COMMITS_EACH.to_string());
            command
        })?;
        Ok(Race {
            format: peer.name().to_owned(),
            place: "memory".to_owned(),
            table_files: n_table,
            commits: PROCESSES * COMMITS_EACH,
            seconds,
        })
    }

    /// Rows and new values of a column, made by the interpreter that the peers have.
    pub(crate) fn data(&self, arguments: &[String]) -> Result<()> {
        let mut command = Command::new(&self.python);
        command.arg(self.script.with_file_name("updates.py"));
        command.arg("data").args(arguments);
        self.ask::<serde_json::Value>(command)?;
        Ok(())
    }

    fn update_command(&self, what: &str, peer: Format, folder: &Path, data: &Path) -> Command {
        let mut command = Command::new("timeout");
        command.arg(self.limit.to_string()).arg(&self.python);
        command.arg(self.script.with_file_name("updates.py"));
        command.args([what, peer.name()]).args([folder, data]);
        command
    }

    /// Makes a table of the rows in a folder, and updates it ten times, or as often as it can in the time.
    pub(crate) fn update(
        &self,
        peer: Format,
        folder: &Path,
        data: &Path,
        which: &str,
    ) -> Result<Updated> {
        let mut command = self.update_command("update", peer, folder, data);
        // The rest is for what is under way then, and a compaction.
        command.arg(which).arg((self.limit * 3 / 5).to_string());
        self.ask(command)
    }

    /// Makes a table of the rows in a folder, adds a column, and reads columns.
    pub(crate) fn add(&self, peer: Format, folder: &Path, data: &Path) -> Result<Added> {
        self.ask(self.update_command("add", peer, folder, data))
    }
}
