//! One row of a group, portable.

use crate::Word;

/// `to[l] = base + ((low[l] >> shift | high[l] << (BITS - shift)) & mask)`; without `high` the row does not straddle.
#[inline(always)]
pub(crate) fn unpack_row<T: Word, const L: usize>(
    low: &[T::Bytes; L],
    high: Option<&[T::Bytes; L]>,
    shift: u32,
    mask: T,
    base: T,
    to: &mut [T::Bytes; L],
) {
    // Rows are loaded whole before anything is stored. Without these copies the compiler must assume that `to` and
    // `low` overlap, and unpacks u32 and u64 one by one: 13 against 60-90 GB/s (benches/loops.rs).
    let low = *low;
    let mut row = low;
    match high {
        None => {
            for (to, low) in row.iter_mut().zip(&low) {
                *to = T::from_le(*low)
                    .shr(shift)
                    .and(mask)
                    .wrapping_add(base)
                    .to_le();
            }
        }
        Some(high) => {
            let high = *high;
            let up = T::BITS - shift;
            for ((to, low), high) in row.iter_mut().zip(&low).zip(&high) {
                let both = T::from_le(*low).shr(shift).or(T::from_le(*high).shl(up));
                *to = both.and(mask).wrapping_add(base).to_le();
            }
        }
    }
    *to = row;
}
