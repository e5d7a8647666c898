//! Commits one after the other: what was changed since, and where two branches part.

use std::collections::HashSet;
use std::sync::Arc;

use tarsia_table_meta::{Change, Commit, ObjectId, TxnId};

use crate::error::{Error, ErrorKind, Result};
use crate::objects::Objects;
use crate::steps::Desk;

/// Commits that are walked at most.
const COMMITS_MAX: usize = 100_000;

/// A commit and its digest.
pub(crate) type Node = (ObjectId, Arc<Commit>);

/// The commits behind `base` up to `tip`, the oldest first, by first parents; `None` if `base` is not before `tip`: the
/// branch was reset.
pub(crate) async fn since(
    desk: &Desk,
    objects: &Objects,
    base: Node,
    tip: Node,
) -> Result<Option<Vec<Node>>> {
    let mut commits = Vec::new();
    let mut at = tip;
    while at.0 != base.0 {
        if at.1.generation <= base.1.generation || commits.len() >= COMMITS_MAX {
            return Ok(None);
        }
        let Some(parent) = at.1.parents.first().copied() else {
            return Ok(None);
        };
        let commit = objects.find_commit(desk, parent).await?;
        let gone = || {
            let what = format!("commit {parent}, which came in between, is gone: begin again");
            Error::new(ErrorKind::TooOld, what)
        };
        let before = (parent, commit.ok_or_else(gone)?);
        commits.push(std::mem::replace(&mut at, before));
    }
    commits.reverse();
    Ok(Some(commits))
}

/// Commits of two branches since they parted, the oldest first.
pub(crate) struct Parted {
    pub(crate) one: Vec<Node>,
    pub(crate) other: Vec<Node>,
}

/// Walks two branches back to the commit where they part.
pub(crate) async fn parted(
    desk: &Desk,
    objects: &Objects,
    one: Node,
    other: Node,
) -> Result<Parted> {
    let mut ends = [one, other];
    let mut walked = [Vec::new(), Vec::new()];
    while ends[0].0 != ends[1].0 {
        let [one, other] = &ends;
        let back = usize::from(one.1.generation < other.1.generation);
        let Some(parent) = ends[back].1.parents.first().copied() else {
            return Err(Error::invalid("the branches have no commit in common"));
        };
        if walked[back].len() >= COMMITS_MAX {
            let what = format!("the branches parted more than {COMMITS_MAX} commits ago");
            return Err(Error::new(ErrorKind::LimitExceeded, what));
        }
        let gone = || {
            let what = format!(
                "commit {parent}, which both may have in common, is gone: garbage collection keeps the history of \
                 branches alone"
            );
            Error::new(ErrorKind::TooOld, what)
        };
        let commit = objects.find_commit(desk, parent).await?;
        let before = (parent, commit.ok_or_else(gone)?);
        walked[back].push(std::mem::replace(&mut ends[back], before));
    }
    let [mut one, mut other] = walked;
    one.reverse();
    other.reverse();
    Ok(Parted { one, other })
}

/// The changes of commits that change rows or fields.
pub(crate) fn changes(commits: &[Node]) -> impl Iterator<Item = (&Commit, &Change)> {
    let all = commits.iter().flat_map(|(_, commit)| {
        let changes = commit.changes.iter();
        changes.map(move |change| (&**commit, change))
    });
    all.filter(|(_, change)| change.op.is_logical())
}

/// The ids of the changes of commits.
pub(crate) fn txns(commits: &[Node]) -> HashSet<TxnId> {
    changes(commits).map(|(_, change)| change.txn).collect()
}
