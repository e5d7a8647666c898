//! Comparison with two bounds at once.

use super::dispatch;
use crate::Word;

dispatch! {
    /// Sets a bit for each value that is at most `span` above `low`.
    pub(crate) fn within<T: Word>(values: &[u8], low: T, span: T, bits: &mut [u8]) -> () = within_body;
}

dispatch! {
    /// As [`within`], for the keys of floating-point values.
    pub(crate) fn within_floats<T: Word>(values: &[u8], low: T, span: T, bits: &mut [u8]) -> () =
        within_floats_body;
}

dispatch! {
    /// Sets a bit for each value of 16 bytes within two bounds, that belong to the range.
    pub(crate) fn within_wide<>(values: &[u8], low: i128, high: i128, bits: &mut [u8]) -> () =
        within_wide_body;
}

/// The key of a floating-point value: all bits but the sign are turned over if that is set.
#[inline(always)]
pub(crate) fn float_key<T: Word>(bits: T) -> T {
    let sign = bits.shr(T::BITS - 1);
    // All ones if the sign is set.
    let ones = T::ZERO.wrapping_sub(sign);
    bits.xor(ones.shr(1))
}

#[inline(always)]
fn within_body<T: Word>(values: &[u8], low: T, span: T, bits: &mut [u8]) {
    let values: &[T::Bytes] = bytemuck::try_cast_slice(values).unwrap_or_default();
    set_bits(values, bits, |value| {
        T::from_le(*value).wrapping_sub(low) <= span
    });
}

#[inline(always)]
fn within_floats_body<T: Word>(values: &[u8], low: T, span: T, bits: &mut [u8]) {
    let values: &[T::Bytes] = bytemuck::try_cast_slice(values).unwrap_or_default();
    set_bits(values, bits, |value| {
        float_key(T::from_le(*value)).wrapping_sub(low) <= span
    });
}

/// Compares halves, since loops over 64 bits vectorise.
#[inline(always)]
fn within_wide_body(values: &[u8], low: i128, high: i128, bits: &mut [u8]) {
    let values: &[[[u8; 8]; 2]] = bytemuck::try_cast_slice(values).unwrap_or_default();
    let halves = |value: i128| (value as u64, (value >> 64) as i64);
    let ((low_least, low_most), (high_least, high_most)) = (halves(low), halves(high));
    set_bits(values, bits, |[least, most]| {
        let (least, most) = (u64::from_le_bytes(*least), i64::from_le_bytes(*most));
        let is_from_low = (most > low_most) | ((most == low_most) & (least >= low_least));
        let is_to_high = (most < high_most) | ((most == high_most) & (least <= high_least));
        is_from_low & is_to_high
    });
}

/// Values that are compared together.
const BATCH: usize = 64;

/// Sets a bit for each value that passes. Results are bytes first, so that the comparison vectorises.
#[inline(always)]
fn set_bits<V>(values: &[V], bits: &mut [u8], passes: impl Fn(&V) -> bool) {
    let (batches, rest) = values.as_chunks::<BATCH>();
    let (whole, last) = bits.split_at_mut((batches.len() * 8).min(bits.len()));
    let (words, _) = whole.as_chunks_mut::<8>();
    for (batch, to) in batches.iter().zip(words) {
        let mut passed = [0u8; BATCH];
        for (to, value) in passed.iter_mut().zip(batch) {
            *to = passes(value).into();
        }
        let (eights, _) = passed.as_chunks::<8>();
        for (eight, to) in eights.iter().zip(to) {
            *to = packed(*eight);
        }
    }
    let mut passed = [0u8; BATCH];
    for (to, value) in passed.iter_mut().zip(rest) {
        *to = passes(value).into();
    }
    let (eights, _) = passed.as_chunks::<8>();
    for (eight, to) in eights.iter().zip(last) {
        *to = packed(*eight);
    }
}

/// The lowest bits of eight bytes.
#[inline(always)]
fn packed(eight: [u8; 8]) -> u8 {
    // Moves bit 8 * i to bit 56 + i.
    (u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}
