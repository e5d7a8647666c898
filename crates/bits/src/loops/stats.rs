//! Statistics that need one pass over the values.

use super::dispatch;
use crate::Word;

dispatch! {
    /// The smallest and the largest value, in unsigned order after each value is xor-ed with `flip`. `(MAX, 0)` if
    /// there are no values.
    pub(crate) fn min_max<T: Word>(values: &[u8], flip: T) -> (T, T) = min_max_body;
}

dispatch! {
    /// Counts of the bit widths of `values[i] - base`.
    pub(crate) fn width_histogram<T: Word>(values: &[u8], base: T) -> [u32; 65] =
        width_histogram_body;
}

dispatch! {
    /// For each `w` below `max_width` the number of values for which `values[i] - base` needs more than `w` bits.
    pub(crate) fn counts_above<T: Word>(values: &[u8], base: T, max_width: u32) -> [u32; 65] =
        counts_above_body;
}

#[inline(always)]
pub(crate) fn min_max_body<T: Word>(values: &[u8], flip: T) -> (T, T) {
    let values: &[T::Bytes] = bytemuck::try_cast_slice(values).unwrap_or_default();
    let (mut min, mut max) = (T::MAX, T::ZERO);
    for value in values {
        let value = T::from_le(*value).xor(flip);
        min = min.min(value);
        max = max.max(value);
    }
    (min.xor(flip), max.xor(flip))
}

/// Values whose widths are computed together, so that counting leading zeros vectorises.
const BATCH: usize = 64;

#[inline(always)]
pub(crate) fn width_histogram_body<T: Word>(values: &[u8], base: T) -> [u32; 65] {
    let values: &[T::Bytes] = bytemuck::try_cast_slice(values).unwrap_or_default();
    // Four tables, because neighbouring values often have equal widths and an increment of one counter would wait for
    // the one before.
    let mut tables = [[0u32; 128]; 4];
    let (batches, rest) = values.as_chunks::<BATCH>();
    let width = |value: &T::Bytes| T::BITS - T::from_le(*value).wrapping_sub(base).leading_zeros();
    for batch in batches {
        let mut widths = [0u8; BATCH];
        for (to, value) in widths.iter_mut().zip(batch) {
            *to = width(value) as u8;
        }
        let (fours, _) = widths.as_chunks::<4>();
        for four in fours {
            for (table, width) in tables.iter_mut().zip(four) {
                let count = &mut table[usize::from(*width & 127)];
                *count = count.wrapping_add(1);
            }
        }
    }
    for value in rest {
        let count = &mut tables[0][(width(value) & 127) as usize];
        *count = count.wrapping_add(1);
    }
    let mut counts = [0; 65];
    for (i, count) in counts.iter_mut().enumerate() {
        for table in &tables {
            *count = table[i].wrapping_add(*count);
        }
    }
    counts
}

/// Differences that are compared with each width in turn: counts of them fit a byte.
const COMPARED: usize = 128;

#[inline(always)]
pub(crate) fn counts_above_body<T: Word>(values: &[u8], base: T, max_width: u32) -> [u32; 65] {
    let values: &[T::Bytes] = bytemuck::try_cast_slice(values).unwrap_or_default();
    let mut counts = [0u32; 65];
    let mut differences = [T::ZERO; COMPARED];
    for part in values.chunks(COMPARED) {
        for (to, value) in differences.iter_mut().zip(part) {
            *to = T::from_le(*value).wrapping_sub(base);
        }
        for to in differences.iter_mut().skip(part.len()) {
            *to = T::ZERO;
        }
        for (width, count) in (0..max_width.min(T::BITS)).zip(&mut counts) {
            let narrow = T::from_u64((1u64 << width) - 1);
            let mut n = T::ZERO;
            for difference in &differences {
                n = n.wrapping_add(T::from_u64(u64::from(*difference > narrow)));
            }
            *count = count.wrapping_add(n.to_u64() as u32);
        }
    }
    counts
}
