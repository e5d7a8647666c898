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
    /// With fewer set bits among 64, a loop over these takes less time than one over all.
    const SET_BITS_MIN: u32 = 24;
    let ends = offsets.get(1..).unwrap_or_default();
    let mut sum = 0;
    for (i, ends) in ends.chunks(64).enumerate() {
        let first = 64 * i;
        let starts = offsets.get(first..).unwrap_or_default();
        let mut word = word_at(bits, offset + first) & low_bits(ends.len());
        if word.count_ones() < SET_BITS_MIN {
            while word != 0 {
                let at = word.trailing_zeros() as usize;
                word &= word - 1;
                if let (Some(start), Some(end)) = (starts.get(at), ends.get(at)) {
                    sum += u64::from(end.wrapping_sub(*start));
                }
            }
            continue;
        }
        for (end, start) in ends.iter().zip(starts) {
            // Without a branch, since bits are hard to predict.
            sum += u64::from(end.wrapping_sub(*start)) & (word & 1).wrapping_neg();
            word >>= 1;
        }
    }
    sum
}

/// Number of bytes of the strings that `codes` number. String `i` has the bytes from `offsets[i]` to `offsets[i + 1]`;
/// a code that numbers none has no bytes.
///
/// ```
/// assert_eq!(tarsia_bits::taken_bytes(&[2, 0, 2], &[0, 3, 5, 9]), 11);
/// ```
pub fn taken_bytes(codes: &[u32], offsets: &[u32]) -> u64 {
    let lengths = codes.iter().map(|code| {
        let [start, end] = ends_of(*code, offsets);
        u64::from(end.wrapping_sub(start))
    });
    lengths.sum()
}

/// Where a string begins and ends; both are 0 if there is none.
fn ends_of(code: u32, offsets: &[u32]) -> [u32; 2] {
    let rest = offsets.get(code as usize..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or_default()
}

/// Collects the strings that `codes` number, as [`taken_bytes`] counts them: their ends, counted from 0, in `ends`, and
/// their bytes at the front of `out`. Returns their number. With [`STRING_SLACK_BYTES`] more than the strings in `out`,
/// short ones are copied at once; the bytes behind the strings are undefined afterwards.
///
/// ```
/// let mut ends = [0; 2];
/// let mut out = [0; 7 + tarsia_bits::STRING_SLACK_BYTES];
/// let n = tarsia_bits::take_strings(&[2, 0], &[0, 3, 5, 9], b"onetofour", &mut ends, &mut out);
/// assert_eq!((&out[..n.unwrap()], ends), (&b"fourone"[..], [4, 7]));
/// ```
///
/// # Errors
/// [`Error::Length`] if offsets fall or reach beyond `data`, if there is not one end for each code, or too little room
/// for bytes.
pub fn take_strings(
    codes: &[u32],
    offsets: &[u32],
    data: &[u8],
    ends: &mut [u32],
    out: &mut [u8],
) -> Result<usize, Error> {
    if codes.len() != ends.len() {
        return Err(Error::Length("not one end for each code"));
    }
    let mut done = 0;
    for (code, to) in codes.iter().zip(ends) {
        let length = copy_string(data, ends_of(*code, offsets), out, done);
        done += length.ok_or(Error::Length(
            "strings beyond their data, or too little room",
        ))?;
        *to = done as u32;
    }
    Ok(done)
}

/// Copies the string between two offsets to `out[at..]`, and returns its length; `None` if it does not fit.
#[inline]
fn copy_string(data: &[u8], ends: [u32; 2], out: &mut [u8], at: usize) -> Option<usize> {
    let [start, end] = ends.map(|end| end as usize);
    let length = end.checked_sub(start)?;
    let from = data.get(start..).unwrap_or_default();
    let to = out.get_mut(at..).unwrap_or_default();
    match (
        from.first_chunk::<STRING_SLACK_BYTES>(),
        to.first_chunk_mut::<STRING_SLACK_BYTES>(),
    ) {
        (Some(from), Some(to)) if length <= STRING_SLACK_BYTES => *to = *from,
        _ => to.get_mut(..length)?.copy_from_slice(from.get(..length)?),
    }
    Some(length)
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
            let of_string = offsets.get(at..).and_then(<[u32]>::first_chunk);
            let length = of_string.and_then(|ends| copy_string(data, *ends, out, done));
            done += length.ok_or(misfit)?;
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
    fn strings_are_taken_by_their_codes() {
        for longest in [0, 5, 31, 32, 33, 90] {
            let mut offsets = vec![7_u32];
            for i in 0..100 {
                let length = (i * 37 + 11) % (longest + 1);
                offsets.push(offsets[i] + length as u32);
            }
            let data: Vec<u8> = (0..offsets[100]).map(|i| (i * i) as u8).collect();
            // Those above 99 number no string.
            let codes: Vec<u32> = (0..300).map(|i| i * 71 % 103).collect();
            let (mut wanted, mut wanted_ends) = (vec![], vec![]);
            for code in &codes {
                if let Some(ends) = offsets.get(*code as usize..*code as usize + 2) {
                    wanted.extend_from_slice(&data[ends[0] as usize..ends[1] as usize]);
                }
                wanted_ends.push(wanted.len() as u32);
            }
            assert_eq!(taken_bytes(&codes, &offsets), wanted.len() as u64);
            for slack in [0, STRING_SLACK_BYTES] {
                let (mut ends, mut out) = (vec![0; 300], vec![0; wanted.len() + slack]);
                let found = take_strings(&codes, &offsets, &data, &mut ends, &mut out);
                assert_eq!(found, Ok(wanted.len()));
                assert_eq!((&out[..wanted.len()], &ends), (&wanted[..], &wanted_ends));
            }
        }
        let take = |offsets: &[u32], n_ends: usize, n_bytes: usize| {
            let (mut ends, mut out) = (vec![0; n_ends], vec![0; n_bytes]);
            take_strings(&[1, 0], offsets, b"abcdef", &mut ends, &mut out)
        };
        assert_eq!(take(&[0, 2, 6], 2, 6), Ok(6));
        assert!(take(&[0, 2, 7], 2, 38).is_err());
        assert!(take(&[3, 2, 6], 2, 38).is_err());
        assert!(take(&[0, 2, 6], 1, 38).is_err());
        assert!(take(&[0, 2, 6], 2, 5).is_err());
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
