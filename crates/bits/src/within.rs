//! Values between two bounds, as bits.

use crate::loops::within as loops;
use crate::{Error, Word};

/// Sets bit `i` of `bits` where value `i` lies within `low..=high`, and clears all others. `values` are little-endian
/// bytes of any alignment.
///
/// Bounds and values may be unsigned, or all be the bit patterns of signed values: it counts how far a value is above
/// `low`, modulo 2 to the power of [`Word::BITS`], and compares that with how far `high` is.
///
/// ```
/// let mut bits = [0xff];
/// tarsia_bits::within::<u8>(&[9, 10, 11, 12], 10, 11, &mut bits).unwrap();
/// assert_eq!(bits, [0b0110]);
/// // From -1 to 1.
/// tarsia_bits::within::<u8>(&[0, 1, 2, 254, 255], 255, 1, &mut bits).unwrap();
/// assert_eq!(bits, [0b1_0011]);
/// ```
///
/// # Errors
/// [`Error::Length`] if `values` is not a whole number of values, or `bits` has not the bytes of so many bits.
pub fn within<T: Word>(values: &[u8], low: T, high: T, bits: &mut [u8]) -> Result<(), Error> {
    check(values, T::BYTES, bits)?;
    loops::within(values, low, high.wrapping_sub(low), bits);
    Ok(())
}

/// As [`within`], for floating-point values in the order of IEEE 754's `totalOrder`. The bounds are
/// [keys](float_key).
///
/// ```
/// use tarsia_bits::{float_key, within_floats};
/// let values = [-1.0_f32, -0.0, 0.0, 1.0, f32::NAN];
/// let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
/// let (low, high) = (float_key((-0.0_f32).to_bits()), float_key(1.0_f32.to_bits()));
/// let mut bits = [0];
/// within_floats(&bytes, low, high, &mut bits).unwrap();
/// assert_eq!(bits, [0b0_1110]);
/// ```
///
/// # Errors
/// As [`within`].
pub fn within_floats<T: Word>(
    values: &[u8],
    low: T,
    high: T,
    bits: &mut [u8],
) -> Result<(), Error> {
    check(values, T::BYTES, bits)?;
    loops::within_floats(values, low, high.wrapping_sub(low), bits);
    Ok(())
}

/// The bit pattern of the signed number that stands at the same place among signed numbers as a floating-point value
/// with these bits among all of its type, in the order of IEEE 754's `totalOrder`.
///
/// ```
/// let key = |value: f64| tarsia_bits::float_key(value.to_bits()) as i64;
/// assert!(key(-1.0) < key(-0.0) && key(-0.0) < key(0.0) && key(f64::INFINITY) < key(f64::NAN));
/// ```
pub fn float_key<T: Word>(bits: T) -> T {
    loops::float_key(bits)
}

/// As [`within`], for signed values of 16 bytes.
///
/// ```
/// let values: Vec<u8> = [-5_i128, 0, 1 << 100].iter().flat_map(|value| value.to_le_bytes()).collect();
/// let mut bits = [0];
/// tarsia_bits::within_wide(&values, -5, 1 << 90, &mut bits).unwrap();
/// assert_eq!(bits, [0b011]);
/// ```
///
/// # Errors
/// As [`within`].
pub fn within_wide(values: &[u8], low: i128, high: i128, bits: &mut [u8]) -> Result<(), Error> {
    check(values, size_of::<i128>(), bits)?;
    loops::within_wide(values, low, high, bits);
    Ok(())
}

fn check(values: &[u8], width: usize, bits: &[u8]) -> Result<(), Error> {
    if !values.len().is_multiple_of(width) {
        return Err(Error::Length("values are not whole"));
    }
    match (values.len() / width).div_ceil(8) == bits.len() {
        true => Ok(()),
        false => Err(Error::Length("bits for another number of values")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, level, limit_level};
    use std::vec::Vec;

    /// Some bytes, a third of which are extreme.
    fn noise(n: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let byte = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state % 6 {
                0 => 0,
                1 => 0xff,
                _ => (state >> 32) as u8,
            }
        };
        (0..n).map(byte).collect()
    }

    fn lengths() -> &'static [usize] {
        match cfg!(miri) {
            true => &[0, 1, 65],
            false => &[0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 200, 1000],
        }
    }

    /// Compares bits with what `is_within` says of each value, at every level.
    fn check_bits(
        n: usize,
        find: impl Fn(&mut [u8]) -> Result<(), Error>,
        is_within: impl Fn(usize) -> bool,
    ) {
        let before = level();
        for most in [Level::Baseline, Level::Avx2, Level::Avx512] {
            limit_level(most);
            let mut bits = std::vec![0xa5; n.div_ceil(8)];
            find(&mut bits).unwrap();
            for i in 0..bits.len() * 8 {
                let bit = bits[i / 8] >> (i % 8) & 1 == 1;
                assert_eq!(bit, i < n && is_within(i), "{n} {i} {most:?}");
            }
        }
        limit_level(before);
    }

    macro_rules! check_type {
        ($unsigned:ty, $signed:ty, $at:ident, $values:ident) => {
            const N: usize = size_of::<$unsigned>();
            let $at =
                |i: usize| <$unsigned>::from_le_bytes(*$values[i * N..].first_chunk().unwrap());
            let n = $values.len() / N;
            for (a, b) in [(0, n / 2), (n / 3, n - 1), (n - 1, n - 1)] {
                let (low, high) = ($at(a).min($at(b)), $at(a).max($at(b)));
                check_bits(
                    n,
                    |bits| within(&$values, low, high, bits),
                    |i| (low..=high).contains(&$at(i)),
                );
                let (a, b) = ($at(a) as $signed, $at(b) as $signed);
                let (low, high) = (a.min(b), a.max(b));
                check_bits(
                    n,
                    |bits| within(&$values, low as $unsigned, high as $unsigned, bits),
                    |i| (low..=high).contains(&($at(i) as $signed)),
                );
            }
        };
    }

    #[test]
    fn integers_of_each_width_are_compared_with_both_bounds() {
        for n in lengths().iter().filter(|n| **n > 0) {
            let values = noise(n * 8);
            {
                check_type!(u8, i8, at, values);
            }
            {
                check_type!(u16, i16, at, values);
            }
            {
                check_type!(u32, i32, at, values);
            }
            {
                check_type!(u64, i64, at, values);
            }
        }
        within::<u32>(&[], 0, 1, &mut []).unwrap();
    }

    #[test]
    fn floats_are_in_total_order() {
        for n in lengths().iter().filter(|n| **n > 0) {
            let values = noise(n * 8);
            let f64_at = |i: usize| f64::from_le_bytes(*values[i * 8..].first_chunk().unwrap());
            let f32_at = |i: usize| f32::from_le_bytes(*values[i * 4..].first_chunk().unwrap());
            for (a, b) in [(0, n / 2), (n / 3, n - 1)] {
                let (low, high) = match f64_at(a).total_cmp(&f64_at(b)).is_le() {
                    true => (f64_at(a), f64_at(b)),
                    false => (f64_at(b), f64_at(a)),
                };
                let keys = (float_key(low.to_bits()), float_key(high.to_bits()));
                check_bits(
                    *n,
                    |bits| within_floats(&values, keys.0, keys.1, bits),
                    |i| f64_at(i).total_cmp(&low).is_ge() && f64_at(i).total_cmp(&high).is_le(),
                );
                let (low, high) = match f32_at(a).total_cmp(&f32_at(b)).is_le() {
                    true => (f32_at(a), f32_at(b)),
                    false => (f32_at(b), f32_at(a)),
                };
                let keys = (float_key(low.to_bits()), float_key(high.to_bits()));
                check_bits(
                    n * 2,
                    |bits| within_floats(&values, keys.0, keys.1, bits),
                    |i| f32_at(i).total_cmp(&low).is_ge() && f32_at(i).total_cmp(&high).is_le(),
                );
            }
        }
    }

    #[test]
    fn wide_values_are_compared_with_both_bounds() {
        for n in lengths().iter().filter(|n| **n > 0) {
            // Half of them have 64 bits.
            let noise = noise(n * 16);
            let at = |i: usize| {
                let value = i128::from_le_bytes(*noise[i * 16..].first_chunk().unwrap());
                match i % 2 {
                    0 => value,
                    _ => value as i64 as i128,
                }
            };
            let values: Vec<u8> = (0..*n).flat_map(|i| at(i).to_le_bytes()).collect();
            let other = (at(n / 2), at(n - 1));
            for (a, b) in [
                other,
                (i64::MIN.into(), i64::MAX.into()),
                (-5, 1 << 60),
                (i128::MIN, 7),
                (i128::MIN, i128::MAX),
                (0, 0),
                (i64::MIN.into(), i64::MIN.into()),
            ] {
                let (low, high) = (a.min(b), a.max(b));
                check_bits(
                    *n,
                    |bits| within_wide(&values, low, high, bits),
                    |i| (low..=high).contains(&at(i)),
                );
            }
        }
    }

    #[test]
    fn lengths_that_do_not_match_are_refused() {
        let mut bits = [0; 2];
        let whole = Err(Error::Length("values are not whole"));
        let other = Err(Error::Length("bits for another number of values"));
        assert_eq!(within::<u16>(&[0; 3], 0, 1, &mut bits), whole);
        assert_eq!(within::<u16>(&[0; 16], 0, 1, &mut bits), other);
        assert_eq!(within::<u16>(&[0; 18], 0, 1, &mut bits), Ok(()));
        assert_eq!(within_floats::<u32>(&[0; 6], 0, 1, &mut bits), whole);
        assert_eq!(within_floats::<u32>(&[0; 80], 0, 1, &mut bits), other);
        assert_eq!(within_wide(&[0; 15], 0, 1, &mut bits), whole);
        assert_eq!(within_wide(&[0; 16], 0, 1, &mut bits), other);
    }
}
