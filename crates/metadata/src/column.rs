//! Where a column's pages are: the column record, and the FlatBuffer of columns that need more.
//!
//! Length: both describe pages, and the same checks, each with its test, hold for both.

use std::ops::Range;

use flatbuffers::{FlatBufferBuilder, VerifierOptions};
use tarsia_codec::Reader;
use tarsia_compliance::BLOCK_DIGEST_BYTES;

use crate::bytes::{check_crc, crc32c, len_u32, pad};
use crate::generated::column as fb;
use crate::limits::{
    BLOCK_BYTES_MIN, BLOCK_ROWS_MAX, HEADER_BYTES, PAGE_ALIGN_LARGE, PAGE_ALIGN_LARGE_FROM,
    PAGE_STRUCT_BYTES, SHARED_PAGES_MAX,
};
use crate::{Error, Result};

const KIND_EMPTY: u8 = 0;
const KIND_PAGE: u8 = 1;
const KIND_META: u8 = 2;
const NO_LIST: u16 = u16::MAX;

const _: () = assert!(size_of::<fb::Page>() == PAGE_STRUCT_BYTES);

/// The bounds that offsets, rows and META indices of pages must lie in; [`crate::Footer::bounds`] makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileBounds {
    /// Rows of the table.
    pub rows: u64,
    /// Number of META blobs.
    pub n_metas: u32,
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
    /// Index of the META blob.
    pub meta: u16,
    /// Where in [`ColumnMeta::shared_lists`] the list of the page's shared buffers starts; `None` where it has none.
    pub shared: Option<u16>,
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
    fn check(&self, bounds: &FileBounds, at: usize) -> Result<()> {
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
        if u32::from(self.meta) >= bounds.n_metas {
            return bad("page.meta", self.meta.into(), "the file's META blobs");
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

/// The part of a node's record that says where its column is; it has a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRecord {
    /// The pages, or where they are listed.
    pub source: ColumnSource,
    /// The column's digest; zero for [`ColumnSource::Empty`].
    pub digest: [u8; 32],
}

/// Where the pages of a column are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// No pages: no rows, or of type Null.
    Empty,
    /// One page with all rows, and no shared buffers.
    Page {
        /// Index of the META blob.
        meta: u16,
        /// Blocks.
        n_blocks: u32,
        /// Offset of the first block.
        place: u64,
        /// Bytes of all blocks.
        length: u32,
        /// Null items.
        null_count: u32,
        /// Offset of block table and digests; 0 for a page of one block.
        side_place: u64,
        /// Bytes of the block table and the digests.
        side_length: u32,
    },
    /// The pages are listed by a [`ColumnMeta`].
    Meta {
        /// Offset of its FlatBuffer.
        place: u64,
        /// Bytes of it, padding counted.
        length: u32,
        /// CRC-32C of those bytes.
        crc: u32,
    },
}

impl ColumnRecord {
    /// The record of a column without pages.
    pub const EMPTY: Self = Self {
        source: ColumnSource::Empty,
        digest: [0; 32],
    };

    /// The record of a column that has this one page; its digest is the page's.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a page whose first row is not 0 or that has shared buffers: that needs a
    /// [`ColumnMeta`].
    pub fn of_page(page: &PageDescriptor) -> Result<Self> {
        if page.first_row != 0 || page.shared.is_some() {
            return Err(Error::invalid("a page that does not fit a column record"));
        }
        Ok(Self {
            source: ColumnSource::Page {
                meta: page.meta,
                n_blocks: page.n_blocks,
                place: page.place,
                length: page.length,
                null_count: page.null_count,
                side_place: page.side_place,
                side_length: page.side_length,
            },
            digest: page.digest,
        })
    }

    /// The record of a column whose [`ColumnMeta`] is stored as `bytes` at the offset `place`.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for 4 GiB or more.
    pub fn of_meta(place: u64, bytes: &[u8], digest: [u8; 32]) -> Result<Self> {
        Ok(Self {
            source: ColumnSource::Meta {
                place,
                length: len_u32(bytes.len(), "column.length")?,
                crc: crc32c(&[bytes]),
            },
            digest,
        })
    }

    /// The page of a [`ColumnSource::Page`]; `None` for another source.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the page does not fit the file.
    pub fn page(&self, bounds: &FileBounds) -> Result<Option<PageDescriptor>> {
        let ColumnSource::Page {
            meta,
            n_blocks,
            place,
            length,
            null_count,
            side_place,
            side_length,
        } = self.source
        else {
            return Ok(None);
        };
        let rows = u32::try_from(bounds.rows).map_err(|_| {
            Error::corrupt(
                "column.kind",
                0,
                KIND_PAGE,
                "2 for as many rows as the file has",
            )
        })?;
        let page = PageDescriptor {
            first_row: 0,
            place,
            side_place,
            epoch: 0,
            length,
            rows,
            n_blocks,
            side_length,
            null_count,
            meta,
            shared: None,
            digest: self.digest,
        };
        page.check(bounds, 0)?;
        Ok(Some(page))
    }

    /// Appends the 72 bytes.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let (kind, meta, n_blocks, place, length, nulls, side_place, side_length, crc) =
            match self.source {
                ColumnSource::Empty => (KIND_EMPTY, 0, 0, 0, 0, 0, 0, 0, 0),
                ColumnSource::Page {
                    meta,
                    n_blocks,
                    place,
                    length,
                    null_count,
                    side_place,
                    side_length,
                } => (
                    KIND_PAGE,
                    meta,
                    n_blocks,
                    place,
                    length,
                    null_count,
                    side_place,
                    side_length,
                    0,
                ),
                ColumnSource::Meta { place, length, crc } => {
                    (KIND_META, 0, 0, place, length, 0, 0, 0, crc)
                }
            };
        out.extend_from_slice(&[kind, 0]);
        out.extend_from_slice(&meta.to_le_bytes());
        out.extend_from_slice(&n_blocks.to_le_bytes());
        out.extend_from_slice(&place.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&nulls.to_le_bytes());
        out.extend_from_slice(&side_place.to_le_bytes());
        out.extend_from_slice(&side_length.to_le_bytes());
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&self.digest);
    }

    /// Reads the 72 bytes. Whether offsets fit the file is checked when they are used.
    pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.position();
        let bad = |field, at: usize, found: u64, allowed| {
            Err(Error::corrupt(field, start + at, found, allowed))
        };
        let kind = reader.u8("column.kind")?;
        let flags = reader.u8("column.flags")?;
        let meta = reader.u16("column.meta")?;
        let n_blocks = reader.u32("column.n_blocks")?;
        let place = reader.u64("column.place")?;
        let length = reader.u32("column.length")?;
        let null_count = reader.u32("column.null_count")?;
        let side_place = reader.u64("column.side_place")?;
        let side_length = reader.u32("column.side_length")?;
        let crc = reader.u32("column.crc")?;
        let mut digest = [0; 32];
        digest.copy_from_slice(reader.take(32, "column.digest")?);
        if flags != 0 {
            return bad("column.flags", 1, flags.into(), "zero (reserved)");
        }
        let page_fields = u64::from(meta) | u64::from(n_blocks) | u64::from(null_count);
        let page_fields = page_fields | side_place | u64::from(side_length);
        let source = match kind {
            KIND_EMPTY => {
                let fields = page_fields | place | u64::from(length) | u64::from(crc);
                if fields != 0 || digest != [0; 32] {
                    return bad(
                        "column.kind",
                        0,
                        kind.into(),
                        "a kind whose fields are used",
                    );
                }
                ColumnSource::Empty
            }
            KIND_PAGE => {
                if crc != 0 {
                    return bad("column.crc", 36, crc.into(), "zero for kind 1");
                }
                ColumnSource::Page {
                    meta,
                    n_blocks,
                    place,
                    length,
                    null_count,
                    side_place,
                    side_length,
                }
            }
            KIND_META => {
                if page_fields != 0 {
                    return bad("column.meta", 2, page_fields, "zero for kind 2");
                }
                ColumnSource::Meta { place, length, crc }
            }
            _ => return bad("column.kind", 0, kind.into(), "0, 1, 2"),
        };
        Ok(Self { source, digest })
    }
}

/// All pages of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnMeta {
    /// In row order, covering all rows; empty for [`ColumnSource::Empty`].
    pub pages: Vec<PageDescriptor>,
    /// Shared pages, in the order of their indices.
    pub shared_pages: Vec<PageDescriptor>,
    /// Lists of indices of shared pages. The lists lie one after the other, each after its length.
    /// [`ColumnMeta::push_list`] makes them.
    pub shared_lists: Vec<u16>,
}

impl ColumnMeta {
    /// The pages of a column. `read` is called at most once, with the byte range of the column's metadata.
    ///
    /// # Errors
    /// What `read` returns, and as [`ColumnMeta::parse`].
    pub fn load<B, E>(
        record: &ColumnRecord,
        bounds: &FileBounds,
        read: impl FnOnce(Range<u64>) -> Result<B, E>,
    ) -> Result<Self, E>
    where
        B: AsRef<[u8]>,
        E: From<Error>,
    {
        if let ColumnSource::Meta { place, length, crc } = record.source {
            let end = place.checked_add(length.into());
            let range = match end {
                Some(end) if place >= bounds.meta_place && end <= bounds.tree_place => place..end,
                _ => {
                    return Err(
                        Error::corrupt("column.place", 8, place, "places in the metadata").into(),
                    );
                }
            };
            let bytes = read(range)?;
            return Ok(Self::parse(bytes.as_ref(), crc, bounds).map_err(|error| error.at(place))?);
        }
        Ok(Self {
            pages: record.page(bounds)?.into_iter().collect(),
            ..Self::default()
        })
    }

    /// Adds a list of shared pages unless there is an equal one, and returns its [`PageDescriptor::shared`]; `None` for
    /// an empty list.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for more than a column may have.
    pub fn push_list(lists: &mut Vec<u16>, pages: &[u16]) -> Result<Option<u16>> {
        if pages.is_empty() {
            return Ok(None);
        }
        let mut start = 0;
        while let Some(found) = list_at(lists, start) {
            if found == pages {
                return Ok(Some(start as u16));
            }
            start += 1 + found.len();
        }
        let too_many = |found: usize| {
            let max = u64::from(NO_LIST);
            Error::limit("SHARED_LISTS_MAX", found as u64, max)
        };
        let len = u16::try_from(pages.len()).map_err(|_| too_many(pages.len()))?;
        let at = u16::try_from(lists.len()).ok();
        let at = at.filter(|at| *at < NO_LIST);
        let at = at.ok_or_else(|| too_many(lists.len()))?;
        lists.push(len);
        lists.extend_from_slice(pages);
        Ok(Some(at))
    }

    /// The shared pages of a page, in the order of its META's shared buffers.
    pub fn shared_of(&self, page: &PageDescriptor) -> &[u16] {
        shared_list(&self.shared_lists, page)
    }

    /// Reads the FlatBuffer of `fbs/column.fbs` with its padding.
    ///
    /// # Errors
    /// [`Error::Crc`], [`Error::FlatBuffer`], [`Error::Corrupt`] where the pages do not cover the rows or do not fit
    /// the file.
    pub fn parse(bytes: &[u8], stored_crc: u32, bounds: &FileBounds) -> Result<Self> {
        check_crc("column metadata", 0, stored_crc, &[bytes])?;
        let options = VerifierOptions {
            max_depth: 4,
            max_tables: 4,
            // The vectors lie one after the other; none is stored once and used twice.
            max_apparent_size: bytes.len().saturating_mul(2).saturating_add(1024),
            ignore_missing_null_terminator: false,
        };
        let meta = flatbuffers::root_with_opts::<fb::ColumnMeta<'_>>(&options, bytes).map_err(
            |error| Error::FlatBuffer {
                what: "column metadata",
                reason: error.to_string(),
            },
        )?;
        let parsed = Self {
            pages: meta.pages().iter().map(from_fb).collect(),
            shared_pages: meta
                .shared_pages()
                .iter()
                .flat_map(|pages| pages.iter().map(from_fb))
                .collect(),
            shared_lists: meta
                .shared_lists()
                .iter()
                .flat_map(|lists| lists.iter())
                .collect(),
        };
        parsed.check(bounds)?;
        Ok(parsed)
    }

    /// The FlatBuffer, padded to a multiple of 8 bytes. [`ColumnRecord::of_meta`] stores its checksum and offset.
    ///
    /// # Errors
    /// What [`ColumnMeta::parse`] would refuse.
    pub fn to_bytes(&self, bounds: &FileBounds) -> Result<Vec<u8>> {
        self.check(bounds)?;
        let mut builder = FlatBufferBuilder::new();
        let lists = &self.shared_lists;
        let shared_lists = (!lists.is_empty()).then(|| builder.create_vector(lists));
        let shared_pages: Vec<_> = self.shared_pages.iter().map(to_fb).collect();
        let shared_pages = (!shared_pages.is_empty()).then(|| builder.create_vector(&shared_pages));
        let pages: Vec<_> = self.pages.iter().map(to_fb).collect();
        let pages = builder.create_vector(&pages);
        let root = fb::ColumnMeta::create(
            &mut builder,
            &fb::ColumnMetaArgs {
                pages: Some(pages),
                shared_pages,
                shared_lists,
            },
        );
        builder.finish(root, None);
        let mut out = builder.finished_data().to_vec();
        pad(&mut out, 8);
        Ok(out)
    }

    /// Index in [`ColumnMeta::pages`] of the page that holds `row`; `None` beyond the last.
    pub fn page_of_row(&self, row: u64) -> Option<usize> {
        let behind = self.pages.partition_point(|page| page.first_row <= row);
        let index = behind.checked_sub(1)?;
        self.pages
            .get(index)?
            .row_range()
            .contains(&row)
            .then_some(index)
    }

    /// Null items of all pages.
    pub fn null_count(&self) -> u64 {
        self.pages
            .iter()
            .map(|page| u64::from(page.null_count))
            .sum()
    }

    fn check(&self, bounds: &FileBounds) -> Result<()> {
        let n_shared = self.shared_pages.len();
        if n_shared > SHARED_PAGES_MAX {
            let max = SHARED_PAGES_MAX as u64;
            return Err(Error::limit("SHARED_PAGES_MAX", n_shared as u64, max));
        }
        let mut next_row = 0;
        for page in &self.pages {
            page.check(bounds, 0)?;
            if page.first_row != next_row {
                return Err(Error::corrupt(
                    "page.first_row",
                    0,
                    page.first_row,
                    "where the page before ends",
                ));
            }
            next_row = page.row_range().end;
            self.check_list(page, n_shared)?;
        }
        if next_row != bounds.rows || self.pages.is_empty() {
            return Err(Error::corrupt(
                "column.pages",
                0,
                next_row,
                "pages that cover all rows",
            ));
        }
        for (number, page) in self.shared_pages.iter().enumerate() {
            page.check(bounds, 0)?;
            if page.first_row != 0 || page.null_count != 0 {
                return Err(Error::corrupt(
                    "page.first_row",
                    0,
                    page.first_row,
                    "shared pages without row or nulls",
                ));
            }
            // The shared pages that a shared page is decoded with come before it, so that no page needs itself.
            self.check_list(page, number)?;
        }
        Ok(())
    }

    /// Checks that a page's list exists and names only shared pages with an index below `end`.
    fn check_list(&self, page: &PageDescriptor, end: usize) -> Result<()> {
        let Some(start) = page.shared else {
            return Ok(());
        };
        let list = list_at(&self.shared_lists, start.into()).unwrap_or_default();
        let fits = !list.is_empty()
            && list.len() <= tarsia_codec::limits::SHARED_BUFFERS_MAX
            && list.iter().all(|number| usize::from(*number) < end);
        match fits {
            true => Ok(()),
            false => Err(Error::corrupt(
                "page.shared",
                0,
                start,
                "a list of 1 ..= 32 shared pages that come before the page",
            )),
        }
    }
}

/// The list of a page in `lists`, which are [`ColumnMeta::shared_lists`]; empty for a page without shared pages.
pub fn shared_list<'a>(lists: &'a [u16], page: &PageDescriptor) -> &'a [u16] {
    let start = page.shared.map(usize::from);
    let list = start.and_then(|start| list_at(lists, start));
    list.unwrap_or_default()
}

/// The list that starts at `start`, without its length.
fn list_at(lists: &[u16], start: usize) -> Option<&[u16]> {
    let (len, rest) = lists.get(start..)?.split_first()?;
    rest.get(..usize::from(*len))
}

fn from_fb(page: &fb::Page) -> PageDescriptor {
    PageDescriptor {
        first_row: page.first_row(),
        place: page.place(),
        side_place: page.side_place(),
        epoch: page.epoch(),
        length: page.length(),
        rows: page.rows(),
        n_blocks: page.n_blocks(),
        side_length: page.side_length(),
        null_count: page.null_count(),
        meta: page.meta(),
        shared: (page.shared() != NO_LIST).then_some(page.shared()),
        digest: page.digest().into(),
    }
}

fn to_fb(page: &PageDescriptor) -> fb::Page {
    fb::Page::new(
        page.first_row,
        page.place,
        page.side_place,
        page.epoch,
        page.length,
        page.rows,
        page.n_blocks,
        page.side_length,
        page.null_count,
        page.meta,
        page.shared.unwrap_or(NO_LIST),
        &page.digest,
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::limits::COLUMN_RECORD_BYTES;

    pub(crate) const BOUNDS: FileBounds = FileBounds {
        rows: 3000,
        n_metas: 2,
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
            meta: 1,
            shared: None,
            digest: [3; 32],
        }
    }

    fn sample() -> ColumnMeta {
        ColumnMeta {
            pages: vec![
                PageDescriptor {
                    shared: Some(2),
                    ..page(0, 1024)
                },
                page(1024, 1976),
            ],
            shared_pages: vec![shared_page(None), shared_page(Some(0)), shared_page(None)],
            shared_lists: vec![1, 0, 3, 2, 1, 1],
        }
    }

    fn shared_page(shared: Option<u16>) -> PageDescriptor {
        PageDescriptor {
            null_count: 0,
            shared,
            ..page(0, 50)
        }
    }

    #[test]
    fn lists_of_shared_pages_are_found_again() {
        let mut lists = vec![];
        assert_eq!(ColumnMeta::push_list(&mut lists, &[]), Ok(None));
        for (pages, at) in [
            (&[5][..], 0),
            (&[5, 1], 2),
            (&[5], 0),
            (&[1, 5], 5),
            (&[5, 1], 2),
        ] {
            assert_eq!(ColumnMeta::push_list(&mut lists, pages), Ok(Some(at)));
        }
        assert_eq!(lists, [1, 5, 2, 5, 1, 2, 1, 5]);
        let meta = sample();
        assert_eq!(meta.shared_of(&meta.pages[0]), [2, 1, 1]);
        assert!(meta.shared_of(&meta.pages[1]).is_empty());
        let mut full: Vec<u16> = [1, 7].repeat(usize::from(NO_LIST) / 2 + 1);
        assert!(ColumnMeta::push_list(&mut full, &[9]).is_err());
        assert_eq!(ColumnMeta::push_list(&mut full, &[7]), Ok(Some(0)));
    }

    #[test]
    fn lists_that_lead_nowhere_or_in_circles_are_refused() {
        let check = |change: fn(&mut ColumnMeta)| {
            let mut meta = sample();
            change(&mut meta);
            let got = meta.to_bytes(&BOUNDS);
            assert!(matches!(got, Err(Error::Corrupt { .. })), "{meta:?}");
        };
        // Beyond the end, cut short, of nothing, of a page that is not there.
        check(|meta| meta.pages[1].shared = Some(6));
        check(|meta| meta.shared_lists.truncate(5));
        check(|meta| meta.shared_lists[2] = 0);
        check(|meta| meta.shared_lists[3] = 3);
        // Of itself, and of a later one.
        check(|meta| meta.shared_pages[0].shared = Some(0));
        check(|meta| meta.shared_pages[0].shared = Some(2));
        check(|meta| meta.shared_pages[1].first_row = 1);
    }

    fn record_bytes(record: &ColumnRecord) -> Vec<u8> {
        let mut out = Vec::new();
        record.write_to(&mut out);
        assert_eq!(out.len(), COLUMN_RECORD_BYTES);
        out
    }

    #[test]
    fn column_metadata_round_trips_and_loads() {
        for meta in [
            sample(),
            ColumnMeta {
                pages: vec![page(0, 3000)],
                ..ColumnMeta::default()
            },
        ] {
            let bytes = meta.to_bytes(&BOUNDS).unwrap();
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(
                ColumnMeta::parse(&bytes, crc32c(&[&bytes]), &BOUNDS),
                Ok(meta.clone())
            );
            let record = ColumnRecord::of_meta(150_000, &bytes, [1; 32]).unwrap();
            let loaded = ColumnMeta::load(&record, &BOUNDS, |range| {
                assert_eq!(range, 150_000..150_000 + bytes.len() as u64);
                Ok::<_, Error>(&bytes)
            });
            assert_eq!(loaded, Ok(meta));
        }
        assert_eq!(sample().page_of_row(1023), Some(0));
        assert_eq!(sample().page_of_row(1024), Some(1));
        assert_eq!(sample().page_of_row(3000), None);
        assert_eq!(sample().null_count(), 10);
    }

    #[test]
    fn records_round_trip() {
        let one_page = PageDescriptor {
            epoch: 0,
            ..page(0, 3000)
        };
        let records = [
            ColumnRecord::EMPTY,
            ColumnRecord::of_page(&one_page).unwrap(),
            ColumnRecord::of_meta(150_000, b"12345678", [1; 32]).unwrap(),
        ];
        for record in records {
            let bytes = record_bytes(&record);
            let mut reader = Reader::new(&bytes);
            assert_eq!(ColumnRecord::parse(&mut reader), Ok(record));
            for len in 0..bytes.len() {
                let got = ColumnRecord::parse(&mut Reader::new(&bytes[..len]));
                assert!(matches!(got, Err(Error::Truncated { .. })), "{len}");
            }
        }
        assert_eq!(records[1].page(&BOUNDS), Ok(Some(one_page)));
        assert_eq!(records[0].page(&BOUNDS), Ok(None));
        assert!(ColumnRecord::of_page(&page(1, 10)).is_err());
    }

    #[test]
    fn records_refuse_fields_of_another_kind() {
        let page = record_bytes(&ColumnRecord::of_page(&page(0, 3000)).unwrap());
        let meta = record_bytes(&ColumnRecord::of_meta(150_000, b"12345678", [1; 32]).unwrap());
        let empty = record_bytes(&ColumnRecord::EMPTY);
        for (bytes, at) in [
            (&empty, vec![1, 2, 4, 8, 16, 20, 24, 32, 36, 40]),
            (&page, vec![1, 36]),
            (&meta, vec![1, 2, 4, 20, 24, 32]),
        ] {
            for at in at {
                let mut bad = bytes.clone();
                bad[at] ^= 1;
                let got = ColumnRecord::parse(&mut Reader::new(&bad));
                assert!(matches!(got, Err(Error::Corrupt { .. })), "{at}: {got:?}");
            }
        }
        let mut bad = page;
        bad[0] = 3;
        assert!(ColumnRecord::parse(&mut Reader::new(&bad)).is_err());
    }

    #[test]
    fn pages_that_no_writer_describes_are_refused() {
        let good = page(0, 3000);
        let refused = [
            PageDescriptor { rows: 0, ..good },
            PageDescriptor {
                n_blocks: 0,
                ..good
            },
            PageDescriptor {
                n_blocks: 3001,
                ..good
            },
            PageDescriptor {
                length: 127,
                ..good
            },
            PageDescriptor { length: 96, ..good },
            PageDescriptor { place: 184, ..good },
            PageDescriptor { place: 264, ..good },
            PageDescriptor {
                place: 96_064,
                ..good
            },
            PageDescriptor {
                place: u64::MAX - 63,
                ..good
            },
            PageDescriptor { meta: 2, ..good },
            PageDescriptor {
                n_blocks: 1,
                ..good
            },
            PageDescriptor {
                side_place: 99_992,
                ..good
            },
            PageDescriptor {
                side_place: 199_880,
                ..good
            },
            PageDescriptor {
                side_place: u64::MAX - 7,
                ..good
            },
            PageDescriptor {
                side_length: 64,
                ..good
            },
            PageDescriptor {
                shared: Some(0),
                ..good
            },
            PageDescriptor {
                first_row: 1,
                ..good
            },
            PageDescriptor { rows: 2999, ..good },
        ];
        for page in refused {
            let meta = ColumnMeta {
                pages: vec![page],
                ..ColumnMeta::default()
            };
            assert!(
                matches!(meta.to_bytes(&BOUNDS), Err(Error::Corrupt { .. })),
                "{page:?}"
            );
        }
        let many_rows = FileBounds {
            rows: u64::from(BLOCK_ROWS_MAX) * 4 + 1,
            ..BOUNDS
        };
        assert!(
            ColumnRecord::of_page(&good)
                .unwrap()
                .page(&many_rows)
                .is_err()
        );
        let too_many_rows = FileBounds {
            rows: 1 << 32,
            ..BOUNDS
        };
        assert!(
            ColumnRecord::of_page(&good)
                .unwrap()
                .page(&too_many_rows)
                .is_err()
        );
        assert!(ColumnMeta::default().to_bytes(&BOUNDS).is_err());
        let mut null_entry = sample();
        null_entry.shared_pages[0].null_count = 1;
        assert!(null_entry.to_bytes(&BOUNDS).is_err());
    }

    #[test]
    fn metadata_outside_the_region_is_not_read() {
        for (place, length) in [(99_999, 8), (199_993, 8), (u64::MAX, 8)] {
            let record = ColumnRecord {
                source: ColumnSource::Meta {
                    place,
                    length,
                    crc: 0,
                },
                digest: [0; 32],
            };
            let got = ColumnMeta::load(&record, &BOUNDS, |_| -> Result<Vec<u8>> {
                panic!("read outside the metadata")
            });
            assert!(matches!(got, Err(Error::Corrupt { .. })), "{place}");
        }
    }

    #[test]
    fn every_prefix_and_flipped_bit_is_an_error_even_with_a_right_checksum_no_panic() {
        let bytes = sample().to_bytes(&BOUNDS).unwrap();
        let stored = crc32c(&[&bytes]);
        for len in 0..bytes.len() {
            let got = ColumnMeta::parse(&bytes[..len], stored, &BOUNDS);
            assert!(matches!(got, Err(Error::Crc { .. })), "{len}");
            // With a right checksum as well. A success is possible only if the bytes cut off are padding.
            let cut = &bytes[..len];
            let got = ColumnMeta::parse(cut, crc32c(&[cut]), &BOUNDS);
            assert!(
                got.is_err() || got.as_ref() == Ok(&sample()),
                "{len}: {got:?}"
            );
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let got = ColumnMeta::parse(&bad, stored, &BOUNDS);
            assert!(matches!(got, Err(Error::Crc { .. })), "bit {bit}");
            let _ = ColumnMeta::parse(&bad, crc32c(&[&bad]), &BOUNDS);
        }
    }
}
