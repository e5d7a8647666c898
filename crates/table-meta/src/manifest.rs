//! Manifests: files of entries, sorted by partition (`docs/spec/table/manifests.md`).
//!
//! A manifest is a Tarsia file of one column for each part of an entry. Its metadata have a sparse index: the partition
//! of every 1,024th entry. So a plan reads the entries of the partitions that it wants, and no others.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tarsia::io::ReadAt;
use tarsia::{CapturedLayout, EmbedKernels, File, OpenOptions, Threads, WriteOptions, Writer};

use crate::columns::{
    COUNTED_COLUMNS, ManifestCounts, PARTITION_COLUMNS, arrow_schema, batch_of, count_entries,
    entries_of, partitions_of,
};
use crate::entry::{Entry, EntryKind, EntryOp, ManifestRow, Partition, Target};
use crate::error::{Error, Result};
use crate::ids::{FieldId, FileId, ObjectId};
use crate::limits::{
    MANIFEST_ENTRIES_MAX, MANIFEST_MEMORY_BYTES_MAX, PARTITION_BYTES_MAX, SPARSE_ENTRIES,
};

const OBJECT: &str = "manifest";

/// Key of the sparse index in the metadata of the schema: a list in JSON, of `[spec, partition in hex digits]`.
pub const SPARSE_KEY: &str = "table.sparse";

/// Writes entries, sorted as [`Entry::order`] says, as a manifest of a tier. Their `seq` and `low` are relative to
/// `seq_base`. The bytes are a function of the entries.
///
/// # Errors
/// [`Error::InvalidInput`] for none, too many or unsorted entries, [`Error::Corrupt`] for those that no reader takes,
/// [`Error::File`].
pub fn write_manifest(
    entries: &[Entry],
    tier: u8,
    seq_base: u64,
) -> Result<(Vec<u8>, ManifestRow)> {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Err(Error::invalid("a manifest without entries"));
    };
    Error::check_limit("MANIFEST_ENTRIES_MAX", entries.len(), MANIFEST_ENTRIES_MAX)?;
    if !entries.is_sorted_by(|one, other| one.order(other).is_le()) {
        return Err(Error::invalid("entries of a manifest that are not sorted"));
    }
    entries.iter().try_for_each(Entry::check)?;
    let bytes = file_bytes(entries, layout()?.clone())?;
    let seqs = entries.iter().map(|entry| entry.seq);
    let kinds = entries
        .iter()
        .fold(0, |kinds, entry| kinds | 1 << entry.kind.code());
    let with_base = |seq: Option<u64>| seq.unwrap_or(0).saturating_add(seq_base);
    let row = ManifestRow {
        id: ObjectId::of(&bytes),
        tier,
        entries: entries.len() as u32,
        bytes: bytes.len() as u64,
        first: first.partition.clone(),
        last: last.partition.clone(),
        seq_base,
        seq_low: with_base(seqs.clone().min()),
        seq_high: with_base(seqs.max()),
        kinds,
    };
    row.check()?;
    Ok((bytes, row))
}

fn file_bytes(entries: &[Entry], layout: CapturedLayout) -> Result<Vec<u8>> {
    let sparse = entries.iter().step_by(SPARSE_ENTRIES).map(|entry| {
        let Partition { spec, values } = &entry.partition;
        Value::from(vec![Value::from(*spec), Value::from(hex::encode(values))])
    });
    let sparse = Value::from(sparse.collect::<Vec<_>>()).to_string();
    let options = WriteOptions::new()
        .with_deterministic(true)
        .with_embed_kernels(EmbedKernels::Omit)
        .with_threads(Threads::One)
        .with_zones(false)
        .with_layout(layout)
        .with_key_value(SPARSE_KEY, sparse);
    let write = || {
        let mut writer = Writer::new(Vec::new(), arrow_schema(), options)?;
        writer.write(&batch_of(entries)?)?;
        Ok(writer.finish_into()?.0)
    };
    write().map_err(of_file)
}

fn of_file(error: tarsia::Error) -> Error {
    Error::File {
        object: OBJECT,
        reason: error.to_string(),
    }
}

/// The encodings of manifests: those that a search finds for entries of all kinds. So no manifest is searched, and
/// equal entries give equal bytes.
fn layout() -> Result<&'static CapturedLayout> {
    static LAYOUT: OnceLock<Result<CapturedLayout>> = OnceLock::new();
    let capture = || {
        let bytes = file_bytes(&typical_entries(), CapturedLayout::default())?;
        let file = File::from_bytes(bytes, open_options()).map_err(of_file)?;
        file.capture_layout().map_err(of_file)
    };
    LAYOUT.get_or_init(capture).as_ref().map_err(Clone::clone)
}

fn open_options() -> OpenOptions {
    OpenOptions::new().with_threads(Threads::One)
}

/// Entries as large tables have them: many files in partitions, few updates and deletes.
fn typical_entries() -> Vec<Entry> {
    let hash =
        |i: u32, what: u8| *blake3::hash(&[&i.to_le_bytes()[..], &[what]].concat()).as_bytes();
    let id = |i: u32| {
        let mut id = [0; 16];
        id.copy_from_slice(hash(i, 0).get(..16).unwrap_or(&[0; 16]));
        FileId(id)
    };
    let entry = |i: u32| {
        let kind = match i % 16 {
            14 => EntryKind::Update,
            15 => EntryKind::Deletes,
            _ => EntryKind::Data,
        };
        let rows = u64::from(i * 7919 % 100_000 + 1);
        let is_delete = kind == EntryKind::Deletes;
        let targets = match kind {
            EntryKind::Data => Vec::new(),
            EntryKind::Update | EntryKind::Deletes => vec![Target {
                file: id(i + 1),
                first_row: 0,
                rows,
                dense: !is_delete && i % 32 == 14,
                row_set: is_delete.then(|| vec![i as u8; 20]),
            }],
        };
        Entry {
            op: if i % 64 == 3 {
                EntryOp::Remove
            } else {
                EntryOp::Add
            },
            kind,
            partition: Partition {
                spec: 0,
                values: [&[1], &(i / 32).to_be_bytes()[..]].concat(),
            },
            file: id(i),
            rows,
            bytes: if is_delete {
                0
            } else {
                rows * 100 + u64::from(i)
            },
            root: (!is_delete).then(|| ObjectId(hash(i, 1))),
            epoch: 1,
            seq: u64::from(i % 32),
            low: u64::from(i % 32),
            folded: false,
            ordinal: i % 5,
            schema: (!is_delete).then(|| ObjectId(hash(i % 3, 2))),
            fields: match kind {
                EntryKind::Update => vec![FieldId(u64::from(i)), FieldId(u64::MAX)],
                _ => Vec::new(),
            },
            targets,
            origins: Vec::new(),
        }
    };
    (0..2_048).map(entry).collect()
}

/// Most bytes of partition values that an open manifest keeps for 1,024 entries.
const KEPT_PARTITION_BYTES_MAX: usize = 256 << 10;

/// An open manifest. Entries are read as they are asked for.
pub struct ManifestFile {
    file: File,
    row: ManifestRow,
    /// Partition of every 1,024th entry.
    sparse: Vec<Partition>,
    /// Partitions of the entries between two of `sparse`, once they were read.
    partitions: Vec<OnceLock<Arc<[PartitionRun]>>>,
    counts: OnceLock<ManifestCounts>,
}

/// Entries of one partition that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRun {
    /// The partition.
    pub partition: Partition,
    /// Its entries.
    pub rows: Range<u64>,
}

impl ManifestFile {
    /// Opens a manifest that is in memory, and compares its digest.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::File`].
    pub fn parse(bytes: Vec<u8>, row: &ManifestRow) -> Result<Self> {
        if ObjectId::of(&bytes) != row.id {
            return Err(Error::corrupt(
                OBJECT,
                format!("{}: its digest is another", row.id),
            ));
        }
        let file = File::from_bytes(bytes, open_options()).map_err(of_file)?;
        Self::new(file, row)
    }

    /// Opens a manifest by its reader. Blocks are checked as they are read; the digest of the whole is not.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::File`].
    pub fn open(reader: Arc<dyn ReadAt>, row: &ManifestRow) -> Result<Self> {
        let file = File::open_reader(reader, open_options()).map_err(of_file)?;
        Self::new(file, row)
    }

    fn new(file: File, row: &ManifestRow) -> Result<Self> {
        let bad = |what: &str| Error::corrupt(OBJECT, format!("{}: {what}", row.id));
        if file.num_rows() != u64::from(row.entries) {
            return Err(bad("it has another number of entries than the commit says"));
        }
        let arrow = file.schema().map_err(of_file)?;
        if arrow.fields() != arrow_schema().fields() {
            return Err(bad("its columns are not those of a manifest"));
        }
        let sparse = arrow.metadata().get(SPARSE_KEY);
        let sparse = sparse.and_then(|text| parse_sparse(text));
        let sparse = sparse.ok_or_else(|| bad("it has no sparse index"))?;
        let n_entries = row.entries as usize;
        if sparse.len() != n_entries.div_ceil(SPARSE_ENTRIES) || !sparse.is_sorted() {
            return Err(bad("its sparse index is of other entries"));
        }
        let partitions = sparse.iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            file,
            row: row.clone(),
            sparse,
            partitions,
            counts: OnceLock::new(),
        })
    }

    /// The row that a state has of it.
    pub fn row(&self) -> &ManifestRow {
        &self.row
    }

    /// Runs of entries, and the partitions that those of each lie between, with both ends.
    pub fn runs(&self) -> Vec<(Range<u64>, [&Partition; 2])> {
        let n_entries = u64::from(self.row.entries);
        let runs = self.sparse.iter().enumerate().map(|(i, first)| {
            let start = (i * SPARSE_ENTRIES) as u64;
            let end = (start + SPARSE_ENTRIES as u64).min(n_entries);
            let last = self.sparse.get(i + 1).unwrap_or(&self.row.last);
            (start..end, [first, last])
        });
        runs.collect()
    }

    /// Partitions of the entries of a run that [`ManifestFile::runs`] returned, by its place there, in their order. Of
    /// the entries nothing else is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for partitions that are not sorted or contradict the sparse index; [`Error::File`].
    pub fn partitions(&self, run: usize) -> Result<Arc<[PartitionRun]>> {
        if let Some(kept) = self.partitions.get(run).and_then(OnceLock::get) {
            return Ok(kept.clone());
        }
        let start = (run * SPARSE_ENTRIES) as u64;
        let end = (start + SPARSE_ENTRIES as u64).min(self.row.entries.into());
        let scan = self.file.scan().columns(&PARTITION_COLUMNS);
        let mut found: Vec<PartitionRun> = Vec::new();
        let mut at = start;
        for batch in scan.rows(start..end).build().map_err(of_file)? {
            let batch = batch.map_err(|error| of_file(error.into()))?;
            for (spec, values) in partitions_of(&batch)? {
                match found.last_mut() {
                    Some(last)
                        if last.partition.spec == spec && last.partition.values == values =>
                    {
                        last.rows.end = at + 1;
                    }
                    _ => found.push(PartitionRun {
                        partition: Partition {
                            spec,
                            values: values.to_vec(),
                        },
                        rows: at..at + 1,
                    }),
                }
                at += 1;
            }
        }
        let is_first = found.first().map(|it| &it.partition) == self.sparse.get(run);
        let is_sorted = found.is_sorted_by(|one, other| one.partition < other.partition);
        if at != end || !is_first || !is_sorted {
            let what = format!("{}: its sparse index is of other entries", self.row.id);
            return Err(Error::corrupt(OBJECT, what));
        }
        let n_bytes: usize = found.iter().map(|it| it.partition.values.len()).sum();
        let found: Arc<[PartitionRun]> = found.into();
        if let Some(kept) = self.partitions.get(run)
            && n_bytes <= KEPT_PARTITION_BYTES_MAX
        {
            return Ok(kept.get_or_init(|| found).clone());
        }
        Ok(found)
    }

    /// Numbers of the entries. Of the entries no more is read than they need.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::File`].
    pub fn counts(&self) -> Result<ManifestCounts> {
        if let Some(counts) = self.counts.get() {
            return Ok(*counts);
        }
        let mut counts = ManifestCounts::default();
        let scan = self.file.scan().columns(&COUNTED_COLUMNS).build();
        for batch in scan.map_err(of_file)? {
            let batch = batch.map_err(|error| of_file(error.into()))?;
            count_entries(&batch, &mut counts)?;
        }
        Ok(*self.counts.get_or_init(|| counts))
    }

    /// Entries in their order, with the base added to their numbers.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also for entries that are not sorted or contradict the sparse index; [`Error::File`];
    /// [`Error::LimitExceeded`] for entries that take too much memory.
    pub fn entries(&self, rows: Range<u64>) -> Result<Vec<Entry>> {
        let scan = self.file.scan().rows(rows.clone()).build();
        let mut entries: Vec<Entry> = Vec::new();
        let mut memory_bytes = 0;
        for batch in scan.map_err(of_file)? {
            let batch = batch.map_err(|error| of_file(error.into()))?;
            memory_bytes += batch.get_array_memory_size() as u64;
            if memory_bytes > MANIFEST_MEMORY_BYTES_MAX {
                return Err(Error::LimitExceeded {
                    limit: "MANIFEST_MEMORY_BYTES_MAX",
                    found: memory_bytes,
                    max: MANIFEST_MEMORY_BYTES_MAX,
                });
            }
            entries_of(&batch, &mut entries)?;
        }
        let bad = |what: &str| Error::corrupt(OBJECT, format!("{}: {what}", self.row.id));
        if !entries.is_sorted_by(|one, other| one.order(other).is_le()) {
            return Err(bad("its entries are not sorted"));
        }
        for (entry, row) in entries.iter_mut().zip(rows) {
            let place = row as usize / SPARSE_ENTRIES;
            let at_place = (row as usize).is_multiple_of(SPARSE_ENTRIES);
            let first = self.sparse.get(place);
            let is_first = first == Some(&entry.partition);
            let is_last = row + 1 == u64::from(self.row.entries);
            if (at_place && !is_first) || (is_last && entry.partition != self.row.last) {
                return Err(bad("its sparse index is of other entries"));
            }
            for number in [&mut entry.seq, &mut entry.low] {
                *number = number.saturating_add(self.row.seq_base);
            }
            if entry.seq < self.row.seq_low || entry.seq > self.row.seq_high {
                return Err(bad("an entry has a `seq` that the commit says it has not"));
            }
        }
        Ok(entries)
    }

    /// All entries.
    ///
    /// # Errors
    /// As [`ManifestFile::entries`].
    pub fn all_entries(&self) -> Result<Vec<Entry>> {
        self.entries(0..self.row.entries.into())
    }
}

/// The bytes of entries that are sent from one process to another: a manifest.
///
/// # Errors
/// As [`write_manifest`].
pub fn entries_to_bytes(entries: &[Entry]) -> Result<Vec<u8>> {
    Ok(match entries.is_empty() {
        true => Vec::new(),
        false => write_manifest(entries, 0, 0)?.0,
    })
}

/// The entries that [`entries_to_bytes`] wrote.
///
/// # Errors
/// As [`ManifestFile::entries`].
pub fn entries_from_bytes(bytes: &[u8]) -> Result<Vec<Entry>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let file = File::from_bytes(bytes.to_vec(), open_options()).map_err(of_file)?;
    let entries = u32::try_from(file.num_rows()).ok();
    let entries = entries.filter(|n| *n > 0 && *n as usize <= MANIFEST_ENTRIES_MAX);
    let bad = || Error::corrupt(OBJECT, format!("{} entries", file.num_rows()));
    let mut row = ManifestRow {
        id: ObjectId::of(bytes),
        tier: 0,
        entries: entries.ok_or_else(bad)?,
        bytes: bytes.len() as u64,
        first: Partition::default(),
        last: Partition::default(),
        seq_base: 0,
        seq_low: 0,
        seq_high: u64::MAX,
        kinds: u32::MAX,
    };
    // Only the last entry says what the last partition is.
    let last = file.take(&[u64::from(row.entries) - 1]).read();
    let mut one = Vec::new();
    entries_of(&last.map_err(of_file)?, &mut one)?;
    row.last = one.pop().map(|entry| entry.partition).unwrap_or_default();
    ManifestFile::new(file, &row)?.all_entries()
}

fn parse_sparse(text: &str) -> Option<Vec<Partition>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let partition = |pair: &Value| {
        let [spec, values] = pair.as_array()?.as_slice() else {
            return None;
        };
        let values = hex::decode(values.as_str()?).ok()?;
        let spec = u32::try_from(spec.as_u64()?).ok()?;
        (values.len() <= PARTITION_BYTES_MAX).then_some(Partition { spec, values })
    };
    value.as_array()?.iter().map(partition).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let mut entries = typical_entries();
        for entry in &mut entries {
            if entry.op == EntryOp::Remove {
                *entry = entry.removal(entry.seq);
            }
            for target in &mut entry.targets {
                if target.row_set.is_some() {
                    let mut rows = tarsia_compliance::RowSet::new();
                    rows.insert_range(5..5 + target.rows);
                    target.row_set = Some(rows.to_bytes());
                }
            }
        }
        entries.sort_by(Entry::order);
        entries
    }

    #[test]
    fn entries_are_read_back_with_their_base() {
        let entries = entries();
        let (bytes, row) = write_manifest(&entries, 2, 100).unwrap();
        assert_eq!(write_manifest(&entries, 2, 100).unwrap().0, bytes);
        let expect = entries.iter().map(|entry| Entry {
            seq: entry.seq + 100,
            low: entry.low + 100,
            ..entry.clone()
        });
        let expect: Vec<_> = expect.collect();
        let file = ManifestFile::parse(bytes.clone(), &row).unwrap();
        assert_eq!(file.all_entries().unwrap(), expect);
        assert_eq!(file.entries(1000..1100).unwrap(), expect[1000..1100]);
        assert_eq!((row.seq_low, row.seq_high, row.entries), (100, 131, 2048));
        let runs = file.runs();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[1].1, [&expect[1024].partition, &row.last]);
        // What a large table pays per entry: ids and digests do not get smaller.
        assert!(bytes.len() < 2048 * 130, "{}", bytes.len());
    }

    #[test]
    fn partitions_and_counts_are_those_of_the_entries() {
        let entries = entries();
        let (bytes, row) = write_manifest(&entries, 0, 0).unwrap();
        let file = ManifestFile::parse(bytes, &row).unwrap();
        for run in [0, 1, 0] {
            let mut at = run * SPARSE_ENTRIES;
            for part in file.partitions(run).unwrap().iter() {
                assert_eq!(part.rows.start, at as u64);
                at = part.rows.end as usize;
                let of_part = &entries[part.rows.start as usize..at];
                assert!(!of_part.is_empty());
                assert!(of_part.iter().all(|it| it.partition == part.partition));
            }
            assert_eq!(at, (run + 1) * SPARSE_ENTRIES);
        }
        let mut expect = ManifestCounts::default();
        for entry in &entries {
            let is_data = entry.kind == EntryKind::Data;
            match entry.op {
                EntryOp::Add if is_data => {
                    expect.added_files += 1;
                    expect.added_rows += entry.rows;
                }
                EntryOp::Remove if is_data => {
                    expect.removed_files += 1;
                    expect.removed_rows += entry.rows;
                }
                _ => {}
            }
            expect.removals += u64::from(entry.op == EntryOp::Remove);
        }
        assert!(expect.removals > 0 && expect.added_files > 1_000);
        assert_eq!(file.counts().unwrap(), expect);
    }

    #[test]
    fn manifests_of_other_rows_are_refused() {
        let entries = entries();
        let (bytes, row) = write_manifest(&entries, 0, 0).unwrap();
        let refused = |row: ManifestRow| {
            let reader = Arc::new(tarsia::io::MemoryFile::new(bytes.clone()));
            let opened = ManifestFile::open(reader, &row);
            opened
                .and_then(|file| file.all_entries())
                .unwrap_err()
                .to_string()
        };
        let other = |change: fn(&mut ManifestRow)| {
            let mut row = row.clone();
            change(&mut row);
            refused(row)
        };
        assert!(other(|row| row.entries -= 1).contains("another number of entries"));
        assert!(other(|row| row.last.values.push(9)).contains("sparse index"));
        assert!(other(|row| row.seq_high -= 1).contains("`seq`"));
        assert!(ManifestFile::parse(bytes[1..].to_vec(), &row).is_err());
        let mut unsorted = entries;
        unsorted.swap(3, 500);
        assert!(write_manifest(&unsorted, 0, 0).is_err());
        assert!(write_manifest(&[], 0, 0).is_err());
    }

    #[test]
    fn damaged_manifests_are_refused_or_say_the_same() {
        let entries = &entries()[..40];
        let (bytes, row) = write_manifest(entries, 0, 0).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x55;
            let reader = Arc::new(tarsia::io::MemoryFile::new(changed));
            let read = ManifestFile::open(reader, &row).and_then(|file| file.all_entries());
            assert!(read.is_err() || read == Ok(entries.to_vec()), "{place}");
        }
    }
}
