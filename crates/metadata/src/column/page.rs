//! The description of one page, and the bounds that it must lie in.

use std::ops::Range;

use tarsia_compliance::BLOCK_DIGEST_BYTES;

use crate::limits::{
    BLOCK_BYTES_MIN, BLOCK_ROWS_MAX, HEADER_BYTES, PAGE_ALIGN_LARGE, PAGE_ALIGN_LARGE_FROM,
};
use crate::{Error, Result};

/// The bounds that offsets, rows, kernels and META indices of pages must lie in; [`crate::Footer::bounds`] makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileBounds {
    /// Rows of the table.
    pub rows: u64,
    /// Number of META blobs in the footer.
    pub n_metas: u32,
    /// Number of kernels.
    pub n_kernels: u32,
    /// Where pages end and the metadata region starts.
    pub meta_place: u64,
    /// Where the metadata region ends.
    pub tree_place: u64,
}

/// One page of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageDescriptor {
    /// Row of the table that is the page's first; 0 for a shared page.
    pub first_row: u64,
    /// Offset of the first block.
    pub place: u64,
    /// Offset of the block table and the digests after it; 0 for a page of one block.
    pub side_place: u64,
    /// Epoch in which the page was last written. It is 0 for a page in a column record, where the epoch is not stored.
    pub epoch: u64,
    /// Bytes of all blocks.
    pub length: u32,
    /// Rows, or values of a shared page.
    pub rows: u32,
    /// Blocks.
    pub n_blocks: u32,
    /// Bytes of block table and digests.
    pub side_length: u32,
    /// Null items.
    pub null_count: u32,
    /// Index in [`crate::ColumnMeta::descriptions`].
    pub description: u32,
    /// The page's digest.
    pub digest: [u8; 32],
}

/// The alignment of a page of `length` bytes in the file.
pub fn page_align(length: u64) -> u64 {
    match length < PAGE_ALIGN_LARGE_FROM {
        true => 8,
        false => PAGE_ALIGN_LARGE,
    }
}

impl PageDescriptor {
    /// The range of the blocks in the file.
    pub fn range(&self) -> Range<u64> {
        self.place..self.place.saturating_add(self.length.into())
    }

    /// The page's rows in the table.
    pub fn row_range(&self) -> Range<u64> {
        self.first_row..self.first_row.saturating_add(self.rows.into())
    }

    /// The range of block table and digests, the table first; `None` for a page of one block.
    pub fn side(&self) -> Option<Range<u64>> {
        (self.n_blocks > 1)
            .then(|| self.side_place..self.side_place.saturating_add(self.side_length.into()))
    }

    /// The range of the block table, for [`crate::BlockTable::parse`]; `None` for a page of one block.
    pub fn table_range(&self) -> Option<Range<u64>> {
        let side = self.side()?;
        let end = side.end.saturating_sub(self.digest_bytes());
        Some(side.start..end.max(side.start))
    }

    /// The range of the block digests, 16 bytes each; `None` for a page of one block.
    pub fn digests_range(&self) -> Option<Range<u64>> {
        Some(self.table_range()?.end..self.side()?.end)
    }

    fn digest_bytes(&self) -> u64 {
        u64::from(self.n_blocks) * BLOCK_DIGEST_BYTES as u64
    }

    /// Checks a page; `at` is where its description starts. Refuses what no writer writes.
    pub(super) fn check(&self, bounds: &FileBounds, at: usize) -> Result<()> {
        let bad = |field, found: u64, allowed| Err(Error::corrupt(field, at, found, allowed));
        let (rows, n_blocks) = (u64::from(self.rows), u64::from(self.n_blocks));
        let length = u64::from(self.length);
        if rows == 0 {
            return bad("page.rows", rows, "1 or more");
        }
        if n_blocks == 0 || n_blocks > rows || rows > n_blocks * u64::from(BLOCK_ROWS_MAX) {
            return bad("page.n_blocks", n_blocks, "blocks of 1 ..= 65,536 rows");
        }
        if !length.is_multiple_of(8) || length < n_blocks * BLOCK_BYTES_MIN {
            return bad(
                "page.length",
                length,
                "a multiple of 8, 32 or more per block",
            );
        }
        let align = page_align(length);
        let inside = self
            .place
            .checked_add(length)
            .is_some_and(|end| end <= bounds.meta_place);
        if self.place < HEADER_BYTES as u64 || !inside || !self.place.is_multiple_of(align) {
            return bad(
                "page.place",
                self.place,
                "aligned places between header and metadata",
            );
        }
        let side_length = u64::from(self.side_length);
        if n_blocks == 1 {
            if self.side_place != 0 || side_length != 0 {
                return bad(
                    "page.side_place",
                    self.side_place,
                    "zero for a page of one block",
                );
            }
            return Ok(());
        }
        let inside = self
            .side_place
            .checked_add(side_length)
            .is_some_and(|end| end <= bounds.tree_place);
        if self.side_place < bounds.meta_place || !inside || !self.side_place.is_multiple_of(8) {
            return bad(
                "page.side_place",
                self.side_place,
                "aligned places in the metadata",
            );
        }
        if !side_length.is_multiple_of(8) || side_length <= self.digest_bytes() {
            return bad(
                "page.side_length",
                side_length,
                "a block table and 16 bytes per block",
            );
        }
        Ok(())
    }
}

/// A page and its bounds, for tests.
#[cfg(test)]
pub(crate) mod made_up {
    use super::*;

    pub(crate) const BOUNDS: FileBounds = FileBounds {
        rows: 3000,
        n_metas: 2,
        n_kernels: 1,
        meta_place: 100_000,
        tree_place: 200_000,
    };

    pub(crate) fn page(first_row: u64, rows: u32) -> PageDescriptor {
        PageDescriptor {
            first_row,
            place: 256,
            side_place: 100_008,
            epoch: 1,
            length: 4096,
            rows,
            n_blocks: 4,
            side_length: 128,
            null_count: 5,
            description: 0,
            digest: [3; 32],
        }
    }
}
