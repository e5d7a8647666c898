//! Dictionary lookups.

use crate::kernels::gather as kernel;
use crate::{Error, Word};

/// `out[i] = entries[codes[i]]` for entries of `width` bytes; widths 1, 2, 4, 8 and 16 are fast.
///
/// `codes` are little-endian bytes of `C`; all three are of any alignment. All codes are checked before anything is
/// written.
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
/// [`Error::Code`] for a code without an entry; [`Error::Length`] for lengths that do not fit each other, or entries
/// without bytes (their number is unknown).
#[inline]
pub fn gather<C: Word>(
    entries: &[u8],
    width: usize,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    C::gather(entries, width, codes, out)
}

/// The largest of little-endian numbers; 0 of none, and of bytes that are not whole.
///
/// ```
/// assert_eq!(tarsia_bits::largest::<u16>(&[1, 2, 3, 0]), 0x0201);
/// ```
#[inline]
pub fn largest<C: Word>(numbers: &[u8]) -> C {
    C::largest(numbers)
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
    kernel::gather::<C>(entries, width, codes, out).map_err(|largest| Error::Code {
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
