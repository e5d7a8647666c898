//! Runs of bitwise equal values, and whether all values are equal.

use alloc::vec::Vec;

use crate::{BitSlice, BytesSlice, FixedSlice, Values};

/// Values that are compared before the starts among them are kept.
const CHUNK_VALUES: usize = 256;

/// The first value of each run of bitwise equal values.
pub fn run_starts(values: Values<'_>) -> Vec<u32> {
    match values {
        Values::Bits(bits) => starts_of_bits(&bits),
        Values::Fixed(fixed) => match fixed.width() {
            1 => starts_of::<1>(&fixed),
            2 => starts_of::<2>(&fixed),
            4 => starts_of::<4>(&fixed),
            8 => starts_of::<8>(&fixed),
            16 => starts_of::<16>(&fixed),
            _ => starts_where(fixed.len(), |i| fixed.get(i) != fixed.get(i - 1)),
        },
        Values::Bytes(strings) => starts_of_strings(&strings),
    }
}

fn starts_where(n: usize, differs: impl Fn(usize) -> bool) -> Vec<u32> {
    let starts = (0..n).filter(|i| *i == 0 || differs(*i));
    starts.map(|i| i as u32).collect()
}

fn starts_of<const W: usize>(fixed: &FixedSlice<'_>) -> Vec<u32> {
    let values = fixed.bytes().as_chunks::<W>().0;
    let mut starts = Vec::from_iter(values.first().map(|_| 0));
    let (before, after) = match values {
        [] => return starts,
        [_, after @ ..] => (values, after),
    };
    // Each place is stored, and kept if it is a start: where runs are short, a branch would be guessed wrong.
    let mut found = [0; CHUNK_VALUES];
    let mut at = 1;
    for (before, after) in before.chunks(CHUNK_VALUES).zip(after.chunks(CHUNK_VALUES)) {
        let mut n = 0;
        for (before, after) in before.iter().zip(after) {
            if let Some(place) = found.get_mut(n) {
                *place = at;
            }
            n += usize::from(before != after);
            at += 1;
        }
        starts.extend_from_slice(found.get(..n).unwrap_or_default());
    }
    starts
}

fn starts_of_bits(bits: &BitSlice<'_>) -> Vec<u32> {
    let n = bits.len();
    let mut starts = Vec::new();
    // The bit before the first differs from it.
    let mut before = u64::from(!bits.get(0));
    for at in (0..n).step_by(64) {
        let word = bits.word(at);
        let mut changes = word ^ (word << 1 | before);
        while changes != 0 {
            let start = at + changes.trailing_zeros() as usize;
            if start < n {
                starts.push(start as u32);
            }
            changes &= changes - 1;
        }
        before = word >> 63;
    }
    starts
}

fn starts_of_strings(strings: &BytesSlice<'_>) -> Vec<u32> {
    let data = strings.data();
    let mut starts = Vec::from_iter((!strings.is_empty()).then_some(0));
    for ([before, at, end], i) in strings.offsets().array_windows::<3>().zip(1..) {
        let (before, at, end) = (*before as usize, *at as usize, *end as usize);
        if at - before != end - at || !are_equal(data, before, at, end - at) {
            starts.push(i);
        }
    }
    starts
}

/// Whether the `len` bytes from `a` and from `b` on are equal. Few are compared as a word, which takes half as long as
/// calling `memcmp`.
#[inline]
fn are_equal(data: &[u8], a: usize, b: usize, len: usize) -> bool {
    const WORD_BYTES: usize = 8;
    // The words may go on behind the values.
    let word = |at: usize| {
        let bytes = data.get(at..)?.first_chunk::<WORD_BYTES>()?;
        Some(u64::from_le_bytes(*bytes))
    };
    match (word(a), word(b)) {
        (Some(a), Some(b)) if len <= WORD_BYTES => {
            let unused_bits = u64::BITS - 8 * len as u32;
            (a ^ b).checked_shl(unused_bits).unwrap_or(0) == 0
        }
        _ => data.get(a..a + len) == data.get(b..b + len),
    }
}

/// True if all values are bitwise equal, also if there are none or one. Runs at the speed of a memory comparison
/// and stops at the first difference.
///
/// ```
/// use tarsia_codec::toolbox::is_constant;
/// use tarsia_codec::{FixedSlice, Values};
/// let values = |bytes| Values::Fixed(FixedSlice::new(bytes, 2, 3).unwrap());
/// assert!(is_constant(values(&[7, 1, 7, 1, 7, 1])));
/// assert!(!is_constant(values(&[7, 1, 7, 1, 7, 0])));
/// ```
pub fn is_constant(values: Values<'_>) -> bool {
    match values {
        Values::Bits(bits) => {
            let expected = if bits.get(0) { u64::MAX } else { 0 };
            (0..bits.len()).step_by(64).all(|at| {
                let used = match bits.len() - at {
                    n @ 0..64 => (1 << n) - 1,
                    _ => u64::MAX,
                };
                bits.word(at) == expected & used
            })
        }
        Values::Fixed(values) => is_periodic(values.bytes(), values.width()),
        Values::Bytes(values) => {
            let first = values.value_bytes(0);
            is_stepped(values.offsets(), first) && is_periodic(values.value_data(), first as usize)
        }
    }
}

/// True if `offsets` are `step` apart.
fn is_stepped(offsets: &[u32], step: u32) -> bool {
    let later = offsets.get(1..).unwrap_or_default();
    // All values of a chunk are compared, which vectorises. The loop exits only between chunks.
    let mut chunks = offsets.chunks(256).zip(later.chunks(256));
    chunks.all(|(starts, ends)| {
        let differences = starts
            .iter()
            .zip(ends)
            .map(|(start, end)| (end - start) ^ step);
        differences.fold(0, |all, difference| all | difference) == 0
    })
}

/// True if `bytes` repeats its first `period` bytes.
fn is_periodic(bytes: &[u8], period: usize) -> bool {
    match (bytes.get(period..), bytes.len().checked_sub(period)) {
        (Some(shifted), Some(n)) => bytes.get(..n) == Some(shifted),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    #[test]
    fn runs_of_bits_go_on_from_word_to_word() {
        let bits = BitSlice::new(&[0b0111_0000, 1], 0, 9).unwrap();
        assert_eq!(starts_of_bits(&bits), [0, 4, 7, 8]);
        let none = BitSlice::new(&[], 0, 0).unwrap();
        assert!(starts_of_bits(&none).is_empty());
        let bits = BitSlice::new(&[0xff; 20], 3, 150).unwrap();
        assert_eq!(starts_of_bits(&bits), [0]);
    }

    #[test]
    fn strings_of_all_lengths_are_compared() {
        let letters = "abcdefghijklmnopqrst";
        for len in 0..letters.len() {
            let word = &letters[..len];
            let mut all = alloc::vec![String::from(word), word.into()];
            for changed in 0..len {
                let mut other = String::from(word);
                other.replace_range(changed..=changed, "_");
                all.extend([other.clone(), other]);
            }
            all.push(letters[..=len].into());
            let (mut offsets, mut data) = (alloc::vec![0], alloc::vec![]);
            for string in &all {
                data.extend_from_slice(string.as_bytes());
                offsets.push(data.len() as u32);
            }
            let strings = Values::Bytes(BytesSlice::new(&offsets, &data).unwrap());
            let expected: Vec<u32> = (0..all.len() as u32).step_by(2).collect();
            assert_eq!(run_starts(strings), expected, "{len}");
        }
    }

    #[test]
    fn runs_of_each_width_are_found() {
        for width in [1, 2, 3, 4, 8, 16, 33] {
            let numbers = [5, 5, 5, 6, 5, 5, 9u8];
            let bytes: Vec<u8> = numbers
                .iter()
                .flat_map(|number| core::iter::repeat_n(*number, width))
                .collect();
            let values = FixedSlice::new(&bytes, width, numbers.len()).unwrap();
            assert_eq!(run_starts(Values::Fixed(values)), [0, 3, 4, 6]);
            assert!(run_starts(Values::Fixed(values.slice(0..0))).is_empty());
        }
    }

    #[test]
    fn runs_of_several_chunks_are_found() {
        for n in [
            1,
            CHUNK_VALUES,
            CHUNK_VALUES + 1,
            CHUNK_VALUES + 2,
            4 * CHUNK_VALUES + 3,
        ] {
            let places = || 0..n as u32;
            let alternate: Vec<u8> = places().flat_map(|i| (i % 2).to_le_bytes()).collect();
            let by_chunk: Vec<u8> = places()
                .flat_map(|i| (i / CHUNK_VALUES as u32).to_le_bytes())
                .collect();
            let starts =
                |bytes: &[u8]| run_starts(Values::Fixed(FixedSlice::new(bytes, 4, n).unwrap()));
            assert_eq!(starts(&alternate), places().collect::<Vec<_>>());
            let expected: Vec<u32> = places().step_by(CHUNK_VALUES).collect();
            assert_eq!(starts(&by_chunk), expected);
        }
    }
}
