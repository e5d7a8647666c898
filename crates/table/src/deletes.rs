//! Sets of deleted rows: in entries, or in files of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, FixedSizeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{WriteOptions, Writer};
use tarsia_compliance::RowSet;
use tarsia_io::Store;
use tarsia_table_meta::{
    Entry, EntryKind, EntryOp, FileId, ObjectId, Partition, Target, TxnId, limits, names,
};

use crate::conflict::Others;
use crate::error::{Error, Result};
use crate::origins::own_rows;
use crate::plan::PlannedFile;
use crate::source;
use crate::spec::random;
use crate::write::put_file;

/// Makes entries that delete rows of files: one for each partition.
pub(crate) fn deletes(
    store: &Arc<dyn Store>,
    rows: &BTreeMap<FileId, (Partition, RowSet)>,
) -> Result<Vec<Entry>> {
    let mut by_partition: BTreeMap<&Partition, Vec<(FileId, &RowSet)>> = BTreeMap::new();
    for (file, (partition, rows)) in rows {
        if !rows.is_empty() {
            by_partition
                .entry(partition)
                .or_default()
                .push((*file, rows));
        }
    }
    let mut entries = Vec::new();
    for (partition, files) in by_partition {
        for some in files.chunks(limits::TARGETS_MAX) {
            entries.push(of_partition(store, partition, some)?);
        }
    }
    Ok(entries)
}

fn of_partition(
    store: &Arc<dyn Store>,
    partition: &Partition,
    files: &[(FileId, &RowSet)],
) -> Result<Entry> {
    let sets: Vec<_> = files
        .iter()
        .map(|(file, rows)| (*file, rows.len(), rows.to_bytes()))
        .collect();
    let n_bytes: usize = sets.iter().map(|(.., bytes)| bytes.len()).sum();
    let is_small = sets
        .iter()
        .all(|(.., bytes)| bytes.len() <= limits::ROW_SET_BYTES_MAX);
    let is_inside = is_small && n_bytes <= limits::ROW_SET_BYTES_MAX * 4;
    let targets = sets.iter().map(|(file, rows, bytes)| Target {
        file: *file,
        first_row: 0,
        rows: *rows,
        dense: false,
        row_set: is_inside.then(|| bytes.clone()),
    });
    let targets = targets.collect();
    let entry = match is_inside {
        true => without_file(partition.clone(), FileId(random()?)),
        false => put_file(store, file_bytes(&sets)?, partition.clone(), None)?,
    };
    Ok(Entry {
        kind: EntryKind::Deletes,
        targets,
        ..entry
    })
}

/// An entry whose sets of rows are all in it.
fn without_file(partition: Partition, file: FileId) -> Entry {
    Entry {
        op: EntryOp::Add,
        kind: EntryKind::Deletes,
        partition,
        file,
        rows: 0,
        bytes: 0,
        root: None,
        epoch: 0,
        seq: 0,
        low: 0,
        folded: false,
        ordinal: 0,
        schema: None,
        fields: Vec::new(),
        targets: Vec::new(),
        origins: Vec::new(),
    }
}

/// Rows of which a set without gaps fits into an entry.
const RUN_ROWS: u64 = 48 << 16;

/// Turns the removal of a file whose rows a compaction put into another one into deletes of all of them.
pub(crate) fn deletes_of_moved(removal: &Entry, txn: &TxnId) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut first = 0;
    while first < removal.rows {
        let end = removal.rows.min(first + RUN_ROWS);
        let mut rows = RowSet::new();
        rows.insert_range(first..end);
        // A commit that is tried again has the same entries.
        let name = [&txn.0[..], &removal.file.0[..], &first.to_le_bytes()].concat();
        let mut file = [0; 16];
        file.iter_mut()
            .zip(ObjectId::of(&name).0)
            .for_each(|(to, from)| *to = from);
        entries.push(Entry {
            targets: vec![Target {
                file: removal.file,
                first_row: 0,
                rows: rows.len(),
                dense: false,
                row_set: Some(rows.to_bytes()),
            }],
            ..without_file(removal.partition.clone(), FileId(file))
        });
        first = end;
    }
    entries
}

/// Entries of a change on a state from which others removed files: what is gone is not removed again, and rows that a
/// compaction moved are deleted where they are now.
pub(crate) fn without_removed(entries: Vec<Entry>, others: &Others, txn: &TxnId) -> Vec<Entry> {
    let kept = entries.into_iter().flat_map(|entry| {
        let is_removal = entry.op == EntryOp::Remove;
        let is_moved = entry.kind == EntryKind::Data && others.moved.contains(&entry.file);
        match (is_removal && others.removed.contains(&entry.file), is_moved) {
            (false, _) => vec![entry],
            (true, true) => deletes_of_moved(&entry, txn),
            (true, false) => Vec::new(),
        }
    });
    kept.collect()
}

fn file_bytes(sets: &[(FileId, u64, Vec<u8>)]) -> Result<Vec<u8>> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("file", DataType::FixedSizeBinary(16), false),
        Field::new("rows", DataType::Binary, false),
    ]));
    let files = sets.iter().map(|(file, ..)| Some(file.0));
    let files = FixedSizeBinaryArray::try_from_sparse_iter_with_size(files, 16)?;
    let rows = BinaryArray::from_iter_values(sets.iter().map(|(.., bytes)| bytes));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(files), Arc::new(rows)])?;
    let mut writer = Writer::new(Vec::new(), schema, WriteOptions::new().with_zones(false))?;
    writer.write(&batch)?;
    Ok(writer.finish_into()?.0)
}

/// The rows of a file that are deleted, by their places in it.
pub(crate) fn deleted_rows(store: &Arc<dyn Store>, file: &PlannedFile) -> Result<RowSet> {
    if file.deletes.is_empty() {
        return Ok(RowSet::new());
    }
    // How many rows another file had is not known here.
    let n_rows = match file.entry.origins.is_empty() {
        true => file.entry.rows,
        false => u64::MAX,
    };
    let mut deleted: BTreeMap<FileId, RowSet> = BTreeMap::new();
    for entry in &file.deletes {
        for origin in file.origins() {
            let found = entry.targets.binary_search_by(|it| it.file.cmp(origin));
            let Some((place, target)) = found
                .ok()
                .and_then(|place| Some((place, entry.targets.get(place)?)))
            else {
                continue;
            };
            let rows = rows_of_target(store, entry, place, target, n_rows)?;
            let of_origin = deleted.entry(*origin).or_default();
            *of_origin = of_origin.union(&rows);
        }
    }
    own_rows(store, file, &deleted)
}

/// The rows that an entry deletes of one of its targets.
fn rows_of_target(
    store: &Arc<dyn Store>,
    entry: &Entry,
    place: usize,
    target: &Target,
    n_rows: u64,
) -> Result<RowSet> {
    let bad = |what: String| Error::corrupt(format!("deletes {}: {what}", entry.file));
    let bytes = match &target.row_set {
        Some(bytes) => bytes.clone(),
        None => set_of_file(store, entry, place, &target.file)?,
    };
    let rows = RowSet::parse(&bytes, n_rows).map_err(|error| bad(error.to_string()))?;
    match rows.len() == target.rows {
        true => Ok(rows),
        false => Err(bad(format!(
            "{} rows, its entry says {}",
            rows.len(),
            target.rows
        ))),
    }
}

fn set_of_file(
    store: &Arc<dyn Store>,
    entry: &Entry,
    place: usize,
    target: &FileId,
) -> Result<Vec<u8>> {
    let key = names::data_key(&entry.file);
    let bad = |what: &str| Error::corrupt(what).of_object(&key);
    let file = source::open(store, entry)?;
    if place as u64 >= file.num_rows() {
        return Err(bad("it has fewer sets of rows than its entry has targets"));
    }
    let batch = file
        .take(&[place as u64])
        .columns(&["file", "rows"])
        .read()?;
    let (Some(files), Some(rows)) = (batch.columns().first(), batch.columns().last()) else {
        return Err(bad("it has no columns"));
    };
    let files = files.as_fixed_size_binary_opt().filter(|it| it.len() == 1);
    let rows = rows.as_binary_opt::<i32>().filter(|it| it.len() == 1);
    let (Some(files), Some(rows)) = (files, rows) else {
        return Err(bad("its columns have other types"));
    };
    match files.value(0) == target.0 {
        true => Ok(rows.value(0).to_vec()),
        false => Err(bad(
            "its sets of rows are of other files than its entry says",
        )),
    }
}
