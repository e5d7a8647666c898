//! Loops from small numbers to values.

use crate::layout::Format;
use crate::small::{Small, f64_of_f32};

/// Numbers of a format of 1 byte.
pub(crate) const N_CODES: usize = 256;

/// Writes numbers of 2 or 4 bytes as values of `value_bytes`, 4 or 8.
pub(crate) fn widen(format: Format, value_bytes: usize, from: &[u8], to: &mut [u8]) {
    match (format, value_bytes) {
        (Format::F32, _) => f32_to_f64(from, to),
        (Format::F16, 4) => f16_to_f32(from, to),
        (Format::F16, _) => through_f32(from, to, f16_to_f32),
        (_, 4) => bf16_to_f32(from, to),
        (_, _) => through_f32(from, to, bf16_to_f32),
    }
}

/// The value of each number of a format of 1 byte: `value_bytes` for each.
pub(crate) fn write_table(small: Small, value_bytes: usize, table: &mut [u8]) {
    for (code, to) in (0..).zip(table.chunks_exact_mut(value_bytes.max(1))) {
        let bits = small.to_f32(code);
        let value = match value_bytes {
            2 => Small::F16.of_f32(bits).into(),
            4 => bits.into(),
            _ => f64_of_f32(bits),
        };
        to.iter_mut()
            .zip(value.to_le_bytes())
            .for_each(|(to, byte)| *to = byte);
    }
}

/// Numbers that are loaded as one word. A load for each takes as long as the look-up itself.
const WORD: usize = size_of::<u64>();

/// `to[i] = table[from[i]]` for values of `W` bytes.
pub(crate) fn look_up<const W: usize>(table: &[u8], from: &[u8], to: &mut [u8]) {
    let Some(table) = table.as_chunks::<W>().0.first_chunk::<N_CODES>() else {
        return;
    };
    // There is an entry for each code.
    let value = |code: u8| table[usize::from(code)];
    let (words, rest) = from.as_chunks::<WORD>();
    let (to_words, to_rest) = to.as_chunks_mut::<W>().0.as_chunks_mut::<WORD>();
    for (to, codes) in to_words.iter_mut().zip(words) {
        let word = u64::from_le_bytes(*codes);
        for (i, to) in to.iter_mut().enumerate() {
            *to = value((word >> (8 * i)) as u8);
        }
    }
    for (to, code) in to_rest.iter_mut().zip(rest) {
        *to = value(*code);
    }
}

fn bf16_to_f32(from: &[u8], to: &mut [u8]) {
    let (to, _) = to.as_chunks_mut::<4>();
    for (to, number) in to.iter_mut().zip(numbers(from)) {
        *to = (u32::from(number) << 16).to_le_bytes();
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u16> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|it| u16::from_le_bytes(*it))
}

/// Values whose numbers are looked at before they are widened.
const CHUNK: usize = 64;

fn f16_to_f32(from: &[u8], to: &mut [u8]) {
    // Kernels must be small.
    if cfg!(feature = "kernel") {
        return any_f16_to_f32(from, to);
    }
    let (chunks, rest) = from.as_chunks::<{ 2 * CHUNK }>();
    let (chunks_to, rest_to) = to.as_chunks_mut::<{ 4 * CHUNK }>();
    for (from, to) in chunks.iter().zip(chunks_to) {
        match has_subnormal(from) {
            true => any_f16_to_f32(from, to),
            false => most_f16_to_f32(from, to),
        }
    }
    any_f16_to_f32(rest, rest_to);
}

#[inline(never)]
fn any_f16_to_f32(from: &[u8], to: &mut [u8]) {
    let (to, _) = to.as_chunks_mut::<4>();
    for (to, number) in to.iter_mut().zip(numbers(from)) {
        *to = Small::F16.to_f32(number.into()).to_le_bytes();
    }
}

/// Magnitudes of binary16 numbers: below the first are subnormal ones and zero, from the second on infinity and NaNs.
const F16_NORMAL: i16 = 1 << 10;
const F16_INFINITY: i16 = 0x1f << 10;

const F16_SIGN: u16 = 1 << 15;

/// Difference by which the exponents of binary32 are higher, in the upper half of a number.
const F16_LIFT: u16 = 112 << 7;

#[inline(always)]
fn has_subnormal(from: &[u8; 2 * CHUNK]) -> bool {
    // Signed numbers are compared by one instruction: the magnitudes 1, 2, .. become the smallest numbers.
    let is_subnormal = |number: u16| {
        let abs = number & !F16_SIGN;
        (abs.wrapping_sub(1) ^ F16_SIGN) as i16 <= i16::MIN + (F16_NORMAL - 2)
    };
    let all = numbers(from);
    all.fold(0, |found, it| found | i16::from(is_subnormal(it))) != 0
}

/// Without subnormal numbers. Both halves of each number are computed with 16 bits, of which a register has twice as
/// many as of 32, and put together in a loop of their own.
#[inline(always)]
fn most_f16_to_f32(from: &[u8; 2 * CHUNK], to: &mut [u8; 4 * CHUNK]) {
    let (mut highs, mut lows) = ([0; CHUNK], [0; CHUNK]);
    for ((high, low), number) in highs.iter_mut().zip(&mut lows).zip(numbers(from)) {
        let abs = (number & !F16_SIGN) as i16;
        let lift = |condition: bool| u16::from(condition).wrapping_neg() & F16_LIFT;
        // The sign, and the upper bits of exponent and fraction where binary32 has them.
        let moved = (number as i16 >> 3) as u16 & 0x8fff;
        *high = moved + lift(abs >= F16_NORMAL) + lift(abs >= F16_INFINITY);
        *low = number << 13;
    }
    let (to, _) = to.as_chunks_mut::<4>();
    for ((to, high), low) in to.iter_mut().zip(&highs).zip(&lows) {
        *to = (u32::from(*high) << 16 | u32::from(*low)).to_le_bytes();
    }
}

fn f32_to_f64(from: &[u8], to: &mut [u8]) {
    if cfg!(feature = "kernel") {
        return any_f32_to_f64(from, to);
    }
    let (chunks, rest) = from.as_chunks::<{ 4 * CHUNK }>();
    let (chunks_to, rest_to) = to.as_chunks_mut::<{ 8 * CHUNK }>();
    for (from, to) in chunks.iter().zip(chunks_to) {
        match has_nan(from) {
            true => any_f32_to_f64(from, to),
            false => most_f32_to_f64(from, to),
        }
    }
    any_f32_to_f64(rest, rest_to);
}

#[inline(never)]
fn any_f32_to_f64(from: &[u8], to: &mut [u8]) {
    let (to, _) = to.as_chunks_mut::<8>();
    for (to, bytes) in to.iter_mut().zip(from.as_chunks().0) {
        *to = f64_of_f32(u32::from_le_bytes(*bytes)).to_le_bytes();
    }
}

#[inline(always)]
fn has_nan(from: &[u8; 4 * CHUNK]) -> bool {
    let infinity = f32::INFINITY.to_bits() as i32;
    let numbers = from.as_chunks().0.iter();
    let magnitudes = numbers.map(|it| i32::from_le_bytes(*it) & i32::MAX);
    magnitudes.fold(false, |found, it| found | (it > infinity))
}

#[inline(always)]
fn most_f32_to_f64(from: &[u8; 4 * CHUNK], to: &mut [u8; 8 * CHUNK]) {
    let (to, _) = to.as_chunks_mut::<8>();
    for (to, bytes) in to.iter_mut().zip(from.as_chunks().0) {
        *to = f64::from(f32::from_le_bytes(*bytes)).to_le_bytes();
    }
}

/// Numbers of 2 bytes to those of 8: `widen` makes those of 4 bytes, a few at a time.
fn through_f32(from: &[u8], to: &mut [u8], widen: fn(&[u8], &mut [u8])) {
    let mut between = [0; 4 * CHUNK];
    let to = to.chunks_mut(8 * CHUNK);
    for (from, to) in from.chunks(2 * CHUNK).zip(to) {
        let between = between.get_mut(..2 * from.len()).unwrap_or_default();
        widen(from, between);
        f32_to_f64(between, to);
    }
}
