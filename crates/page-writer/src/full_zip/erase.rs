//! Rows taken out of blocks of byte strings.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{AlignedBuf, BitSlice, BytesSlice, Error, OwnedValues, Result};
use tarsia_structure::block::Block;
use tarsia_structure::full_zip::{FullZipForm, FullZipRows};

use super::blocks::IndexedRow;
use crate::erase::survivors::Survivors;

/// The present rows of a full-zip block of a flat column.
pub(crate) fn survivors_of_strings(form: FullZipForm, block: &Block<'_>) -> Result<Survivors> {
    if !form.is_indexed() {
        return Err(Error::unsupported(
            "erasing from a full-zip page of fixed width",
        ));
    }
    let full_zip = FullZipRows::of(form, block.levels, block.unit);
    let rows = block.header.present_rows;
    let validity = full_zip.has_item_validity().then(|| {
        let mut bits = vec![0; (rows as usize).div_ceil(8)];
        for row in 0..rows {
            bits[row as usize / 8] |= u8::from(full_zip.item_is_valid(row)) << (row % 8);
        }
        bits
    });
    let ends = (0..rows).map(|row| full_zip.place_of(0..row + 1).end as u32);
    Ok(Survivors {
        rows: rows as usize,
        validity,
        values: OwnedValues::Bytes {
            offsets: core::iter::once(0).chain(ends).collect(),
            data: AlignedBuf::copy_of(block.unit),
        },
    })
}

/// The present rows of a flat column, as an [indexed block](super::blocks::IndexedBlock) has them.
pub(crate) fn present_rows<'a>(
    strings: BytesSlice<'a>,
    validity: Option<BitSlice<'_>>,
    n_rows: usize,
) -> Vec<IndexedRow<'a>> {
    let row = |i: usize| match validity {
        Some(bits) if !bits.get(i) => IndexedRow {
            control: 0,
            value: &[],
        },
        Some(_) => IndexedRow {
            control: 1,
            value: strings.get(i),
        },
        None => IndexedRow {
            control: 0,
            value: strings.get(i),
        },
    };
    (0..n_rows).map(row).collect()
}
