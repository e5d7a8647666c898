//! Dictionary lookups.

use crate::loops::gather as loops;
use crate::{Error, PaddedStrings, Word};

/// `out[i] = entries[codes[i]]` for entries of `width` bytes; 1, 2, 4, 8 and 16 are fast.
///
/// `codes` are little-endian numbers of type `C`. All three slices may have any alignment. All codes are checked before
/// anything is written.
///
/// ```
/// let mut out = [0; 6];
/// tarsia_bits::gather::<u8>(b"abcdef", 2, &[2, 0, 2], &mut out).unwrap();
/// assert_eq!(&out, b"efabef");
/// let error = tarsia_bits::gather::<u8>(b"abcdef", 2, &[2, 3, 2], &mut out).unwrap_err();
/// assert_eq!(error, tarsia_bits::Error::Code { largest: 3, n_entries: 3 });
/// ```
///
/// # Errors
/// [`Error::Code`] for a code without an entry; [`Error::Length`] for lengths that do not match, or a width of 0 (the
/// number of entries is then unknown).
#[inline]
pub fn gather<C: Word>(
    entries: &[u8],
    width: usize,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    C::gather(entries, width, codes, out)
}

/// The largest of little-endian numbers of type `C`; 0 if there are none, or if `codes` is not a whole number of them.
///
/// ```
/// assert_eq!(tarsia_bits::largest::<u16>(&[1, 2, 3, 0]), 0x0201);
/// ```
#[inline]
pub fn largest<C: Word>(numbers: &[u8]) -> C {
    C::largest(numbers)
}

/// Copies the strings that `codes` select back to back into `out`, until fewer than 4 codes are left or `out` has less
/// space than 4 padded strings take. Returns the number of codes used and the number of bytes of their strings; bytes
/// behind those are undefined. `ends[i]` becomes `base` plus the bytes of strings `0 ..= i`, wrapping.
///
/// `codes` are little-endian numbers of type `C`, of any alignment. All codes are checked before anything is written.
///
/// ```
/// let mut entries = [0; 32];
/// entries[..3].copy_from_slice(b"one");
/// entries[16..19].copy_from_slice(b"two");
/// let strings = tarsia_bits::PaddedStrings { width: 16, entries: &entries, lengths: &[3, 3] };
/// let (mut ends, mut out) = ([0; 5], [0; 64]);
/// let done = tarsia_bits::gather_padded::<u8>(strings, &[1, 0, 1, 1, 0], 10, &mut ends, &mut out);
/// assert_eq!(done, Ok((4, 12)));
/// assert_eq!(&out[..12], b"twoonetwotwo");
/// assert_eq!(ends[..4], [13, 16, 19, 22]);
/// ```
///
/// # Errors
/// [`Error::Code`] for a code without an entry; [`Error::Length`] for lengths that do not match.
#[inline]
pub fn gather_padded<C: Word>(
    strings: PaddedStrings<'_>,
    codes: &[u8],
    base: u32,
    ends: &mut [u32],
    out: &mut [u8],
) -> Result<(usize, usize), Error> {
    C::gather_padded(strings, codes, base, ends, out)
}

/// [`gather_padded`] for each type of codes.
#[inline(always)]
pub(crate) fn gather_padded_by<C: Word>(
    strings: PaddedStrings<'_>,
    codes: &[u8],
    base: u32,
    ends: &mut [u32],
    out: &mut [u8],
) -> Result<(usize, usize), Error> {
    let n_entries = strings.lengths.len();
    if !codes.len().is_multiple_of(C::BYTES) {
        return Err(Error::Length("codes are not whole"));
    }
    if !matches!(strings.width, 16 | 32) {
        return Err(Error::Length("strings are padded to 16 or 32 bytes"));
    }
    if n_entries.checked_mul(strings.width) != Some(strings.entries.len()) {
        return Err(Error::Length("the entries are not lengths x width"));
    }
    if usize::from(largest::<u8>(strings.lengths)) > strings.width {
        return Err(Error::Length("a string is longer than its padding"));
    }
    loops::padded::<C>(strings, codes, base, ends, out)
        .map_err(|largest| Error::Code { largest, n_entries })
}

/// [`gather`] for each type of codes.
#[inline(always)]
pub(crate) fn gather_by<C: Word>(
    entries: &[u8],
    width: usize,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    if !codes.len().is_multiple_of(C::BYTES) {
        return Err(Error::Length("codes are not whole"));
    }
    let n_codes = codes.len() / C::BYTES;
    if width == 0 || !entries.len().is_multiple_of(width) {
        return Err(Error::Length("entries are not whole"));
    }
    if n_codes.checked_mul(width) != Some(out.len()) {
        return Err(Error::Length("the output is not codes x width"));
    }
    loops::gather::<C>(entries, width, codes, out).map_err(|largest| Error::Code {
        largest,
        n_entries: entries.len() / width,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn check<C: Word>(n_entries: usize) {
        let n_codes = if cfg!(miri) { 70 } else { 500 };
        for width in [1, 2, 3, 4, 5, 8, 12, 16, 17, 31, 32, 33, 64, 65] {
            let entries: Vec<u8> = (0..n_entries * width)
                .map(|i| (i * 7 + i / 251) as u8)
                .collect();
            let codes: Vec<C> = (0..n_codes)
                .map(|i| C::from_u64((i * i * 13 % n_entries) as u64))
                .collect();
            let le: Vec<C::Bytes> = codes.iter().map(|code| code.to_le()).collect();
            let le: &[u8] = bytemuck::cast_slice(&le);
            let mut out = std::vec![0; n_codes * width];
            gather::<C>(&entries, width, le, &mut out).unwrap();
            for (to, code) in out.chunks_exact(width).zip(&codes) {
                let code = code.to_u64() as usize;
                assert_eq!(to, &entries[code * width..][..width]);
            }
            // One entry fewer, and the highest code is refused.
            let highest = codes.iter().max().unwrap().to_u64();
            let short = &entries[..highest as usize * width];
            out.fill(9);
            let error = Error::Code {
                largest: highest,
                n_entries: highest as usize,
            };
            assert_eq!(gather::<C>(short, width, le, &mut out), Err(error));
            assert!(out.iter().all(|byte| *byte == 9), "nothing is written");
        }
    }

    #[test]
    fn every_width_and_code_type() {
        check::<u8>(if cfg!(miri) { 20 } else { 200 });
        check::<u16>(if cfg!(miri) { 20 } else { 300 });
        check::<u32>(if cfg!(miri) { 20 } else { 1000 });
    }

    fn check_padded<C: Word>(width: usize, n_entries: usize) {
        let n_codes = if cfg!(miri) { 70 } else { 501 };
        let lengths: Vec<u8> = (0..n_entries)
            .map(|i| (i * 5 % (width + 1)) as u8)
            .collect();
        let entries: Vec<u8> = (0..n_entries * width).map(|i| (i * 7) as u8).collect();
        let strings = PaddedStrings {
            width,
            entries: &entries,
            lengths: &lengths,
        };
        let numbers: Vec<usize> = (0..n_codes).map(|i| i * i * 13 % n_entries).collect();
        let codes = numbers.iter().map(|code| C::from_u64(*code as u64).to_le());
        let codes: Vec<C::Bytes> = codes.collect();
        let codes: &[u8] = bytemuck::cast_slice(&codes);
        let (mut expected, mut expected_ends) = (Vec::new(), Vec::new());
        for code in &numbers {
            expected.extend(&entries[code * width..][..lengths[*code].into()]);
            expected_ends.push((expected.len() as u32).wrapping_sub(5));
        }
        for room in [
            0,
            1,
            4 * width - 1,
            4 * width,
            300,
            expected.len(),
            expected.len() + 200,
        ] {
            let (mut ends, mut out) = (std::vec![0; n_codes], std::vec![0xee; room]);
            let base = 0u32.wrapping_sub(5);
            let (n, bytes) = gather_padded::<C>(strings, codes, base, &mut ends, &mut out).unwrap();
            assert_eq!(out[..bytes], expected[..bytes]);
            assert_eq!(ends[..n], expected_ends[..n]);
            assert_eq!(
                n.checked_sub(1)
                    .map_or(0, |i| expected_ends[i].wrapping_add(5)),
                bytes as u32
            );
            assert!(
                n_codes - n < 4 || room - bytes < 4 * width,
                "it stops early"
            );
        }
        let few = PaddedStrings {
            entries: &entries[..width],
            lengths: &lengths[..1],
            ..strings
        };
        let mut out = [0; 8];
        let refused = gather_padded::<C>(few, codes, 0, &mut [0; 8], &mut out);
        assert!(matches!(refused, Err(Error::Code { n_entries: 1, .. })));
    }

    #[test]
    fn padded_strings_of_every_code_type() {
        for width in [16, 32] {
            check_padded::<u8>(width, 200);
            check_padded::<u16>(width, 300);
            check_padded::<u32>(width, 300);
        }
        let mut long = PaddedStrings {
            width: 16,
            entries: &[0; 16],
            lengths: &[17],
        };
        let gather = |strings| gather_padded::<u8>(strings, &[0; 4], 0, &mut [0; 4], &mut [0; 99]);
        assert!(gather(long).is_err());
        long.lengths = &[16];
        assert_eq!(gather(long), Ok((4, 64)));
        long.width = 8;
        assert!(gather(long).is_err());
    }

    #[test]
    fn lengths_are_checked() {
        assert!(gather::<u16>(b"abcd", 4, &[0], &mut [0; 4]).is_err());
        assert!(gather::<u8>(b"abc", 2, &[0], &mut [0; 2]).is_err());
        assert!(gather::<u8>(b"abcd", 2, &[0], &mut [0; 3]).is_err());
        assert!(gather::<u8>(b"", 0, &[], &mut []).is_err());
        assert_eq!(gather::<u8>(b"", 4, &[], &mut []), Ok(()));
        assert!(gather::<u8>(b"", 4, &[0], &mut [0; 4]).is_err());
        assert!(gather::<u32>(b"ab", 1, &u32::MAX.to_le_bytes(), &mut [0]).is_err());
    }
}
