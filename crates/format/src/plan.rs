//! What is read of a column: the parts of blocks that hold the rows asked for, or rows alone.

use std::ops::Range;

use tarsia_codec::Selection;
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::{ROW_ENTRY_BYTES, ZipForm};

use crate::error::{Error, ErrorKind, Result};
use crate::file::Inner;
use crate::options::Kernels;
use crate::page::{Blocks, Page};

/// Rows of byte strings that are handed to a kernel together.
const KERNEL_PIECE_BYTES: u32 = 64 << 10;

/// One block to be read, and which of its rows.
#[derive(Clone, Debug)]
pub(crate) struct BlockPart {
    pub(crate) page: u32,
    pub(crate) block: u32,
    /// The block's place in the file.
    pub(crate) place: Range<u64>,
    /// Rows of the place.
    pub(crate) rows: u32,
    pub(crate) selected: Selected,
    /// The place is that of rows of a full-zip page, not of their whole block.
    pub(crate) bare: Option<Bare>,
}

/// Rows of a full-zip page that are read without their block.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    /// The first of them, counted in the page.
    pub(crate) first: u32,
    /// Their entries in the plan: of byte strings.
    index: Range<usize>,
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

impl Selected {
    pub(crate) fn n_rows(&self) -> u64 {
        match self {
            Self::Range { len, .. } => u64::from(*len),
            Self::Indices(range) => range.len() as u64,
        }
    }
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
    /// What the index of their block says of rows that are read without it.
    pub(crate) row_entries: Vec<[u8; ROW_ENTRY_BYTES]>,
    pub(crate) rows: usize,
    /// Whether who reads it takes several arrays one behind the other.
    pub(crate) may_be_cut: bool,
    /// Whether a row takes about a block.
    pub(crate) is_of_long_rows: bool,
}

impl Plan {
    /// The parts of each page, and what was fetched for them.
    pub(crate) fn pages<'p, B>(
        &'p self,
        fetched: &'p [B],
    ) -> impl Iterator<Item = (usize, &'p [BlockPart], &'p [B])> {
        let mut fetched = fetched;
        let pages = self.parts.chunk_by(|a, b| a.page == b.page);
        pages.map(move |parts| {
            let index = parts.first().map_or(0, |part| part.page as usize);
            let (now, later) = fetched.split_at(parts.len().min(fetched.len()));
            fetched = later;
            (index, parts, now)
        })
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

    /// Where all of its blocks lie, from the first to the last.
    pub(crate) fn extent(&self) -> Range<u64> {
        let places = || self.parts.iter().map(|part| &part.place);
        let start = places().map(|place| place.start).min();
        let end = places().map(|place| place.end).max();
        start.unwrap_or(0)..end.unwrap_or(0)
    }

    /// The entries of rows that are read without their block.
    pub(crate) fn entries(&self, bare: &Bare) -> &[[u8; ROW_ENTRY_BYTES]] {
        let entries = self.row_entries.get(bare.index.clone());
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

/// Adds `rows` (counted in the page) of a block of a full-zip page, which are read without their block.
pub(crate) fn push_bare(
    file: &Inner,
    (page, index): (&Page, usize),
    (blocks, block): (&Blocks, u32),
    form: ZipForm,
    rows: Range<u32>,
    plan: &mut Plan,
) -> Result<()> {
    let held = blocks.rows_of(block)?;
    let in_block = rows.start - held.start..rows.end - held.start;
    let mut push = |rows: Range<u32>, bare: Range<u64>, place: &Range<u64>, index_of_rows| {
        if bare.end > place.end || bare.start > bare.end {
            let what = "a block is shorter than its rows";
            return Err(Error::new(ErrorKind::Corrupt, what).in_block(block.into()));
        }
        let n_rows = rows.end - rows.start;
        plan.parts.push(BlockPart {
            page: index as u32,
            block,
            place: bare,
            rows: n_rows,
            selected: Selected::Range {
                start: 0,
                len: n_rows,
            },
            bare: Some(Bare {
                first: held.start + rows.start,
                index: index_of_rows,
            }),
        });
        Ok(())
    };
    if let Some(stride) = form.stride() {
        let place = page.place_of(blocks, block)?;
        let values_at = place.start + BLOCK_HEADER_BYTES as u64;
        let at = |row: u32| values_at + u64::from(row) * stride as u64;
        let bare = at(in_block.start)..at(in_block.end);
        return push(in_block, bare, &place, 0..0);
    }
    let front = page.front(file, blocks, block, form);
    let (front, place) = front.map_err(|error| error.in_block(block.into()))?;
    let values_at = place.start + front.values_at as u64;
    // A kernel decodes blocks that are made of the rows: not too large ones, which stay in the cache.
    let piece_bytes_max = match file.kernels {
        Kernels::Forced => KERNEL_PIECE_BYTES,
        Kernels::Never | Kernels::Trusted => u32::MAX,
    };
    let mut first = in_block.start;
    while first < in_block.end {
        let start = front.index.place(first).start;
        let fits = |row: &u32| front.index.place(*row).end.saturating_sub(start) <= piece_bytes_max;
        let n_rows = (first..in_block.end).take_while(fits).count().max(1) as u32;
        let rows = front.index.slice(first..first + n_rows);
        let first_entry = plan.row_entries.len();
        rows.copy_to(&mut plan.row_entries);
        let entries = first_entry..plan.row_entries.len();
        let extent = rows.extent();
        let bare = values_at + u64::from(extent.start)..values_at + u64::from(extent.end);
        push(first..first + n_rows, bare, &place, entries)?;
        first += n_rows;
    }
    Ok(())
}
