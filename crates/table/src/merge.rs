//! Merges and rebases: changes of one branch repeated on another one. No data are copied.

use std::collections::HashSet;

use tarsia_table_meta::{Change, Commit, Entry, EntryOp, FileId, ManifestRow, ObjectId, limits};

use crate::conflict::Others;
use crate::error::{Error, ErrorKind, Result};
use crate::extend::{NewChange, own_entries};
use crate::history::{Node, changes, parted, txns};
use crate::objects::Objects;
use crate::steps::Desk;

/// Changes that a target lacks.
#[derive(Debug)]
pub(crate) struct Merge {
    /// Whether the target has nothing that the source lacks, so that it can be set to the source's commit.
    pub(crate) is_forward: bool,
    /// Generation of the source's commit.
    pub(crate) generation: u64,
    pub(crate) changes: Vec<NewChange>,
}

/// Finds the changes of `source` that `target` lacks, in their order; `None` if there are none.
pub(crate) async fn merged(
    desk: &Desk,
    objects: &Objects,
    target: Node,
    source: ObjectId,
    name: &str,
) -> Result<Option<Merge>> {
    let source = (source, objects.commit(desk, source).await?);
    let generation = source.1.generation;
    let schema = target.1.schema;
    let parted = parted(desk, objects, target, source).await?;
    let changes = lacking(desk, objects, &parted.other, &parted.one).await?;
    if changes.is_empty() {
        return Ok(None);
    }
    if changes.len() > limits::CHANGES_MAX {
        let what = format!(
            "{} changes, more than {}: merge an earlier state of `{}` first, such as `{}~{}`",
            changes.len(),
            limits::CHANGES_MAX,
            name.escape_debug(),
            name.escape_debug(),
            changes.len() - limits::CHANGES_MAX
        );
        return Err(Error::new(ErrorKind::LimitExceeded, what));
    }
    check(desk, objects, &parted.one, &changes, schema).await?;
    Ok(Some(Merge {
        is_forward: parted.one.is_empty(),
        generation,
        changes,
    }))
}

async fn check(
    desk: &Desk,
    objects: &Objects,
    target: &[Node],
    changes: &[NewChange],
    schema: ObjectId,
) -> Result<()> {
    let others = Others::of(desk, objects, target).await?;
    let schema = objects.schema(desk, schema).await?;
    let alters: Vec<_> = changes
        .iter()
        .flat_map(|it| it.alters.iter().cloned())
        .collect();
    others.check_alters(&alters, &schema)?;
    let altered = schema.altered(&alters);
    altered.map_err(|error| Error::conflict(error.to_string()))?;
    Ok(())
}

/// The changes of commits that others lack, ready to be repeated.
pub(crate) async fn lacking(
    desk: &Desk,
    objects: &Objects,
    commits: &[Node],
    others: &[Node],
) -> Result<Vec<NewChange>> {
    let mut known = txns(others);
    let removed = Others::of(desk, objects, others).await?.removed;
    let mut lacking = Vec::new();
    for (id, commit) in commits {
        for (_, change) in changes(&[(*id, commit.clone())]) {
            if known.insert(change.txn) {
                lacking.push(again(desk, objects, commit, change, &removed).await?);
            }
        }
    }
    Ok(lacking)
}

/// A change to be made again.
async fn again(
    desk: &Desk,
    objects: &Objects,
    commit: &Commit,
    change: &Change,
    removed: &HashSet<FileId>,
) -> Result<NewChange> {
    let is_alone = commit.changes.len() == 1;
    // Numbers in the manifests of a single change are relative to it. If they remove nothing, they stay as they are.
    let (manifests, mut entries): (Vec<ManifestRow>, Vec<Entry>) = match is_alone {
        true if removed.is_empty() => (commit.own_manifests.clone(), commit.own_entries.clone()),
        _ => (Vec::new(), own_entries(desk, objects, commit).await?),
    };
    entries.retain(|entry| entry.seq == change.seq);
    entries.retain(|entry| entry.op == EntryOp::Add || !removed.contains(&entry.file));
    entries.sort_by_key(|entry| entry.ordinal);
    Ok(NewChange {
        txn: change.txn,
        op: change.op,
        alters: change.alters.clone(),
        entries,
        manifests,
    })
}
