//! Lookups with AVX2: 32 codes at once, in a table of 16 entries per instruction.

use core::arch::x86_64::{
    __m128i, __m256i, _mm256_adds_epu8, _mm256_broadcastsi128_si256, _mm256_or_si256,
    _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_unpackhi_epi8, _mm256_unpacklo_epi8, _mm256_xor_si256,
};

/// True if the processor has what these functions are compiled for.
pub(super) fn is_there() -> bool {
    crate::level() >= crate::Level::Avx2
}

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
