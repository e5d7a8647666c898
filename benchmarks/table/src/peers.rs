//! The peers: Python packages, by `peers.py`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::commits::{COMMITS_EACH, PROCESSES, Race, Row, race_of};
use crate::made::PARTITIONS;
use crate::plans::{Plan, partition};
use crate::report::median;

/// A format that is measured beside Tarsia.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The package `deltalake`.
    Delta,
    /// The package `pyiceberg`, with a catalogue in SQLite.
    Iceberg,
    /// The package `pylance`.
    Lance,
}

impl Peer {
    pub(crate) const ALL: [Self; 3] = [Self::Delta, Self::Iceberg, Self::Lance];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Iceberg => "iceberg",
            Self::Lance => "lance",
        }
    }

    /// Plans that are measured.
    fn plans(self) -> usize {
        match self {
            Self::Delta => 20,
            Self::Iceberg | Self::Lance => 2,
        }
    }
}

/// The interpreter that has the packages.
pub(crate) struct Peers {
    python: PathBuf,
    script: PathBuf,
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

#[derive(Deserialize)]
struct Appended {
    seconds: Vec<f64>,
    objects: f64,
    bytes: f64,
}

impl Peers {
    /// Makes a virtual environment in the target folder, unless an earlier run did.
    pub(crate) fn install() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = std::env::current_exe()?;
        let target = program.ancestors().nth(2).context("no target folder")?;
        let venv = target.join("table-venv");
        let status = Command::new(here.join("venv.sh")).arg(&venv).status()?;
        ensure!(status.success(), "the packages of the peers: {status}");
        Ok(Self {
            python: venv.join("bin/python"),
            script: here.join("peers.py"),
        })
    }

    fn command(&self, what: &str, peer: Peer, folder: &Path) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).args([what, peer.name()]);
        command.arg(folder);
        command
    }

    fn ask<T: DeserializeOwned>(mut command: Command) -> Result<T> {
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?}: {errors}");
        let text = String::from_utf8(output.stdout)?;
        let last = text.lines().last().context("no answer")?;
        Ok(serde_json::from_str(last)?)
    }

    /// Makes a table. Returns the seconds.
    pub(crate) fn make(&self, peer: Peer, folder: &Path, n_files: usize) -> Result<f64> {
        let mut command = self.command("make", peer, folder);
        command.arg(n_files.to_string());
        Ok(Self::ask::<Made>(command)?.seconds)
    }

    /// Plans partitions of a table, on one core.
    pub(crate) fn plan(
        &self,
        peer: Peer,
        folder: &Path,
        n_files: usize,
        make: Option<f64>,
    ) -> Result<Plan> {
        let inner = self.command("plan", peer, folder);
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(inner.get_program());
        command.args(inner.get_args());
        for i in 0..=peer.plans() {
            command.arg(partition(i).to_string());
        }
        let planned: Planned = Self::ask(command)?;
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

    /// Commits to a table, one after the other.
    pub(crate) fn append(
        &self,
        peer: Peer,
        folder: &Path,
        n_commits: usize,
        n_files: usize,
    ) -> Result<Row> {
        let mut command = self.command("append", peer, folder);
        command.args([n_commits, n_files].map(|n| n.to_string()));
        let found: Appended = Self::ask(command)?;
        Ok(Row {
            format: peer.name().to_owned(),
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
    pub(crate) fn race(&self, peer: Peer, folder: &Path) -> Result<Race> {
        let seconds = race_of(|| {
            let mut command = self.command("race", peer, folder);
            command.arg(COMMITS_EACH.to_string());
            command
        })?;
        Ok(Race {
            format: peer.name().to_owned(),
            place: "memory".to_owned(),
            commits: PROCESSES * COMMITS_EACH,
            seconds,
        })
    }
}
