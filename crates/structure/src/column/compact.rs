//! Blocks whose null items have no value: the valid ones are decoded, then moved to their slots.

use tarsia_codec::{BitSlice, Decoder, Error, Output, Result, Scratch, Selection, Unit, ValueType};

use super::RawColumn;
use crate::block::Block;
use crate::memory::{Take, words, words_mut};
use crate::page::PageDecoder;
use crate::slots;

impl RawColumn {
    /// A compact block, whose null items have no value: decodes the valid items, then moves them to their slots.
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of push, split for reading"
    )]
    pub(super) fn push_compact(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        validity_decoder: &dyn Decoder,
        validity_unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        take: Take<'_>,
    ) -> Result<()> {
        let block_rows = validity_unit.len as usize;
        let mut all = scratch.take(block_rows.div_ceil(8));
        let done = validity_decoder.decode(
            validity_unit,
            Selection::All,
            scratch,
            Output::Bits {
                bytes: &mut all,
                offset: 0,
            },
        );
        let done = done.and_then(|_| {
            let bits = BitSlice::new(&all, 0, block_rows)?;
            let valid = bits.count_ones();
            if valid != block.header.n_values as usize {
                return Err(Error::corrupt(
                    "block.values",
                    16,
                    block.header.n_values,
                    "the number of valid items",
                ));
            }
            match selection {
                Selection::All => self.spread(page, block, bits, Selection::All, scratch, take),
                Selection::Range { start, len } => {
                    let start = start as usize;
                    let bits = bits.slice(start..start + len as usize);
                    let before = BitSlice::new(&all, 0, start)?.count_ones();
                    let values = Selection::Range {
                        start: before as u32,
                        len: bits.count_ones() as u32,
                    };
                    self.spread(page, block, bits, values, scratch, take)
                }
                Selection::Indices(indices) => {
                    let mut selected = scratch.take(indices.len().div_ceil(8));
                    let mut ranks = scratch.take(indices.len() * 4);
                    let n_valid =
                        slots::rank_indices(bits, indices, &mut selected, words_mut(&mut ranks));
                    let ranks_u32: &[u32] = words(&ranks);
                    let done = BitSlice::new(&selected, 0, indices.len()).and_then(|bits| {
                        let values =
                            Selection::Indices(ranks_u32.get(..n_valid).unwrap_or_default());
                        self.spread(page, block, bits, values, scratch, take)
                    });
                    scratch.give(ranks);
                    scratch.give(selected);
                    done
                }
            }
        });
        scratch.give(all);
        done
    }

    /// Appends `bits.len()` rows: a row with a set bit gets the next of `values`, the others are null.
    fn spread(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        bits: BitSlice<'_>,
        values: Selection<'_>,
        scratch: &mut Scratch,
        take: Take<'_>,
    ) -> Result<()> {
        let n_rows = bits.len();
        let n_valid = values.check(block.header.n_values)?;
        {
            let (validity, offset) = self.validity(take);
            slots::copy_bits(validity, offset, bits)?;
        }
        self.null_count += n_rows - n_valid;
        let mut place = Default::default();
        let (tree, unit) = self.source(page, block, &mut place)?;
        let rows = self.rows;
        match self.value_type {
            ValueType::Bits => {
                let mut dense = scratch.take(n_valid.div_ceil(8));
                let done = tree.decode(
                    unit,
                    values,
                    scratch,
                    Output::Bits {
                        bytes: &mut dense,
                        offset: 0,
                    },
                );
                let done =
                    done.and_then(|_| slots::spread_bits(&mut self.values, rows, bits, &dense));
                scratch.give(dense);
                done?;
            }
            ValueType::Fixed(width) => {
                let width = width as usize;
                let mut dense = scratch.take(n_valid * width);
                let done = tree.decode(unit, values, scratch, Output::Fixed(&mut dense));
                let slots = self
                    .values
                    .get_mut(rows * width..(rows + n_rows) * width)
                    .unwrap_or_default();
                let done = done.and_then(|_| slots::spread_fixed(slots, width, bits, &dense));
                scratch.give(dense);
                done?;
            }
            ValueType::Bytes => {
                let mut dense = scratch.take(n_valid * 4);
                let base = self.data_len as u32;
                let done = tree.decode(
                    unit,
                    values,
                    scratch,
                    Output::Bytes {
                        ends: words_mut(&mut dense),
                        base,
                        data: self.values.get_mut(self.data_len..).unwrap_or_default(),
                    },
                );
                if done.is_ok() {
                    let ends: &mut [u32] = words_mut(&mut self.ends);
                    let ends = ends
                        .get_mut(rows + 1..rows + 1 + n_rows)
                        .unwrap_or_default();
                    slots::spread_ends(ends, base, bits, words(&dense));
                }
                scratch.give(dense);
                self.data_len += done?;
            }
        }
        Ok(())
    }
}
