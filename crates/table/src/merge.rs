//! Merges and rebases: changes of one branch repeated on another one. No data are copied.

use tarsia_table_meta::{Change, Commit, Entry, ManifestRow, ObjectId, TableSchema, limits};

use crate::clash::{Clashes, Overlap};
use crate::conflict::{Others, check_common};
use crate::deletes::without_removed;
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
    overlap: Overlap,
) -> Result<Option<Merge>> {
    let source = (source, objects.commit(desk, source).await?);
    let generation = source.1.generation;
    let schema = target.1.schema;
    let parted = parted(desk, objects, target, source).await?;
    let others = Others::of(desk, objects, &parted.one).await?;
    let others = others.without(&txns(&parted.other));
    let mut changes = lacking(desk, objects, &parted.other, &parted.one, &others).await?;
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
    let schema = objects.schema(desk, schema).await?;
    check(&others, &changes, &schema)?;
    overlap_of(desk, objects, &mut changes, &others, overlap, &schema).await?;
    Ok(Some(Merge {
        is_forward: parted.one.is_empty(),
        generation,
        changes,
    }))
}

fn check(others: &Others, changes: &[NewChange], schema: &TableSchema) -> Result<()> {
    let alters: Vec<_> = changes
        .iter()
        .flat_map(|it| it.alters.iter().cloned())
        .collect();
    others.check_alters(&alters, schema)?;
    let altered = schema.altered(&alters);
    altered.map_err(|error| Error::conflict(error.to_string()))?;
    Ok(())
}

/// Compares the updates of changes with those of others, and does what is to be done where they meet.
pub(crate) async fn overlap_of(
    desk: &Desk,
    objects: &Objects,
    changes: &mut [NewChange],
    others: &Others,
    overlap: Overlap,
    schema: &TableSchema,
) -> Result<()> {
    if overlap == Overlap::Source {
        return Ok(());
    }
    let mut clashes = Clashes::with(desk, others.updates.iter().map(|(_, entry)| entry));
    for change in changes {
        let mut entries = Vec::with_capacity(change.entries.len());
        for entry in std::mem::take(&mut change.entries) {
            let common = clashes.common(&entry).await?;
            if common.is_empty() {
                entries.push(entry);
                continue;
            }
            if overlap == Overlap::Fail {
                check_common(&common, schema)?;
            }
            let puts = &mut change.puts;
            entries.extend(clashes.without(objects, &entry, &common, puts).await?);
        }
        change.entries = entries;
    }
    Ok(())
}

/// The changes of commits that others lack, ready to be repeated.
pub(crate) async fn lacking(
    desk: &Desk,
    objects: &Objects,
    commits: &[Node],
    others: &[Node],
    their: &Others,
) -> Result<Vec<NewChange>> {
    let mut known = txns(others);
    let mut lacking = Vec::new();
    for (id, commit) in commits {
        for (_, change) in changes(&[(*id, commit.clone())]) {
            if known.insert(change.txn) {
                lacking.push(again(desk, objects, commit, change, their).await?);
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
    others: &Others,
) -> Result<NewChange> {
    let is_alone = commit.changes.len() == 1;
    let is_met = !others.removed.is_empty() || !others.updates.is_empty();
    // Numbers in the manifests of a single change are relative to it. If nothing of it is changed, they stay.
    let (manifests, mut entries): (Vec<ManifestRow>, Vec<Entry>) = match is_alone && !is_met {
        true => (commit.own_manifests.clone(), commit.own_entries.clone()),
        false => (Vec::new(), own_entries(desk, objects, commit).await?),
    };
    entries.retain(|entry| entry.seq == change.seq);
    entries.sort_by_key(|entry| entry.ordinal);
    Ok(NewChange {
        txn: change.txn,
        op: change.op,
        alters: change.alters.clone(),
        entries: without_removed(entries, others, &change.txn),
        manifests,
        puts: Vec::new(),
    })
}
