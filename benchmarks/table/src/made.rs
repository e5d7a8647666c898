//! Tables of many files that do not exist: their entries are what a task would have written.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use tarsia_io::{LocalStore, Store};
use tarsia_table::meta::{
    Entry, EntryKind, EntryOp, FileId, ObjectId, Partition, Partitioning, entries_to_bytes,
};
use tarsia_table::{CommitInfo, Entries, Table, TableSpec, Transaction};

use crate::store::CountingStore;

/// Partitions of the tables.
pub(crate) const PARTITIONS: usize = 1_024;

const ROWS: u64 = 100_000;
const FILE_BYTES: u64 = 100_000_000;

/// A table with its counts.
pub(crate) struct Counted {
    pub(crate) table: Table,
    pub(crate) store: Arc<CountingStore>,
}

/// Opens the table of a folder, with a store that answers late.
pub(crate) fn open(folder: &Path, latency: Duration) -> Result<Counted> {
    let local = Arc::new(LocalStore::open(folder)?);
    let store = Arc::new(CountingStore::new(local, latency));
    Ok(Counted {
        table: Table::open(store.clone())?,
        store,
    })
}

/// Bytes of all files below a folder.
pub(crate) fn bytes_below(folder: &Path) -> Result<u64> {
    let mut n_bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        n_bytes += match entry.file_type()?.is_dir() {
            true => bytes_below(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(n_bytes)
}

/// Author and message of all commits.
pub(crate) fn info(message: &str) -> CommitInfo {
    CommitInfo::new("benchmark", message)
}

/// Makes a table of so many files, by commits of [`PARTITIONS`] files, each of which is in another partition.
pub(crate) fn make(folder: &Path, n_files: usize) -> Result<()> {
    let schema = Schema::new(vec![
        Field::new("p", DataType::Int64, true),
        Field::new("v", DataType::Float64, true),
    ]);
    let spec = TableSpec::new(Arc::new(schema)).partition_by(["p"]);
    let store: Arc<dyn Store> = Arc::new(LocalStore::create(folder)?);
    let table = Table::create(store, &spec, &info("made"))?;
    let mut random = Random::new(n_files as u64);
    for first in (0..n_files).step_by(PARTITIONS) {
        let n_new = PARTITIONS.min(n_files - first);
        append(&table, "main", 0..n_new, &mut random)?;
    }
    Ok(())
}

/// Commits a file in each of these partitions.
pub(crate) fn append(
    table: &Table,
    branch: &str,
    partitions: impl IntoIterator<Item = usize>,
    random: &mut Random,
) -> Result<()> {
    let mut txn = table.begin(branch, info("append"))?;
    let entries = entries(&txn, partitions, random)?;
    txn.add(&entries)?;
    txn.commit()?;
    Ok(())
}

fn entries(
    txn: &Transaction,
    partitions: impl IntoIterator<Item = usize>,
    random: &mut Random,
) -> Result<Entries> {
    let commit = txn.snapshot().commit();
    let spec = commit.spec().context("a table without a spec")?;
    let partitioning = Partitioning::new(spec, txn.snapshot().schema())?;
    let numbers = partitions.into_iter().map(|p| (p % PARTITIONS) as i64);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    let n_entries = numbers.len();
    let spread = partitioning.spread(&[numbers], n_entries)?;
    let entry = |values: &Vec<u8>, random: &mut Random| Entry {
        op: EntryOp::Add,
        kind: EntryKind::Data,
        partition: Partition {
            spec: spec.id,
            values: values.clone(),
        },
        file: FileId(random.bytes()),
        rows: ROWS - random.below(1_000),
        bytes: FILE_BYTES - random.below(1_000_000),
        root: Some(ObjectId(random.bytes())),
        epoch: 0,
        seq: 0,
        low: 0,
        folded: false,
        ordinal: 0,
        schema: Some(commit.schema),
        fields: Vec::new(),
        targets: Vec::new(),
        origins: Vec::new(),
    };
    let mut entries = Vec::with_capacity(n_entries);
    for (values, rows) in &spread {
        for _ in 0..rows.len() {
            entries.push(entry(values, random));
        }
    }
    entries.sort_by(Entry::order);
    Ok(Entries::from_bytes(entries_to_bytes(&entries)?))
}

/// Numbers that look random, the same in each run (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    /// Numbers that depend on a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below another one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
        bytes
    }
}
