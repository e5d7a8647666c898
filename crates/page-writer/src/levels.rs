//! Encoding the levels of nested rows and the validity of items: of a page that is written, and of rows that are
//! left in a block.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{
    BitSlice, BlockValues, Error, Facts, LogicalType, Result, RowStarts, Statistics, ValueType,
    Values, limits,
};
use tarsia_structure::layout::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, LAYER_ALL_NULL, LAYER_ALL_VALID, LAYER_CONSTANT,
    ROW_EXPANSION_MAX, SECTION_HEADER_BYTES, items_bytes,
};
use tarsia_structure::meta::{Level, LevelForm};

use crate::collected_levels::{LevelsSlice, length_values, one_length};
use crate::page::EncodeContext;
use crate::prepare::{Encoders, Prepared, encode_unit};
use crate::seal::length;

/// Bytes in front of the encoded validity of items.
pub(crate) const LAYER_HEADER_BYTES: usize = 8;

/// Where rows begin among the slots of a level.
pub(crate) struct SlotsOfRows<'a> {
    pub(crate) slice: LevelsSlice<'a>,
    pub(crate) number: usize,
}

impl SlotsOfRows<'_> {
    /// Returns the facts about the level's slots, if they are lengths.
    pub(crate) fn facts_of_lengths(&self) -> Facts<'_> {
        Facts {
            // Lengths of the outermost lists are one for each row.
            rows: (self.number > 0).then_some(self),
            ..Facts::of(LogicalType::Length)
        }
    }
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
                            let facts = rows.facts_of_lengths();
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

    /// Stores the levels of a strict column: levels that may have nulls are stored, also where they have none.
    pub(crate) fn strict(
        slice: LevelsSlice<'a>,
        context: &EncodeContext<'_>,
        prepared: &mut Prepared,
    ) -> Result<Self> {
        let collected = slice.levels();
        let mut levels = Vec::new();
        for (number, form) in collected.forms().enumerate() {
            levels.push(match form {
                LevelForm::ConstantLength(length) => (Level::ConstantLength(length), vec![]),
                LevelForm::Validity => {
                    let slots = slice.slots(number, 0..slice.rows());
                    let all_valid = vec![0xff; slots.len().div_ceil(8)];
                    let bits = match collected.nulls(number, slots.clone()) {
                        Some(bits) => bits,
                        None => BitSlice::new(&all_valid, 0, slots.len())?,
                    };
                    let (trees, encoders) = prepared.bits(bits, context)?;
                    (Level::Validity(trees), encoders)
                }
                LevelForm::Lengths => {
                    return Err(Error::invalid("lengths of lists in a strict column"));
                }
            });
        }
        Ok(Self { slice, levels })
    }

    /// Returns what [`decoded_bytes`] says of some rows.
    pub(crate) fn decoded_bytes(&self, rows: Range<usize>, value_type: ValueType) -> u64 {
        decoded_bytes(self.slice, self.slice.levels().forms(), rows, value_type)
    }

    /// Appends the levels of some rows.
    pub(crate) fn encode(&self, rows: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let levels = self.levels.iter().map(|(level, _)| level);
        let mut encode = |number: usize, block: BlockValues<'_>, out: &mut Vec<u8>| {
            let encoders = self.levels.get(number).map(|(_, encoders)| encoders);
            encode_unit(encoders.map_or(&[], Vec::as_slice), block, None, out)
        };
        push_levels(self.slice, levels, rows, &mut encode, out)
    }
}

/// Appends the slots of the level of this number, encoded, and returns the number of the tree.
pub(crate) type EncodeSlots<'e> =
    dyn FnMut(usize, BlockValues<'_>, &mut Vec<u8>) -> Result<u8> + 'e;

/// The bytes that some rows' items decode to, or the slots of one of their levels, whichever is most. Slots that
/// Arrow wants below nulls count too: readers allocate memory for them.
pub(crate) fn decoded_bytes(
    slice: LevelsSlice<'_>,
    forms: impl Iterator<Item = LevelForm>,
    rows: Range<usize>,
    value_type: ValueType,
) -> u64 {
    let mut most = 0;
    let mut n_slots = rows.len() as u64;
    for (number, form) in forms.enumerate() {
        most = form.slots_bytes(n_slots).max(most);
        match form {
            LevelForm::Validity => {}
            LevelForm::Lengths => {
                n_slots = slice.slots(number + 1, rows.clone()).len() as u64;
            }
            LevelForm::ConstantLength(length) => {
                n_slots = n_slots.saturating_mul(length.into());
            }
        }
    }
    items_bytes(value_type, n_slots).max(most)
}

/// Appends the levels of some rows as a block has them: the padding length (0), then a section for each level that is
/// stored.
pub(crate) fn push_levels<'l>(
    slice: LevelsSlice<'_>,
    levels: impl Iterator<Item = &'l Level>,
    rows: Range<usize>,
    encode: &mut EncodeSlots<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.extend_from_slice(&[0; 8]);
    let collected = slice.levels();
    for (number, level) in levels.enumerate() {
        let slots = slice.slots(number, rows.clone());
        let n_below = slice.slots(number + 1, rows.clone()).len();
        let (values, tree) = match level {
            Level::AllValid | Level::ConstantLength(_) => continue,
            Level::Validity(_) => match collected.nulls(number, slots.clone()) {
                None => (None, LAYER_ALL_VALID),
                Some(_) if n_below == 0 => (None, LAYER_ALL_NULL),
                Some(bits) => (Some(BlockValues::all(Values::Bits(bits))?), 0),
            },
            Level::Lengths(_) => {
                let lengths = collected.lengths(number, slots.clone());
                match one_length(lengths) {
                    Some(_) => (None, LAYER_CONSTANT),
                    None => {
                        let of_page = slice.slots(number, 0..slice.rows());
                        let range = slots.start - of_page.start..slots.end - of_page.start;
                        let of_page = length_values(collected.lengths(number, of_page))?;
                        (Some(BlockValues::new(of_page, range)?), 0)
                    }
                }
            }
        };
        let start = out.len();
        out.resize(start + SECTION_HEADER_BYTES, 0);
        let tree = match (values, tree) {
            (Some(block), _) => encode(number, block, out)?,
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

/// Appends the validity of items as a block has it. `valid` of the `n_items` are; where that is some of them, `encode`
/// appends the bits and returns the number of the tree.
pub(crate) fn push_validity(
    valid: usize,
    n_items: usize,
    encode: impl FnOnce(&mut Vec<u8>) -> Result<u8>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    out.resize(start + LAYER_HEADER_BYTES, 0);
    let tree = match valid {
        valid if valid == n_items => LAYER_ALL_VALID,
        0 => LAYER_ALL_NULL,
        _ => encode(out)?,
    };
    let len = out.len() - start - LAYER_HEADER_BYTES;
    out[start] = tree;
    out[start + 4..start + 8].copy_from_slice(&length(len)?.to_le_bytes());
    out.resize(
        start + LAYER_HEADER_BYTES + len.next_multiple_of(BLOCK_ALIGN),
        0,
    );
    Ok(())
}

/// A block of one row may decode to so many times its payload: one that decodes to more gets zeros in front of its
/// levels. The payload, which starts with the levels, starts at `payload_start` and ends `out`.
pub(crate) fn pad_expanding_row(
    n_rows: usize,
    payload_start: usize,
    decoded: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let payload = (out.len() - payload_start) as u64;
    let needed = decoded
        .saturating_sub(BLOCK_DECODED_BYTES_MAX.into())
        .div_ceil(ROW_EXPANSION_MAX);
    if decoded > limits::UNIT_DECODED_BYTES_MAX {
        return Err(Error::invalid(
            "a row takes more than 2 GiB in one column, the slots below its nulls counted",
        ));
    }
    if n_rows > 1 || needed <= payload {
        return Ok(());
    }
    let padding = (needed - payload).next_multiple_of(BLOCK_ALIGN as u64) as usize;
    let at = payload_start + 8;
    out.splice(at..at, core::iter::repeat_n(0, padding));
    out[payload_start..payload_start + 4].copy_from_slice(&length(padding)?.to_le_bytes());
    Ok(())
}
