//! Rows taken out of blocks.

use alloc::vec::Vec;

use tarsia_codec::{AlignedBuf, BitSlice, Error, OwnedValues, Result, ValueType, Values, limits};
use tarsia_structure::block::{Block, SALT_BYTES};
use tarsia_structure::full_zip::{FullZipForm, FullZipRows};
use tarsia_structure::meta::{Level, Meta};

use super::blocks::{FixedBlock, IndexedBlock, indexed_rows, misfit};
use super::rows::RowStates;
use crate::bits::Bits;
use crate::collected_levels::{CollectedLevels, LevelsSlice};
use crate::erase::survivors::Survivors;

/// The present rows of a block. Null items have zeros or the empty string, whatever stands there.
pub(crate) fn survivors_of(form: FullZipForm, meta: &Meta, block: &Block<'_>) -> Result<Survivors> {
    let rows = FullZipRows::of(form, block.levels, block.unit);
    let n_rows = block.header.present_rows;
    let with_items = || (0..n_rows).filter(|row| rows.has_items(*row));
    let n_items = with_items().count() as u64 * u64::from(form.items_per_row());
    if n_items > u64::from(limits::UNIT_VALUES_MAX) {
        let max = limits::UNIT_VALUES_MAX.into();
        return Err(Error::limit("items of a block", n_items, max));
    }
    let validity = form.has_item_validity().then(|| {
        let mut bits = Bits::default();
        for row in with_items() {
            match rows.item_is_valid(row) {
                true => bits.append_set(1),
                false => bits.append_unset(1),
            }
        }
        bits.bytes
    });
    let is_valid = |row: &u32| rows.item_is_valid(*row);
    let values = match meta.value_type {
        Some(ValueType::Fixed(width)) => {
            let row_bytes = form.values_bytes() as usize;
            let mut bytes = Vec::with_capacity(with_items().count() * row_bytes);
            for row in with_items() {
                match is_valid(&row) {
                    true => bytes.extend_from_slice(rows.values(row)),
                    false => bytes.resize(bytes.len() + row_bytes, 0),
                }
            }
            OwnedValues::Fixed {
                bytes: AlignedBuf::copy_of(&bytes),
                width: width as usize,
                len: n_items as usize,
            }
        }
        _ => {
            // Rows without a value have no bytes, so the strings are all of the unit.
            let ends = with_items().map(|row| rows.place_of(0..row + 1).end as u32);
            OwnedValues::Bytes {
                offsets: core::iter::once(0).chain(ends).collect(),
                data: AlignedBuf::copy_of(block.unit),
            }
        }
    };
    Ok(Survivors {
        rows: n_rows as usize,
        levels: match meta.levels.is_empty() {
            true => None,
            false => Some(levels_of(&rows, &meta.levels, n_rows)?),
        },
        n_items: n_items as usize,
        validity,
        values,
    })
}

/// Reads the levels from the rows' control bytes.
fn levels_of(rows: &FullZipRows<'_>, stored: &[Level], n_rows: u32) -> Result<CollectedLevels> {
    let mut levels = CollectedLevels::new(stored.iter().map(Level::form));
    let (mut n_above, mut slots_per_row) = (0, 1);
    for (number, level) in stored.iter().enumerate() {
        let reached = || (0..n_rows).filter(|row| rows.control(*row) >= n_above);
        let n_slots = reached().count() * slots_per_row;
        match level {
            Level::AllValid => levels.push_validity(number, n_slots, None)?,
            Level::Validity(_) => {
                let mut bits = Bits::default();
                for row in reached() {
                    match rows.control(row) > n_above {
                        true => bits.append_set(1),
                        false => bits.append_unset(1),
                    }
                }
                levels.push_validity(number, n_slots, Some(bits.slice(0..n_slots)?))?;
                n_above += 1;
            }
            Level::ConstantLength(length) => {
                levels.push_constant(number, n_slots);
                slots_per_row *= *length as usize;
            }
            Level::Lengths(_) => return Err(misfit()),
        }
    }
    levels.end_rows(n_rows as usize);
    Ok(levels)
}

/// Rows that are written as one block of a page, zero-padded to 8.
pub(crate) struct FullZipParts<'a> {
    pub(crate) levels: Option<LevelsSlice<'a>>,
    /// A bit for each item, in a page that stores that.
    pub(crate) validity: Option<BitSlice<'a>>,
    /// A value for each item.
    pub(crate) values: Values<'a>,
    pub(crate) n_rows: usize,
    /// Rows of the block, erased ones too.
    pub(crate) logical_rows: u32,
    pub(crate) salt: Option<[u8; SALT_BYTES]>,
}

impl FullZipParts<'_> {
    pub(crate) fn block(
        &self,
        form: FullZipForm,
        stored: &[Level],
        checksum: fn(&[u8]) -> u32,
    ) -> Result<Vec<u8>> {
        let mut states = RowStates::new(form, stored, self.levels, self.validity);
        let mut out = Vec::new();
        match self.values {
            Values::Bytes(strings) => {
                let rows = indexed_rows(strings, &mut states, self.n_rows);
                let block = IndexedBlock {
                    logical_rows: self.logical_rows,
                    salt: self.salt,
                    rows: &rows,
                };
                block.push_to(&mut out, &form, checksum)?;
            }
            values => {
                let block = FixedBlock {
                    logical_rows: self.logical_rows,
                    salt: self.salt,
                    n_rows: self.n_rows,
                };
                block.push_to(&mut out, values.as_fixed()?, &mut states, checksum)?;
            }
        }
        match states.next_item == self.values.len() {
            true => Ok(out),
            false => Err(misfit()),
        }
    }
}
