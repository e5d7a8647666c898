//! Entries: descriptions of files, as plain data.

use std::cmp::Ordering;

use tarsia_compliance::RowSet;

use crate::error::{Error, Result};
use crate::ids::{FieldId, FileId, ObjectId};
use crate::limits::{
    PARTITION_BYTES_MAX, PARTITION_FIELDS_MAX, ROW_SET_BYTES_MAX, TARGETS_MAX, TIER_MAX,
};

/// Whether the table has a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryOp {
    /// It has it from now on.
    Add,
    /// It has it no more.
    Remove,
}

/// Content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// Rows.
    Data,
    /// Values of some fields for rows of data files.
    Update,
    /// Sets of rows of data files that are deleted.
    Deletes,
}

impl EntryOp {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Add => 0,
            Self::Remove => 1,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        [Self::Add, Self::Remove].into_iter().nth(code.into())
    }
}

impl EntryKind {
    /// All kinds, by their code.
    pub const ALL: [Self; 3] = [Self::Data, Self::Update, Self::Deletes];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Update => 1,
            Self::Deletes => 2,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().nth(code.into())
    }
}

/// The partition of a file: the spec that it was written under, and its values. The order is the one of manifests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Partition {
    /// Id of the spec.
    pub spec: u32,
    /// The values in key encoding, one after the other.
    pub values: Vec<u8>,
}

/// Rows of a data file that an update or a delete is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The data file.
    pub file: FileId,
    /// Row of the update file at which the values for this target begin; 0 in deletes.
    pub first_row: u64,
    /// Rows of the update file for this target; rows that are deleted, in deletes.
    pub rows: u64,
    /// Whether the values are those of all rows of the target, in order.
    pub dense: bool,
    /// Deleted rows, as [`RowSet::to_bytes`] has them, unless they are in the file.
    pub row_set: Option<Vec<u8>>,
}

/// The description of one file, or of one that the table has no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Whether the table has the file.
    pub op: EntryOp,
    /// Content of the file.
    pub kind: EntryKind,
    /// Partition of its rows.
    pub partition: Partition,
    /// Names the file. Of deletes without a file, names the entry.
    pub file: FileId,
    /// Rows of the file.
    pub rows: u64,
    /// Bytes of the file; 0 if there is none.
    pub bytes: u64,
    /// Root digest of the file when it was added; `None` if there is no file.
    pub root: Option<ObjectId>,
    /// Epoch of the file when it was added.
    pub epoch: u64,
    /// Number of the change that added or removed the file.
    pub seq: u64,
    /// Lowest number of the changes that the file holds.
    pub low: u64,
    /// Whether the file holds all changes up to `seq` of the rows in it.
    pub folded: bool,
    /// Place of the entry among those of its change.
    pub ordinal: u32,
    /// The schema that the names in the file belong to; `None` for deletes.
    pub schema: Option<ObjectId>,
    /// Fields that an update holds, rising.
    pub fields: Vec<FieldId>,
    /// Rows that an update or a delete is about, by file.
    pub targets: Vec<Target>,
    /// Files whose rows a compaction put into this one.
    pub origins: Vec<FileId>,
}

impl Entry {
    /// The removal of this file by change `seq`.
    #[must_use]
    pub fn removal(&self, seq: u64) -> Self {
        Self {
            op: EntryOp::Remove,
            seq,
            low: seq,
            folded: false,
            ordinal: 0,
            fields: Vec::new(),
            targets: Vec::new(),
            origins: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether there is an object for it.
    pub fn has_file(&self) -> bool {
        self.bytes > 0
    }

    /// The order of entries in a manifest.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (entry.seq, entry.ordinal, entry.op);
        let by_partition = self.partition.cmp(&other.partition);
        by_partition
            .then_with(|| key(self).cmp(&key(other)))
            .then_with(|| self.file.cmp(&other.file))
    }

    /// An upper bound of the bytes that it takes in a commit.
    pub fn inline_bytes(&self) -> usize {
        let targets = self.targets.iter();
        let targets = targets.map(|target| 64 + target.row_set.as_ref().map_or(0, Vec::len));
        256 + self.partition.values.len()
            + 8 * self.fields.len()
            + 16 * self.origins.len()
            + targets.sum::<usize>()
    }

    /// Refuses what no writer writes. Writers and readers call it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], which names the field.
    pub fn check(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::corrupt("entry", format!("{}: {what}", self.file)));
        if self.partition.values.len() > PARTITION_BYTES_MAX {
            return bad("`partition` is too long");
        }
        if self.low > self.seq {
            return bad("`low` is above `seq`");
        }
        let has_schema = self.kind != EntryKind::Deletes;
        if self.schema.is_some() != has_schema || self.root.is_some() != self.has_file() {
            return bad("`schema` or `root` is missing, or is there without need");
        }
        if has_schema && !self.has_file() {
            return bad("`bytes` is 0");
        }
        if self.op == EntryOp::Remove {
            let is_bare = self.targets.is_empty() && self.fields.is_empty();
            return match is_bare && self.origins.is_empty() {
                true => Ok(()),
                false => bad("a removal has `targets`, `fields` or `origins`"),
            };
        }
        if self.fields.is_empty() == (self.kind == EntryKind::Update)
            || !self.fields.is_sorted_by(|a, b| a < b)
        {
            return bad("`fields` is not what its kind has");
        }
        if self.targets.is_empty() != (self.kind == EntryKind::Data)
            || self.targets.len() > TARGETS_MAX
            || !self.targets.is_sorted_by(|a, b| a.file < b.file)
        {
            return bad("`targets` is not what its kind has");
        }
        if !self.origins.is_empty() && self.kind != EntryKind::Data {
            return bad("`origins` of no data");
        }
        let mut at = 0_u64;
        for target in &self.targets {
            match self.kind {
                EntryKind::Update => {
                    let is_next = target.first_row == at && target.row_set.is_none();
                    if !is_next || target.rows == 0 {
                        return bad("`targets` do not follow each other");
                    }
                    at = at.saturating_add(target.rows);
                }
                _ => self.check_deleted(target)?,
            }
        }
        match self.kind == EntryKind::Update && at != self.rows {
            true => bad("`targets` do not have the rows of the file"),
            false => Ok(()),
        }
    }

    fn check_deleted(&self, target: &Target) -> Result<()> {
        let bad = |what: String| Err(Error::corrupt("entry", format!("{}: {what}", self.file)));
        if target.dense || target.first_row != 0 || target.rows == 0 {
            return bad("`targets` of deletes have values".to_owned());
        }
        let Some(bytes) = &target.row_set else {
            return match self.has_file() {
                true => Ok(()),
                false => bad("rows are deleted that nothing names".to_owned()),
            };
        };
        if bytes.len() > ROW_SET_BYTES_MAX {
            return bad(format!("`row_set` of {} bytes", bytes.len()));
        }
        match RowSet::parse(bytes, u64::MAX) {
            Ok(rows) if rows.len() == target.rows => Ok(()),
            Ok(rows) => bad(format!(
                "`row_set` of {} rows, not {}",
                rows.len(),
                target.rows
            )),
            Err(error) => bad(error.to_string()),
        }
    }
}

/// A manifest as a state lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRow {
    /// Digest of its bytes.
    pub id: ObjectId,
    /// 0: written by one commit. `n`: merged of manifests of tier `n - 1`.
    pub tier: u8,
    /// Number of entries.
    pub entries: u32,
    /// Bytes of the file.
    pub bytes: u64,
    /// Partition of the first entry.
    pub first: Partition,
    /// Partition of the last entry.
    pub last: Partition,
    /// Number added to `seq` and `low` of its entries.
    pub seq_base: u64,
    /// Lowest seq of its entries, with the base added.
    pub seq_low: u64,
    /// Highest one.
    pub seq_high: u64,
    /// Bit `n`: it has entries of kind `n`.
    pub kinds: u32,
}

impl ManifestRow {
    /// Whether it may have entries of a kind.
    pub fn has_kind(&self, kind: EntryKind) -> bool {
        self.kinds >> kind.code() & 1 == 1
    }

    pub(crate) fn check(&self) -> Result<()> {
        let bad = |what| Err(Error::corrupt("manifest", format!("{}: {what}", self.id)));
        let n_entries = self.entries as usize;
        if n_entries == 0 || n_entries > crate::limits::MANIFEST_ENTRIES_MAX {
            return bad("`entries` is outside 1 ..= 65,536");
        }
        if self.first > self.last || self.seq_low > self.seq_high || self.seq_base > self.seq_low {
            return bad("`first`, `seq_low` or `seq_base` is too high");
        }
        let longest = self.first.values.len().max(self.last.values.len());
        if longest > PARTITION_BYTES_MAX || self.tier > TIER_MAX || self.bytes == 0 {
            return bad("`first`, `last`, `tier` or `bytes` is outside its limits");
        }
        match self.kinds == 0 || self.kinds >> EntryKind::ALL.len() != 0 {
            true => bad("`kinds` has kinds that there are not"),
            false => Ok(()),
        }
    }
}

/// How a value of a partition is computed from a value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transform {
    /// The value itself.
    Identity,
    /// Years since 1970 of a date or timestamp.
    Year,
    /// Months since January 1970.
    Month,
    /// Days since 1970-01-01.
    Day,
    /// Hours since 1970.
    Hour,
    /// Integers and decimals down to a multiple of the width; of text the first characters, of bytes the first bytes.
    Truncate(u32),
}

/// A field of a partition spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartitionField {
    /// The field of the rows.
    pub source: FieldId,
    /// Function of its values.
    pub transform: Transform,
}

/// How rows are spread over files: those of a file have the same values of all fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PartitionSpec {
    /// Its number in the table.
    pub id: u32,
    /// None: rows are not spread.
    pub fields: Vec<PartitionField>,
}

impl PartitionSpec {
    pub(crate) fn check(&self) -> Result<()> {
        Error::check_limit(
            "PARTITION_FIELDS_MAX",
            self.fields.len(),
            PARTITION_FIELDS_MAX,
        )?;
        let is_zero = |field: &PartitionField| field.transform == Transform::Truncate(0);
        match self.fields.iter().any(is_zero) {
            true => Err(Error::invalid("truncate to a width of 0")),
            false => Ok(()),
        }
    }
}
