//! Encoding the levels of nested rows.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{Block, Facts, LogicalType, Result, RowStarts, Statistics, ValueType, Values};
use tarsia_structure::layout::{
    BLOCK_ALIGN, LAYER_ALL_NULL, LAYER_ALL_VALID, LAYER_CONSTANT, SECTION_HEADER_BYTES, items_bytes,
};
use tarsia_structure::meta::{Level, LevelForm};

use crate::collected_levels::{LevelsSlice, length_values, one_length};
use crate::page::EncodeContext;
use crate::prepare::{Encoders, Prepared, encode_unit};
use crate::seal::length;

/// Where the rows of a page begin among the slots of a level.
struct SlotsOfRows<'a> {
    slice: LevelsSlice<'a>,
    number: usize,
}

impl RowStarts for SlotsOfRows<'_> {
    fn row_starts(&self) -> Vec<u32> {
        self.slice.slot_starts(self.number)
    }
}

/// The levels of a page with their encoders.
pub(crate) struct Nested<'a> {
    pub(crate) slice: LevelsSlice<'a>,
    pub(crate) levels: Vec<(Level, Encoders)>,
}

impl<'a> Nested<'a> {
    pub(crate) fn new(
        slice: LevelsSlice<'a>,
        context: &EncodeContext<'_>,
        prepared: &mut Prepared,
    ) -> Result<Self> {
        let collected = slice.levels();
        let mut levels = Vec::new();
        for (number, form) in collected.forms().enumerate() {
            let slots = slice.slots(number, 0..slice.rows());
            levels.push(match form {
                LevelForm::ConstantLength(length) => (Level::ConstantLength(length), vec![]),
                LevelForm::Validity => match collected.nulls(number, slots) {
                    None => (Level::AllValid, vec![]),
                    Some(bits) => {
                        let (trees, encoders) = prepared.bits(bits, context)?;
                        (Level::Validity(trees), encoders)
                    }
                },
                LevelForm::Lengths => {
                    let lengths = collected.lengths(number, slots);
                    match one_length(lengths) {
                        Some(length) => (Level::ConstantLength(length), vec![]),
                        None => {
                            let rows = SlotsOfRows { slice, number };
                            let facts = Facts {
                                // Lengths of the outermost lists are one for each row.
                                rows: (number > 0).then_some(&rows as &dyn RowStarts),
                                ..Facts::of(LogicalType::Length)
                            };
                            let values = Statistics::new(length_values(lengths)?, facts);
                            let choice = context.chooser.choose(&values)?;
                            let (trees, encoders) = prepared.page(&choice, &values, context)?;
                            (Level::Lengths(trees), encoders)
                        }
                    }
                }
            });
        }
        Ok(Self { slice, levels })
    }

    /// The bytes that some rows' items decode to, or the slots of one of their levels, whichever is most. Slots that
    /// Arrow wants below nulls count too: readers allocate memory for them.
    pub(crate) fn decoded_bytes(&self, rows: Range<usize>, value_type: ValueType) -> u64 {
        let mut most = 0;
        let mut n_slots = rows.len() as u64;
        for (number, form) in self.slice.levels().forms().enumerate() {
            most = form.slots_bytes(n_slots).max(most);
            match form {
                LevelForm::Validity => {}
                LevelForm::Lengths => {
                    n_slots = self.slice.slots(number + 1, rows.clone()).len() as u64;
                }
                LevelForm::ConstantLength(length) => {
                    n_slots = n_slots.saturating_mul(length.into());
                }
            }
        }
        items_bytes(value_type, n_slots).max(most)
    }

    /// Appends the levels of some rows.
    pub(crate) fn encode(&self, rows: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&[0; 8]);
        let collected = self.slice.levels();
        for (number, (level, encoders)) in self.levels.iter().enumerate() {
            let slots = self.slice.slots(number, rows.clone());
            let n_below = self.slice.slots(number + 1, rows.clone()).len();
            let (values, tree) = match level {
                Level::AllValid | Level::ConstantLength(_) => continue,
                Level::Validity(_) => match collected.nulls(number, slots.clone()) {
                    None => (None, LAYER_ALL_VALID),
                    Some(_) if n_below == 0 => (None, LAYER_ALL_NULL),
                    Some(bits) => (Some(Block::all(Values::Bits(bits))?), 0),
                },
                Level::Lengths(_) => {
                    let lengths = collected.lengths(number, slots.clone());
                    match one_length(lengths) {
                        Some(_) => (None, LAYER_CONSTANT),
                        None => {
                            let of_page = self.slice.slots(number, 0..self.slice.rows());
                            let range = slots.start - of_page.start..slots.end - of_page.start;
                            let of_page = length_values(collected.lengths(number, of_page))?;
                            (Some(Block::new(of_page, range)?), 0)
                        }
                    }
                }
            };
            let start = out.len();
            out.resize(start + SECTION_HEADER_BYTES, 0);
            let tree = match (values, tree) {
                (Some(block), _) => encode_unit(encoders, block, out)?,
                (None, LAYER_CONSTANT) => {
                    let length = one_length(collected.lengths(number, slots)).unwrap_or_default();
                    out.extend_from_slice(&length.to_le_bytes());
                    tree
                }
                (None, _) => tree,
            };
            let len = out.len() - start - SECTION_HEADER_BYTES;
            out[start] = tree;
            out[start + 4..start + 8].copy_from_slice(&length(len)?.to_le_bytes());
            out[start + 8..start + 12].copy_from_slice(&length(n_below)?.to_le_bytes());
            let padded = len.next_multiple_of(BLOCK_ALIGN);
            out.resize(start + SECTION_HEADER_BYTES + padded, 0);
        }
        Ok(())
    }
}
