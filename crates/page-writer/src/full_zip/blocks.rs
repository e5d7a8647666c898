//! Blocks of rows.

use alloc::vec::Vec;

use tarsia_codec::{BytesSlice, Error, FixedSlice, Result, limits};
use tarsia_structure::block::{BLOCK_ALIGN, BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, reseal};
use tarsia_structure::full_zip::{FullZipForm, INDEXED_BYTES_END, ROW_ENTRY_BYTES};

use super::rows::RowStates;
use crate::seal::{length, seal};

/// Blocks of rows of one length, `block_rows` in each but the last, and where each starts.
pub(super) fn blocks(
    values: FixedSlice<'_>,
    mut states: RowStates<'_>,
    rows: usize,
    block_rows: usize,
    checksum: fn(&[u8]) -> u32,
) -> Result<(Vec<u8>, Vec<u64>)> {
    let mut out = Vec::with_capacity(rows * states.form.stride().unwrap_or(0));
    let mut starts = Vec::new();
    for first in (0..rows).step_by(block_rows) {
        let n_rows = block_rows.min(rows - first);
        starts.push(out.len() as u64);
        let block = FixedBlock {
            logical_rows: length(n_rows)?,
            salt: None,
            n_rows,
        };
        block.push_to(&mut out, values, &mut states, checksum)?;
    }
    match states.next_item == values.len() {
        true => Ok((out, starts)),
        false => Err(misfit()),
    }
}

/// A block of values of fixed width.
pub(super) struct FixedBlock {
    /// Rows of the block, erased ones too.
    pub(super) logical_rows: u32,
    pub(super) salt: Option<[u8; SALT_BYTES]>,
    /// The present rows.
    pub(super) n_rows: usize,
}

impl FixedBlock {
    /// Appends the block, made of the next rows and zero-padded to 8 bytes.
    pub(super) fn push_to(
        &self,
        out: &mut Vec<u8>,
        values: FixedSlice<'_>,
        states: &mut RowStates<'_>,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<()> {
        let (form, n_rows) = (states.form, self.n_rows);
        let row_bytes = form.values_bytes() as usize;
        let start = out.len();
        out.resize(start + BLOCK_HEADER_BYTES, 0);
        let mut null_count = 0;
        for _ in 0..n_rows {
            let row_start = out.len();
            let state = states.next();
            null_count += usize::from(state.is_null_item);
            if form.control_bytes() > 0 {
                out.push(state.control);
            }
            match state.value {
                Some(item) => {
                    let at = item * values.width();
                    let row = values.bytes().get(at..at + row_bytes);
                    out.extend_from_slice(row.ok_or_else(misfit)?);
                }
                None => out.resize(out.len() + row_bytes, 0),
            }
            let crc = checksum(out.get(row_start..).unwrap_or_default());
            out.extend_from_slice(&crc.to_le_bytes());
        }
        let payload = out.len() - start - BLOCK_HEADER_BYTES;
        let header = BlockHeader {
            logical_rows: self.logical_rows,
            n_values: length(n_rows * form.items_per_row() as usize)?,
            decoded_bytes: length(n_rows * row_bytes)?,
            payload_bytes: length(payload)?,
            null_count: length(null_count)?,
            ..BlockHeader::of_rows(length(n_rows)?)
        };
        seal(header, self.salt.as_ref(), out, start, checksum)
    }
}

/// A row of a block of byte strings: what its entry in the index says of validity, and the string.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedRow<'a> {
    pub(crate) control: u8,
    pub(crate) value: &'a [u8],
}

/// The next rows of a page of byte strings.
pub(super) fn indexed_rows<'a>(
    strings: BytesSlice<'a>,
    states: &mut RowStates<'_>,
    n_rows: usize,
) -> Vec<IndexedRow<'a>> {
    let row = |_| {
        let state = states.next();
        IndexedRow {
            control: state.control,
            value: state.value.map_or(&[][..], |item| strings.get(item)),
        }
    };
    (0..n_rows).map(row).collect()
}

/// Blocks of byte strings, each of as many rows as it may have.
pub(super) struct IndexedBlocks {
    pub(super) bytes: Vec<u8>,
    pub(super) starts: Vec<u64>,
    /// Rows of each.
    pub(super) rows: Vec<u32>,
}

impl IndexedBlocks {
    pub(super) fn encode(
        strings: BytesSlice<'_>,
        mut states: RowStates<'_>,
        n_rows: usize,
        bytes_max: usize,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<Self> {
        let capacity = strings.data_bytes() as usize + n_rows * ROW_ENTRY_BYTES;
        let mut blocks = Self {
            bytes: Vec::with_capacity(capacity + 2 * BLOCK_HEADER_BYTES),
            starts: Vec::new(),
            rows: Vec::new(),
        };
        let all = indexed_rows(strings, &mut states, n_rows);
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |row: &&IndexedRow<'_>| {
                bytes += row.value.len();
                bytes <= bytes_max
            };
            let n_rows = rest.iter().take_while(fits).count();
            // One row always fits what the index can say, as the caller has seen.
            let n_rows = n_rows.clamp(1, limits::BLOCK_ROWS_MAX as usize);
            let (rows, later) = rest.split_at(n_rows);
            blocks.starts.push(blocks.bytes.len() as u64);
            blocks.rows.push(length(n_rows)?);
            let block = IndexedBlock {
                logical_rows: length(n_rows)?,
                salt: None,
                rows,
            };
            block.push_to(&mut blocks.bytes, &states.form, checksum)?;
            rest = later;
        }
        match states.next_item == strings.len() {
            true => Ok(blocks),
            false => Err(misfit()),
        }
    }
}

/// A block of byte strings.
pub(crate) struct IndexedBlock<'a> {
    /// Rows of the block, erased ones too.
    pub(crate) logical_rows: u32,
    pub(crate) salt: Option<[u8; SALT_BYTES]>,
    /// The present rows.
    pub(crate) rows: &'a [IndexedRow<'a>],
}

impl IndexedBlock<'_> {
    /// Appends the block, zero-padded to 8 bytes.
    pub(crate) fn push_to(
        &self,
        out: &mut Vec<u8>,
        form: &FullZipForm,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<()> {
        let start = out.len();
        let values_bytes: usize = self.rows.iter().map(|row| row.value.len()).sum();
        if values_bytes >= INDEXED_BYTES_END {
            return Err(Error::invalid("a block of too many bytes for its index"));
        }
        let above = form.n_controls().saturating_sub(1);
        let is_null_item = |row: &&IndexedRow<'_>| form.has_item_validity() && row.control == above;
        let nulls = self.rows.iter().filter(is_null_item).count();
        let header = BlockHeader {
            indexed: true,
            salted: self.salt.is_some(),
            logical_rows: self.logical_rows,
            decoded_bytes: length(values_bytes)?,
            payload_bytes: length(values_bytes)?,
            null_count: length(nulls)?,
            ..BlockHeader::of_rows(length(self.rows.len())?)
        };
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(self.salt.as_ref().map_or(&[], |salt| &salt[..]));
        let mut end = 0;
        for row in self.rows {
            end += row.value.len();
            let [a, b, c, _] = length(end)?.to_le_bytes();
            // `reseal` puts the checksums in.
            out.extend_from_slice(&[a, b, c, row.control, 0, 0, 0, 0]);
        }
        for row in self.rows {
            out.extend_from_slice(row.value);
        }
        out.resize(out.len().next_multiple_of(BLOCK_ALIGN), 0);
        reseal(out.get_mut(start..).unwrap_or_default(), checksum)
    }
}

pub(super) fn misfit() -> Error {
    Error::invalid("levels and values differ in length")
}
