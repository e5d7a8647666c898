//! Byte strings whose bits are set.

use crate::Error;
use crate::loops::bitmap::{low_bits, word_at};

/// Bytes of the copies of short strings, which may write so many bytes too many.
pub const STRING_SLACK_BYTES: usize = 32;

/// Number of bytes of the strings whose bit from bit `offset` on is set. String `i` has the bytes from `offsets[i]` to
/// `offsets[i + 1]`.
///
/// ```
/// assert_eq!(tarsia_bits::selected_bytes(&[0b101], 0, &[0, 3, 5, 9]), 7);
/// ```
pub fn selected_bytes(bits: &[u8], offset: usize, offsets: &[u32]) -> u64 {
    let ends = offsets.get(1..).unwrap_or_default();
    let lengths = ends
        .iter()
        .zip(offsets)
        .map(|(end, start)| end.wrapping_sub(*start));
    let mut lengths = lengths;
    let mut sum = 0;
    let n = ends.len();
    for first in (0..n).step_by(64) {
        let mut word = word_at(bits, offset + first);
        for length in lengths.by_ref().take(64) {
            // Without a branch, since bits are hard to predict.
            sum += u64::from(length) & (word & 1).wrapping_neg();
            word >>= 1;
        }
    }
    sum
}

/// Collects the strings whose bit from bit `offset` on is set: their ends, counted from 0, in `ends`, and their bytes
/// at the front of `out`. Returns their number. With [`STRING_SLACK_BYTES`] more than the strings in `out`, short
/// ones are copied at once; the bytes behind the strings are undefined afterwards.
///
/// ```
/// let mut ends = [0; 2];
/// let mut out = [0; 7 + tarsia_bits::STRING_SLACK_BYTES];
/// let offsets = [0, 3, 5, 9];
/// let n = tarsia_bits::compact_strings(&[0b101], 0, &offsets, b"onetofour", &mut ends, &mut out);
/// assert_eq!((&out[..n.unwrap()], ends), (&b"onefour"[..], [3, 7]));
/// ```
///
/// # Errors
/// [`Error::Length`] if offsets fall or reach beyond `data`, if there is not exactly one end for each set bit, or
/// too little room for bytes.
pub fn compact_strings(
    bits: &[u8],
    offset: usize,
    offsets: &[u32],
    data: &[u8],
    ends: &mut [u32],
    out: &mut [u8],
) -> Result<usize, Error> {
    let n = offsets.len().saturating_sub(1);
    if crate::count_ones(bits, offset, n)? != ends.len() {
        return Err(Error::Length("not one end for each string"));
    }
    let misfit = Error::Length("strings beyond their data, or too little room");
    let mut ends = ends.iter_mut();
    let mut done = 0_usize;
    for first in (0..n).step_by(64) {
        let mut word = word_at(bits, offset + first) & low_bits((n - first).min(64));
        while word != 0 {
            let at = first + word.trailing_zeros() as usize;
            word &= word - 1;
            let (Some(start), Some(end)) = (offsets.get(at), offsets.get(at + 1)) else {
                return Err(misfit);
            };
            let (start, end) = (*start as usize, *end as usize);
            let Some(length) = end.checked_sub(start) else {
                return Err(misfit);
            };
            let from = data.get(start..).unwrap_or_default();
            let to = out.get_mut(done..).unwrap_or_default();
            match (
                from.first_chunk::<STRING_SLACK_BYTES>(),
                to.first_chunk_mut::<STRING_SLACK_BYTES>(),
            ) {
                (Some(from), Some(to)) if length <= STRING_SLACK_BYTES => *to = *from,
                _ => match (from.get(..length), to.get_mut(..length)) {
                    (Some(from), Some(to)) => to.copy_from_slice(from),
                    _ => return Err(misfit),
                },
            }
            done += length;
            if let Some(to) = ends.next() {
                *to = done as u32;
            }
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn strings_whose_bits_are_set_are_collected() {
        for longest in [0, 5, 31, 32, 33, 90] {
            for n in [0, 1, 63, 64, 65, 200_usize] {
                for at in [0, 3, 9] {
                    let lengths = (0..n).map(|i| (i * 37 + 11) % (longest + 1));
                    let mut offsets = vec![7_u32];
                    for length in lengths {
                        offsets.push(offsets[offsets.len() - 1] + length as u32);
                    }
                    let end = offsets[offsets.len() - 1] as usize;
                    let data: Vec<u8> = (0..end).map(|i| (i * i) as u8).collect();
                    let bits: Vec<u8> = (0..(n + at).div_ceil(8))
                        .map(|i| (i * 91 + 0x5a) as u8)
                        .collect();
                    let mut wanted = vec![];
                    let mut wanted_ends = vec![];
                    for i in 0..n {
                        if bits[(at + i) / 8] >> ((at + i) % 8) & 1 == 1 {
                            wanted.extend_from_slice(
                                &data[offsets[i] as usize..offsets[i + 1] as usize],
                            );
                            wanted_ends.push(wanted.len() as u32);
                        }
                    }
                    assert_eq!(selected_bytes(&bits, at, &offsets), wanted.len() as u64);
                    let mut ends = vec![0; wanted_ends.len()];
                    let mut out = vec![0; wanted.len() + STRING_SLACK_BYTES];
                    let found = compact_strings(&bits, at, &offsets, &data, &mut ends, &mut out);
                    assert_eq!(found, Ok(wanted.len()));
                    assert_eq!((&out[..wanted.len()], ends), (&wanted[..], wanted_ends));
                }
            }
        }
    }

    #[test]
    fn offsets_that_do_not_fit_are_refused() {
        let compact = |offsets: &[u32], n_ends: usize, n_bytes: usize| {
            compact_strings(
                &[0b11],
                0,
                offsets,
                b"abcdef",
                &mut vec![0; n_ends],
                &mut vec![0; n_bytes],
            )
        };
        assert_eq!(compact(&[0, 2, 6], 2, 38), Ok(6));
        assert!(compact(&[0, 2, 7], 2, 38).is_err());
        assert!(compact(&[3, 2, 6], 2, 38).is_err());
        assert!(compact(&[0, 2, 6], 1, 38).is_err());
        assert!(compact(&[0, 2, 6], 2, 5).is_err());
        assert_eq!(compact(&[0, 2, 6], 2, 6), Ok(6));
    }
}
