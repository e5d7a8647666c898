//! Bit-packing. The functions here check lengths; the loops are in `loops::pack`.

use crate::loops::pack as loops;
use crate::{Error, Word};

/// Values of the largest group. Encodings choose bit widths per group of this size.
pub const GROUP_VALUES: usize = 1024;

/// The most values that can remain after the groups.
pub const HORIZONTAL_VALUES_MAX: usize = 63;

/// Bytes of `n_values` packed at `width` bits: `ceil(n * width / 8)`.
///
/// ```
/// assert_eq!(tarsia_bits::packed_bytes(1024, 10), 1280);
/// assert_eq!(tarsia_bits::packed_bytes(3, 3), 2);
/// ```
#[inline]
pub const fn packed_bytes(n_values: u64, width: u32) -> u64 {
    // Whole bytes are computed first, so that only lengths beyond 2^61 values overflow. Those saturate.
    let whole = (n_values / 8).saturating_mul(width as u64);
    whole.saturating_add((n_values % 8 * width as u64).div_ceil(8))
}

/// Number of high bits of the last packed byte that hold no value. Readers check that they are zero.
#[inline]
pub const fn spare_bits(n_values: u64, width: u32) -> u32 {
    ((8 - (n_values % 8 * (width % 8) as u64) % 8) % 8) as u32
}

#[inline]
fn check(value_bytes: usize, packed: usize, n_values: usize, width: u32) -> Result<(), Error> {
    if !matches!(value_bytes, 1 | 2 | 4 | 8) {
        return Err(Error::Length("values are not of 1, 2, 4 or 8 bytes"));
    }
    let bits = value_bytes as u32 * 8;
    if width > bits {
        return Err(Error::Width { width, bits });
    }
    if packed_bytes(n_values as u64, width) != packed as u64 {
        return Err(Error::Length("packed bytes are not ceil(n * width / 8)"));
    }
    Ok(())
}

/// Packs the low `width` bits of `values[i] - base` (wrapping) into `packed`, which is exactly [`packed_bytes`] long.
///
/// `values` are little-endian bytes of any alignment.
///
/// ```
/// let mut packed = [0; 1];
/// tarsia_bits::pack::<u8>(&[7, 6, 5], 5, 2, &mut packed).unwrap();
/// assert_eq!(packed, [0b00_01_10]);
/// ```
///
/// # Errors
/// [`Error::Width`], and [`Error::Length`] if the lengths do not fit each other.
pub fn pack<T: Word>(values: &[u8], base: T, width: u32, packed: &mut [u8]) -> Result<(), Error> {
    if !values.len().is_multiple_of(T::BYTES) {
        return Err(Error::Length("values are not whole"));
    }
    check(T::BYTES, packed.len(), values.len() / T::BYTES, width)?;
    loops::pack_run(values, base, width, packed);
    Ok(())
}

/// Unpacks all values: `out[i] = base + packed[i]`, wrapping. With base 0 it only unpacks.
///
/// ```
/// let mut out = [0u32; 3];
/// tarsia_bits::unpack(&[0b00_01_10], 2, 5, &mut out).unwrap();
/// assert_eq!(out, [7, 6, 5]);
/// ```
///
/// # Errors
/// [`Error::Width`], and [`Error::Length`] if `packed` is not exactly [`packed_bytes`] long.
pub fn unpack<T: Word>(packed: &[u8], width: u32, base: T, out: &mut [T]) -> Result<(), Error> {
    unpack_bytes(packed, width, base, bytemuck::cast_slice_mut(out))?;
    if cfg!(target_endian = "big") {
        for value in out {
            *value = T::from_le(bytemuck::cast(*value));
        }
    }
    Ok(())
}

/// [`unpack`] to little-endian bytes of any alignment. Stores to 64-byte aligned memory are fastest.
///
/// # Errors
/// As [`unpack`]; [`Error::Length`] if `out` is not a whole number of values.
pub fn unpack_bytes<T: Word>(
    packed: &[u8],
    width: u32,
    base: T,
    out: &mut [u8],
) -> Result<(), Error> {
    let n_values = out.len() / T::BYTES;
    unpack_range(packed, n_values, width, base, 0, out)
}

/// Unpacks the values from `start` on, as many as fit `out`, of a run of `n_values`. The time grows with the length of
/// the range, not of the run.
///
/// # Errors
/// As [`unpack_bytes`]; [`Error::Length`] if the range reaches beyond the run.
#[inline]
pub fn unpack_range<T: Word>(
    packed: &[u8],
    n_values: usize,
    width: u32,
    base: T,
    start: usize,
    out: &mut [u8],
) -> Result<(), Error> {
    unpack_range_of(T::BYTES, packed, n_values, width, base.to_u64(), start, out)
}

/// [`unpack_range`] for values of `value_bytes` bytes (1, 2, 4 or 8), without a type parameter. Bits of `base` above
/// the width of a value are ignored.
///
/// ```
/// let mut out = [0; 4];
/// tarsia_bits::unpack_range_of(2, &[0b00_01_10], 3, 2, 256, 1, &mut out).unwrap();
/// assert_eq!(out, [1, 1, 0, 1]);
/// ```
///
/// # Errors
/// As [`unpack_range`]; also for any other number of bytes.
#[inline]
pub fn unpack_range_of(
    value_bytes: usize,
    packed: &[u8],
    n_values: usize,
    width: u32,
    base: u64,
    start: usize,
    out: &mut [u8],
) -> Result<(), Error> {
    if out.len() & value_bytes.wrapping_sub(1) != 0 {
        return Err(Error::Length("values are not whole"));
    }
    check(value_bytes, packed.len(), n_values, width)?;
    match start.checked_add(out.len() / value_bytes) {
        Some(end) if end <= n_values => {}
        _ => return Err(Error::Length("a range reaches beyond its run")),
    }
    loops::unpack_run_of(value_bytes, packed, n_values, width, base, start, out);
    Ok(())
}

/// Unpacks value `at` of a run of `n_values`. Inlined, because a call of a dispatched loop costs more than the lookup.
///
/// # Errors
/// As [`unpack_range`].
#[inline]
pub fn unpack_one<T: Word>(
    packed: &[u8],
    n_values: usize,
    width: u32,
    base: T,
    at: usize,
) -> Result<T, Error> {
    unpack_one_of(T::BYTES, packed, n_values, width, base.to_u64(), at).map(T::from_u64)
}

/// [`unpack_one`] for values of `value_bytes` bytes (1, 2, 4 or 8). The caller drops the bits of the result above the
/// width of a value.
///
/// # Errors
/// As [`unpack_one`]; also for any other number of bytes.
#[inline]
pub fn unpack_one_of(
    value_bytes: usize,
    packed: &[u8],
    n_values: usize,
    width: u32,
    base: u64,
    at: usize,
) -> Result<u64, Error> {
    if at >= n_values {
        return Err(Error::Length("an index reaches beyond its run"));
    }
    check(value_bytes, packed.len(), n_values, width)?;
    loops::unpack_value_of(value_bytes, packed, n_values, width, at)
        .map(|value| value.wrapping_add(base))
        .ok_or(Error::Length("packed bytes are not ceil(n * width / 8)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, limit_level};

    /// Bit `i*w` of value `i`, straight from the definition in the crate's documentation.
    fn pack_by_definition<T: Word>(values: &[T], base: T, width: u32) -> std::vec::Vec<u8> {
        let n = values.len();
        let bytes = packed_bytes(n as u64, width) as usize;
        let mut packed = std::vec![0u8; bytes];
        let mut set = |at_bit: usize| packed[at_bit / 8] |= 1 << (at_bit % 8);
        for (i, value) in values.iter().enumerate() {
            let value = value.wrapping_sub(base).to_u64();
            let group = [1024, 256, 64].into_iter().find(|g| i < n / g * g);
            for b in (0..width as usize).filter(|b| value >> b & 1 == 1) {
                match group {
                    Some(g) => {
                        let first = i / g * g;
                        let lanes = g / T::BITS as usize;
                        let (lane, row) = ((i - first) % lanes, (i - first) / lanes);
                        let stream = row * width as usize + b;
                        let word = stream / T::BITS as usize * lanes + lane;
                        let in_word = stream % T::BITS as usize;
                        set(first * width as usize + word * T::BITS as usize + in_word);
                    }
                    None => set(i * width as usize + b),
                }
            }
        }
        packed
    }

    fn values<T: Word>(n: usize) -> std::vec::Vec<T> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            T::from_u64(state)
        };
        core::iter::repeat_with(next).take(n).collect()
    }

    fn sizes() -> &'static [usize] {
        if cfg!(miri) {
            &[1, 65 + 256]
        } else {
            &[
                0,
                1,
                2,
                63,
                64,
                65,
                127,
                255,
                256,
                257,
                1023,
                1024,
                1025,
                2048 + 256 + 128 + 17,
            ]
        }
    }

    fn widths<T: Word>() -> impl Iterator<Item = u32> {
        let step = if cfg!(miri) { 11 } else { 1 };
        (0..=T::BITS).step_by(step)
    }

    fn check_every_width<T: Word>() {
        let base = T::from_u64(0x8123_4567_89ab_cdef);
        for &n in sizes() {
            let all = values::<T>(n);
            for width in widths::<T>() {
                let mask = T::mask(width);
                let kept: std::vec::Vec<T> =
                    all.iter().map(|v| v.and(mask).wrapping_add(base)).collect();
                let expect = pack_by_definition(&kept, base, width);
                let mut packed = std::vec![0xffu8; expect.len()];
                let le: std::vec::Vec<T::Bytes> = kept.iter().map(|v| v.to_le()).collect();
                pack(bytemuck::cast_slice(&le), base, width, &mut packed).unwrap();
                assert_eq!(packed, expect, "pack {n} {width}");
                let mut out = std::vec![T::ZERO; n];
                unpack(&packed, width, base, &mut out).unwrap();
                assert_eq!(out, kept, "unpack {n} {width}");
                for i in (0..n).step_by(1 + n / 40) {
                    assert_eq!(
                        unpack_one(&packed, n, width, base, i),
                        Ok(kept[i]),
                        "{n} {width} {i}"
                    );
                }
                let spare = spare_bits(n as u64, width);
                if let Some(last) = packed.last() {
                    assert_eq!(u32::from(*last) >> (8 - spare), 0);
                }
            }
        }
    }

    #[test]
    fn u8_at_every_width() {
        check_every_width::<u8>();
    }

    #[test]
    fn u16_at_every_width() {
        check_every_width::<u16>();
    }

    #[test]
    fn u32_at_every_width() {
        check_every_width::<u32>();
    }

    #[test]
    fn u64_at_every_width() {
        check_every_width::<u64>();
    }

    /// The portable bodies against every level this CPU has; other tests run at some level, whichever it is.
    fn check_levels<T: Word>() {
        let n = if cfg!(miri) {
            321
        } else {
            3 * 1024 + 256 + 64 + 5
        };
        let all = values::<T>(n);
        let base = T::from_u64(77);
        for most in [Level::Baseline, Level::Avx2, Level::Avx512] {
            if limit_level(most) != most {
                continue;
            }
            for width in widths::<T>() {
                let expect = packed_bytes(n as u64, width) as usize;
                let (mut by_level, mut by_body) = (std::vec![0; expect], std::vec![0; expect]);
                let bytes = bytemuck::cast_slice(&all);
                loops::pack_run(bytes, base, width, &mut by_level);
                loops::pack_run_body(bytes, base, width, &mut by_body);
                assert_eq!(by_level, by_body);
                let (mut out, mut out_body) = (std::vec![T::ZERO; n], std::vec![T::MAX; n]);
                let to = bytemuck::cast_slice_mut(&mut out);
                loops::unpack_run(&by_level, n, width, base, 0, to);
                let to = bytemuck::cast_slice_mut(&mut out_body);
                loops::unpack_run_body(&by_level, n, width, base, 0, to);
                assert_eq!(out, out_body);
            }
        }
        limit_level(Level::Avx512);
    }

    #[test]
    fn levels_agree() {
        check_levels::<u8>();
        check_levels::<u16>();
        check_levels::<u32>();
        check_levels::<u64>();
    }

    #[test]
    fn ranges_equal_slices_of_the_whole_even_unaligned() {
        let n = if cfg!(miri) { 330 } else { 2400 };
        let all = values::<u32>(n);
        let width = 13;
        let kept: std::vec::Vec<u32> = all.iter().map(|v| v & 0x1fff).collect();
        let packed = pack_by_definition(&kept, 0, width);
        let mut moved = std::vec![0u8; packed.len() + 1];
        moved[1..].copy_from_slice(&packed);
        let step = if cfg!(miri) { 97 } else { 31 };
        for start in (0..=n).step_by(step) {
            for len in [0, 1, 5, 32, 33, 64, 255, 1024, 1500] {
                if cfg!(miri) && len > 64 {
                    continue;
                }
                let len = len.min(n - start);
                let mut out = std::vec![0u8; len * 4 + 1];
                unpack_range(&moved[1..], n, width, 9u32, start, &mut out[1..]).unwrap();
                for (i, got) in out[1..].chunks_exact(4).enumerate() {
                    let got = u32::from_le_bytes(got.try_into().unwrap());
                    assert_eq!(got, kept[start + i] + 9, "{start} {len} {i}");
                }
            }
        }
    }

    /// The one copy for all types, which Wasm kernels link, agrees with the loops of each type.
    #[test]
    fn one_copy_for_all_types_equals_each() {
        fn check<T: Word>() {
            let base = 0x8123_4567_89ab_cdef;
            for &n in sizes() {
                let all = values::<T>(n);
                let bytes: &[u8] = bytemuck::cast_slice(&all);
                for width in widths::<T>().step_by(3) {
                    let packed = &bytes[..packed_bytes(n as u64, width) as usize];
                    for (start, len) in [(0, n), (n / 3, n / 2), (n - n / 4, n / 4)] {
                        let mut expect = std::vec![T::ZERO; len];
                        let mut out = expect.clone();
                        let expect: &mut [u8] = bytemuck::cast_slice_mut(&mut expect);
                        let out: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
                        unpack_range(packed, n, width, T::from_u64(base), start, expect).unwrap();
                        let bytes = T::BYTES;
                        loops::unpack_run_any(bytes, packed, n, width, base, start, out);
                        assert_eq!(out, expect, "{n} {width} {start} {len}");
                    }
                }
            }
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut out = [0u32; 3];
        assert_eq!(
            unpack(&[0], 33, 0, &mut out),
            Err(Error::Width {
                width: 33,
                bits: 32
            })
        );
        assert!(matches!(
            unpack(&[0, 0], 2, 0, &mut out),
            Err(Error::Length(_))
        ));
        assert!(matches!(unpack(&[], 2, 0, &mut out), Err(Error::Length(_))));
        assert!(unpack_range::<u32>(&[0], 3, 2, 0, 1, &mut [0; 12]).is_err());
        assert!(unpack_range::<u32>(&[0], 3, 2, 0, usize::MAX, &mut [0; 4]).is_err());
        assert!(unpack_bytes::<u32>(&[0], 2, 0, &mut [0; 11]).is_err());
        assert!(unpack_range_of(3, &[0; 9], 3, 24, 0, 0, &mut [0; 9]).is_err());
        assert!(unpack_range_of(0, &[], 3, 0, 0, 0, &mut []).is_err());
        assert!(unpack_one_of(3, &[0; 9], 3, 24, 0, 0).is_err());
        assert!(unpack_one::<u32>(&[0], 3, 2, 0, 3).is_err());
        assert!(unpack_one::<u32>(&[0; 4], 1024, 9, 0, 1023).is_err());
        assert!(unpack_one::<u32>(&[], usize::MAX, 32, 0, usize::MAX - 1).is_err());
        assert!(pack::<u32>(&[0; 7], 0, 2, &mut [0]).is_err());
        assert!(pack::<u32>(&[0; 8], 0, 2, &mut []).is_err());
        assert_eq!(packed_bytes(u64::MAX, 64), u64::MAX);
    }

    #[test]
    fn width_zero_needs_no_bytes() {
        let mut out = [0u16; 100];
        unpack(&[], 0, 7, &mut out).unwrap();
        assert_eq!(out, [7; 100]);
    }
}
