//! What an erasure did, or is going to do.

use tarsia_compliance::Digest;
use tarsia_metadata::ErasureLevel;

/// How many rows, blocks and bytes an erasure touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasureSummary {
    /// Rows that were asked for.
    pub rows: u64,
    /// Those of them that were not deleted before.
    pub rows_deleted: u64,
    /// Rows whose bytes are removed.
    pub rows_erased: u64,
    /// Blocks that are written anew, those of dictionaries too.
    pub blocks: u64,
    /// Those of them that did not fit their place.
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
    /// Digest of the block as it was.
    pub before: Digest,
    /// Digest of the block as it is.
    pub after: Digest,
    /// Whether it lies elsewhere now.
    pub moved: bool,
}

/// A column whose values were erased.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasedColumn {
    /// Names from the top-level field down, joined by dots.
    pub name: String,
    /// Its blocks that were written anew.
    pub blocks: Vec<ErasedBlock>,
}

/// All that a certificate says of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErasureReport {
    /// 1: rows were hidden; 2: bytes were removed, too.
    pub level: ErasureLevel,
    /// Digest of the numbers of the rows that were asked for.
    pub rows_digest: Digest,
    /// Rows of the file that are deleted now.
    pub deleted_rows: u64,
    /// Digest of their numbers.
    pub deleted_digest: Digest,
    /// Root digest of the file as it was.
    pub old_root: Digest,
    /// Root digest of the file as it is.
    pub new_root: Digest,
    /// Epoch of the file as it was.
    pub old_epoch: u64,
    /// Epoch of the file as it is.
    pub new_epoch: u64,
    /// The file's identity.
    pub file_id: [u8; 16],
    /// Columns whose values were erased.
    pub columns: Vec<ErasedColumn>,
    /// Unknown sections that may hold values, and were removed: id and bytes.
    pub dropped_sections: Vec<(u32, u64)>,
    /// Counts.
    pub summary: ErasureSummary,
}

#[cfg(feature = "certificate")]
impl ErasureReport {
    /// A certificate of the erasure of the file `file`, without a signature. `time` is as in RFC 3339, in UTC:
    /// `2026-01-31T23:59:59Z`.
    pub fn certificate(
        &self,
        file: &str,
        time: &str,
        note: Option<&str>,
    ) -> tarsia_compliance::certificate::Certificate {
        use tarsia_compliance::certificate::{
            CERTIFICATE_VERSION, Certificate, CertificateColumn, CertificateKind, ChangedBlock,
            DroppedSection, Hex,
        };
        use tarsia_metadata::limits::{VERSION_MAJOR, VERSION_MINOR};

        let block = |block: &ErasedBlock| ChangedBlock {
            page: block.page,
            shared: block.shared,
            block: block.block,
            before: Hex(block.before),
            after: Hex(block.after),
            moved: block.moved,
        };
        let columns = self.columns.iter().map(|column| CertificateColumn {
            name: column.name.clone(),
            level: self.level.number(),
            blocks: column.blocks.iter().map(block).collect(),
        });
        let dropped = self.dropped_sections.iter();
        Certificate {
            kind: CertificateKind::default(),
            version: CERTIFICATE_VERSION,
            file: file.to_owned(),
            file_id: Hex(self.file_id),
            time: time.to_owned(),
            note: note.map(str::to_owned),
            level: self.level.number(),
            rows: self.summary.rows,
            rows_digest: Hex(self.rows_digest),
            deleted_rows_after: self.deleted_rows,
            deletion_vector_digest_after: Hex(self.deleted_digest),
            old_root: Hex(self.old_root),
            new_root: Hex(self.new_root),
            old_epoch: self.old_epoch,
            new_epoch: self.new_epoch,
            format_version: format!("{VERSION_MAJOR}.{VERSION_MINOR}"),
            library: concat!("tarsia ", env!("CARGO_PKG_VERSION")).to_owned(),
            columns: columns.collect(),
            dropped_sections: dropped
                .map(|(id, bytes)| DroppedSection {
                    id: *id,
                    bytes: *bytes,
                })
                .collect(),
            signature: None,
        }
    }
}
