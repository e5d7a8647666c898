//! Statistics from which encoders choose bit widths and bases.

use crate::loops::stats as loops;
use crate::{Error, Word};

/// The smallest and the largest value, in unsigned and in signed order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent<T> {
    /// The smallest and the largest as unsigned numbers.
    pub unsigned: (T, T),
    /// The smallest and the largest as two's complement numbers.
    pub signed: (T, T),
}

impl<T: Word> Extent<T> {
    /// True if both orders have the same smallest value: all values have the same sign.
    pub fn is_one_sided(&self) -> bool {
        self.unsigned.0 == self.signed.0
    }

    /// The smallest value and the span (largest minus smallest) in the order in which the span is smaller. On a tie the
    /// unsigned order.
    ///
    /// ```
    /// let near_zero = [-2i32, 3].map(i32::to_le_bytes).concat();
    /// let extent = tarsia_bits::extent::<u32>(&near_zero).unwrap().unwrap();
    /// assert_eq!(extent.base_and_span(), (-2i32 as u32, 5));
    /// ```
    pub fn base_and_span(&self) -> (T, T) {
        let unsigned = self.unsigned.1.wrapping_sub(self.unsigned.0);
        let signed = self.signed.1.wrapping_sub(self.signed.0);
        if signed < unsigned {
            (self.signed.0, signed)
        } else {
            (self.unsigned.0, unsigned)
        }
    }

    /// The extent of the values of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let flip = |pair: (T, T)| (pair.0.xor(T::SIGN), pair.1.xor(T::SIGN));
        let join = |a: (T, T), b: (T, T)| (a.0.min(b.0), a.1.max(b.1));
        Self {
            unsigned: join(self.unsigned, other.unsigned),
            signed: flip(join(flip(self.signed), flip(other.signed))),
        }
    }
}

/// The extent of `values` (little-endian bytes of any alignment); `None` if there are none.
///
/// # Errors
/// [`Error::Length`] if `values` is not a whole number of values.
pub fn extent<T: Word>(values: &[u8]) -> Result<Option<Extent<T>>, Error> {
    if !values.len().is_multiple_of(T::BYTES) {
        return Err(Error::Length("values are not whole"));
    }
    if values.is_empty() {
        return Ok(None);
    }
    let unsigned = loops::min_max(values, T::ZERO);
    let same_sign = unsigned.0.xor(unsigned.1) < T::SIGN;
    let signed = if same_sign {
        unsigned
    } else {
        loops::min_max(values, T::SIGN)
    };
    Ok(Some(Extent { unsigned, signed }))
}

/// `histogram[w]` is the number of values that need `w` bits, for `w` from 0 to 64.
pub type WidthHistogram = [u32; 65];

/// Counts the bit widths of `values[i] - base` (wrapping); `values` are little-endian bytes of any alignment.
/// Counts wrap beyond 2^32 values.
///
/// ```
/// let histogram = tarsia_bits::width_histogram::<u8>(&[5, 6, 7, 8], 5).unwrap();
/// assert_eq!(histogram[..4], [1, 1, 2, 0]);
/// ```
///
/// # Errors
/// [`Error::Length`] if `values` is not a whole number of values.
pub fn width_histogram<T: Word>(values: &[u8], base: T) -> Result<WidthHistogram, Error> {
    if !values.len().is_multiple_of(T::BYTES) {
        return Err(Error::Length("values are not whole"));
    }
    Ok(loops::width_histogram(values, base))
}

/// Counts, for each `w` below `max_width`, the values for which `values[i] - base` (wrapping) needs more than `w` bits;
/// `max_width` must be enough for all. The rest is 0. `values` are little-endian bytes of any alignment. Counts wrap
/// beyond 2^32 values.
///
/// ```
/// let above = tarsia_bits::counts_above::<u8>(&[5, 6, 7, 8], 5, 2).unwrap();
/// assert_eq!(above[..3], [3, 2, 0]);
/// ```
///
/// # Errors
/// [`Error::Length`] if `values` is not a whole number of values.
pub fn counts_above<T: Word>(values: &[u8], base: T, max_width: u32) -> Result<[u32; 65], Error> {
    if !values.len().is_multiple_of(T::BYTES) {
        return Err(Error::Length("values are not whole"));
    }
    // To compare values with each width takes less time while vectors hold many of them and widths are few.
    if max_width * T::BITS <= COMPARED_BITS_MAX {
        return Ok(loops::counts_above(values, base, max_width));
    }
    let mut counts = loops::width_histogram(values, base);
    let mut wider = 0u32;
    for count in counts.iter_mut().rev() {
        let of_width = core::mem::replace(count, wider);
        wider = wider.wrapping_add(of_width);
    }
    Ok(counts)
}

/// See [`counts_above`]: 16 widths of values of 4 bytes.
const COMPARED_BITS_MAX: u32 = 16 * 32;

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn bytes<T: Word>(values: &[T]) -> Vec<u8> {
        let le: Vec<T::Bytes> = values.iter().map(|value| value.to_le()).collect();
        bytemuck::cast_slice(&le).to_vec()
    }

    #[test]
    fn extents_in_both_orders() {
        let values = [3i32, -1, 7, i32::MIN, 0].map(|v| v as u32);
        let found = extent::<u32>(&bytes(&values)).unwrap().unwrap();
        assert_eq!(found.unsigned, (0, u32::MAX));
        assert_eq!(found.signed, (i32::MIN as u32, 7));
        assert!(!found.is_one_sided());
        assert_eq!(extent::<u32>(&[]), Ok(None));
        assert!(extent::<u32>(&[0; 5]).is_err());
        let one = extent::<u64>(&bytes(&[9u64])).unwrap().unwrap();
        assert_eq!((one.unsigned, one.signed), ((9, 9), (9, 9)));
        assert!(one.is_one_sided());
    }

    #[test]
    fn extents_of_many_equal_a_plain_loop() {
        let n = if cfg!(miri) { 70 } else { 1000 };
        let values: Vec<i16> = (0..n).map(|i| (i * i * 31 - 7000) as i16).collect();
        let words: Vec<u16> = values.iter().map(|v| *v as u16).collect();
        let found = extent::<u16>(&bytes(&words)).unwrap().unwrap();
        assert_eq!(found.signed.0 as i16, *values.iter().min().unwrap());
        assert_eq!(found.signed.1 as i16, *values.iter().max().unwrap());
        assert_eq!(found.unsigned.0, *words.iter().min().unwrap());
        assert_eq!(found.unsigned.1, *words.iter().max().unwrap());
        for cut in [1, 13, 64] {
            let left = extent::<u16>(&bytes(&words[..cut])).unwrap().unwrap();
            let right = extent::<u16>(&bytes(&words[cut..])).unwrap().unwrap();
            assert_eq!(left.union(&right), found);
        }
    }

    #[test]
    fn histograms_equal_a_plain_loop() {
        fn check<T: Word>() {
            let n = if cfg!(miri) { 70 } else { 777 };
            let base = T::from_u64(1000);
            let values: Vec<T> = (0..n)
                .map(|i: u64| T::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64)))
                .collect();
            let mut expect = [0; 65];
            for value in &values {
                expect[(T::BITS - value.wrapping_sub(base).leading_zeros()) as usize] += 1;
            }
            assert_eq!(width_histogram(&bytes(&values), base), Ok(expect));
            // Of values that need few bits, too.
            for width in [0, 1, 5, 8, 13, 16, 33, 64] {
                let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
                let values: Vec<T> = (values.iter())
                    .map(|value| T::from_u64(value.to_u64() & mask).wrapping_add(base))
                    .collect();
                let of_width = |value: &T| T::BITS - value.wrapping_sub(base).leading_zeros();
                let above = counts_above(&bytes(&values), base, width.min(T::BITS)).unwrap();
                for (w, found) in (0..).zip(above) {
                    let expected = values.iter().filter(|value| of_width(value) > w).count();
                    assert_eq!(found as usize, expected, "{w} of {width}");
                }
            }
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }
}
