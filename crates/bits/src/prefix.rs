//! Lengths to end offsets.

use crate::Error;

/// Replaces lengths by ends: `values[i] = base + sum(lengths[0 ..= i])`. Returns the last end, or `base` if there are
/// no lengths.
///
/// ```
/// let mut values = [3, 0, 4];
/// assert_eq!(tarsia_bits::prefix_sum(&mut values, 10), Ok(17));
/// assert_eq!(values, [13, 13, 17]);
/// ```
///
/// # Errors
/// [`Error::Overflow`] if the last end does not fit in 32 bits; the values are then undefined.
#[inline(never)]
pub fn prefix_sum(values: &mut [u32], base: u32) -> Result<u32, Error> {
    // A 64-bit sum costs the same as a 32-bit one and needs one check at the end: ends rise, so all fit if the last one
    // does. It wraps only beyond 2^32 values, more than any unit has.
    let mut sum = u64::from(base);
    for value in values {
        sum = sum.wrapping_add(u64::from(*value));
        *value = sum as u32;
    }
    u32::try_from(sum).map_err(|_| Error::Overflow { sum })
}

/// Writes the ends of strings of equal length: `ends[i] = base + (i + 1) * length`, wrapping.
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
