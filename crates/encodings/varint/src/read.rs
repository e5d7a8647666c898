//! Reads values of a group: two of them, or eight, from a word of eight bytes. Where a value breaks a rule, or near the
//! end of the group, byte by byte.

use tarsia_codec::{Error, Result};

use crate::layout::{Group, MORE, encoded_bytes_max};

/// The high bit of each byte of a word: clear in the last byte of each value.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The high bits of a word of four values of two bytes each.
const PAIRS: u64 = 0x0080_0080_0080_0080;

/// Decodes as many values as `to` holds, from byte `at` of the group on. Returns where the last one ends.
pub(crate) fn decode<const S: usize>(
    group: &Group<'_>,
    at: usize,
    to: &mut [[u8; S]],
) -> Result<usize> {
    let (mut n_done, mut end) = decode_words(group.bytes, at, to);
    if !are_shortest(group.bytes.get(at..end).unwrap_or_default()) {
        // One of them breaks the rule: again, to find it.
        (n_done, end) = (0, at);
    }
    for to in to.iter_mut().skip(n_done) {
        (*to, end) = decode_one(group, end)?;
    }
    Ok(end)
}

/// Decodes values by words, as long as there are words and values that fit `S` bytes. Returns the number of values, and
/// where the last one ends. Values may be longer than necessary.
fn decode_words<const S: usize>(bytes: &[u8], mut at: usize, to: &mut [[u8; S]]) -> (usize, usize) {
    let start = at;
    let mut n_done = 0;
    // Bits beyond the width of any value.
    let mut beyond = 0;
    while let Some(to) = to.get_mut(n_done..)
        && let Some(word) = word_at(bytes, at)
    {
        let more = word & HIGH_BITS;
        if more == 0
            && let Some(to) = to.first_chunk_mut::<8>()
        {
            for (to, byte) in to.iter_mut().zip(word.to_le_bytes()) {
                *to = truncated(byte.into());
            }
            (n_done, at) = (n_done + 8, at + 8);
            continue;
        }
        if more == PAIRS
            && let Some(to) = to.first_chunk_mut::<4>()
        {
            let numbers = word & 0x007f_007f_007f_007f | word >> 1 & 0x3f80_3f80_3f80_3f80;
            for (i, to) in to.iter_mut().enumerate() {
                *to = truncated(numbers >> (16 * i) & 0x3fff);
            }
            (n_done, at) = (n_done + 4, at + 8);
            continue;
        }
        // The high bits of last bytes.
        let ends = more ^ HIGH_BITS;
        let later_ends = ends & ends.wrapping_sub(1);
        if later_ends != 0
            && let Some([first, second]) = to.first_chunk_mut()
        {
            // All bits up to the end of the first value, and of the second.
            let of_first = ends ^ ends.wrapping_sub(1);
            let of_second = (later_ends ^ later_ends.wrapping_sub(1)) & !of_first;
            let first_bits = ends.trailing_zeros() + 1;
            let second_word = (word & of_second) >> (first_bits % 64);
            let numbers = [word & of_first, second_word].map(joined);
            *first = truncated(numbers[0]);
            *second = truncated(numbers[1]);
            beyond |= numbers[0] | numbers[1];
            n_done += 2;
            at += (later_ends.trailing_zeros() as usize + 1) / 8;
        } else if ends != 0
            && let Some(first) = to.first_mut()
        {
            let number = joined(word & (ends ^ ends.wrapping_sub(1)));
            *first = truncated(number);
            beyond |= number;
            n_done += 1;
            at += (ends.trailing_zeros() as usize + 1) / 8;
        } else if S == 8
            && ends == 0
            && let Some(first) = to.first_mut()
            && let Some([low, high]) = bytes.get(at + 8..).and_then(<[u8]>::first_chunk)
        {
            // Nine bytes, or ten, of which the last is 1.
            let has_high = *low >= MORE;
            if has_high && *high != 1 {
                break;
            }
            let number = joined(word) | u64::from(*low) << 56;
            *first = truncated(number & (u64::MAX >> 1) | u64::from(has_high) << 63);
            n_done += 1;
            at += 9 + usize::from(has_high);
        } else {
            break;
        }
    }
    let fit = S == 8 || beyond >> (8 * S % 64) == 0;
    if fit { (n_done, at) } else { (0, start) }
}

/// The value at byte `at` of the group, and where it ends.
pub(crate) fn decode_one<const S: usize>(group: &Group<'_>, at: usize) -> Result<([u8; S], usize)> {
    let n_bytes_max = encoded_bytes_max(S);
    let last_bits = 8 * S - 7 * (n_bytes_max - 1);
    let mut number = 0;
    let rest = group.bytes.get(at..).unwrap_or_default();
    for (i, byte) in rest.iter().take(n_bytes_max).enumerate() {
        if i + 1 == n_bytes_max && byte >> last_bits != 0 {
            let allowed = "no bits beyond the width of the values";
            return Err(bad_byte(group, at + i, *byte, allowed));
        }
        if i > 0 && *byte == 0 {
            let allowed = "no value with a last byte of zero after others";
            return Err(bad_byte(group, at + i, *byte, allowed));
        }
        number |= u64::from(byte & !MORE) << (7 * i);
        if *byte < MORE {
            return Ok((truncated(number), at + i + 1));
        }
    }
    Err(group.bad_end())
}

#[cold]
fn bad_byte(group: &Group<'_>, at: usize, byte: u8, allowed: &'static str) -> Error {
    Error::corrupt("varint.values", group.at + at, byte, allowed)
}

/// Where `n` values end that start at byte `at` of the group.
pub(crate) fn skip(group: &Group<'_>, mut at: usize, mut n: usize) -> Result<usize> {
    while n > 0
        && let Some(word) = word_at(group.bytes, at)
    {
        let ends = (word & HIGH_BITS ^ HIGH_BITS) >> 7;
        // The highest byte is the sum of all bytes.
        let n_ends = (ends.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize;
        if n_ends >= n {
            break;
        }
        (n, at) = (n - n_ends, at + 8);
    }
    let mut rest = group.bytes.get(at..).unwrap_or_default().iter();
    while n > 0 {
        let Some(byte) = rest.next() else {
            return Err(group.bad_end());
        };
        at += 1;
        n -= usize::from(*byte < MORE);
    }
    Ok(at)
}

/// Whether no value, of several bytes, has a last byte of zero.
fn are_shortest(bytes: &[u8]) -> bool {
    let later = bytes.get(1..).unwrap_or_default();
    // No early exit, so that the loop is vectorised.
    let found = bytes.iter().zip(later).fold(0, |found, (before, byte)| {
        found | u8::from(*byte == 0) & before >> 7
    });
    found == 0
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

/// Seven bits of each byte of a word, one after the other.
#[inline(always)]
fn joined(word: u64) -> u64 {
    let word = word & 0x007f_007f_007f_007f | word >> 1 & 0x3f80_3f80_3f80_3f80;
    let word = word & 0x0000_3fff_0000_3fff | word >> 2 & 0x0fff_c000_0fff_c000;
    word & 0x0fff_ffff | word >> 4 & 0x00ff_ffff_f000_0000
}

/// The low `S` bytes of a number.
#[inline(always)]
fn truncated<const S: usize>(number: u64) -> [u8; S] {
    let mut bytes = [0; S];
    for (to, from) in bytes.iter_mut().zip(number.to_le_bytes()) {
        *to = from;
    }
    bytes
}
