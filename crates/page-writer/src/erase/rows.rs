//! Taking rows out of a block.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BitSlice, Error, Result, Values};
use tarsia_structure::block::{BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, checksummed};

use super::block::{Outcome, Parts};
use super::context::BlockContext;
use super::decode::decode_survivors;
use crate::nulls::compacted;

/// One block and what is to be taken out of it.
#[derive(Debug, Clone, Copy)]
pub struct BlockErasure<'a> {
    /// All of the block's place: header, salt, payload, and zeros to the place's end. Hostile.
    pub place: &'a [u8],
    /// Rows the block table gives the block.
    pub rows: u32,
    /// Rows of the block erased before, rising.
    pub absent: &'a [u32],
    /// Rows of the block to erase now, rising; those absent already may be among them.
    pub erase: &'a [u32],
    /// The block's new salt; `None` writes the block without one.
    pub salt: Option<[u8; SALT_BYTES]>,
}

/// The steps of an erasure that take something away, so that tests can leave out each of them.
#[derive(Debug, Clone, Copy)]
struct Steps {
    /// Entries of erased rows leave validity and values.
    drop_rows: bool,
    /// Null items get filler from the survivors.
    recompute_filler: bool,
    /// Encoders are prepared from the survivors, not from all values the block had.
    prepare_from_survivors: bool,
    /// What lies behind the new block is zeroed.
    zero_tail: bool,
    /// The old salt gives way to the new one.
    redraw_salt: bool,
}

const ALL_STEPS: Steps = Steps {
    drop_rows: true,
    recompute_filler: true,
    prepare_from_survivors: true,
    zero_tail: true,
    redraw_salt: true,
};

/// Takes rows out of a block and encodes the others afresh: first under the first tree of the page, then the next.
///
/// The result is a function of the survivors, the page's trees and dictionaries, the length of the place, the salt and
/// the number of rows; nothing else of the old bytes is in it.
///
/// # Errors
/// [`ErrorKind::Truncated`](tarsia_codec::ErrorKind::Truncated) and
/// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for bad bytes (a checksum that does not match among them)
/// and where the rows said to be absent are not as many as the block says;
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for row lists that do not rise or reach beyond
/// the block; what decoders and encoders refuse.
pub fn erase_block(context: &BlockContext<'_>, erasure: &BlockErasure<'_>) -> Result<Outcome> {
    erase_with(context, erasure, ALL_STEPS)
}

fn erase_with(
    context: &BlockContext<'_>,
    erasure: &BlockErasure<'_>,
    steps: Steps,
) -> Result<Outcome> {
    check_rows(erasure.absent, erasure.rows)?;
    check_rows(erasure.erase, erasure.rows)?;
    for (covered, stored) in checksummed(erasure.place)? {
        if (context.checksum)(covered) != stored {
            // Else a damaged block would get a good checksum.
            return Err(Error::corrupt("block.crc", 0, stored, "the block's CRC"));
        }
    }
    let old = decode_survivors(context, erasure.place, erasure.rows)?;
    if old.rows + erasure.absent.len() != erasure.rows as usize {
        return Err(Error::corrupt(
            "block.present_rows",
            12,
            old.rows as u64,
            "the logical rows, less those absent",
        ));
    }
    let (kept, n_kept) = kept_rows(erasure, old.rows, steps);
    let kept = BitSlice::new(&kept, 0, old.rows)?;
    let validity = match old.validity() {
        Some(bits) => Some(compacted(Values::Bits(bits), kept, n_kept)?),
        None => None,
    };
    let validity = match &validity {
        Some(bits) => Some(bits.as_values()?.as_bits()?),
        None => None,
    };
    let old_values = old.values()?;
    let values = match old.validity() {
        Some(bits) if context.meta.compact => {
            let of_valid = compacted(Values::Bits(kept), bits, bits.count_ones())?;
            let of_valid = of_valid.as_values()?.as_bits()?;
            compacted(old_values, of_valid, of_valid.count_ones())?
        }
        _ => compacted(old_values, kept, n_kept)?,
    };
    let parts = Parts {
        logical_rows: erasure.rows,
        present_rows: n_kept,
        validity,
        values: values.as_values()?,
        prepare_from: match steps.prepare_from_survivors {
            true => None,
            false => Some(old_values),
        },
        salt: match steps.redraw_salt {
            true => erasure.salt,
            false => old_salt(erasure.place)?,
        },
    };
    let tail = (!steps.zero_tail).then_some(erasure.place);
    parts.encode(context, erasure.place.len(), steps.recompute_filler, tail)
}

fn check_rows(rows: &[u32], n_rows: u32) -> Result<()> {
    let rising = rows.windows(2).all(|pair| pair[0] < pair[1]);
    if rising && rows.last().is_none_or(|last| *last < n_rows) {
        Ok(())
    } else {
        Err(Error::invalid(
            "erased rows do not rise or reach beyond the block",
        ))
    }
}

fn old_salt(place: &[u8]) -> Result<Option<[u8; SALT_BYTES]>> {
    let salted = BlockHeader::parse(place)?.salted;
    let behind = place.get(BLOCK_HEADER_BYTES..).unwrap_or_default();
    Ok(behind.first_chunk().copied().filter(|_| salted))
}

/// One bit per present row, 1 for survivors, and how many they are.
fn kept_rows(erasure: &BlockErasure<'_>, n_present: usize, steps: Steps) -> (Vec<u8>, usize) {
    let mut kept = vec![0; n_present.div_ceil(8)];
    let (mut absent, mut erase) = (erasure.absent.iter(), erasure.erase.iter());
    let (mut next_absent, mut next_erase) = (absent.next(), erase.next());
    let (mut at, mut n_kept) = (0, 0);
    for row in 0..erasure.rows {
        let is_erased = next_erase == Some(&row);
        if is_erased {
            next_erase = erase.next();
        }
        if next_absent == Some(&row) {
            next_absent = absent.next();
            continue;
        }
        if !is_erased || !steps.drop_rows {
            if let Some(byte) = kept.get_mut(at / 8) {
                *byte |= 1 << (at % 8);
            }
            n_kept += 1;
        }
        at += 1;
    }
    (kept, n_kept)
}

#[cfg(test)]
mod tests;
