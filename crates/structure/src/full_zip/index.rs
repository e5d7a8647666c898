//! The index in front of the rows of a full-zip block of byte strings.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{Error, Result};

use super::form::FullZipForm;
use crate::header::{BlockHeader, FLAG_SALT};
use crate::layout::{CRC_BYTES, ROW_ENTRY_BYTES, header_bytes};

/// The values of a block of byte strings take fewer bytes than this: an entry says in 24 bits where its row ends.
pub const INDEXED_BYTES_END: usize = 1 << 24;

/// The index of a block of byte strings, or of some of its rows. It says of each row where its string ends, at how many
/// levels it is valid, and its checksum.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowIndex<'a> {
    entries: &'a [[u8; ROW_ENTRY_BYTES]],
    /// Where the first row starts.
    start: u32,
}

impl<'a> RowIndex<'a> {
    /// The index that `bytes` are; nothing is checked.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Self {
        let entries = bytes.as_chunks().0;
        Self { entries, start: 0 }
    }

    /// An index of rows that were read without their block, made of the entries that [`RowIndex::copy_to`] copied.
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

    /// The index of some of the rows; of fewer where `rows` reaches beyond the last.
    pub fn slice(&self, rows: Range<u32>) -> Self {
        let (start, end) = (rows.start as usize, rows.end as usize);
        let entries = self.entries.get(start..end.min(self.entries.len()));
        Self {
            entries: entries.unwrap_or_default(),
            start: self.start_of(rows.start),
        }
    }

    /// The place of all rows, counted from the first byte of the block's values.
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

    /// The place of one row's string, counted from the first byte of the block's values.
    pub fn place(&self, row: u32) -> Range<u32> {
        let entry = self.entries.get(row as usize);
        let start = self.start_of(row);
        start..entry.map_or(start, end_of)
    }

    /// At how many of the levels that store validity the row is valid.
    pub(crate) fn control(&self, row: u32) -> u8 {
        let entry = self.entries.get(row as usize);
        entry.map_or(0, |entry| entry[3])
    }

    /// The checksum of the row's values.
    pub fn checksum(&self, row: u32) -> u32 {
        let [.., a, b, c, d] = self.entries.get(row as usize).copied().unwrap_or_default();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Appends the entries, with ends counted from the start of the first of these rows: an index of these rows alone.
    pub fn copy_to(&self, out: &mut Vec<[u8; ROW_ENTRY_BYTES]>) {
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
    pub(crate) fn check(&self, form: &FullZipForm, values_bytes: u64) -> Result<()> {
        let mut end = self.start;
        for (row, entry) in self.entries.iter().enumerate() {
            let at = row * ROW_ENTRY_BYTES;
            let (before, control) = (end, entry[3]);
            end = end_of(entry);
            let is_valid = control == form.n_controls();
            if control > form.n_controls() {
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

/// The string of each row with its stored checksum. A row that reaches beyond `values` gives an empty string; parsing
/// refuses such an index.
pub fn checksummed_rows<'a>(
    index: RowIndex<'a>,
    values: &'a [u8],
) -> impl Iterator<Item = (&'a [u8], u32)> {
    // As many as fit 32 bits, as all rows of a block.
    (0..index.len() as u32).map(move |row| {
        let place = index.place(row);
        let row_values = values.get(place.start as usize..place.end as usize);
        (row_values.unwrap_or_default(), index.checksum(row))
    })
}

/// The front of a block of byte strings, by which its rows are found.
#[derive(Debug, Clone, Copy)]
pub struct IndexFront<'a> {
    /// The index.
    pub index: RowIndex<'a>,
    /// Where the strings begin, counted from the block's start.
    pub values_at: usize,
}

impl<'a> IndexFront<'a> {
    /// How many bytes header, salt and index of a block of `rows` rows take at most.
    pub fn bytes_max(rows: u32) -> u64 {
        let index = u64::from(rows) * ROW_ENTRY_BYTES as u64;
        header_bytes(true) as u64 + index
    }

    /// Parses the front of a block of `rows` rows of which `present_rows` are left; the rest of the block is not
    /// needed. Returns also the bytes that the block's checksum covers, and the stored checksum.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`], [`tarsia_codec::ErrorKind::Corrupt`] for a block of another page or an
    /// index that contradicts itself.
    pub fn parse(
        front: &'a [u8],
        form: FullZipForm,
        rows: u32,
        present_rows: u32,
    ) -> Result<(Self, (&'a [u8], u32))> {
        let header = BlockHeader::parse(front)?;
        header.check_present(present_rows)?;
        let (found, expected) = (header.logical_rows, "the rows of the block table");
        if found != rows {
            return Err(Error::corrupt("block.logical_rows", 8, found, expected));
        }
        if !header.indexed || header.chunked {
            let allowed = "indexed in a full-zip page of byte strings";
            return Err(Error::corrupt("block.flags", 5, 0u8, allowed));
        }
        let values_at = header.payload_start();
        let Some(covered) = front.get(CRC_BYTES..values_at) else {
            return Err(Error::truncated("block.index", values_at, front.len()));
        };
        let index = RowIndex::of_bytes(header.index(front));
        index.check(&form, header.payload_bytes.into())?;
        Ok((Self { index, values_at }, (covered, header.crc)))
    }

    /// As [`IndexFront::parse`], for the bytes of a front that was parsed before: nothing is checked.
    pub fn of_parsed(front: &'a [u8]) -> Self {
        let salted = front.get(5).is_some_and(|flags| flags & FLAG_SALT != 0);
        let at = header_bytes(salted);
        let index = RowIndex::of_bytes(front.get(at..).unwrap_or_default());
        Self {
            index,
            values_at: front.len(),
        }
    }
}
