//! One page of an open file, and what was read of it so far.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tarsia_codec::ValueType;
use tarsia_metadata::{BlockTable, PageDescriptor};
use tarsia_structure::full_zip::IndexFront;
use tarsia_structure::{FullZipForm, Layout, ROW_ENTRY_BYTES};

use super::checks::{Checked, check_covered};
use super::description::Description;
use super::once_any::OnceAny;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::options::Checksums;
use crate::source::slice_of;

/// The block table of a page.
pub(crate) type Blocks = BlockTable<Vec<u8>>;

/// One page: its descriptor, and what was read of it.
pub(crate) struct Page {
    pub(crate) descriptor: PageDescriptor,
    /// META, and the kernel.
    pub(crate) description: Arc<Description>,
    /// Numbers of the shared pages that it is decoded with; `None` if there are none.
    shared: Option<Arc<[u32]>>,
    /// The blocks that lie elsewhere, in order.
    moved: Vec<(u32, Range<u64>)>,
    blocks: OnceLock<Blocks>,
    /// The indexes of the blocks of a full-zip page of byte strings.
    indexes: OnceLock<Box<[OnceLock<IndexOfRows>]>>,
    /// Blocks whose checksum was right.
    pub(crate) checked_blocks: Checked,
    /// Rows of a full-zip page of byte strings that were read without their block, and whose checksum was right.
    pub(crate) checked_rows: Checked,
    /// The decoders of the page, which the folder `decode` keeps here.
    pub(crate) kept: OnceAny,
}

/// Things that pages of a column have in common if they are decoded in the same way.
pub(crate) struct PageKind {
    pub(crate) description: Arc<Description>,
    pub(crate) shared: Option<Arc<[u32]>>,
}

/// How many rows a block with an index has, and how many of them are left.
#[derive(Clone, Copy)]
pub(crate) struct IndexedRows {
    pub(crate) logical: u32,
    pub(crate) present: u32,
}

/// The front of a block with an index of its rows, whose checksum was right.
pub(crate) struct IndexOfRows {
    /// Where the front ends, counted from the block's start: there the values begin.
    values_at: usize,
    /// `None` where the file is in memory.
    bytes: Option<Box<[u8]>>,
}

impl IndexOfRows {
    /// The byte range that holds the front of a block at `place` with this many rows, perhaps with some bytes after it.
    pub(crate) fn range(place: &Range<u64>, rows: u32) -> Range<u64> {
        place.start..place.end.min(place.start + IndexFront::bytes_max(rows))
    }

    /// Parses and checks the bytes of [`IndexOfRows::range`]; they are kept unless they are in memory anyway.
    pub(crate) fn parse(
        bytes: &[u8],
        form: FullZipForm,
        rows: IndexedRows,
        checksums: Checksums,
        is_mapped: bool,
    ) -> Result<Self> {
        let IndexedRows { logical, present } = rows;
        let (front, (covered, stored)) =
            IndexFront::parse(bytes, form, logical, present).map_err(while_reading)?;
        if checksums != Checksums::Never {
            check_covered(covered, stored)?;
        }
        let values_at = front.values_at;
        Ok(Self {
            values_at,
            bytes: match is_mapped {
                true => None,
                false => bytes.get(..values_at).map(Box::from),
            },
        })
    }

    /// The parsed front of the block at `place`; `mapped` is the whole file where that is in memory.
    pub(crate) fn front<'a>(
        &'a self,
        mapped: Option<&'a [u8]>,
        place: &Range<u64>,
    ) -> Result<IndexFront<'a>> {
        let bytes = match &self.bytes {
            Some(bytes) => Some(&**bytes),
            None => slice_of(mapped, place.start..place.start + self.values_at as u64),
        };
        let none = || Error::new(ErrorKind::Corrupt, "an index beyond the end of the file");
        Ok(IndexFront::of_parsed(bytes.ok_or_else(none)?))
    }
}

impl Page {
    /// A page of which nothing was read so far.
    pub(crate) fn new(
        descriptor: PageDescriptor,
        kind: &PageKind,
        moved: Vec<(u32, Range<u64>)>,
    ) -> Self {
        Self {
            descriptor,
            description: kind.description.clone(),
            shared: kind.shared.clone(),
            moved,
            blocks: OnceLock::new(),
            indexes: OnceLock::new(),
            checked_blocks: Checked::default(),
            checked_rows: Checked::default(),
            kept: OnceAny::default(),
        }
    }

    /// The numbers of the shared pages that it is decoded with.
    pub(crate) fn shared(&self) -> &[u32] {
        self.shared.as_deref().unwrap_or_default()
    }

    /// Its rows in the table.
    pub(crate) fn rows(&self) -> Range<u64> {
        self.descriptor.row_range()
    }

    /// Its block table, if it was read or lies in the descriptor.
    pub(crate) fn blocks(&self) -> Result<Option<&Blocks>> {
        if let Some(blocks) = self.blocks.get() {
            return Ok(Some(blocks));
        }
        match self.descriptor.table_range() {
            Some(_) => Ok(None),
            None => self.keep_blocks(Vec::new()).map(Some),
        }
    }

    /// Whether its block table is known.
    pub(crate) fn has_blocks(&self) -> bool {
        self.blocks.get().is_some()
    }

    /// Parses and keeps the bytes of its block table.
    pub(crate) fn keep_blocks(&self, bytes: Vec<u8>) -> Result<&Blocks> {
        let blocks = BlockTable::parse(bytes, &self.descriptor)?;
        Ok(self.blocks.get_or_init(|| blocks))
    }

    /// Where a block lies in the file.
    pub(crate) fn place_of(&self, blocks: &Blocks, block: u32) -> Result<Range<u64>> {
        let moved = self.moved.binary_search_by_key(&block, |(block, _)| *block);
        if let Some((_, place)) = moved.ok().and_then(|at| self.moved.get(at)) {
            return Ok(place.clone());
        }
        self.first_place_of(blocks, block)
    }

    /// Where a block lay when the file was written. If it lies elsewhere now, there are zeros.
    pub(crate) fn first_place_of(&self, blocks: &Blocks, block: u32) -> Result<Range<u64>> {
        let range = blocks.block_range(block)?;
        let start = self.descriptor.place;
        Ok(start + range.start..start + range.end)
    }

    /// The blocks that lie elsewhere.
    pub(crate) fn moved(&self) -> &[(u32, Range<u64>)] {
        &self.moved
    }

    /// The slot for the index of a block's rows.
    pub(crate) fn index_of_rows(&self, block: u32) -> Result<&OnceLock<IndexOfRows>> {
        let indexes = self.indexes.get_or_init(|| {
            let n_blocks = self.descriptor.n_blocks;
            (0..n_blocks).map(|_| OnceLock::new()).collect()
        });
        let none = || Error::new(ErrorKind::OutOfRange, format!("block {block}"));
        indexes.get(block as usize).ok_or_else(none)
    }

    /// Bytes that the page's indexes take when all of them are read.
    pub(crate) fn index_bytes(&self, is_mapped: bool) -> u64 {
        let is_kept = !is_mapped && self.is_indexed();
        u64::from(is_kept) * u64::from(self.descriptor.rows) * ROW_ENTRY_BYTES as u64
    }

    /// Whether none of its checksums will be compared any more.
    pub(crate) fn is_checked(&self, checksums: Checksums) -> bool {
        let descriptor = &self.descriptor;
        match checksums {
            Checksums::Never => true,
            Checksums::Once => {
                self.checked_blocks.all(descriptor.n_blocks)
                    || self.checked_rows.all(descriptor.rows)
            }
            Checksums::Always => false,
        }
    }

    /// Whether it is a full-zip page of byte strings: each block has an index of its rows.
    pub(crate) fn is_indexed(&self) -> bool {
        let meta = self.description.meta();
        meta.is_ok_and(|meta| {
            meta.layout == Layout::FullZip && meta.value_type == Some(ValueType::Bytes)
        })
    }
}
