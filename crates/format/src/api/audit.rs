//! What of deleted rows a file still holds.

use tarsia_metadata::{ErasureLevel, SECTIONS_KNOWN};

use crate::erase::encodings_that_keep_values;
use crate::error::Result;
use crate::exec::{OpenFile, blocks_of};
use crate::plan::PageNumber;

/// What erasures have done to a file, and where values of deleted rows are still found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Audit {
    /// Rows of the table, deleted ones too.
    pub rows: u64,
    /// Rows that readers do not see.
    pub deleted_rows: u64,
    /// Those of them that columns at level 2 do not hold any more.
    pub erased_rows: u64,
    /// All columns, in order.
    pub columns: Vec<AuditedColumn>,
    /// Blocks that lie elsewhere than when the file was written.
    pub blocks_moved: u64,
    /// Bytes of the places that they left, which are zero.
    pub dead_bytes: u64,
    /// Bytes behind the end of the file: of an erasure that was interrupted.
    pub bytes_behind: u64,
    /// Sections that this build does not know and that may hold values: id and bytes. An erasure drops them.
    pub unknown_sections: Vec<(u32, u64)>,
}

/// What a column holds of deleted rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditedColumn {
    /// Names from the top-level field down, joined by dots.
    pub name: String,
    /// What an erasure may do with its values.
    pub level: ErasureLevel,
    /// Deleted rows whose values it still holds.
    pub rows_held: u64,
    /// Encodings of its pages whose parameters hold values of the page: an erasure does not reach them.
    pub encodings_that_keep_values: Vec<String>,
}

impl Audit {
    /// Whether no value of a deleted row can be found in the file, as far as this build knows.
    pub fn is_clean(&self) -> bool {
        let columns = &self.columns;
        let clean = |column: &AuditedColumn| {
            column.rows_held == 0
                && (self.deleted_rows == 0 || column.encodings_that_keep_values.is_empty())
        };
        columns.iter().all(clean)
            && self.bytes_behind == 0
            && (self.deleted_rows == 0 || self.unknown_sections.is_empty())
    }
}

/// Looks at the metadata of all columns.
pub(super) fn audit(file: &OpenFile) -> Result<Audit> {
    let changes = file.catalog.changes();
    let (deleted_rows, erased_rows) = (changes.deleted.len(), changes.erased.len());
    let mut columns = Vec::new();
    let mut dead_bytes = 0;
    for column in file.catalog.all_columns(&file.source)? {
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
        bytes_behind: file
            .source
            .len()
            .saturating_sub(file.catalog.committed_bytes()),
        unknown_sections: unknown
            .map(|section| (section.id, section.range.end - section.range.start))
            .collect(),
    })
}
