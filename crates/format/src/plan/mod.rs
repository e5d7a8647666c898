//! From rows to byte ranges: the blocks of a column that hold some rows, or those rows alone. Nothing here reads: a
//! planner that does not know enough says which ranges it needs ([`Planned::Needs`]), is supplied with their bytes, and
//! is asked again.

mod planner;
mod selection;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tarsia_codec::Selection;
use tarsia_structure::ROW_ENTRY_BYTES;

use crate::source::Ranges;

pub(crate) use planner::{Need, PageNumber, Planned, Planner};
pub use selection::RowSelection;

/// One block to be read, and which of its rows.
#[derive(Clone, Debug)]
pub(crate) struct BlockPart {
    pub(crate) page: u32,
    pub(crate) block: u32,
    /// The block's place in the file.
    pub(crate) place: Range<u64>,
    /// Rows of the place that are left. `selected` counts these alone.
    pub(crate) rows: u32,
    /// Rows of the block, erased ones too.
    pub(crate) logical_rows: u32,
    pub(crate) selected: Selected,
    /// Set where the place is that of rows of a full-zip page, not of their whole block.
    pub(crate) lone_rows: Option<LoneRows>,
}

/// Rows of a full-zip page that are read without their block.
#[derive(Clone, Debug)]
pub(crate) struct LoneRows {
    /// The first of them, counted in the page.
    pub(crate) first: u32,
    /// Entries of byte strings, among those of the plan.
    entries: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Selected {
    Range {
        start: u32,
        len: u32,
    },
    /// A part of the plan's indices.
    Indices(Range<usize>),
}

impl From<Range<u32>> for Selected {
    fn from(rows: Range<u32>) -> Self {
        Self::Range {
            start: rows.start,
            len: rows.end - rows.start,
        }
    }
}

impl Selected {
    pub(crate) fn n_rows(&self) -> u64 {
        match self {
            Self::Range { len, .. } => u64::from(*len),
            Self::Indices(range) => range.len() as u64,
        }
    }
}

/// Consecutive parts of a plan in one page, and the bytes of each, if they were fetched.
pub(crate) struct PageParts<'p, B> {
    pub(crate) index: usize,
    pub(crate) parts: &'p [BlockPart],
    pub(crate) blocks: &'p [B],
}

/// Parts of a plan that follow each other in the file.
pub(crate) struct Piece<'p> {
    /// Where all of them lie.
    pub(crate) place: Range<usize>,
    pub(crate) parts: &'p [BlockPart],
}

/// The blocks of one column that a read touches, in the order of the rows asked for.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<BlockPart>,
    /// Row indices inside blocks.
    pub(crate) indices: Vec<u32>,
    /// Index entries of rows that are read without their block.
    pub(crate) row_entries: Vec<[u8; ROW_ENTRY_BYTES]>,
    pub(crate) rows: usize,
    /// True if the caller accepts several consecutive arrays instead of one.
    pub(crate) may_be_cut: bool,
    /// Whether a row takes about a block.
    pub(crate) is_of_long_rows: bool,
}

impl Plan {
    /// The parts of each page, and what was fetched for them.
    pub(crate) fn pages<'p, B>(
        &'p self,
        blocks: &'p [B],
    ) -> impl Iterator<Item = PageParts<'p, B>> {
        let mut blocks = blocks;
        let pages = self.parts.chunk_by(|a, b| a.page == b.page);
        pages.map(move |parts| {
            let index = parts.first().map_or(0, |part| part.page as usize);
            let (now, later) = blocks.split_at(parts.len().min(blocks.len()));
            blocks = later;
            PageParts {
                index,
                parts,
                blocks: now,
            }
        })
    }

    /// The pages it touches, a page once for each run of parts in it.
    pub(crate) fn page_indexes(&self) -> impl Iterator<Item = usize> {
        let pages = self.parts.chunk_by(|a, b| a.page == b.page);
        pages.map(|parts| parts.first().map_or(0, |part| part.page as usize))
    }

    /// Bytes of its parts.
    pub(crate) fn bytes(&self) -> u64 {
        let places = self.parts.iter().map(|part| &part.place);
        places.map(|place| place.end - place.start).sum()
    }

    /// Its parts, in pieces that lie back to back in a file in memory.
    pub(crate) fn pieces(&self) -> Vec<Piece<'_>> {
        let runs = self.parts.chunk_by(|a, b| a.place.end == b.place.start);
        let place = |parts: &[BlockPart]| {
            let start = parts.first().map_or(0, |part| part.place.start);
            let end = parts.last().map_or(0, |part| part.place.end);
            start as usize..end as usize
        };
        let piece = |parts| Piece {
            place: place(parts),
            parts,
        };
        runs.map(piece).collect()
    }

    /// The entries of rows that are read without their block.
    pub(crate) fn entries(&self, rows: &LoneRows) -> &[[u8; ROW_ENTRY_BYTES]] {
        let entries = self.row_entries.get(rows.entries.clone());
        entries.unwrap_or_default()
    }

    /// The rows of a part, as decoders are told.
    pub(crate) fn selection(&self, part: &BlockPart) -> Selection<'_> {
        match &part.selected {
            Selected::Range { start: 0, len } if *len == part.rows => Selection::All,
            Selected::Range { start, len } => Selection::Range {
                start: *start,
                len: *len,
            },
            Selected::Indices(range) => {
                Selection::Indices(self.indices.get(range.clone()).unwrap_or_default())
            }
        }
    }
}

impl Ranges for Plan {
    fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.parts.iter().map(|part| part.place.clone())
    }
}
