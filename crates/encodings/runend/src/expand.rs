//! Repeats one value per run. `ends` are the ends of the runs in the output; they rise, and the last is the output's
//! length.

use tarsia_bits::fill_bits;

/// Values of `width` bytes.
pub(crate) fn fixed(values: &[u8], width: usize, ends: &[u32], to: &mut [u8]) {
    match width {
        0 => {}
        1 => in_chunks::<1, 32>(values, ends, to),
        2 => in_chunks::<2, 16>(values, ends, to),
        4 => in_chunks::<4, 16>(values, ends, to),
        8 => in_chunks::<8, 8>(values, ends, to),
        _ => {
            let mut start = 0;
            for (value, end) in values.chunks_exact(width).zip(ends) {
                let end = *end as usize;
                let run = to.get_mut(start * width..end * width);
                for to in run.unwrap_or_default().chunks_exact_mut(width) {
                    to.copy_from_slice(value);
                }
                start = end;
            }
        }
    }
}

/// Writes `N` copies at once where the output has room: the next runs overwrite those that are too many. A loop over
/// the exact length would mispredict its end in every short run.
fn in_chunks<const W: usize, const N: usize>(values: &[u8], ends: &[u32], to: &mut [u8]) {
    let to = to.as_chunks_mut::<W>().0;
    let mut start = 0;
    for (value, end) in values.as_chunks::<W>().0.iter().zip(ends) {
        let end = *end as usize;
        let chunk = to.get_mut(start..).unwrap_or_default();
        if let Some(chunk) = chunk.first_chunk_mut::<N>() {
            *chunk = [*value; N];
            start += N;
        }
        if start < end {
            to.get_mut(start..end).unwrap_or_default().fill(*value);
        }
        start = end;
    }
}

/// Runs that are longer in the mean are filled one by one: about 7 ns each, against 1.5 ns and 1 ns per word.
const MARKED_RUN_BITS_MAX: usize = 256;

/// Bits from bit `offset` of `to` on; the first value is bit 0 of `values`.
pub(crate) fn bits(values: &[u8], ends: &[u32], to: &mut [u8], offset: usize) {
    let n_bits = ends.last().map_or(0, |end| *end as usize);
    match n_bits / ends.len().max(1) < MARKED_RUN_BITS_MAX {
        true => marked_bits(values, ends, to, offset),
        false => filled_bits(values, ends, to, offset),
    }
}

/// Marks the bits that differ from the one before, then sums the marks up, a word at a time. No branch depends on the
/// length of a run: a mispredicted one takes longer than everything else here.
fn marked_bits(values: &[u8], ends: &[u32], to: &mut [u8], offset: usize) {
    let n_bits = offset % 8 + ends.last().map_or(0, |end| *end as usize);
    let to = to.get_mut(offset / 8..).unwrap_or_default();
    let to = to.get_mut(..n_bits.div_ceil(8)).unwrap_or_default();
    // The neighbours in the first and the last byte are kept.
    let before = to.first().map_or(0, |byte| byte & below(offset % 8));
    let after = to.last().map_or(0, |byte| byte & !below(n_bits % 8));
    to.fill(0);
    let (mut start, mut last) = (offset % 8, 0);
    for (bytes, ends) in values.chunks(8).zip(ends.chunks(64)) {
        let mut word = [0; 8];
        for (to, byte) in word.iter_mut().zip(bytes) {
            *to = *byte;
        }
        let word = u64::from_le_bytes(word);
        let mut marks = word ^ (word << 1 | last);
        last = word >> 63;
        for end in ends {
            if let Some(to) = to.get_mut(start / 8) {
                *to ^= (marks as u8 & 1) << (start % 8);
            }
            marks >>= 1;
            start = offset % 8 + *end as usize;
        }
    }
    let mut carry = 0;
    let (words, rest) = to.as_chunks_mut::<8>();
    for to in words {
        let word = sums(u64::from_le_bytes(*to)) ^ carry;
        carry = 0u64.wrapping_sub(word >> 63);
        *to = word.to_le_bytes();
    }
    let mut word = [0; 8];
    for (to, byte) in word.iter_mut().zip(&*rest) {
        *to = *byte;
    }
    let word = sums(u64::from_le_bytes(word)) ^ carry;
    for (to, byte) in rest.iter_mut().zip(word.to_le_bytes()) {
        *to = byte;
    }
    if let Some(first) = to.first_mut() {
        *first = *first & !below(offset % 8) | before;
    }
    if let Some(last) = to.last_mut().filter(|_| !n_bits.is_multiple_of(8)) {
        *last = *last & below(n_bits % 8) | after;
    }
}

/// The bits below bit `at` of a byte.
fn below(at: usize) -> u8 {
    (1 << at) - 1
}

/// For each bit the sum, modulo 2, of the bits up to it.
#[inline(always)]
fn sums(mut word: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        word ^= word << shift;
    }
    word
}

/// Each run by itself.
fn filled_bits(values: &[u8], ends: &[u32], to: &mut [u8], offset: usize) {
    let mut start = offset;
    for (i, end) in ends.iter().enumerate() {
        let end = offset + *end as usize;
        let bit = values
            .get(i / 8)
            .is_some_and(|byte| byte >> (i % 8) & 1 == 1);
        fill_bits(to, start, end - start, bit);
        start = end;
    }
}

/// Byte strings: run `i` repeats `from[value_ends[i - 1]..value_ends[i]]`. Writes their ends, `base` added, and returns
/// the bytes written; `None` if `data` is too short or the value ends fall.
pub(crate) fn strings(
    value_ends: &[u32],
    from: &[u8],
    ends: &[u32],
    string_ends: &mut [u32],
    base: u32,
    data: &mut [u8],
) -> Option<usize> {
    let (mut at, mut written, mut value_start) = (0, 0usize, 0);
    for (value_end, end) in value_ends.iter().zip(ends) {
        let value = from.get(value_start..*value_end as usize)?;
        value_start = *value_end as usize;
        for string_end in string_ends.get_mut(at..*end as usize)? {
            let until = written.checked_add(value.len())?;
            data.get_mut(written..until)?.copy_from_slice(value);
            written = until;
            *string_end = base.checked_add(u32::try_from(written).ok()?)?;
        }
        at = *end as usize;
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn bits_are_filled_and_neighbours_stay() {
        for fill in [marked_bits, filled_bits] {
            for offset in 0..10 {
                for (a, b) in [(1, 2), (3, 20), (7, 8), (9, 40), (1, 110)] {
                    let mut to = vec![0xff; 16];
                    fill(&[0b010], &[a, b, b + 1], &mut to, offset);
                    for at in 0..to.len() * 8 {
                        let got = to[at / 8] >> (at % 8) & 1 == 1;
                        let i = at.wrapping_sub(offset);
                        let is_zero = i < a as usize || i == b as usize;
                        assert_eq!(got, !is_zero, "{offset} {a} {b} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn both_ways_to_fill_bits_agree() {
        for n_runs in [0, 1, 63, 64, 65, 200] {
            // Neighbouring runs may have equal values.
            let values: Vec<u8> = (0..n_runs).map(|i| (i * i * 37 + i / 7) as u8).collect();
            let mut end = 0;
            let lengths = (0..n_runs).map(|i| 1 + i * i % 11 + i % 13 / 12 * 90);
            let ends: Vec<u32> = lengths
                .map(|len| {
                    end += len;
                    end
                })
                .collect();
            for offset in [0, 3, 8, 13, 64] {
                for neighbours in [0, 0xff, 0xa5] {
                    let n_bytes = (offset + end as usize).div_ceil(8) + 1;
                    let (mut marked, mut filled) =
                        (vec![neighbours; n_bytes], vec![neighbours; n_bytes]);
                    marked_bits(&values, &ends, &mut marked, offset);
                    filled_bits(&values, &ends, &mut filled, offset);
                    assert_eq!(marked, filled, "{n_runs} {offset} {neighbours}");
                }
            }
        }
    }

    #[test]
    fn chunks_stop_at_the_end_of_the_output() {
        for width in [1, 2, 3, 4, 8, 16] {
            let ends = [1, 2, 50, 53, 90, 91];
            let values: Vec<u8> = (0..6).flat_map(|i| vec![i + 1; width]).collect();
            let mut to = vec![0; 91 * width];
            fixed(&values, width, &ends, &mut to);
            for (i, value) in to.chunks_exact(width).enumerate() {
                let run = ends.partition_point(|end| *end as usize <= i) as u8;
                assert_eq!(value, vec![run + 1; width], "{width} {i}");
            }
        }
    }
}
