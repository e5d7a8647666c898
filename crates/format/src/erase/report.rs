//! Reports of what an erasure did, or is going to do.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tarsia_compliance::{Digest, RowSet};
use tarsia_metadata::ErasureLevel;

use super::kept::encodings_that_keep_values;
use crate::error::Result;
use crate::exec::OpenFile;
use crate::table::{Changes, Column};

/// How many rows, blocks and bytes an erasure touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasureSummary {
    /// Rows that were asked for.
    pub rows: u64,
    /// Rows asked for that were not deleted before.
    pub rows_deleted: u64,
    /// Rows whose bytes are removed.
    pub rows_erased: u64,
    /// Blocks that are written anew, those of dictionaries too.
    pub blocks: u64,
    /// Blocks that did not fit their place.
    pub blocks_moved: u64,
    /// Bytes of the blocks that are written anew, as they were.
    pub bytes_read: u64,
    /// Bytes that are written into their places. All of them are written to the journal before.
    pub bytes_written: u64,
    /// Bytes of the journal, once the erasure is done.
    pub journal_bytes: u64,
    /// Bytes that become zero, which take no room in the journal.
    pub bytes_zeroed: u64,
    /// Bytes of the file before.
    pub file_bytes_before: u64,
    /// Bytes of the file after.
    pub file_bytes_after: u64,
}

/// The rows of an erasure: what was asked for, and what that meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowsOfErasure {
    /// Rows that were asked for.
    pub asked: RowSet,
    /// Rows asked for that readers saw before.
    pub newly_deleted: RowSet,
    /// Rows asked for that the columns at level 2 lose; none at level 1.
    pub erased_now: RowSet,
    /// Rows asked for that the columns at level 2 had lost before.
    pub erased_before: RowSet,
    /// All rows of the file that readers do not see afterwards.
    pub deleted_after: RowSet,
    /// All rows of the file that the columns at level 2 do not hold afterwards.
    pub erased_after: RowSet,
}

impl RowsOfErasure {
    pub(super) fn new(asked: &RowSet, level: ErasureLevel, changes: &Changes) -> Self {
        let not_erased = asked.difference(&changes.erased);
        let erased_now = match level {
            ErasureLevel::Erase => not_erased.clone(),
            ErasureLevel::Hide | ErasureLevel::Immutable => RowSet::new(),
        };
        Self {
            newly_deleted: asked.difference(&changes.deleted),
            erased_before: asked.difference(&not_erased),
            deleted_after: changes.deleted.union(asked),
            erased_after: changes.erased.union(&erased_now),
            erased_now,
            asked: asked.clone(),
        }
    }
}

/// A block that was written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasedBlock {
    /// The page, from 0.
    pub page: u32,
    /// Whether that is a page of a dictionary.
    pub shared: bool,
    /// The block of the page, from 0.
    pub block: u32,
    /// Where it lies in the file now.
    pub place: Range<u64>,
    /// Digest of the block as it was.
    pub before: Digest,
    /// Digest of the block as it is.
    pub after: Digest,
    /// Whether it lies elsewhere now.
    pub moved: bool,
}

/// A column of the file, and what an erasure did with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasedColumn {
    /// Its number among the columns, from 0.
    pub leaf: u32,
    /// Names from the top-level field down, joined by dots.
    pub name: String,
    /// The column's erasure level.
    pub level: ErasureLevel,
    /// How many of the rows that were asked for it still holds values of.
    pub rows_held: u64,
    /// Encodings of its pages whose parameters may hold values of the rows that it lost.
    pub encodings_that_keep_values: Vec<String>,
    /// Its blocks that were written anew.
    pub blocks: Vec<ErasedBlock>,
}

impl ErasedColumn {
    /// Whether it still holds values of the rows that were asked for, or may hold some in parameters of encodings.
    pub fn holds_values(&self) -> bool {
        self.rows_held > 0 || !self.encodings_that_keep_values.is_empty()
    }

    /// All columns of a file, as an erasure leaves them. `blocks` are those that it wrote, by column.
    pub(super) fn all(
        file: &OpenFile,
        columns: &[Arc<Column>],
        rows: &RowsOfErasure,
        mut blocks: BTreeMap<u32, Vec<ErasedBlock>>,
    ) -> Result<Vec<Self>> {
        let left = rows.asked.difference(&rows.erased_after).len();
        let columns = columns.iter();
        columns
            .map(|column| {
                let is_erased = column.level == ErasureLevel::Erase && !rows.asked.is_empty();
                Ok(Self {
                    leaf: column.leaf,
                    name: column.name().to_owned(),
                    level: column.level,
                    rows_held: match (column.value_type, column.level) {
                        // A column of type Null has no values.
                        (None, _) => 0,
                        (_, ErasureLevel::Erase) => left,
                        (_, ErasureLevel::Hide | ErasureLevel::Immutable) => rows.asked.len(),
                    },
                    encodings_that_keep_values: match is_erased {
                        true => encodings_that_keep_values(file, column)?,
                        false => Vec::new(),
                    },
                    blocks: blocks.remove(&column.leaf).unwrap_or_default(),
                })
            })
            .collect()
    }
}

/// All that a certificate says of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasureReport {
    /// The level that was asked for. 1: rows were hidden; 2: they were erased from the columns at level 2, too.
    pub level: ErasureLevel,
    /// Which rows.
    pub rows: RowsOfErasure,
    /// Digest of the numbers of all rows of the file that are deleted now.
    pub deleted_digest: Digest,
    /// Digest of the numbers of all rows of the file that are erased now.
    pub erased_digest: Digest,
    /// Root digest of the file as it was; `None` if it had no salt, so that it would tell about erased values.
    pub old_root: Option<Digest>,
    /// Root digest of the file as it is.
    pub new_root: Digest,
    /// Epoch of the file as it was.
    pub old_epoch: u64,
    /// Epoch of the file as it is.
    pub new_epoch: u64,
    /// The file's identity.
    pub file_id: [u8; 16],
    /// All columns, in order.
    pub columns: Vec<ErasedColumn>,
    /// Unknown sections that may hold values, and were removed: id and bytes.
    pub dropped_sections: Vec<(u32, u64)>,
    /// Counts.
    pub summary: ErasureSummary,
}

impl ErasureReport {
    /// Whether a byte of the file changes.
    pub fn is_changed(&self) -> bool {
        self.new_epoch != self.old_epoch
    }
}

#[cfg(feature = "certificate")]
impl ErasureReport {
    /// A certificate of the erasure of the file `file`, without a signature. `time` is as in RFC 3339, in UTC:
    /// `2026-01-31T23:59:59Z`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) where no row was asked for, and where nothing
    /// changed of a file whose root digest has no salt: after the next erasure it would tell about values that are
    /// gone.
    pub fn certificate(
        &self,
        file: &str,
        time: &str,
        note: Option<&str>,
    ) -> Result<tarsia_compliance::certificate::Certificate> {
        use tarsia_compliance::certificate::{
            CERTIFICATE_VERSION, Certificate, CertificateKind, CertifiedRows, DroppedSection, Hex,
            RowCount, RowRanges,
        };
        use tarsia_metadata::limits::{VERSION_MAJOR, VERSION_MINOR};

        use crate::error::{Error, ErrorKind};

        if self.rows.asked.is_empty() {
            let what = "no certificate: no rows were asked for";
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        if !self.is_changed() && self.old_root.is_none() {
            let what = "no certificate: nothing changes, and the file's root digest has no salt";
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        let count = |rows: &RowSet, digest| RowCount {
            count: rows.len(),
            digest: Hex(digest),
        };
        let dropped = self.dropped_sections.iter();
        Ok(Certificate {
            kind: CertificateKind::default(),
            version: CERTIFICATE_VERSION,
            file: file.to_owned(),
            file_id: Hex(self.file_id),
            time: time.to_owned(),
            note: note.map(str::to_owned),
            level: self.level.number(),
            rows: CertifiedRows {
                asked: RowRanges::of(&self.rows.asked),
                newly_deleted: RowRanges::of(&self.rows.newly_deleted),
                erased_now: RowRanges::of(&self.rows.erased_now),
                erased_before: RowRanges::of(&self.rows.erased_before),
            },
            deleted_after: count(&self.rows.deleted_after, self.deleted_digest),
            erased_after: count(&self.rows.erased_after, self.erased_digest),
            old_root: self.old_root.map(Hex),
            new_root: Hex(self.new_root),
            old_epoch: self.old_epoch,
            new_epoch: self.new_epoch,
            format_version: format!("{VERSION_MAJOR}.{VERSION_MINOR}"),
            library: concat!("tarsia ", env!("CARGO_PKG_VERSION")).to_owned(),
            columns: self.columns.iter().map(ErasedColumn::certified).collect(),
            dropped_sections: dropped
                .map(|(id, bytes)| DroppedSection {
                    id: *id,
                    bytes: *bytes,
                })
                .collect(),
            signature: None,
        })
    }
}

#[cfg(feature = "certificate")]
impl ErasedColumn {
    fn certified(&self) -> tarsia_compliance::certificate::CertificateColumn {
        use tarsia_compliance::certificate::{CertificateColumn, ChangedBlock, Hex};

        let block = |block: &ErasedBlock| ChangedBlock {
            page: block.page,
            shared: block.shared,
            block: block.block,
            place: block.place.start,
            bytes: block.place.end - block.place.start,
            before: Hex(block.before),
            after: Hex(block.after),
            moved: block.moved,
        };
        CertificateColumn {
            leaf: self.leaf,
            name: self.name.clone(),
            level: self.level.number(),
            holds_values: self.holds_values(),
            blocks: self.blocks.iter().map(block).collect(),
        }
    }
}
