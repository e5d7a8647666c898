//! Audit: what a file still holds of deleted rows.

use std::sync::Arc;

use tarsia_metadata::{ErasureLevel, SECTIONS_KNOWN};

use super::verify::{self, Depth};
use crate::erase::{Look, Residue, encodings_that_keep_values, is_strict, look, residue_of};
use crate::error::Result;
use crate::exec::{OpenFile, blocks_of};
use crate::plan::PageNumber;

/// Result of an audit: what erasures have done to a file, and where values of deleted rows are still found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// Rows of the table, deleted ones too.
    pub rows: u64,
    /// Rows that readers do not see.
    pub deleted_rows: u64,
    /// Deleted rows that columns at level 2 do not hold any more.
    pub erased_rows: u64,
    /// All columns, in order.
    pub columns: Vec<AuditedColumn>,
    /// Blocks that lie elsewhere than when the file was written.
    pub blocks_moved: u64,
    /// Bytes of the places that they left, which are zero.
    pub dead_bytes: u64,
    /// Bytes behind the end of the file, which belong to nothing: of an erasure that was interrupted before it counted,
    /// or appended by another program.
    pub bytes_behind: u64,
    /// Whether an erasure was interrupted: the bytes of its rows are still in the file, although readers do not see
    /// them.
    pub erasure_is_pending: bool,
    /// Sections that this build does not know and that may hold values: id and bytes. An erasure drops them.
    pub unknown_sections: Vec<(u32, u64)>,
}

/// A column, with what it holds of deleted rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditedColumn {
    /// Names from the top-level field down, joined by dots.
    pub name: String,
    /// The column's erasure level.
    pub level: ErasureLevel,
    /// Deleted rows whose values it still holds.
    pub rows_held: u64,
    /// Encodings of its pages whose parameters hold values of the page: an erasure does not reach them.
    pub encodings_that_keep_values: Vec<String>,
    /// Whether it says that erasures leave nothing of its values
    /// ([`ColumnOptions::with_strict_erasure`](crate::ColumnOptions::with_strict_erasure)).
    pub strict: bool,
    /// Whether it has bloom filters ([`ColumnOptions::with_blooms`](crate::ColumnOptions::with_blooms)): bits of the
    /// values that it holds.
    pub blooms: bool,
    /// The residue: what erasures leave that may depend on erased values: of a column at level 2, whether rows are
    /// erased or not. Nothing of a strict column whose pages are stored as those of strict columns are.
    pub residue: Vec<Residue>,
    /// Blocks that were decoded to look for values of erased rows; 0 where no row is erased from the column.
    pub blocks_looked_at: u64,
    /// Entries of its dictionaries that were compared with what is left.
    pub entries_looked_at: u64,
    /// Blocks whose null items hold a value that no valid item of the block has: perhaps that of an erased row. Files
    /// that were written before have such blocks; writing the file anew removes them.
    pub blocks_with_foreign_filler: u64,
    /// Dictionaries with an entry to which nothing refers, and which is not wiped.
    pub dictionaries_not_wiped: u64,
    /// Shared buffers that are used as a whole, such as a dictionary of a codec, or that this build cannot look into.
    pub buffers_not_looked_at: u64,
}

impl AuditedColumn {
    /// Whether nothing of a deleted row was found. What was not looked at may tell of one.
    pub fn is_clean(&self) -> bool {
        self.rows_held == 0
            && self.encodings_that_keep_values.is_empty()
            && self.blocks_with_foreign_filler == 0
            && self.dictionaries_not_wiped == 0
    }
}

impl Audit {
    /// Whether no value of a deleted row was found in the file. What [was not looked at](Audit::is_complete) may tell
    /// of one.
    pub fn is_clean(&self) -> bool {
        let columns = &self.columns;
        (self.deleted_rows == 0 || columns.iter().all(AuditedColumn::is_clean))
            && self.bytes_behind == 0
            && !self.erasure_is_pending
            && (self.deleted_rows == 0 || self.unknown_sections.is_empty())
    }

    /// Strict columns of which an erasure leaves something: they are not stored as strict columns are.
    pub fn broken_strict_columns(&self) -> impl Iterator<Item = &AuditedColumn> {
        let columns = self.columns.iter();
        columns.filter(|column| column.strict && !column.residue.is_empty())
    }

    /// Whether everything was looked at that may hold a value of an erased row.
    pub fn is_complete(&self) -> bool {
        let columns = &self.columns;
        self.erased_rows == 0 || columns.iter().all(|it| it.buffers_not_looked_at == 0)
    }
}

/// Verifies the file, and looks for values of deleted rows in it.
pub(super) fn audit(file: &Arc<OpenFile>) -> Result<Audit> {
    verify::all(file, Depth::Values)?;
    let changes = file.catalog.changes();
    let metadata = file.file_metadata()?;
    let (deleted_rows, erased_rows) = (changes.deleted.len(), changes.erased.len());
    let mut columns = Vec::new();
    let mut dead_bytes = 0;
    for column in file.all_columns()? {
        let data = (0..column.pages.len()).map(PageNumber::Data);
        let shared = (0..column.shared_pages.len()).map(PageNumber::Shared);
        for number in data.chain(shared) {
            let page = number.of(&column)?;
            if !page.moved().is_empty() {
                let blocks = blocks_of(file, &column, number)?;
                for (block, _) in page.moved() {
                    let place = page.first_place_of(blocks, *block)?;
                    dead_bytes += place.end - place.start;
                }
            }
        }
        let is_erased = column.level == ErasureLevel::Erase;
        let found = match is_erased && erased_rows > 0 && column.value_type.is_some() {
            true => look(file, &column)?,
            false => Look::default(),
        };
        columns.push(AuditedColumn {
            name: column.name().to_owned(),
            level: column.level,
            rows_held: match (is_erased, column.value_type) {
                (_, None) => 0,
                (true, _) => deleted_rows - erased_rows,
                (false, _) => deleted_rows,
            },
            encodings_that_keep_values: match is_erased {
                true => encodings_that_keep_values(file, &column)?,
                false => Vec::new(),
            },
            strict: is_strict(file, &column)?,
            blooms: column.blooms.is_some(),
            residue: match is_erased {
                true => residue_of(file, &column)?,
                false => Vec::new(),
            },
            blocks_looked_at: found.blocks,
            entries_looked_at: found.entries,
            blocks_with_foreign_filler: found.foreign_filler,
            dictionaries_not_wiped: found.unwiped,
            buffers_not_looked_at: found.not_looked_at,
        });
    }
    let unknown = file
        .catalog
        .sections()
        .iter()
        .filter(|section| section.flags.holds_values && !SECTIONS_KNOWN.contains(&section.id));
    Ok(Audit {
        rows: file.rows(),
        deleted_rows,
        erased_rows,
        columns,
        blocks_moved: changes.moved.len() as u64,
        dead_bytes,
        bytes_behind: metadata.bytes_behind,
        erasure_is_pending: metadata.erasure_is_pending,
        unknown_sections: unknown
            .map(|section| (section.id, section.range.end - section.range.start))
            .collect(),
    })
}
