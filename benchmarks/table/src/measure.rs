//! The whole run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::branches::{self, Branches};
use crate::commits::{self, Race, Row};
use crate::made;
use crate::peers::{Peer, Peers};
use crate::plans::{self, Plan, Remote};
use crate::report::publish;

/// Files of the tables: as many as the smallest table of the Magnus paper has, and more.
const FILES: [usize; 3] = [48_666, 200_000, 1_000_000];
/// Commits in a row, of one file each.
const COMMITS: usize = 100;
/// Commits in a row with a file in every partition.
const LARGE_COMMITS: usize = 20;

/// Commits of peers, which take longer.
const PEER_COMMITS: usize = 25;
const PEER_LARGE_COMMITS: usize = 5;

/// Options.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Files of a table; may be given several times.
    #[arg(long)]
    files: Vec<usize>,
    /// A folder in memory.
    #[arg(long, default_value = "/dev/shm")]
    scratch: PathBuf,
    /// A folder on a disk, for commits that survive a loss of power; else they are measured in memory alone.
    #[arg(long)]
    disk: Option<PathBuf>,
    /// A folder of tables of peers that an earlier run made, or where this run leaves them.
    #[arg(long)]
    kept: Option<PathBuf>,
    /// Leave out the peers.
    #[arg(long)]
    no_peers: bool,
    /// Leave the results and docs/benchmarks.md as they are.
    #[arg(long)]
    no_docs: bool,
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) plans: Vec<Plan>,
    pub(crate) remote: Vec<Remote>,
    pub(crate) commits: Vec<Row>,
    pub(crate) races: Vec<Race>,
    pub(crate) branches: Vec<Branches>,
    /// Peers that failed, and how. What they did before counts.
    pub(crate) failures: Vec<String>,
}

/// Measures, prints, and rewrites the section of the docs.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let files = match arguments.files.is_empty() {
        true => FILES.to_vec(),
        false => arguments.files.clone(),
    };
    let scratch = tempfile::tempdir_in(&arguments.scratch)?;
    let peers = match arguments.no_peers {
        true => None,
        false => Some(Peers::install()?),
    };
    let mut report = Report {
        machine: crate::machine::line(),
        ..Report::default()
    };
    for n_files in &files {
        let folder = scratch.path().join(format!("tarsia-{n_files}"));
        eprintln!("tarsia, {n_files} files");
        report.plans.push(plans::tarsia(&folder, *n_files)?);
    }
    let largest = files.iter().max().context("no table")?;
    of_largest(&mut report, scratch.path(), *largest, arguments)?;
    if let Some(peers) = &peers {
        for peer in Peer::ALL {
            let measured = of_peer(&mut report, peers, peer, scratch.path(), &files, arguments);
            if let Err(error) = measured {
                report
                    .failures
                    .push(format!("{} FAILED: {error:#}", peer.name()));
            }
        }
    }
    let section = crate::section::markdown(&report);
    println!("{section}");
    let is_whole = peers.is_some() && arguments.files.is_empty();
    if is_whole && !arguments.no_docs {
        publish("table", "Tables", &report, &section)?;
    }
    Ok(())
}

/// Measures what is asked of the largest table alone.
fn of_largest(
    report: &mut Report,
    scratch: &Path,
    n_files: usize,
    arguments: &Arguments,
) -> Result<()> {
    let folder = scratch.join(format!("tarsia-{n_files}"));
    eprintln!("tarsia, late answers");
    report.remote = plans::remote(&folder)?;
    eprintln!("tarsia, commits");
    report
        .commits
        .push(commits::in_a_row(&folder, LARGE_COMMITS, made::PARTITIONS)?);
    report.commits.push(commits::in_a_row(&folder, COMMITS, 1)?);
    report.races.push(commits::race(&folder, "memory")?);
    for n_new in [1, made::PARTITIONS] {
        eprintln!("tarsia, branches with {n_new} files a commit");
        report.branches.push(branches::measure(&folder, n_new)?);
    }
    eprintln!("tarsia, one run of manifests");
    report.plans.push(plans::compacted(&folder, n_files)?);
    if let Some(disk) = &arguments.disk {
        let disk = tempfile::tempdir_in(disk)?;
        let folder = disk.path().join("tarsia");
        made::make(&folder, 48_666)?;
        let mut row = commits::in_a_row(&folder, COMMITS, 1)?;
        "tarsia, on a disk".clone_into(&mut row.format);
        report.commits.push(row);
        report.races.push(commits::race(&folder, "disk")?);
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn of_peer(
    report: &mut Report,
    peers: &Peers,
    peer: Peer,
    scratch: &Path,
    files: &[usize],
    arguments: &Arguments,
) -> Result<()> {
    let mut last = None;
    for n_files in files {
        eprintln!("{}, {n_files} files", peer.name());
        let kept = arguments.kept.as_deref().unwrap_or(scratch);
        let folder = kept.join(format!("{}-{n_files}", peer.name()));
        let seconds = match folder.exists() {
            true => None,
            false => Some(peers.make(peer, &folder, *n_files)?),
        };
        report
            .plans
            .push(peers.plan(peer, &folder, *n_files, seconds)?);
        last = Some(folder);
    }
    let folder = last.context("no table")?;
    for [n_commits, n_files] in [[PEER_LARGE_COMMITS, made::PARTITIONS], [PEER_COMMITS, 1]] {
        let row = peers.append(peer, &folder, n_commits, n_files)?;
        report.commits.push(row);
    }
    report.races.push(peers.race(peer, &folder)?);
    if arguments.kept.is_none() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}
