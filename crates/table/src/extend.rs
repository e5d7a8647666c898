//! The next commit: a state, and changes to it, become a state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tarsia_table_meta::names::ObjectKind;
use tarsia_table_meta::{
    Alter, Change, Commit, Entry, EntryKind, EntryOp, FileId, ManifestRow, ObjectId, Operation,
    TxnId, limits, write_manifest,
};

use crate::error::{Error, Result};
use crate::objects::Objects;
use crate::steps::{Desk, Need};

/// A change that is to be made, whose number is not known yet.
#[derive(Debug, Clone)]
pub(crate) struct NewChange {
    pub(crate) txn: TxnId,
    pub(crate) op: Operation,
    pub(crate) alters: Vec<Alter>,
    /// Entries without a number.
    pub(crate) entries: Vec<Entry>,
    /// Manifests of entries whose numbers are relative to that of the change.
    pub(crate) manifests: Vec<ManifestRow>,
    /// Files that were written for it.
    pub(crate) puts: Vec<Need>,
}

/// Text and numbers of a new commit besides its changes.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) txn: TxnId,
    pub(crate) idempotent: Option<(String, u64)>,
    pub(crate) message: String,
    pub(crate) author: String,
    pub(crate) tool: String,
    pub(crate) time: u64,
}

/// The commit of another branch whose changes a commit repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merged {
    pub(crate) id: ObjectId,
    pub(crate) generation: u64,
}

/// A commit that is to be written, with the objects that it needs.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) commit: Commit,
    pub(crate) id: ObjectId,
    /// The commit among them.
    pub(crate) puts: Vec<Need>,
}

/// Makes the commit that follows `tip`.
pub(crate) async fn extend(
    desk: &Desk,
    objects: &Objects,
    tip_id: ObjectId,
    tip: &Commit,
    merged: Option<Merged>,
    changes: Vec<NewChange>,
    said: &Said,
) -> Result<Built> {
    let mut puts: Vec<Need> = changes.iter().flat_map(|it| it.puts.clone()).collect();
    let mut next = following(tip_id, tip, merged, said)?;
    next.schema = schema_after(desk, objects, tip, &changes, &mut puts).await?;
    add_changes(desk, objects, &mut next, changes).await?;
    spill_own(objects, &mut next, tip.seq + 1, &mut puts)?;
    spill_inline(objects, &mut next, &mut puts)?;
    merge_tiers(desk, objects, &mut next, &mut puts).await?;
    finished(next, puts)
}

/// Makes the commit that follows `tip` and has its files, with all entries in one run of manifests; `None` if they are
/// so already.
pub(crate) async fn compacted(
    desk: &Desk,
    objects: &Objects,
    tip_id: ObjectId,
    tip: &Commit,
    said: &Said,
) -> Result<Option<Built>> {
    let mut next = following(tip_id, tip, None, said)?;
    let highest = next.manifests.iter().map(|row| row.tier).max();
    if runs_of(tip) <= 1 {
        return Ok(None);
    }
    let change = NewChange {
        txn: said.txn,
        op: Operation::Compact,
        alters: Vec::new(),
        entries: Vec::new(),
        manifests: Vec::new(),
        puts: Vec::new(),
    };
    add_changes(desk, objects, &mut next, vec![change]).await?;
    let mut puts = Vec::new();
    let manifests = std::mem::take(&mut next.manifests);
    let mut entries = all_entries(desk, objects, &manifests, &puts).await?;
    entries.append(&mut next.entries);
    let entries = without_pairs(entries);
    let base = entries.iter().map(|entry| entry.low).min().unwrap_or(0);
    // As high as its largest part, so that no commit merges it again soon.
    let tier = highest.unwrap_or(0).max(1);
    next.manifests = manifests_of(entries, tier, base, &mut puts)?;
    finished(next, puts).map(Some)
}

fn following(
    tip_id: ObjectId,
    tip: &Commit,
    merged: Option<Merged>,
    said: &Said,
) -> Result<Commit> {
    Ok(Commit {
        table: tip.table,
        parents: std::iter::once(tip_id)
            .chain(merged.map(|it| it.id))
            .collect(),
        generation: tip.generation.max(merged.map_or(0, |it| it.generation)) + 1,
        seq: tip.seq,
        schema: tip.schema,
        specs: tip.specs.clone(),
        txn: said.txn,
        changes: Vec::new(),
        own_manifests: Vec::new(),
        own_entries: Vec::new(),
        manifests: tip.manifests.clone(),
        entries: tip
            .entries
            .iter()
            .chain(&tip.own_entries)
            .cloned()
            .collect(),
        idempotence: idempotence_after(&tip.idempotence, said)?,
        files: tip.files,
        rows: tip.rows,
        message: said.message.clone(),
        author: said.author.clone(),
        tool: said.tool.clone(),
        time: said.time.max(tip.time),
    })
}

fn finished(next: Commit, mut puts: Vec<Need>) -> Result<Built> {
    let bytes = next.to_bytes()?;
    let id = ObjectId::of(&bytes);
    puts.push(put(ObjectKind::Commit, &id, bytes));
    Ok(Built {
        commit: next,
        id,
        puts,
    })
}

fn put(kind: ObjectKind, id: &ObjectId, bytes: Vec<u8>) -> Need {
    Need::Put {
        key: kind.key(id),
        bytes: Arc::new(bytes),
    }
}

async fn schema_after(
    desk: &Desk,
    objects: &Objects,
    tip: &Commit,
    changes: &[NewChange],
    puts: &mut Vec<Need>,
) -> Result<ObjectId> {
    let alters: Vec<Alter> = changes
        .iter()
        .flat_map(|it| it.alters.iter().cloned())
        .collect();
    if alters.is_empty() {
        return Ok(tip.schema);
    }
    let object = objects.altered(desk, tip.schema, &alters).await?;
    let bytes = object.to_bytes()?;
    let id = ObjectId::of(&bytes);
    objects.keep_schema(id, &bytes)?;
    puts.push(put(ObjectKind::Schema, &id, bytes));
    Ok(id)
}

fn idempotence_after(before: &BTreeMap<String, u64>, said: &Said) -> Result<BTreeMap<String, u64>> {
    let mut numbers = before.clone();
    if let Some((application, number)) = &said.idempotent {
        let n_bytes = application.len();
        if n_bytes > limits::APPLICATION_BYTES_MAX {
            let what = format!("the name of an application has {n_bytes} bytes");
            return Err(Error::invalid(what));
        }
        numbers.insert(application.clone(), *number);
    }
    Ok(numbers)
}

/// Numbers the changes and counts their files.
async fn add_changes(
    desk: &Desk,
    objects: &Objects,
    next: &mut Commit,
    changes: Vec<NewChange>,
) -> Result<()> {
    for change in changes {
        next.seq += 1;
        let seq = next.seq;
        let moved = change.manifests.into_iter().map(|row| {
            let span = row.seq_high - row.seq_low;
            ManifestRow {
                tier: 0,
                seq_base: seq,
                seq_low: seq,
                seq_high: seq + span,
                ..row
            }
        });
        let moved: Vec<_> = moved.collect();
        for file in objects.manifests(desk, &moved).await? {
            let counts = file.counts()?;
            let files = next.files.saturating_add(counts.added_files);
            next.files = files.saturating_sub(counts.removed_files);
            let rows = next.rows.saturating_add(counts.added_rows);
            next.rows = rows.saturating_sub(counts.removed_rows);
        }
        next.manifests.extend_from_slice(&moved);
        next.own_manifests.extend(moved);
        let numbered = change.entries.into_iter().zip(0..).map(|(entry, ordinal)| {
            match entry.folded && entry.op == EntryOp::Add {
                // A compaction's output holds the changes up to the state that it was made of.
                true => Entry { ordinal, ..entry },
                false => Entry {
                    seq,
                    low: seq,
                    ordinal,
                    ..entry
                },
            }
        });
        let numbered: Vec<_> = numbered.collect();
        count(next, &numbered);
        next.own_entries.extend(numbered);
        next.changes.push(Change {
            txn: change.txn,
            op: change.op,
            seq,
            alters: change.alters,
        });
    }
    Ok(())
}

fn count(next: &mut Commit, entries: &[Entry]) {
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Data) {
        let (files, rows) = match entry.op {
            EntryOp::Add => (
                next.files.saturating_add(1),
                next.rows.saturating_add(entry.rows),
            ),
            EntryOp::Remove => (
                next.files.saturating_sub(1),
                next.rows.saturating_sub(entry.rows),
            ),
        };
        (next.files, next.rows) = (files, rows);
    }
}

fn is_too_much(objects: &Objects, entries: &[Entry]) -> bool {
    let n_bytes: usize = entries.iter().map(Entry::inline_bytes).sum();
    entries.len() > objects.inline_entries_max() || n_bytes > limits::INLINE_ENTRY_BYTES_MAX
}

/// Writes the entries of the changes as manifests if they are many.
fn spill_own(
    objects: &Objects,
    next: &mut Commit,
    first_seq: u64,
    puts: &mut Vec<Need>,
) -> Result<()> {
    if is_too_much(objects, &next.own_entries) {
        let entries = std::mem::take(&mut next.own_entries);
        let lowest = entries.iter().map(|entry| entry.low).min();
        let base = lowest.map_or(first_seq, |lowest| lowest.min(first_seq));
        let rows = manifests_of(entries, 0, base, puts)?;
        next.manifests.extend_from_slice(&rows);
        next.own_manifests.extend(rows);
    }
    Ok(())
}

/// Writes the older entries as manifests if they and those of the changes are many.
fn spill_inline(objects: &Objects, next: &mut Commit, puts: &mut Vec<Need>) -> Result<()> {
    next.entries = without_pairs(std::mem::take(&mut next.entries));
    let both: Vec<Entry> = next
        .entries
        .iter()
        .chain(&next.own_entries)
        .cloned()
        .collect();
    if is_too_much(objects, &both) && !next.entries.is_empty() {
        let entries = std::mem::take(&mut next.entries);
        let base = entries.iter().map(|entry| entry.low).min().unwrap_or(0);
        let rows = manifests_of(entries, 0, base, puts)?;
        next.manifests.extend(rows);
    }
    Ok(())
}

/// Writes entries as manifests of a tier.
fn manifests_of(
    mut entries: Vec<Entry>,
    tier: u8,
    base: u64,
    puts: &mut Vec<Need>,
) -> Result<Vec<ManifestRow>> {
    for entry in &mut entries {
        entry.seq -= base.min(entry.seq);
        entry.low -= base.min(entry.low);
    }
    entries.sort_by(Entry::order);
    let pieces = entries.chunks(limits::MANIFEST_ENTRIES_MAX).map(|piece| {
        let (bytes, row) = write_manifest(piece, tier, base)?;
        puts.push(put(ObjectKind::Manifest, &row.id, bytes));
        Ok(row)
    });
    pieces.collect()
}

/// Leaves out removals and the entries that they remove, if both are there, and older entries of a file.
fn without_pairs(entries: Vec<Entry>) -> Vec<Entry> {
    let mut newest: HashMap<FileId, (u64, EntryOp)> = HashMap::new();
    let mut added: HashSet<FileId> = HashSet::new();
    for entry in &entries {
        let state = (entry.seq, entry.op);
        let known = newest.entry(entry.file).or_insert(state);
        *known = (*known).max(state);
        if entry.op == EntryOp::Add {
            added.insert(entry.file);
        }
    }
    let is_kept = |entry: &Entry| {
        let is_newest = newest.get(&entry.file) == Some(&(entry.seq, entry.op));
        is_newest && (entry.op == EntryOp::Add || !added.contains(&entry.file))
    };
    entries.into_iter().filter(is_kept).collect()
}

/// Sorted runs that the entries of a state lie in: those of manifests, and one of those in the commit.
pub(crate) fn runs_of(commit: &Commit) -> usize {
    let has_inline = !commit.entries.is_empty() || !commit.own_entries.is_empty();
    n_runs(&commit.manifests) + usize::from(has_inline)
}

/// Runs that manifests are the pieces of, in their order: all pieces of a run but its last are full.
fn n_runs(rows: &[ManifestRow]) -> usize {
    let is_continued = |one: &ManifestRow, other: &ManifestRow| {
        one.entries as usize == limits::MANIFEST_ENTRIES_MAX
            && one.seq_base == other.seq_base
            && one.last <= other.first
    };
    let pairs = rows.iter().zip(rows.iter().skip(1));
    let ends = pairs
        .filter(|(one, other)| !is_continued(one, other))
        .count();
    ends + usize::from(!rows.is_empty())
}

/// Merges the runs of each tier that has sixteen.
async fn merge_tiers(
    desk: &Desk,
    objects: &Objects,
    next: &mut Commit,
    puts: &mut Vec<Need>,
) -> Result<()> {
    for tier in 0..limits::TIER_MAX {
        let of_tier = |row: &ManifestRow| row.tier == tier;
        let merged: Vec<_> = next
            .manifests
            .iter()
            .filter(|row| of_tier(row))
            .cloned()
            .collect();
        if n_runs(&merged) < limits::TIER_RUNS {
            continue;
        }
        let entries = all_entries(desk, objects, &merged, puts).await?;
        let entries = without_pairs(entries);
        next.manifests.retain(|row| !of_tier(row));
        let base = entries.iter().map(|entry| entry.low).min().unwrap_or(0);
        let rows = manifests_of(entries, tier + 1, base, puts)?;
        next.manifests.extend(rows);
    }
    Ok(())
}

/// Entries of manifests, of which some may be about to be written.
async fn all_entries(
    desk: &Desk,
    objects: &Objects,
    rows: &[ManifestRow],
    puts: &[Need],
) -> Result<Vec<Entry>> {
    let new = puts.iter().filter_map(|need| match need {
        Need::Put { key, bytes } => Some((key.clone(), bytes.clone())),
        _ => None,
    });
    let new: HashMap<String, Arc<Vec<u8>>> = new.collect();
    let mut entries = Vec::new();
    let mut stored = Vec::new();
    for row in rows {
        match new.get(&ObjectKind::Manifest.key(&row.id)) {
            Some(bytes) => {
                let file = tarsia_table_meta::ManifestFile::parse(bytes.to_vec(), row)?;
                entries.extend(file.all_entries()?);
            }
            None => stored.push(row.clone()),
        }
    }
    for file in objects.manifests(desk, &stored).await? {
        entries.extend(file.all_entries()?);
    }
    Ok(entries)
}

/// The entries of the changes of a commit that others may meet: removals and updates. Manifests without any are not
/// decoded.
pub(crate) async fn own_entries_that_meet(
    desk: &Desk,
    objects: &Objects,
    commit: &Commit,
) -> Result<Vec<Entry>> {
    let mut entries = commit.own_entries.clone();
    let files = objects.manifests(desk, &commit.own_manifests).await?;
    for (file, row) in files.iter().zip(&commit.own_manifests) {
        if row.has_kind(EntryKind::Update) || file.counts()?.removals > 0 {
            entries.extend(file.all_entries()?);
        }
    }
    entries.retain(|entry| entry.op == EntryOp::Remove || entry.kind == EntryKind::Update);
    Ok(entries)
}

/// The entries that the changes of a commit added.
pub(crate) async fn own_entries(
    desk: &Desk,
    objects: &Objects,
    commit: &Commit,
) -> Result<Vec<Entry>> {
    let mut entries = commit.own_entries.clone();
    for file in objects.manifests(desk, &commit.own_manifests).await? {
        entries.extend(file.all_entries()?);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use tarsia_table_meta::Partition;

    use super::*;

    #[test]
    fn pieces_of_a_run_are_one_run() {
        let row = |entries: usize, seq_base: u64, ends: [u8; 2]| {
            let partition = |value: u8| Partition {
                spec: 0,
                values: vec![value],
            };
            ManifestRow {
                id: ObjectId([ends[0]; 32]),
                tier: 0,
                entries: entries as u32,
                bytes: 1,
                first: partition(ends[0]),
                last: partition(ends[1]),
                seq_base,
                seq_low: seq_base,
                seq_high: seq_base,
                kinds: 1,
            }
        };
        let full = limits::MANIFEST_ENTRIES_MAX;
        assert_eq!(n_runs(&[]), 0);
        let one = [
            row(full, 5, [0, 3]),
            row(full, 5, [3, 7]),
            row(9, 5, [8, 8]),
        ];
        assert_eq!(n_runs(&one), 1);
        // A piece that is not full is the last of its run; another base, and an earlier partition, are another run.
        assert_eq!(n_runs(&[row(9, 5, [0, 3]), row(9, 5, [3, 7])]), 2);
        assert_eq!(n_runs(&[row(full, 5, [0, 3]), row(9, 6, [3, 7])]), 2);
        assert_eq!(n_runs(&[row(full, 5, [0, 3]), row(9, 5, [2, 7])]), 2);
    }
}
