//! The block table: from a row of a page to the bytes of its block, in constant time and about 2 bytes per block.
//!
//! The Lance paper calls it the search cache. It is small enough to be kept in memory for every page of which rows are
//! taken.

use std::ops::Range;

use tarsia_codec::toolbox::{ByteReader, check_zero};

use crate::bytes::{check_crc, crc32c, slice};
use crate::limits::{BLOCK_BYTES_MIN, BLOCK_GROUP, BLOCK_ROWS_LOG2_MAX, BLOCK_ROWS_MAX};
use crate::{Error, PageDescriptor, Result};

const HEADER_BYTES: usize = 16;
const CRC_AT: usize = 8;
const GROUP_BYTES: usize = 8;
/// Stored instead of a log2 if the table lists the first row of each block.
const ROWS_TABLED: u8 = 255;
const WIDTH_MAX: u8 = 32;

/// How many rows the blocks of a page hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows<'a> {
    /// `1 << log2` rows in each block; the last may hold fewer.
    Uniform(u8),
    /// The first row of each block, counted from the page's first row.
    Table(&'a [u32]),
}

/// The table of a page whose blocks start at these 8-byte words, counted from the page's start.
///
/// # Errors
/// [`Error::InvalidInput`] for starts that do not rise from 0, rows that do not, or fewer than two blocks: such a page
/// has no table.
pub fn build_block_table(starts_words: &[u32], rows: Rows<'_>) -> Result<Vec<u8>> {
    let rising = |list: &[u32]| list.first() == Some(&0) && list.is_sorted_by(|a, b| a < b);
    if starts_words.len() < 2 || !rising(starts_words) {
        return Err(Error::invalid(
            "a block table takes two or more rising starts",
        ));
    }
    let n_blocks = u32::try_from(starts_words.len())
        .map_err(|_| Error::invalid("a block table takes less than 2^32 blocks"))?;
    let (log2, row_starts) = match rows {
        Rows::Uniform(log2) if log2 <= BLOCK_ROWS_LOG2_MAX => (log2, None),
        Rows::Table(starts) if starts.len() == starts_words.len() && rising(starts) => {
            (ROWS_TABLED, Some(starts))
        }
        _ => return Err(Error::invalid("rows of blocks are too many or do not rise")),
    };
    let start_bits = relative_bits(starts_words);
    let row_bits = row_starts.map_or(0, relative_bits);

    let mut out = Vec::new();
    out.extend_from_slice(&n_blocks.to_le_bytes());
    out.extend_from_slice(&[log2, start_bits, row_bits, 0]);
    out.extend_from_slice(&[0; 8]);
    for group in (0..starts_words.len()).step_by(BLOCK_GROUP as usize) {
        let first = |list: &[u32]| list.get(group).copied().unwrap_or_default();
        out.extend_from_slice(&first(starts_words).to_le_bytes());
        out.extend_from_slice(&row_starts.map_or(0, first).to_le_bytes());
    }
    pack_relative(starts_words, start_bits, &mut out);
    if let Some(starts) = row_starts {
        pack_relative(starts, row_bits, &mut out);
    }
    let sum = table_crc(&out)?;
    if let Some(field) = out.get_mut(CRC_AT..CRC_AT + 4) {
        field.copy_from_slice(&sum.to_le_bytes());
    }
    Ok(out)
}

/// The checksum leaves out itself and the reserved bytes after it.
fn table_crc(table: &[u8]) -> Result<u32> {
    let head = slice(table, 0..CRC_AT, "block table")?;
    let body = slice(table, HEADER_BYTES..table.len(), "block table")?;
    Ok(crc32c(&[head, body]))
}

/// Each item's distance from the first of its group.
fn relative(list: &[u32]) -> impl Iterator<Item = u32> + '_ {
    list.chunks(BLOCK_GROUP as usize).flat_map(|group| {
        let first = group.first().copied().unwrap_or_default();
        group.iter().map(move |item| item - first)
    })
}

fn relative_bits(list: &[u32]) -> u8 {
    // At most 32.
    (u32::BITS - relative(list).max().unwrap_or(0).leading_zeros()) as u8
}

/// Least significant bit first, padded to 8 bytes.
fn pack_relative(list: &[u32], bits: u8, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0u64, 0u32);
    for item in relative(list) {
        word |= u64::from(item) << filled;
        filled += u32::from(bits);
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // The bits that did not fit. There are none for filled == 0, where the shift may reach the width.
            word = u64::from(item)
                .checked_shr(u32::from(bits) - filled)
                .unwrap_or(0);
        }
    }
    if filled > 0 {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Value `i` of packed `bits`; 0 beyond the end.
#[inline]
fn unpack(packed: &[u8], bits: u8, i: u32) -> u32 {
    let first_bit = u64::from(i) * u64::from(bits);
    let (word, shift) = ((first_bit / 64) as usize, (first_bit % 64) as u32);
    let (words, _) = packed.as_chunks::<8>();
    let word_at = |i: usize| words.get(i).map_or(0, |word| u64::from_le_bytes(*word));
    let mut value = word_at(word) >> shift;
    if shift + u32::from(bits) > 64 {
        value |= word_at(word + 1) << (64 - shift);
    }
    // Cut to at most 32 bits.
    (value & ((1u64 << bits) - 1)) as u32
}

/// Where the parts of a table are; small enough to be kept beside the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    n_blocks: u32,
    /// log2 of the rows per block; `None` where the table lists first rows.
    rows_log2: Option<u8>,
    start_bits: u8,
    row_bits: u8,
    page_words: u32,
    page_rows: u32,
}

impl Layout {
    fn groups_bytes(&self) -> u64 {
        u64::from(self.n_blocks.div_ceil(BLOCK_GROUP)) * GROUP_BYTES as u64
    }

    fn packed_bytes(&self, bits: u8) -> u64 {
        (u64::from(self.n_blocks) * u64::from(bits)).div_ceil(64) * 8
    }

    fn total_bytes(&self) -> u64 {
        HEADER_BYTES as u64
            + self.groups_bytes()
            + self.packed_bytes(self.start_bits)
            + self.packed_bytes(self.row_bits)
    }
}

/// The table of one page, over borrowed or owned bytes. A page of one block has no bytes of a table; its `BlockTable`
/// answers the same questions.
///
/// `parse` checks the checksum and the sizes. A lookup checks what it returns. So parsing needs no pass over the
/// blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockTable<B> {
    bytes: B,
    layout: Layout,
}

impl<B: AsRef<[u8]>> BlockTable<B> {
    /// Reads the table of `page` from the bytes of [`PageDescriptor::table_range`] (none for a page of one block).
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Crc`], [`Error::Corrupt`] where the table is not of that page.
    pub fn parse(bytes: B, page: &PageDescriptor) -> Result<Self> {
        let layout = parse_layout(bytes.as_ref(), page)?;
        Ok(Self { bytes, layout })
    }

    /// A view that borrows.
    pub fn view(&self) -> BlockTable<&[u8]> {
        BlockTable {
            bytes: self.bytes.as_ref(),
            layout: self.layout,
        }
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> u32 {
        self.layout.n_blocks
    }

    /// Rows of the page.
    pub fn n_rows(&self) -> u32 {
        self.layout.page_rows
    }

    /// log2 of the rows per block; `None` where the table lists first rows.
    pub fn rows_log2(&self) -> Option<u8> {
        self.layout.rows_log2
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Layout>() + self.bytes.as_ref().len()
    }

    /// Bytes of block `index`, counted from the page's start: inside the page, 8-aligned, at least a header long.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the table says otherwise, [`Error::InvalidInput`] for a block beyond the last.
    pub fn block_range(&self, index: u32) -> Result<Range<u64>> {
        self.check_index(index)?;
        let start = self.start_words(index)?;
        let is_last = index + 1 == self.layout.n_blocks;
        let end = if is_last {
            self.layout.page_words
        } else {
            self.start_words(index + 1)?
        };
        let range = u64::from(start) * 8..u64::from(end) * 8;
        let starts_right = index > 0 || start == 0;
        let fits = end <= self.layout.page_words && range.start + BLOCK_BYTES_MIN <= range.end;
        if starts_right && fits {
            return Ok(range);
        }
        Err(Error::corrupt(
            "block_table.start",
            0,
            index,
            "blocks back to back inside the page, 32 bytes or more each",
        ))
    }

    /// Rows of block `index`, counted from the page's start: 1 ..= 65,536 of them, inside the page.
    ///
    /// # Errors
    /// As [`BlockTable::block_range`].
    pub fn rows_of(&self, index: u32) -> Result<Range<u32>> {
        self.check_index(index)?;
        let is_last = index + 1 == self.layout.n_blocks;
        let start = self.raw_row_start(index)?;
        let end = if is_last {
            self.layout.page_rows
        } else {
            self.raw_row_start(index + 1)?
        };
        let fits = start < end && end <= self.layout.page_rows && end - start <= BLOCK_ROWS_MAX;
        if fits && (index > 0 || start == 0) {
            return Ok(start..end);
        }
        Err(Error::corrupt(
            "block_table.row_start",
            0,
            index,
            "blocks of 1 ..= 65,536 rows that follow each other",
        ))
    }

    /// First row of block `index`.
    ///
    /// # Errors
    /// As [`BlockTable::block_range`].
    pub fn row_start(&self, index: u32) -> Result<u32> {
        Ok(self.rows_of(index)?.start)
    }

    /// The block that holds a row of the page, found by a shift or by a binary search in the listed rows.
    ///
    /// # Errors
    /// As [`BlockTable::block_range`].
    pub fn block_of_row(&self, row: u32) -> Result<u32> {
        if row >= self.layout.page_rows {
            return Err(Error::invalid("a row beyond the page"));
        }
        if let Some(log2) = self.layout.rows_log2 {
            return Ok(row >> log2);
        }
        let (mut low, mut high) = (0, self.layout.n_blocks);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.raw_row_start(middle)? <= row {
                low = middle;
            } else {
                high = middle;
            }
        }
        // In a corrupt table rows may not rise. So the rows of the block that was found are compared with `row`.
        if self.rows_of(low)?.contains(&row) {
            return Ok(low);
        }
        Err(Error::corrupt(
            "block_table.row_start",
            0,
            low,
            "row starts that rise",
        ))
    }

    fn check_index(&self, index: u32) -> Result<()> {
        if index < self.layout.n_blocks {
            return Ok(());
        }
        Err(Error::invalid("a block beyond the page"))
    }

    fn start_words(&self, index: u32) -> Result<u32> {
        if self.layout.n_blocks == 1 {
            return Ok(0);
        }
        self.lookup(index, 0, self.layout.start_bits, 0)
    }

    fn raw_row_start(&self, index: u32) -> Result<u32> {
        match self.layout.rows_log2 {
            // `parse_layout` has checked that the last block starts inside the page.
            Some(log2) => Ok(index << log2),
            None => {
                let skip = self.layout.packed_bytes(self.layout.start_bits);
                self.lookup(index, 4, self.layout.row_bits, skip)
            }
        }
    }

    /// Group's absolute value at `group_field`, plus the packed value `skip` bytes into the packed part.
    #[inline]
    fn lookup(&self, index: u32, group_field: usize, bits: u8, skip: u64) -> Result<u32> {
        // In memory, so these fit `usize`: the table's size was compared with the bytes.
        let groups_at = HEADER_BYTES + (index / BLOCK_GROUP) as usize * GROUP_BYTES + group_field;
        let packed_at = HEADER_BYTES + (self.layout.groups_bytes() + skip) as usize;
        let bytes = self.bytes.as_ref();
        let base = bytes.get(groups_at..).and_then(<[u8]>::first_chunk::<4>);
        let packed = bytes.get(packed_at..).unwrap_or_default();
        let value = base
            .and_then(|base| u32::from_le_bytes(*base).checked_add(unpack(packed, bits, index)));
        value.ok_or_else(|| Error::corrupt("block_table.start", groups_at, index, "below 2^32"))
    }
}

/// The layout of a page of one block.
fn layout_without_table(bytes: &[u8], page: &PageDescriptor) -> Result<Layout> {
    if !bytes.is_empty() || page.rows > BLOCK_ROWS_MAX {
        return Err(Error::invalid("a page of one block has no table"));
    }
    Ok(Layout {
        n_blocks: 1,
        // With this log2 the shift gives block 0 for any row.
        rows_log2: Some(BLOCK_ROWS_LOG2_MAX + 1),
        start_bits: 0,
        row_bits: 0,
        page_words: page.length / 8,
        page_rows: page.rows,
    })
}

fn parse_layout(bytes: &[u8], page: &PageDescriptor) -> Result<Layout> {
    let page_words = page.length / 8;
    if !page.length.is_multiple_of(8) || page.n_blocks == 0 || page.rows < page.n_blocks {
        return Err(Error::invalid("a page with such length, blocks or rows"));
    }
    if page.n_blocks == 1 {
        return layout_without_table(bytes, page);
    }
    let mut reader = ByteReader::new(bytes);
    let n_blocks = reader.u32("block_table.n_blocks")?;
    let log2 = reader.u8("block_table.rows_log2")?;
    let start_bits = reader.u8("block_table.start_bits")?;
    let row_bits = reader.u8("block_table.row_bits")?;
    check_zero(
        reader.take(1, "block_table.reserved")?,
        "block_table.reserved",
        7,
    )?;
    let stored = reader.u32("block_table.crc")?;
    check_zero(
        reader.take(4, "block_table.reserved")?,
        "block_table.reserved",
        12,
    )?;
    if n_blocks != page.n_blocks {
        return Err(Error::corrupt(
            "block_table.n_blocks",
            0,
            n_blocks,
            "the page's blocks",
        ));
    }
    let tabled = log2 == ROWS_TABLED;
    if !tabled && log2 > BLOCK_ROWS_LOG2_MAX {
        return Err(Error::corrupt(
            "block_table.rows_log2",
            4,
            log2,
            "0 ..= 16, 255",
        ));
    }
    if start_bits > WIDTH_MAX {
        return Err(Error::corrupt(
            "block_table.start_bits",
            5,
            start_bits,
            "0 ..= 32",
        ));
    }
    if row_bits > WIDTH_MAX || (!tabled && row_bits != 0) {
        return Err(Error::corrupt(
            "block_table.row_bits",
            6,
            row_bits,
            "0 ..= 32, 0 unless tabled",
        ));
    }
    if !tabled && u64::from(page.rows).div_ceil(1 << log2) != u64::from(n_blocks) {
        return Err(Error::corrupt(
            "block_table.rows_log2",
            4,
            log2,
            "rows that give the page's blocks",
        ));
    }
    let layout = Layout {
        n_blocks,
        rows_log2: (!tabled).then_some(log2),
        start_bits,
        row_bits,
        page_words,
        page_rows: page.rows,
    };
    let needed = layout.total_bytes();
    if needed > bytes.len() as u64 {
        return Err(Error::truncated("block table", needed, bytes.len()));
    }
    if needed < bytes.len() as u64 {
        return Err(Error::corrupt(
            "block table",
            0,
            bytes.len() as u64,
            "no bytes after the table",
        ));
    }
    let head = slice(bytes, 0..CRC_AT, "block table")?;
    let body = slice(bytes, HEADER_BYTES..bytes.len(), "block table")?;
    check_crc("block table", 0, stored, &[head, body])?;
    check_spare(bytes, &layout)?;
    Ok(layout)
}

/// Bits and fields that hold nothing are zero.
fn check_spare(bytes: &[u8], layout: &Layout) -> Result<()> {
    let mut reader = ByteReader::new(bytes);
    reader.take(HEADER_BYTES, "block table")?;
    for _ in 0..layout.n_blocks.div_ceil(BLOCK_GROUP) {
        reader.take(4, "block_table.groups")?;
        let at = reader.position();
        let row_start = reader.u32("block_table.groups")?;
        if layout.rows_log2.is_some() && row_start != 0 {
            return Err(Error::corrupt(
                "block_table.groups",
                at,
                row_start,
                "zero unless tabled",
            ));
        }
    }
    for bits in [layout.start_bits, layout.row_bits] {
        let used = u64::from(layout.n_blocks) * u64::from(bits);
        let len = usize::try_from(used.div_ceil(64) * 8)
            .map_err(|_| Error::truncated("block table", used / 8, bytes.len()))?;
        let at = reader.position();
        let packed = reader.take(len, "block_table.starts")?;
        let spare = used.div_ceil(64) * 64 - used;
        let last = packed
            .last_chunk::<8>()
            .map_or(0, |word| u64::from_le_bytes(*word));
        if spare > 0 && last >> (64 - spare) != 0 {
            return Err(Error::corrupt(
                "block_table.starts",
                at,
                last,
                "zero spare bits",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(n_blocks: u32, words: u32, rows: u32) -> PageDescriptor {
        PageDescriptor {
            length: words * 8,
            rows,
            n_blocks,
            ..crate::column::page::made_up::page(0, 1)
        }
    }

    fn check(starts: &[u32], end_words: u32, rows: Rows<'_>, n_rows: u32) -> Vec<u8> {
        let bytes = build_block_table(starts, rows).unwrap();
        let page = page(starts.len() as u32, end_words, n_rows);
        let table = BlockTable::parse(bytes.as_slice(), &page).unwrap();
        let row_start = |i: usize| match rows {
            Rows::Uniform(log2) => (i as u32) << log2,
            Rows::Table(starts) => starts[i],
        };
        for i in 0..starts.len() {
            let end = starts.get(i + 1).copied().unwrap_or(end_words);
            let range = u64::from(starts[i]) * 8..u64::from(end) * 8;
            assert_eq!(table.block_range(i as u32), Ok(range), "{i}");
            let row_end = if i + 1 == starts.len() {
                n_rows
            } else {
                row_start(i + 1)
            };
            assert_eq!(table.rows_of(i as u32), Ok(row_start(i)..row_end), "{i}");
            assert_eq!(table.row_start(i as u32), Ok(row_start(i)));
            assert_eq!(table.block_of_row(row_start(i)), Ok(i as u32));
            assert_eq!(table.block_of_row(row_end - 1), Ok(i as u32));
        }
        assert!(table.block_range(starts.len() as u32).is_err());
        assert!(table.rows_of(u32::MAX).is_err());
        assert!(table.block_of_row(n_rows).is_err());
        bytes
    }

    #[test]
    fn uniform_and_tabled_rows() {
        let starts = |n: u32| (0..n).map(|i| i * 500 + i % 7).collect::<Vec<_>>();
        for n in [2, 63, 64, 65, 128, 129, 1000] {
            check(&starts(n), n * 500, Rows::Uniform(10), (n - 1) * 1024 + 1);
            check(&starts(n), n * 500, Rows::Uniform(0), n);
            let rows: Vec<_> = (0..n).map(|i| i * 3 + i % 2).collect();
            check(&starts(n), n * 500, Rows::Table(&rows), n * 3 + 65_000);
        }
        let bytes = check(&starts(1000), 500_000, Rows::Uniform(10), 1_024_000);
        // 16 groups of 8 bytes, 15 bits per block.
        assert_eq!(bytes.len(), 16 + 16 * 8 + (1000 * 15usize).div_ceil(64) * 8);
        assert!(bytes.len() < 2500);
    }

    #[test]
    fn the_widest_starts() {
        check(
            &[0, 4, (1 << 29) - 5],
            (1 << 29) - 1,
            Rows::Uniform(16),
            3 << 16,
        );
        let bits = relative_bits(&[0, u32::MAX]);
        assert_eq!(bits, 32);
        let mut out = Vec::new();
        pack_relative(&[0, u32::MAX, 7], 32, &mut out);
        assert_eq!(
            [0, 1, 2, 3].map(|i| unpack(&out, 32, i)),
            [0, u32::MAX, 7, 0]
        );
    }

    #[test]
    fn one_block_needs_no_table() {
        let table = BlockTable::parse([], &page(1, 40, 65_536)).unwrap();
        assert_eq!(table.block_range(0), Ok(0..320));
        assert_eq!(table.rows_of(0), Ok(0..65_536));
        assert_eq!(table.block_of_row(65_535), Ok(0));
        assert!(table.block_of_row(65_536).is_err());
        assert!(table.block_range(1).is_err());
        assert!(BlockTable::parse([], &page(1, 40, 65_537)).is_err());
        assert!(BlockTable::parse([0], &page(1, 40, 10)).is_err());
        assert!(
            BlockTable::parse([], &page(1, 3, 10))
                .unwrap()
                .block_range(0)
                .is_err()
        );
    }

    #[test]
    fn what_a_reader_refuses_is_not_built() {
        let uniform = Rows::Uniform(3);
        assert!(build_block_table(&[], uniform).is_err());
        assert!(build_block_table(&[0], uniform).is_err());
        assert!(build_block_table(&[1, 2], uniform).is_err());
        assert!(build_block_table(&[0, 5, 5], uniform).is_err());
        assert!(build_block_table(&[0, 5], Rows::Uniform(17)).is_err());
        assert!(build_block_table(&[0, 5], Rows::Table(&[0])).is_err());
        assert!(build_block_table(&[0, 5], Rows::Table(&[0, 0])).is_err());
        assert!(build_block_table(&[0, 5], Rows::Table(&[1, 2])).is_err());
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_found() {
        let starts: Vec<_> = (0..70).map(|i| i * 10).collect();
        let rows: Vec<_> = (0..70).map(|i| i * 5).collect();
        for rows in [Rows::Uniform(2), Rows::Table(&rows)] {
            let bytes = build_block_table(&starts, rows).unwrap();
            let page = page(70, 700, 280 + 70);
            let page = match rows {
                Rows::Uniform(_) => PageDescriptor { rows: 280, ..page },
                Rows::Table(_) => page,
            };
            assert!(BlockTable::parse(&bytes, &page).is_ok());
            for len in 0..bytes.len() {
                let got = BlockTable::parse(&bytes[..len], &page);
                assert!(matches!(got, Err(Error::Truncated { .. })), "{len}");
            }
            for bit in 0..bytes.len() * 8 {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(BlockTable::parse(&bad, &page).is_err(), "bit {bit}");
            }
            for other in [
                PageDescriptor {
                    n_blocks: 69,
                    ..page
                },
                PageDescriptor { length: 4, ..page },
            ] {
                assert!(BlockTable::parse(&bytes, &other).is_err());
            }
        }
    }

    /// A table with any content under a right checksum.
    fn sealed(n_blocks: u32, head: [u8; 3], body: &[u8]) -> Vec<u8> {
        let mut out = n_blocks.to_le_bytes().to_vec();
        out.extend_from_slice(&head);
        out.extend_from_slice(&[0; 9]);
        out.extend_from_slice(body);
        let sum = table_crc(&out).unwrap();
        out[CRC_AT..CRC_AT + 4].copy_from_slice(&sum.to_le_bytes());
        out
    }

    #[test]
    fn hostile_tables_under_a_right_checksum() {
        // Two blocks; the group starts beyond zero, the second start falls, spare bits, wraps.
        let group = |start: u32, row: u32| [start.to_le_bytes(), row.to_le_bytes()].concat();
        let body =
            |start, row, packed: u64| [group(start, row), packed.to_le_bytes().to_vec()].concat();
        let page = page(2, 100, 8);
        let parse = |body: Vec<u8>| BlockTable::parse(sealed(2, [2, 8, 0], &body), &page);
        let table = parse(body(0, 0, 10 << 8)).unwrap();
        assert_eq!(table.block_range(0), Ok(0..80));
        let table = parse(body(1, 0, 10 << 8)).unwrap();
        assert!(table.block_range(0).is_err());
        let table = parse(body(0, 0, 3 << 8)).unwrap();
        assert!(table.block_range(0).is_err());
        let table = parse(body(0, 0, 97 << 8)).unwrap();
        assert!(table.block_range(0).is_ok());
        assert!(table.block_range(1).is_err());
        let table = parse(body(u32::MAX, 0, 10 << 8)).unwrap();
        assert!(table.block_range(1).is_err());
        assert!(parse(body(0, 1, 10 << 8)).is_err());
        assert!(parse(body(0, 0, 1 << 16)).is_err());

        // Rows that do not rise.
        let rows = |first: u8, second: u8| {
            let body = [body(0, 0, 10 << 8), vec![first, second, 0, 0, 0, 0, 0, 0]].concat();
            BlockTable::parse(sealed(2, [ROWS_TABLED, 8, 8], &body), &page).unwrap()
        };
        assert_eq!(rows(0, 3).block_of_row(2), Ok(0));
        assert_eq!(rows(0, 3).block_of_row(3), Ok(1));
        assert!(rows(1, 3).block_of_row(0).is_err());
        assert!(rows(0, 0).block_of_row(0).is_ok_and(|block| block == 1));
        assert!(rows(0, 0).rows_of(0).is_err());
        assert!(rows(0, 9).block_of_row(1).is_err());

        // A million blocks need their bytes before anything is allocated or walked.
        let many = PageDescriptor {
            n_blocks: u32::MAX,
            rows: u32::MAX,
            ..page
        };
        let got = BlockTable::parse(sealed(u32::MAX, [0, 32, 0], &[]), &many);
        assert!(matches!(got, Err(Error::Truncated { .. })), "{got:?}");
    }

    proptest! {
        #[test]
        fn any_table_comes_back(
            sizes in prop::collection::vec((4u32..3000, 1u32..5000), 2..400),
            uniform in prop::option::of(0u8..=16),
        ) {
            let ends = |sizes: Vec<u32>| -> Vec<u32> {
                sizes.iter().scan(0, |end, size| { *end += size; Some(*end) }).collect()
            };
            let word_ends = ends(sizes.iter().map(|size| size.0).collect());
            let row_ends = ends(sizes.iter().map(|size| size.1).collect());
            let n = sizes.len();
            let starts: Vec<_> = [0].into_iter().chain(word_ends[..n - 1].iter().copied()).collect();
            let rows: Vec<_> = [0].into_iter().chain(row_ends[..n - 1].iter().copied()).collect();
            match uniform {
                Some(log2) => check(&starts, word_ends[n - 1], Rows::Uniform(log2), ((n as u32 - 1) << log2) + 1),
                None => check(&starts, word_ends[n - 1], Rows::Table(&rows), row_ends[n - 1]),
            };
        }

        #[test]
        fn no_bytes_make_it_panic(
            head: [u8; 3],
            body in prop::collection::vec(any::<u8>(), 8..200),
            n_blocks in 2u32..200,
        ) {
            let head = [if head[0] < 128 { ROWS_TABLED } else { head[0] % 18 }, head[1] % 34, head[2] % 34];
            let table = sealed(n_blocks, head, &body);
            if let Ok(table) = BlockTable::parse(table, &page(n_blocks, 1000, 500)) {
                for i in 0..n_blocks + 1 {
                    let _ = (table.block_range(i), table.rows_of(i), table.block_of_row(i));
                }
            }
        }
    }
}
