//! Full-zip pages: wide values row by row, each of which can be read alone. Bytes: `docs/spec/page.md`, Full-zip.
//!
//! Source: the Lance paper on structural encodings, section 4 (full-zip, with its repetition index for values that differ in length).
//! Here a row has a checksum of its own, so that what is read alone is checked too. Of values of one length that lies behind the row, and
//! the row is found by multiplication. Of byte strings it lies, with the row's place, in an index in front of all rows, so that
//! these are one run of bytes that can be lent as it is.

use core::ops::Range;

use tarsia_codec::{Error, Result, Tree, ValueType};

use crate::block::Block;
use crate::meta::{Layout, Level, Meta};

/// Bytes of a row's checksum, the last of it.
pub const ROW_CRC_BYTES: usize = 4;

/// The one encoding of values of fixed width, and of the lengths of byte strings.
const PLAIN: &str = "tarsia.plain";
/// That of byte strings.
pub const BYTES: &str = "tarsia.bytes";

/// Bytes of a row's entry in the index of a block of byte strings.
pub const ROW_ENTRY_BYTES: usize = 8;

/// The values of a block of byte strings take fewer bytes than this: an entry says in 24 bits where its row ends.
pub const INDEXED_BYTES_END: usize = 1 << 24;

/// What the rows of a full-zip page look like. Of values of fixed width: a control byte if any row may be null, the values of all its items,
/// a checksum. Of byte strings: the string alone; control and checksum are in the block's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZipForm {
    /// Levels that store validity, and one more if items do.
    n_controls: u8,
    /// Whether the last of them is the items' own.
    item_validity: bool,
    /// Items of a row that is not null.
    items: u32,
    /// Bytes of an item's value; `None` of byte strings.
    width: Option<u32>,
}

impl ZipForm {
    /// The form of a page's rows; `None` for a page of mini-blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for levels that no full-zip page has,
    /// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) for values that are not plain.
    pub fn of(meta: &Meta) -> Result<Option<Self>> {
        if meta.layout == Layout::MiniBlock {
            return Ok(None);
        }
        let corrupt = |found: usize| {
            let allowed = "a full-zip page's: one slot per row where validity is stored, lengths that are constant";
            Error::corrupt("meta.layers", 12, found as u64, allowed)
        };
        let width = match meta.value_type {
            Some(ValueType::Fixed(width @ 1..)) => Some(width),
            Some(ValueType::Bytes) => None,
            _ => return Err(corrupt(0)),
        };
        let (mut n_controls, mut items) = (0, 1u32);
        for (number, level) in meta.levels.iter().enumerate() {
            match level {
                Level::AllValid => {}
                Level::ConstantLength(length) => {
                    items = items.checked_mul(*length).ok_or_else(|| corrupt(number))?;
                }
                Level::Validity(_) if items == 1 => n_controls += 1,
                Level::Validity(_) | Level::Lengths(_) => return Err(corrupt(number)),
            }
        }
        let item_validity = !meta.layers.is_empty();
        let one_item = item_validity || width.is_none();
        if items == 0 || one_item && items > 1 || meta.compact {
            return Err(corrupt(meta.levels.len()));
        }
        n_controls += u8::from(item_validity);
        match (meta.trees.as_slice(), width) {
            ([tree], Some(_)) if tree.id == PLAIN => {}
            ([tree], None) if holds_strings_as_they_are(tree) => {}
            _ => {
                return Err(Error::unsupported(
                    "a full-zip page of values that are not plain",
                ));
            }
        }
        let form = Self {
            n_controls,
            item_validity,
            items,
            width,
        };
        match form.values_bytes() {
            0..=ROW_BYTES_MAX => Ok(Some(form)),
            bytes => Err(Error::limit(
                "bytes of a full-zip row",
                bytes,
                ROW_BYTES_MAX,
            )),
        }
    }

    /// How many levels store validity, the items' own counted.
    pub fn n_controls(&self) -> u8 {
        self.n_controls
    }

    /// Whether the last of them is the items' own.
    pub fn has_item_validity(&self) -> bool {
        self.item_validity
    }

    /// Items of a row that is not null.
    pub fn items_per_row(&self) -> u32 {
        self.items
    }

    /// Bytes of a row's values; 0 of byte strings.
    pub fn values_bytes(&self) -> u64 {
        u64::from(self.items) * u64::from(self.width.unwrap_or(0))
    }

    /// Bytes in front of a row's values: 1 where a row may be null.
    pub fn control_bytes(&self) -> usize {
        usize::from(self.n_controls > 0)
    }

    /// Bytes from one row to the next; `None` of byte strings, whose place the block's index says.
    pub fn stride(&self) -> Option<usize> {
        // At most 16 MiB and five.
        self.width?;
        Some(self.control_bytes() + self.values_bytes() as usize + ROW_CRC_BYTES)
    }

    /// Whether blocks have an index of their rows: those of byte strings.
    pub fn is_indexed(&self) -> bool {
        self.width.is_none()
    }

    /// A row's bytes before its checksum, and that.
    pub fn checksummed<'a>(&self, row: &'a [u8]) -> Option<(&'a [u8], u32)> {
        let (covered, crc) = row.split_last_chunk()?;
        Some((covered, u32::from_le_bytes(*crc)))
    }
}

/// Rows larger than this stay in mini-blocks.
pub const ROW_BYTES_MAX: u64 = 16 << 20;

fn holds_strings_as_they_are(tree: &Tree) -> bool {
    let is_plain = |lengths: &Tree| lengths.id == PLAIN;
    tree.id == BYTES && matches!(tree.children.as_slice(), [lengths] if is_plain(lengths))
}

/// The index of a block of byte strings, or a part of it: of each row where it ends, what of it is valid, and its checksum.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowIndex<'a> {
    entries: &'a [[u8; ROW_ENTRY_BYTES]],
    /// Where the first row starts.
    start: u32,
}

impl<'a> RowIndex<'a> {
    /// The index that `bytes` are; nothing is checked.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        let entries = bytes.as_chunks().0;
        Self { entries, start: 0 }
    }

    /// The entries of rows that were read without their block, which [`RowIndex::copy_to`] has made.
    pub fn of_entries(entries: &'a [[u8; ROW_ENTRY_BYTES]]) -> Self {
        Self { entries, start: 0 }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Some of the rows; fewer where there are not so many.
    pub fn slice(&self, rows: Range<u32>) -> Self {
        let (start, end) = (rows.start as usize, rows.end as usize);
        let entries = self.entries.get(start..end.min(self.entries.len()));
        Self {
            entries: entries.unwrap_or_default(),
            start: self.start_of(rows.start),
        }
    }

    /// Where all of them lie, counted from the first byte of the block's values.
    pub fn extent(&self) -> Range<u32> {
        let end = self.entries.last().map_or(self.start, end_of);
        self.start..end
    }

    fn start_of(&self, row: u32) -> u32 {
        match row.checked_sub(1) {
            None => self.start,
            Some(before) => match self.entries.get(before as usize) {
                Some(entry) => end_of(entry),
                None => self.extent().end,
            },
        }
    }

    /// Where the values of a row lie, counted as [`RowIndex::extent`] is.
    pub fn place(&self, row: u32) -> Range<u32> {
        let entry = self.entries.get(row as usize);
        let start = self.start_of(row);
        start..entry.map_or(start, end_of)
    }

    /// How many of the levels that store validity are valid.
    fn control(&self, row: u32) -> u8 {
        let entry = self.entries.get(row as usize);
        entry.map_or(0, |entry| entry[3])
    }

    /// The checksum of the row's values.
    pub fn checksum(&self, row: u32) -> u32 {
        let [.., a, b, c, d] = self.entries.get(row as usize).copied().unwrap_or_default();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Appends the entries, counted from the first of their rows, so that they are an index of these rows alone.
    pub fn copy_to(&self, out: &mut alloc::vec::Vec<[u8; ROW_ENTRY_BYTES]>) {
        out.extend(self.entries.iter().map(|entry| {
            let end = end_of(entry).wrapping_sub(self.start).to_le_bytes();
            let mut entry = *entry;
            entry[..3].copy_from_slice(&end[..3]);
            entry
        }));
    }

    /// Checks that the rows follow each other up to `values_bytes`, and that those without a value have no bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt).
    pub fn check(&self, form: &ZipForm, values_bytes: u64) -> Result<()> {
        let mut end = self.start;
        for (row, entry) in self.entries.iter().enumerate() {
            let at = row * ROW_ENTRY_BYTES;
            let (before, control) = (end, entry[3]);
            end = end_of(entry);
            let is_valid = control == form.n_controls;
            if control > form.n_controls {
                let allowed = "at most the levels that store validity";
                return Err(Error::corrupt("row.control", at + 3, control, allowed));
            }
            if end < before || !is_valid && end > before {
                let allowed = "the end of the row before, or more where the row has a value";
                return Err(Error::corrupt("row.end", at, end, allowed));
            }
        }
        match u64::from(end - self.start) == values_bytes {
            true => Ok(()),
            false => {
                let allowed = "the end of the values in the last row";
                let at = self.len().saturating_sub(1) * ROW_ENTRY_BYTES;
                Err(Error::corrupt("row.end", at, end, allowed))
            }
        }
    }
}

fn end_of(entry: &[u8; ROW_ENTRY_BYTES]) -> u32 {
    let [a, b, c, ..] = *entry;
    u32::from_le_bytes([a, b, c, 0])
}

/// Rows of a full-zip page one behind the other. What is asked of rows that are not there is zero or empty.
#[derive(Debug, Clone, Copy)]
pub struct ZipRows<'a> {
    /// What they look like.
    pub form: ZipForm,
    index: RowIndex<'a>,
    bytes: &'a [u8],
}

impl<'a> ZipRows<'a> {
    /// The rows of a block, which [`ZipRows::checked`] has seen.
    pub fn of(form: ZipForm, block: &Block<'a>) -> Self {
        let index = match form.is_indexed() {
            true => RowIndex::of_bytes(block.levels),
            false => RowIndex::default(),
        };
        let bytes = block.unit;
        Self { form, index, bytes }
    }

    /// Rows that are checked.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for another number of bytes, or a control byte out of range.
    pub fn checked(form: ZipForm, index: &'a [u8], bytes: &'a [u8], n_rows: u32) -> Result<Self> {
        let index = RowIndex::of_bytes(index);
        let rows = Self { form, index, bytes };
        let Some(stride) = form.stride() else {
            if index.len() as u64 != u64::from(n_rows) {
                let (found, allowed) = (index.len() as u64, "the present rows");
                return Err(Error::corrupt("row.entries", 0, found, allowed));
            }
            index.check(&form, bytes.len() as u64)?;
            return Ok(rows);
        };
        let expected = stride as u64 * u64::from(n_rows);
        if bytes.len() as u64 != expected {
            let allowed = "rows x their stride";
            return Err(Error::corrupt(
                "block.payload_bytes",
                24,
                bytes.len() as u64,
                allowed,
            ));
        }
        if form.n_controls > 0 {
            let wrong = (0..n_rows).find(|row| rows.control(*row) > form.n_controls);
            if let Some(row) = wrong {
                let at = row as usize * stride;
                let allowed = "at most the levels that store validity";
                return Err(Error::corrupt(
                    "row.control",
                    at,
                    rows.control(row),
                    allowed,
                ));
            }
        }
        Ok(rows)
    }

    /// How many of the levels that store validity are valid in this row, in order; all of them where it has values.
    pub fn control(&self, row: u32) -> u8 {
        match (self.form.stride(), self.form.control_bytes()) {
            (None, _) => self.index.control(row),
            (Some(_), 0) => 0,
            (Some(stride), _) => {
                let at = row as usize * stride;
                self.bytes.get(at).copied().unwrap_or_default()
            }
        }
    }

    /// Whether the row's items exist, null or not.
    pub fn has_items(&self, row: u32) -> bool {
        self.control(row) + u8::from(self.form.item_validity) >= self.form.n_controls
    }

    /// Whether the row's one item is valid, in a page that stores that.
    pub fn item_is_valid(&self, row: u32) -> bool {
        self.control(row) == self.form.n_controls
    }

    /// Whether the page stores the validity of items.
    pub fn has_item_validity(&self) -> bool {
        self.form.item_validity
    }

    /// The values of a row.
    pub fn values(&self, row: u32) -> &'a [u8] {
        self.values_of(row..row + 1)
    }

    /// The values of rows: of byte strings those of all of them, of others those of the first.
    pub fn values_of(&self, rows: Range<u32>) -> &'a [u8] {
        let Some(stride) = self.form.stride() else {
            let place = self.place_of(rows);
            return self.bytes.get(place).unwrap_or_default();
        };
        let start = rows.start as usize * stride + self.form.control_bytes();
        let end = start + self.form.values_bytes() as usize;
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Where the strings of rows lie in the values.
    pub fn place_of(&self, rows: Range<u32>) -> Range<usize> {
        let extent = self.index.slice(rows).extent();
        extent.start as usize..extent.end as usize
    }

    /// Bytes of a row's string.
    pub fn length(&self, row: u32) -> u32 {
        let place = self.index.place(row);
        place.end.saturating_sub(place.start)
    }
}
