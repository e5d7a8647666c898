//! Lengths to ends.

use crate::Error;

/// Turns lengths into ends in place, `values[i] = base + lengths[0 ..= i]`, and returns the last end (`base` of none).
///
/// ```
/// let mut values = [3, 0, 4];
/// assert_eq!(tarsia_bits::prefix_sum(&mut values, 10), Ok(17));
/// assert_eq!(values, [13, 13, 17]);
/// ```
///
/// # Errors
/// [`Error::Overflow`] where the last end does not fit in 32 bits; the values hold anything then.
#[inline(never)]
pub fn prefix_sum(values: &mut [u32], base: u32) -> Result<u32, Error> {
    // A 64-bit sum costs the same as a 32-bit one and needs one check at the end: ends rise, so if the last one fits
    // all do. It wraps only beyond 2^32 values, more than any unit has.
    let mut sum = u64::from(base);
    for value in values {
        sum = sum.wrapping_add(u64::from(*value));
        *value = sum as u32;
    }
    u32::try_from(sum).map_err(|_| Error::Overflow { sum })
}

/// Ends of strings of equal length: `ends[i] = base + (i + 1) * length`, wrapping.
///
/// ```
/// let mut ends = [0; 3];
/// tarsia_bits::equal_ends(&mut ends, 4, 10);
/// assert_eq!(ends, [14, 18, 22]);
/// ```
#[inline(never)]
pub fn equal_ends(ends: &mut [u32], length: u32, base: u32) {
    let mut at = base;
    for end in ends {
        at = at.wrapping_add(length);
        *end = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_found_wherever_it_happens() {
        assert_eq!(prefix_sum(&mut [], 5), Ok(5));
        assert_eq!(prefix_sum(&mut [u32::MAX], 0), Ok(u32::MAX));
        assert_eq!(
            prefix_sum(&mut [u32::MAX, 0], 1),
            Err(Error::Overflow { sum: 1 << 32 })
        );
        // The low 32 bits of the last end would look harmless.
        assert!(prefix_sum(&mut [u32::MAX, 1, u32::MAX, 1], 3).is_err());
    }
}
