//! Branches: merges, rebases, differences and logs of the largest table.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::made::{self, Counted, Random};
use crate::store::Counts;

/// Commits of the branch, and of `main` after the branch was made.
pub(crate) const COMMITS: usize = 100;

/// Times of a branch whose commits have so many files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Branches {
    pub(crate) files: usize,
    pub(crate) branch: f64,
    pub(crate) diff: f64,
    pub(crate) log: f64,
    pub(crate) merge: f64,
    pub(crate) merge_bytes: u64,
    pub(crate) rebase: f64,
    pub(crate) rebase_bytes: u64,
    /// Objects below `data` that branch, merge and rebase wrote.
    pub(crate) data_objects: u64,
}

/// Makes two branches, moves `main` on, merges one branch and rebases the other.
pub(crate) fn measure(folder: &Path, n_files: usize) -> Result<Branches> {
    let setup = made::open(folder, Duration::ZERO)?;
    let names = ["merged", "rebased"].map(|name| format!("{name}-{n_files}"));
    let info = made::info("branches");
    let begun = Instant::now();
    setup.table.create_branch(&names[0], "main", &info)?;
    let branch = begun.elapsed().as_secs_f64();
    setup.table.create_branch(&names[1], "main", &info)?;
    let mut random = Random::new(n_files as u64 ^ 0xb4a1);
    for i in 0..COMMITS {
        for name in [names[0].as_str(), names[1].as_str(), "main"] {
            made::append(&setup.table, name, i..i + n_files, &mut random)?;
        }
    }
    // Each in a table that was opened anew, so that nothing is known of it.
    let (diff, _) = timed(folder, |it| {
        let diff = it.table.diff(&names[0], "main")?;
        ensure!(diff.first.len() == COMMITS && diff.second.len() == COMMITS);
        Ok(())
    })?;
    let (log, _) = timed(folder, |it| {
        let log = it.table.log(&names[0])?;
        ensure!(log.len() == COMMITS + 1, "{} entries", log.len());
        Ok(())
    })?;
    let (rebase, rebased) = timed(folder, |it| {
        let n_changes = it.table.rebase(&names[1], "main", &info)?;
        ensure!(n_changes == COMMITS, "{n_changes} changes");
        Ok(())
    })?;
    let before = setup.table.at("main")?.commit().files;
    let (merge, merged) = timed(folder, |it| {
        it.table.merge(&names[0], "main", &info)?;
        Ok(())
    })?;
    let after = setup.table.at("main")?.commit().files;
    ensure!(
        after == before + (COMMITS * n_files) as u64,
        "{after} files"
    );
    Ok(Branches {
        files: n_files,
        branch,
        diff,
        log,
        merge,
        merge_bytes: merged.put_bytes,
        rebase,
        rebase_bytes: rebased.put_bytes,
        data_objects: rebased.data_puts + merged.data_puts + setup.store.take().data_puts,
    })
}

fn timed(folder: &Path, work: impl FnOnce(&Counted) -> Result<()>) -> Result<(f64, Counts)> {
    let counted = made::open(folder, Duration::ZERO)?;
    let begun = Instant::now();
    work(&counted)?;
    Ok((begun.elapsed().as_secs_f64(), counted.store.take()))
}
