//! Bitmaps: bit `i` of a map that starts at `offset` is bit `(offset + i) % 8` of byte `(offset + i) / 8`.

use crate::Error;
use crate::loops::bitmap as loops;
use crate::loops::bitmap::Spread;
use crate::loops::compress::compress;
use crate::loops::expand::expand as by_registers;

fn check(bytes: usize, offset: usize, len: usize) -> Result<(), Error> {
    match offset.checked_add(len) {
        Some(end) if end.div_ceil(8) <= bytes => Ok(()),
        _ => Err(Error::Length("bits reach beyond their bytes")),
    }
}

/// Copies `len` bits from bit `src_offset` of `src` to bit `dst_offset` of `dst`, 64 at a time. Other bits of `dst`
/// keep their value.
///
/// ```
/// let mut dst = [0b1000_0001, 0xff];
/// tarsia_bits::copy_bits(&mut dst, 3, &[0b0110_0000], 5, 3).unwrap();
/// assert_eq!(dst, [0b1001_1001, 0xff]);
/// ```
///
/// # Errors
/// [`Error::Length`] if the bits reach beyond either slice; then nothing is written.
pub fn copy_bits(
    dst: &mut [u8],
    dst_offset: usize,
    src: &[u8],
    src_offset: usize,
    len: usize,
) -> Result<(), Error> {
    check(dst.len(), dst_offset, len)?;
    check(src.len(), src_offset, len)?;
    loops::copy_bits(dst, dst_offset, src, src_offset, len);
    Ok(())
}

/// Sets or clears `len` bits from bit `offset` on. Other bits keep their value; bits beyond the slice are passed over.
///
/// ```
/// let mut bits = [0b1000_0001, 0];
/// tarsia_bits::fill_bits(&mut bits, 6, 4, true);
/// assert_eq!(bits, [0b1100_0001, 0b11]);
/// ```
#[inline]
pub fn fill_bits(bits: &mut [u8], offset: usize, len: usize, value: bool) {
    let end = offset.saturating_add(len).min(bits.len().saturating_mul(8));
    if offset >= end {
        return;
    }
    let (first, last) = (offset / 8, end / 8);
    let (from_start, below_end) = (u8::MAX << (offset % 8), (1u8 << (end % 8)) - 1);
    let byte = if value { u8::MAX } else { 0 };
    let mut merge = |at: usize, mask: u8| {
        if let Some(to) = bits.get_mut(at) {
            *to = *to & !mask | byte & mask;
        }
    };
    if first == last {
        merge(first, from_start & below_end);
        return;
    }
    merge(first, from_start);
    merge(last, below_end);
    bits.get_mut(first + 1..last).unwrap_or_default().fill(byte);
}

/// Number of set bits among the `len` bits from `offset` on.
///
/// # Errors
/// [`Error::Length`] if the bits reach beyond the slice.
pub fn count_ones(bits: &[u8], offset: usize, len: usize) -> Result<usize, Error> {
    check(bits.len(), offset, len)?;
    Ok(loops::count_ones(bits, offset, len))
}

fn check_values(
    bits: &[u8],
    offset: usize,
    n_slots: usize,
    width: usize,
    slots: usize,
    dense: usize,
) -> Result<(), Error> {
    if n_slots.checked_mul(width) != Some(slots) {
        return Err(Error::Length("slots are not n x width"));
    }
    // At most `n_slots` bits are set, so this product cannot overflow either.
    if count_ones(bits, offset, n_slots)? * width != dense {
        return Err(Error::Length("values are not set bits x width"));
    }
    Ok(())
}

/// Spreads `dense` values over `n_slots` by validity: a slot whose bit is set gets the next value, any other slot
/// becomes zero. `width` is in bytes; 1, 2, 4, 8 and 16 are fast.
///
/// ```
/// let mut out = [9; 4];
/// tarsia_bits::expand(&[0b1010], 0, 4, 1, &[5, 6], &mut out).unwrap();
/// assert_eq!(out, [0, 5, 0, 6]);
/// ```
///
/// # Errors
/// [`Error::Length`] if lengths do not match: `dense` holds exactly one value per set bit, `out` one per slot.
pub fn expand(
    bits: &[u8],
    offset: usize,
    n_slots: usize,
    width: usize,
    dense: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    expand_checked(bits, offset, n_slots, width, &[], dense, out)
}

/// Spreads values as [`expand`] does, but any other slot becomes `filler`, which is as wide as a value.
///
/// ```
/// let mut out = [9; 4];
/// tarsia_bits::expand_over(&[0b1010], 0, 4, &[7], &[5, 6], &mut out).unwrap();
/// assert_eq!(out, [7, 5, 7, 6]);
/// ```
///
/// # Errors
/// As [`expand`].
pub fn expand_over(
    bits: &[u8],
    offset: usize,
    n_slots: usize,
    filler: &[u8],
    dense: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    expand_checked(bits, offset, n_slots, filler.len(), filler, dense, out)
}

/// `filler` is a value, or empty for zeros.
fn expand_checked(
    bits: &[u8],
    offset: usize,
    n_slots: usize,
    width: usize,
    filler: &[u8],
    dense: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    fn slot<const W: usize>(filler: &[u8]) -> [u8; W] {
        filler.first_chunk().copied().unwrap_or([0; W])
    }
    check_values(bits, offset, n_slots, width, out.len(), dense.len())?;
    let spread = Spread {
        bits,
        at: offset,
        dense,
        out,
    };
    match width {
        1 => expand_slots(spread, slot::<1>(filler)),
        2 => expand_slots(spread, slot::<2>(filler)),
        4 => expand_slots(spread, slot::<4>(filler)),
        8 => expand_slots(spread, slot::<8>(filler)),
        16 => expand_slots(spread, slot::<16>(filler)),
        _ => {
            let Spread { dense, out, .. } = spread;
            loops::expand_any(bits, offset, width, filler, dense, out);
        }
    }
    Ok(())
}

/// Spreads by registers as far as they go, then slot by slot.
fn expand_slots<const W: usize>(mut spread: Spread<'_>, filler: [u8; W]) {
    let done = by_registers(&mut spread, filler);
    let Spread {
        bits,
        at,
        dense,
        out,
    } = spread;
    let rest = out.get_mut(done * W..).unwrap_or_default();
    loops::expand(bits, at + done, filler, dense, rest);
}

/// Collects the values of the slots whose bit is set: the inverse of [`expand`].
///
/// ```
/// let mut dense = [0; 2];
/// tarsia_bits::compact(&[0b1010], 0, 4, 1, &[4, 5, 6, 7], &mut dense).unwrap();
/// assert_eq!(dense, [5, 7]);
/// ```
///
/// # Errors
/// As [`expand`].
pub fn compact(
    bits: &[u8],
    offset: usize,
    n_slots: usize,
    width: usize,
    values: &[u8],
    dense: &mut [u8],
) -> Result<(), Error> {
    check_values(bits, offset, n_slots, width, values.len(), dense.len())?;
    if compress(bits, offset, width, values, dense) {
        return Ok(());
    }
    match width {
        1 => loops::compact::<[u8; 1]>(bits, offset, values, dense),
        2 => loops::compact::<[u8; 2]>(bits, offset, values, dense),
        4 => loops::compact::<[u8; 4]>(bits, offset, values, dense),
        8 => loops::compact::<[u8; 8]>(bits, offset, values, dense),
        16 => loops::compact::<[u8; 16]>(bits, offset, values, dense),
        _ => loops::compact_any(bits, offset, width, values, dense),
    }
    Ok(())
}

/// Collects the bits of `values`, from bit `values_offset` on, whose bit in `bits`, from bit `offset` on, is set. Spare
/// bits of the last byte are cleared.
///
/// ```
/// let mut out = [0xff];
/// tarsia_bits::compact_bits(&[0b1101], 0, 4, &[0b1010], 0, &mut out).unwrap();
/// assert_eq!(out, [0b100]);
/// ```
///
/// # Errors
/// [`Error::Length`] if the bits reach beyond a slice, or `out` has not exactly the bytes of those that are collected.
pub fn compact_bits(
    bits: &[u8],
    offset: usize,
    n_bits: usize,
    values: &[u8],
    values_offset: usize,
    out: &mut [u8],
) -> Result<(), Error> {
    let n_found = count_ones(bits, offset, n_bits)?;
    match values_offset.checked_add(n_bits) {
        Some(end) if end.div_ceil(8) <= values.len() && n_found.div_ceil(8) == out.len() => {
            loops::compact_bits(bits, offset, n_bits, values, values_offset, out);
            Ok(())
        }
        _ => Err(Error::Length(
            "bits beyond their bytes, or another number of bits",
        )),
    }
}

/// Numbers of the set bits among the `len` bits from `offset` on, and of runs of them without another bit between them.
///
/// ```
/// assert_eq!(tarsia_bits::count_runs(&[0b0110_1110], 0, 8), Ok([5, 2]));
/// ```
///
/// # Errors
/// [`Error::Length`] if the bits reach beyond the slice.
pub fn count_runs(bits: &[u8], offset: usize, len: usize) -> Result<[usize; 2], Error> {
    match offset.checked_add(len) {
        Some(end) if end.div_ceil(8) <= bits.len() => Ok(loops::count_runs(bits, offset, len)),
        _ => Err(Error::Length("bits beyond their bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn bit(bytes: &[u8], at: usize) -> bool {
        bytes[at / 8] >> (at % 8) & 1 == 1
    }

    fn noise(n: usize) -> Vec<u8> {
        (0..n)
            .map(|i| (i * 167 + i * i * 31) as u8 ^ 0x5a)
            .collect()
    }

    #[test]
    fn filled_bits_leave_neighbours_alone() {
        let step = if cfg!(miri) { 7 } else { 1 };
        for offset in (0..20).step_by(step) {
            for len in (0..60).step_by(step) {
                for value in [false, true] {
                    let before = noise(8);
                    let mut after = before.clone();
                    fill_bits(&mut after, offset, len, value);
                    for at in 0..64 {
                        let want = match (offset..offset + len).contains(&at) {
                            true => value,
                            false => bit(&before, at),
                        };
                        assert_eq!(bit(&after, at), want, "{offset} {len} {at}");
                    }
                }
            }
        }
        // Bits beyond the slice.
        let mut few = [0, 0];
        fill_bits(&mut few, 4, usize::MAX, true);
        assert_eq!(few, [0xf0, 0xff]);
        fill_bits(&mut few, usize::MAX, 1, true);
        fill_bits(&mut [], 0, 9, true);
    }

    #[test]
    fn copies_at_every_offset_leave_neighbours_alone() {
        let src = noise(50);
        let step = if cfg!(miri) { 7 } else { 1 };
        for dst_at in (0..17).step_by(step) {
            for src_at in (0..17).step_by(step) {
                for len in [0, 1, 3, 7, 8, 9, 63, 64, 65, 128, 200, 50 * 8 - 17] {
                    if cfg!(miri) && len > 64 {
                        continue;
                    }
                    for fill in [0x00, 0xff] {
                        let mut dst = std::vec![fill; 52];
                        let before = dst.clone();
                        copy_bits(&mut dst, dst_at, &src, src_at, len).unwrap();
                        for i in 0..dst.len() * 8 {
                            let expect = if (dst_at..dst_at + len).contains(&i) {
                                bit(&src, i - dst_at + src_at)
                            } else {
                                bit(&before, i)
                            };
                            assert_eq!(bit(&dst, i), expect, "{dst_at} {src_at} {len} {i}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ones_are_counted_at_every_offset() {
        let bytes = noise(40);
        for offset in 0..20 {
            for len in [0, 1, 5, 8, 63, 64, 65, 150, 320 - offset] {
                let expect = (offset..offset + len).filter(|i| bit(&bytes, *i)).count();
                assert_eq!(
                    count_ones(&bytes, offset, len),
                    Ok(expect),
                    "{offset} {len}"
                );
            }
        }
    }

    #[test]
    fn bits_are_collected_and_runs_counted() {
        let (bits, values) = (noise(40), noise(50).split_off(3));
        for (offset, n) in [(0, 0), (0, 1), (3, 64), (5, 200), (0, 320), (7, 313)] {
            for values_offset in [0, 1, 13] {
                let set: Vec<usize> = (0..n).filter(|i| bit(&bits, offset + i)).collect();
                let mut out = std::vec![0xff; set.len().div_ceil(8)];
                compact_bits(&bits, offset, n, &values, values_offset, &mut out).unwrap();
                for i in 0..out.len() * 8 {
                    let wanted = set
                        .get(i)
                        .is_some_and(|at| bit(&values, values_offset + at));
                    assert_eq!(bit(&out, i), wanted);
                }
                let starts = set
                    .iter()
                    .filter(|i| **i == 0 || !bit(&bits, offset + **i - 1));
                assert_eq!(
                    count_runs(&bits, offset, n),
                    Ok([set.len(), starts.count()])
                );
            }
        }
        assert!(count_runs(&bits, 1, 320).is_err());
        assert!(compact_bits(&bits, 0, 8, &values, 0, &mut [0; 2]).is_err());
        assert!(compact_bits(&bits, 0, 8, &[], 0, &mut [0; 1]).is_err());
    }

    #[test]
    fn expand_and_compact_equal_plain_loops() {
        let mut maps = std::vec![noise(40), std::vec![0xff; 40], std::vec![0; 40]];
        // Long runs of either, as validity often is.
        maps.push(
            (0..40)
                .map(|i| if i / 10 % 2 == 0 { 0xff } else { 0 })
                .collect(),
        );
        // Few values of a word, and few slots without one.
        let few: Vec<u8> = noise(40)
            .iter()
            .map(|byte| byte & (byte >> 3) & 0x11)
            .collect();
        maps.push(few.iter().map(|byte| !byte).collect());
        maps.push(few);
        for bits in &maps {
            for width in [1, 2, 3, 4, 8, 16, 20] {
                for (offset, n) in [(0, 0), (0, 1), (3, 64), (5, 200), (0, 320), (7, 313)] {
                    if cfg!(miri) && n > 64 {
                        continue;
                    }
                    let slots: Vec<u8> = (0..n * width).map(|i| (i * 3 + 1) as u8 | 1).collect();
                    let mut expect_dense = Vec::new();
                    let mut expect_slots = std::vec![0; n * width];
                    for i in (0..n).filter(|i| bit(bits, offset + i)) {
                        let range = i * width..(i + 1) * width;
                        expect_dense.extend_from_slice(&slots[range.clone()]);
                        expect_slots[range.clone()].copy_from_slice(&slots[range]);
                    }
                    let mut dense = std::vec![0xaa; expect_dense.len()];
                    compact(bits, offset, n, width, &slots, &mut dense).unwrap();
                    assert_eq!(dense, expect_dense);
                    let mut out = std::vec![0xaa; n * width];
                    expand(bits, offset, n, width, &dense, &mut out).unwrap();
                    assert_eq!(out, expect_slots);
                    let filler: Vec<u8> = (0..width).map(|i| 0xe0 + i as u8).collect();
                    for i in (0..n).filter(|i| !bit(bits, offset + i)) {
                        expect_slots[i * width..(i + 1) * width].copy_from_slice(&filler);
                    }
                    expand_over(bits, offset, n, &filler, &dense, &mut out).unwrap();
                    assert_eq!(out, expect_slots);
                }
            }
        }
    }

    #[test]
    fn lengths_are_checked() {
        assert!(copy_bits(&mut [0], 1, &[0, 0], 0, 8).is_err());
        assert!(copy_bits(&mut [0, 0], 0, &[0], 1, 8).is_err());
        assert!(copy_bits(&mut [0], usize::MAX, &[0], 0, 2).is_err());
        assert!(count_ones(&[0], 0, 9).is_err());
        assert!(expand(&[0b11], 0, 2, 4, &[0; 4], &mut [0; 8]).is_err());
        assert!(expand(&[0b11], 0, 2, 4, &[0; 8], &mut [0; 7]).is_err());
        assert!(expand(&[], 0, 2, 4, &[0; 8], &mut [0; 8]).is_err());
        assert!(compact(&[0b01], 0, 2, 4, &[0; 8], &mut [0; 8]).is_err());
        assert_eq!(expand(&[0b11], 0, 2, 0, &[], &mut []), Ok(()));
    }
}
