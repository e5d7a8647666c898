//! Dictionary lookups in tables that fit vector registers: one instruction looks up as many codes as a register holds.
//! The twin that needs no such instruction is the loop over single codes in `gather.rs`.

/// A dictionary of more entries is looked up faster one code at a time.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
const ENTRIES_MAX: usize = 64;

/// `out[i] = entries[codes[i]]` for the first codes, for entries of `width` bytes; returns how many codes those are: 0
/// where the processor, the width or the number of entries does not allow it. Every code has an entry.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
pub(crate) fn lookup(entries: &[u8], width: usize, codes: &[u8], out: &mut [u8]) -> usize {
    let n_entries = entries.len() / width.max(1);
    if !matches!(width, 1 | 2)
        || n_entries > ENTRIES_MAX
        || codes.len() < x86::CODES
        || crate::level() < crate::Level::Avx2
    {
        return 0;
    }
    // SAFETY: the level is AVX2 at least, so the processor has all that these functions are compiled for.
    unsafe {
        match (width, n_entries.div_ceil(x86::TABLE)) {
            (1, 0..=1) => x86::bytes::<1>(entries, codes, out),
            (1, 2) => x86::bytes::<2>(entries, codes, out),
            (1, _) => x86::bytes::<4>(entries, codes, out),
            (_, 0..=1) => x86::pairs::<1>(entries, codes, out),
            (_, 2) => x86::pairs::<2>(entries, codes, out),
            (..) => x86::pairs::<4>(entries, codes, out),
        }
    }
    codes.len() - codes.len() % x86::CODES
}

/// Other targets have no such loop.
#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
#[inline]
pub(crate) fn lookup(_entries: &[u8], _width: usize, _codes: &[u8], _out: &mut [u8]) -> usize {
    0
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
mod x86 {
    use core::arch::x86_64::{
        __m128i, __m256i, _mm256_adds_epu8, _mm256_broadcastsi128_si256, _mm256_or_si256,
        _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_unpackhi_epi8, _mm256_unpacklo_epi8, _mm256_xor_si256,
    };

    /// Codes per iteration.
    pub(super) const CODES: usize = 32;

    /// Entries that one instruction looks up in.
    pub(super) const TABLE: usize = 16;

    /// Entries of a byte, of which there are at most `16 * N`.
    #[target_feature(enable = "avx2")]
    pub(super) fn bytes<const N: usize>(entries: &[u8], codes: &[u8], out: &mut [u8]) {
        let tables = tables::<N>(entries.iter().copied());
        let codes = codes.as_chunks::<CODES>().0;
        for (to, codes) in out.as_chunks_mut::<CODES>().0.iter_mut().zip(codes) {
            *to = bytemuck::cast(found(&tables, bytemuck::cast(*codes)));
        }
    }

    /// Entries of two bytes, of which there are at most `16 * N`.
    #[target_feature(enable = "avx2")]
    pub(super) fn pairs<const N: usize>(entries: &[u8], codes: &[u8], out: &mut [u8]) {
        let entries = entries.as_chunks::<2>().0;
        let low = tables::<N>(entries.iter().map(|entry| entry[0]));
        let high = tables::<N>(entries.iter().map(|entry| entry[1]));
        let out = out.as_chunks_mut::<{ 2 * CODES }>().0;
        for (to, codes) in out.iter_mut().zip(codes.as_chunks::<CODES>().0) {
            // Low and high bytes are put together within each half of a register, so the codes of the second and the
            // third quarter change places.
            let codes = _mm256_permute4x64_epi64::<0b11_01_10_00>(bytemuck::cast(*codes));
            let (low, high) = (found(&low, codes), found(&high, codes));
            let pairs = [
                _mm256_unpacklo_epi8(low, high),
                _mm256_unpackhi_epi8(low, high),
            ];
            *to = bytemuck::cast(pairs);
        }
    }

    /// Registers with 16 bytes each, twice.
    #[target_feature(enable = "avx2")]
    fn tables<const N: usize>(mut bytes: impl Iterator<Item = u8>) -> [__m256i; N] {
        let mut tables = [_mm256_setzero_si256(); N];
        for table in &mut tables {
            let mut part = [0; TABLE];
            for (to, byte) in part.iter_mut().zip(&mut bytes) {
                *to = byte;
            }
            *table = _mm256_broadcastsi128_si256(bytemuck::cast::<_, __m128i>(part));
        }
        tables
    }

    /// The byte of each code.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn found<const N: usize>(tables: &[__m256i; N], codes: __m256i) -> __m256i {
        let mut found = _mm256_setzero_si256();
        for (i, table) in tables.iter().enumerate() {
            let here = match N {
                1 => codes,
                // The four high bits of a code are the number of its table. They become zero in its own table, and
                // the sum is then below 128. The instruction gives zero for every code of 128 or more.
                _ => {
                    let of_table = _mm256_xor_si256(codes, _mm256_set1_epi8((i as i8) << 4));
                    _mm256_adds_epu8(of_table, _mm256_set1_epi8(0x70))
                }
            };
            found = _mm256_or_si256(found, _mm256_shuffle_epi8(*table, here));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_number_of_entries_agrees_with_single_codes() {
        for width in [1, 2] {
            for n_entries in [1, 2, 15, 16, 17, 32, 33, 48, 49, 63, 64, 65, 256] {
                let entries: Vec<u8> = (0..n_entries * width).map(|i| (i * 7 + 3) as u8).collect();
                for n_codes in [0, 31, 32, 33, 300] {
                    let codes: Vec<u8> = (0..n_codes).map(|i| (i * i % n_entries) as u8).collect();
                    let mut out = std::vec![0xee; n_codes * width];
                    let n_done = lookup(&entries, width, &codes, &mut out);
                    assert!(n_done <= n_codes && n_codes - n_done < 32 || n_done == 0);
                    for (i, to) in out.chunks_exact(width).enumerate() {
                        let expected = match i < n_done {
                            true => &entries[usize::from(codes[i]) * width..][..width],
                            false => &[0xee; 2][..width],
                        };
                        assert_eq!(to, expected, "{width} {n_entries} {i}");
                    }
                }
            }
        }
        assert_eq!(lookup(&[0; 4], 4, &[0; 32], &mut [0; 128]), 0);
        assert_eq!(lookup(&[], 0, &[], &mut []), 0);
    }
}
