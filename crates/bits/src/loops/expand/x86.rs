//! Expansion with AVX2: values are moved to their slots within a register, by places that a table has for each byte of
//! bits.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_adds_epu8, _mm_blendv_epi8, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_set1_epi16, _mm_shuffle_epi8, _mm_unpacklo_epi8, _mm256_blendv_epi8, _mm256_cvtepu8_epi32,
    _mm256_permutevar8x32_epi32, _mm256_slli_epi32, _mm256_srai_epi32,
};

use super::super::bitmap::{SLOTS, Spread, put_each, word_at};

/// A word with at most so many values: they are put in their slots one by one, which takes less time.
const FEW: u32 = 12;

/// Marks a slot without a value: [`_mm_shuffle_epi8`] and the blends look at this bit.
const EMPTY: u8 = 0x80;

/// For each byte of bits the number of the value of each of its slots.
static PLACES: [[u8; 8]; 256] = {
    let mut places = [[EMPTY; 8]; 256];
    let mut mask = 0;
    while mask < places.len() {
        let (mut slot, mut n) = (0, 0);
        while slot < 8 {
            if mask >> slot & 1 == 1 {
                places[mask][slot] = n;
                n += 1;
            }
            slot += 1;
        }
        mask += 1;
    }
    places
};

/// For each four bits the halves of the values of their slots; a slot without a value has all bits set.
static HALVES: [[u32; 8]; 16] = {
    let mut halves = [[u32::MAX; 8]; 16];
    let mut mask = 0;
    while mask < halves.len() {
        let mut slot = 0;
        while slot < 4 {
            let place = PLACES[mask][slot];
            if place != EMPTY {
                halves[mask][2 * slot] = 2 * place as u32;
                halves[mask][2 * slot + 1] = 2 * place as u32 + 1;
            }
            slot += 1;
        }
        mask += 1;
    }
    halves
};

/// True if the processor has what these functions are compiled for.
pub(super) fn is_there() -> bool {
    crate::level() >= crate::Level::Avx2
}

/// Values of a byte.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn bytes(spread: &mut Spread<'_>, filler: [u8; 1]) -> usize {
    let fillers: __m128i = bytemuck::cast([filler; 16]);
    expand::<1, 8, 8>(spread, filler, |mask, values| {
        let places = _mm_cvtsi64_si128(i64::from_le_bytes(PLACES[mask]));
        let values = _mm_cvtsi64_si128(i64::from_le_bytes(values));
        let moved = _mm_shuffle_epi8(values, places);
        _mm_cvtsi128_si64(_mm_blendv_epi8(moved, fillers, places)).to_le_bytes()
    })
}

/// Values of 2 bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn pairs(spread: &mut Spread<'_>, filler: [u8; 2]) -> usize {
    let fillers: __m128i = bytemuck::cast([filler; 8]);
    let second = _mm_set1_epi16(0x0100);
    expand::<2, 8, 16>(spread, filler, |mask, values| {
        let places = _mm_cvtsi64_si128(i64::from_le_bytes(PLACES[mask]));
        // Both bytes of each value; sums stay at 255, so that the mark stays.
        let places = _mm_unpacklo_epi8(places, places);
        let places = _mm_adds_epu8(_mm_adds_epu8(places, places), second);
        let moved = _mm_shuffle_epi8(bytemuck::cast(values), places);
        bytemuck::cast(_mm_blendv_epi8(moved, fillers, places))
    })
}

/// Values of 4 bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn words(spread: &mut Spread<'_>, filler: [u8; 4]) -> usize {
    let fillers: __m256i = bytemuck::cast([filler; 8]);
    expand::<4, 8, 32>(spread, filler, |mask, values| {
        let places = _mm_cvtsi64_si128(i64::from_le_bytes(PLACES[mask]));
        let places = _mm256_cvtepu8_epi32(places);
        let is_empty = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<24>(places));
        let moved = _mm256_permutevar8x32_epi32(bytemuck::cast(values), places);
        bytemuck::cast(_mm256_blendv_epi8(moved, fillers, is_empty))
    })
}

/// Values of 8 bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn long_words(spread: &mut Spread<'_>, filler: [u8; 8]) -> usize {
    let fillers: __m256i = bytemuck::cast([filler; 4]);
    expand::<8, 4, 32>(spread, filler, |mask, values| {
        let halves: __m256i = bytemuck::cast(HALVES[mask & 15]);
        let is_empty = _mm256_srai_epi32::<31>(halves);
        let moved = _mm256_permutevar8x32_epi32(bytemuck::cast(values), halves);
        bytemuck::cast(_mm256_blendv_epi8(moved, fillers, is_empty))
    })
}

/// Spreads values of `W` bytes, those of `LANES` slots in a register of `BYTES` bytes. `move_to` is given the bits of
/// the slots, and as many values as there may be.
#[inline(always)]
fn expand<const W: usize, const LANES: usize, const BYTES: usize>(
    spread: &mut Spread<'_>,
    filler: [u8; W],
    move_to: impl Fn(usize, [u8; BYTES]) -> [u8; BYTES],
) -> usize {
    let (mut done, mut dense) = (0, spread.dense);
    for slots in spread.out.chunks_exact_mut(SLOTS * W) {
        let mut word = word_at(spread.bits, spread.at + done);
        let n_bytes = word.count_ones() as usize * W;
        let Some((now, later)) = dense.split_at_checked(n_bytes) else {
            break;
        };
        if n_bytes == slots.len() {
            slots.copy_from_slice(now);
        } else if word.count_ones() <= FEW {
            put_each(
                word,
                filler,
                now.as_chunks().0,
                slots.as_chunks_mut::<W>().0,
            );
        } else {
            // Registers are read whole, behind the values of this word too.
            if later.len() < BYTES {
                break;
            }
            let mut values = dense;
            for to in slots.as_chunks_mut::<BYTES>().0 {
                let mask = word as usize & ((1 << LANES) - 1);
                word >>= LANES;
                let Some(from) = values.first_chunk() else {
                    break;
                };
                *to = move_to(mask, *from);
                values = values
                    .get(mask.count_ones() as usize * W..)
                    .unwrap_or_default();
            }
        }
        dense = later;
        done += SLOTS;
    }
    spread.dense = dense;
    done
}
