//! Compression with AVX-512: 64 bytes at once.

use core::arch::x86_64::{
    __m512i, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _pdep_u64,
};

use super::super::bitmap::{low_bits, word_at};

/// Bytes of a register.
const BYTES: usize = 64;

/// True if the processor has what these functions are compiled for.
pub(super) fn is_there() -> bool {
    crate::level() >= crate::Level::Avx512
}

/// Values of 4 bytes.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
pub(super) fn words(bits: &[u8], at: usize, values: &[u8], dense: &mut [u8]) {
    compress::<4>(bits, at, values, dense, |mask, register| {
        let register: __m512i = bytemuck::cast(register);
        bytemuck::cast(_mm512_maskz_compress_epi32(mask as u16, register))
    });
}

/// Values of 8 bytes.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
pub(super) fn long_words(bits: &[u8], at: usize, values: &[u8], dense: &mut [u8]) {
    compress::<8>(bits, at, values, dense, |mask, register| {
        let register: __m512i = bytemuck::cast(register);
        bytemuck::cast(_mm512_maskz_compress_epi64(mask as u8, register))
    });
}

/// Values of 16 bytes.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
pub(super) fn pairs(bits: &[u8], at: usize, values: &[u8], dense: &mut [u8]) {
    compress::<16>(bits, at, values, dense, |mask, register| {
        // Each value is two words.
        let mask = _pdep_u64(mask, 0b0101_0101) * 0b11;
        let register: __m512i = bytemuck::cast(register);
        bytemuck::cast(_mm512_maskz_compress_epi64(mask as u8, register))
    });
}

/// Collects values of `W` bytes; `collect` moves those of a register whose bit is set to its front.
#[inline(always)]
fn compress<const W: usize>(
    bits: &[u8],
    at: usize,
    values: &[u8],
    dense: &mut [u8],
    collect: impl Fn(u64, [u8; BYTES]) -> [u8; BYTES],
) {
    let lanes = BYTES / W;
    let (registers, rest) = values.as_chunks::<BYTES>();
    let mut done = 0;
    let mut put = |mask: u64, register: [u8; BYTES]| {
        let found = collect(mask, register);
        let n_bytes = mask.count_ones() as usize * W;
        let Some(to) = dense.get_mut(done..) else {
            return;
        };
        // What lies behind the values is written over by the next ones.
        match to.first_chunk_mut::<BYTES>() {
            Some(to) => *to = found,
            None => to
                .iter_mut()
                .zip(found)
                .take(n_bytes)
                .for_each(|(to, from)| *to = from),
        }
        done += n_bytes;
    };
    // As many registers as 64 bits are for.
    for (i, run) in registers.chunks(64 / lanes).enumerate() {
        let mut word = word_at(bits, at + i * 64);
        if word == 0 {
            continue;
        }
        for register in run {
            // Registers of which nothing is collected are hard to predict, so they are no case of their own.
            put(word & low_bits(lanes), *register);
            word = word.checked_shr(lanes as u32).unwrap_or(0);
        }
    }
    if !rest.is_empty() {
        let mut last = [0; BYTES];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let n_lanes = rest.len() / W;
        let mask = word_at(bits, at + registers.len() * lanes) & low_bits(n_lanes);
        put(mask, last);
    }
}
