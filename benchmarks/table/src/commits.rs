//! Commits in a row, and by several processes at once.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::made::{self, Random};
use crate::report::median;

/// Commits of Tarsia in a row, of one file each, and with a file in every partition.
pub(crate) const COMMITS: usize = 100;
pub(crate) const LARGE_COMMITS: usize = 20;
/// Commits of peers, which take longer: with a file in every partition, and of one file each.
pub(crate) const PEER_COMMITS: [usize; 2] = [5, 25];

/// Processes that commit at the same time, and commits of each.
pub(crate) const PROCESSES: usize = 8;
pub(crate) const COMMITS_EACH: usize = 5;

/// Commits in a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) format: String,
    /// Files that the table had.
    pub(crate) table_files: usize,
    pub(crate) commits: usize,
    /// Files of each.
    pub(crate) files: usize,
    /// Seconds of a commit: the middle one, the slowest one, and all.
    pub(crate) median: f64,
    pub(crate) slowest: f64,
    pub(crate) total: f64,
    /// Bytes and objects that a commit writes, in the mean.
    pub(crate) bytes: f64,
    pub(crate) objects: f64,
    /// Bytes of the middle one and of the largest one, where each was counted.
    pub(crate) bytes_median: Option<f64>,
    pub(crate) bytes_most: Option<f64>,
}

/// Commits of several processes at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Race {
    pub(crate) format: String,
    /// Where the table is.
    pub(crate) place: String,
    /// Files that the table had.
    pub(crate) table_files: usize,
    pub(crate) commits: usize,
    pub(crate) seconds: f64,
}

/// Commits to a table, one after the other.
pub(crate) fn in_a_row(folder: &Path, n_commits: usize, n_files: usize) -> Result<Row> {
    let counted = made::open(folder, Duration::ZERO)?;
    let mut random = seed(n_files as u64);
    let n_table = counted.table.at("main")?.commit().files as usize;
    counted.store.take();
    let (mut times, mut bytes, mut objects) = (Vec::new(), Vec::new(), 0);
    for i in 0..n_commits {
        let begun = Instant::now();
        made::append(&counted.table, "main", i..i + n_files, &mut random)?;
        times.push(begun.elapsed().as_secs_f64());
        let counts = counted.store.take();
        bytes.push(counts.put_bytes as f64);
        objects += counts.puts;
        ensure!(counts.data_puts == 0, "a data file was written");
    }
    let middle = |values: &[f64]| median(values.iter().copied());
    Ok(Row {
        format: "tarsia".to_owned(),
        table_files: n_table,
        commits: n_commits,
        files: n_files,
        median: middle(&times).context("no commits")?,
        slowest: times.iter().copied().fold(0.0, f64::max),
        total: times.iter().sum(),
        bytes: bytes.iter().sum::<f64>() / n_commits as f64,
        objects: objects as f64 / n_commits as f64,
        bytes_median: middle(&bytes),
        bytes_most: bytes.iter().copied().reduce(f64::max),
    })
}

/// Numbers that no other process has.
fn seed(more: u64) -> Random {
    let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    Random::new(time.as_nanos() as u64 ^ u64::from(std::process::id()) << 40 ^ more)
}

/// One of the processes.
#[derive(clap::Args)]
pub(crate) struct Racer {
    folder: PathBuf,
    commits: usize,
}

/// Says that it is ready, waits for a line, and commits.
pub(crate) fn run_racer(racer: &Racer) -> Result<()> {
    let counted = made::open(&racer.folder, Duration::ZERO)?;
    counted.table.at("main")?;
    let mut random = seed(0);
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new())?;
    for i in 0..racer.commits {
        made::append(&counted.table, "main", i..i + 1, &mut random)?;
    }
    println!("{{}}");
    Ok(())
}

/// Commits of several processes of this program.
pub(crate) fn race(folder: &Path, place: &str) -> Result<Race> {
    let program = std::env::current_exe()?;
    let before = made::open(folder, Duration::ZERO)?.table.at("main")?;
    let before = before.commit().files;
    let seconds = race_of(|| {
        let mut command = Command::new(&program);
        command
            .arg("race")
            .arg(folder)
            .arg(COMMITS_EACH.to_string());
        command
    })?;
    let after = made::open(folder, Duration::ZERO)?.table.at("main")?;
    let n_new = after.commit().files - before;
    ensure!(
        n_new == (PROCESSES * COMMITS_EACH) as u64,
        "{n_new} files were added"
    );
    Ok(Race {
        format: "tarsia".to_owned(),
        place: place.to_owned(),
        table_files: before as usize,
        commits: PROCESSES * COMMITS_EACH,
        seconds,
    })
}

/// Seconds until all processes are done, from when they were let go.
pub(crate) fn race_of(command: impl Fn() -> Command) -> Result<f64> {
    let mut children: Vec<(Child, BufReader<_>)> = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let output = child.stdout.take().context("a process without output")?;
        children.push((child, BufReader::new(output)));
    }
    for (_, output) in &mut children {
        let mut line = String::new();
        output.read_line(&mut line)?;
        ensure!(line.trim() == "ready", "a process said `{line}`");
    }
    let begun = Instant::now();
    for (child, _) in &mut children {
        let mut input = child.stdin.take().context("a process without input")?;
        input.write_all(b"go\n")?;
    }
    for (child, _) in &mut children {
        let status = child.wait()?;
        ensure!(status.success(), "a process failed: {status}");
    }
    Ok(begun.elapsed().as_secs_f64())
}
