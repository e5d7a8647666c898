//! Sizes that blocks decode to, as their headers say before they are decoded.

use tarsia_codec::ValueType;
use tarsia_structure::BlockHeader;
use tarsia_structure::block::{BLOCK_HEADER_BYTES, row_decoded_bytes_max};

use super::column_read::ColumnRead;
use crate::error::{Result, while_reading};
use crate::plan::BlockPart;

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// The physical type of the column's values; type Null has none, and is treated as values of no bytes.
    pub(crate) fn value_type(&self) -> ValueType {
        self.column.value_type.unwrap_or(ValueType::Fixed(0))
    }

    /// The most bytes that rows of a nested column may take, for a caller that cannot do with fewer rows: nulls that
    /// stand for more are refused, here and by the writer.
    pub(crate) fn nested_bytes_max(&self) -> u64 {
        // What a block decodes to is bounded for each level and the items; a union's slots take more than what is
        // stored of them.
        let n_parts = 8 * (self.column.path.forms().len() as u64 + 2);
        let blocks = self.plan.parts.iter().zip(self.blocks);
        let bytes = blocks.map(|(part, bytes)| {
            let n_rows = part.selected.n_rows();
            let of_row = row_decoded_bytes_max(bytes.as_ref().len() as u64);
            n_rows.saturating_mul(of_row).saturating_mul(n_parts)
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// An upper bound on the bytes of the strings that the plan decodes to; 0 for other values.
    pub(crate) fn string_bytes_max(&self) -> Result<u64> {
        match self.value_type() {
            // A value may be asked for more than once.
            ValueType::Bytes => {
                self.sum_blocks(|part, bytes| bytes * self.plan.selection(part).repeats())
            }
            _ => Ok(0),
        }
    }

    /// About how many bytes the values of the plan decode to.
    pub(crate) fn expected_bytes(&self) -> Result<u64> {
        let width = match self.column.value_type {
            _ if !self.column.is_flat() => None,
            Some(ValueType::Fixed(width)) => Some(u64::from(width) * 8),
            Some(ValueType::Bits) | None => Some(1),
            Some(ValueType::Bytes) => None,
        };
        match width {
            Some(bits) => Ok(bits * self.plan.rows as u64 / 8),
            None => self.sum_blocks(|part, bytes| {
                bytes * part.selected.n_rows() / u64::from(part.rows.max(1))
            }),
        }
    }

    /// The sum of what is said of each part and the bytes its block decodes to.
    fn sum_blocks(&self, of_part: impl Fn(&BlockPart, u64) -> u64) -> Result<u64> {
        touch_headers(self.blocks);
        let mut total = 0;
        for (part, bytes) in self.plan.parts.iter().zip(self.blocks) {
            let bytes = self.part_bytes(part, bytes.as_ref())?;
            total += match part.lone_rows {
                Some(_) => bytes,
                None => of_part(part, bytes),
            };
        }
        Ok(total)
    }

    /// The bytes that a block decodes to; of rows that were read without their block, their own.
    pub(crate) fn part_bytes(&self, part: &BlockPart, bytes: &[u8]) -> Result<u64> {
        if part.lone_rows.is_some() {
            return Ok(bytes.len() as u64);
        }
        let header = BlockHeader::of_whole(bytes).map_err(|error| {
            let error = while_reading(error).in_block(part.block.into());
            self.column.at(error, part.page as usize)
        })?;
        Ok(header.decoded_bytes.into())
    }
}

/// Has the headers of blocks fetched from memory side by side: one after the other, a scan of blocks of one large value
/// each spends a third of its time waiting for them.
fn touch_headers(blocks: &[impl AsRef<[u8]>]) {
    let mut sum = 0;
    for block in blocks {
        // A header may lie in two lines.
        if let Some(header) = block.as_ref().first_chunk::<BLOCK_HEADER_BYTES>() {
            sum ^= header[0] ^ header[BLOCK_HEADER_BYTES - 1];
        }
    }
    std::hint::black_box(sum);
}
