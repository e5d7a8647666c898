//! Repeats one value per run. `ends` are the ends of the runs in the output; they rise, and the last is the output's
//! length.

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

/// Bits from bit `offset` of `to` on; the first value is bit 0 of `values`.
pub(crate) fn bits(values: &[u8], ends: &[u32], to: &mut [u8], offset: usize) {
    let mut start = offset;
    for (i, end) in ends.iter().enumerate() {
        let end = offset + *end as usize;
        let bit = values
            .get(i / 8)
            .is_some_and(|byte| byte >> (i % 8) & 1 == 1);
        fill_bits(to, start, end, bit);
        start = end;
    }
}

/// Sets or clears the bits `start..end`; other bits keep their value.
fn fill_bits(to: &mut [u8], start: usize, end: usize, bit: bool) {
    let byte = if bit { u8::MAX } else { 0 };
    let mut merge = |at: usize, mask: u8| {
        if let Some(to) = to.get_mut(at).filter(|_| mask != 0) {
            *to = *to & !mask | byte & mask;
        }
    };
    let (from_start, below_end) = (u8::MAX << (start % 8), (1u8 << (end % 8)) - 1);
    let (first, last) = (start / 8, end / 8);
    if first == last {
        merge(first, from_start & below_end);
        return;
    }
    merge(first, from_start);
    merge(last, below_end);
    to.get_mut(first + 1..last).unwrap_or_default().fill(byte);
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
        for offset in 0..10 {
            for (a, b) in [(1, 2), (3, 20), (7, 8), (9, 40)] {
                let mut to = vec![0xff; 8];
                bits(&[0b010], &[a, b, b + 1], &mut to, offset);
                for at in 0..to.len() * 8 {
                    let got = to[at / 8] >> (at % 8) & 1 == 1;
                    let i = at.wrapping_sub(offset);
                    let is_zero = i < a as usize || i == b as usize;
                    assert_eq!(got, !is_zero, "{offset} {a} {b} {at}");
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
