//! Counts pairs of numbers.

use alloc::vec;
use alloc::vec::Vec;

/// Pairs of numbers.
pub(crate) struct Pairs {
    /// Both numbers of a pair in one, the first above the second.
    keys: Vec<u32>,
    /// Bits of a number.
    number_bits: u32,
}

/// A pair, and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) numbers: [u16; 2],
    pub(crate) count: u64,
}

/// Bits of a digit, by which keys are sorted.
const DIGIT_BITS: u32 = 11;

impl Pairs {
    /// Room for `n` pairs of numbers below `end`.
    pub(crate) fn with_capacity(n: usize, end: usize) -> Self {
        Self {
            keys: Vec::with_capacity(n),
            number_bits: usize::BITS - end.saturating_sub(1).leading_zeros(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, [first, second]: [u16; 2]) {
        self.keys
            .push(u32::from(first) << self.number_bits | u32::from(second));
    }

    /// Returns the pairs that occur more than once, in the order of the numbers. They are sorted by digits, and not
    /// counted in a hash table: that would be larger than the cache.
    pub(crate) fn repeated(mut self) -> Vec<Pair> {
        let mut sorted = vec![0; self.keys.len()];
        let number_bits = self.number_bits;
        for shift in (0..2 * number_bits).step_by(DIGIT_BITS as usize) {
            let digit = |key: u32| (key >> shift) as usize % (1 << DIGIT_BITS);
            let mut starts = [0u32; 1 << DIGIT_BITS];
            for key in &self.keys {
                starts[digit(*key)] += 1;
            }
            let mut start = 0;
            for count in &mut starts {
                start += core::mem::replace(count, start);
            }
            for key in &self.keys {
                let place = &mut starts[digit(*key)];
                sorted[*place as usize] = *key;
                *place += 1;
            }
            core::mem::swap(&mut self.keys, &mut sorted);
        }
        let equal = self.keys.chunk_by(|a, b| a == b);
        let first = |key: u32| (key >> number_bits) as u16;
        let second = |key: u32| (key & ((1 << number_bits) - 1)) as u16;
        let repeated = equal.filter(|equal| equal.len() > 1);
        repeated
            .map(|equal| Pair {
                numbers: [first(equal[0]), second(equal[0])],
                count: equal.len() as u64,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_pairs_are_counted() {
        let mut pairs = Pairs::with_capacity(0, 1 << 16);
        for i in 0..900 {
            pairs.push([i % 3, u16::MAX]);
            pairs.push([u16::MAX - i, 0]);
            pairs.push([2048 * (i % 2), 2047]);
        }
        let of = |numbers, count| Pair { numbers, count };
        let expected = [
            of([0, 2047], 450),
            of([0, u16::MAX], 300),
            of([1, u16::MAX], 300),
            of([2, u16::MAX], 300),
            of([2048, 2047], 450),
        ];
        assert_eq!(pairs.repeated(), expected);
        assert_eq!(Pairs::with_capacity(9, 1 << 16).repeated(), []);
    }

    #[test]
    fn numbers_of_any_width_come_back() {
        for end in [1, 2, 3, 256, 257, 2048, 1 << 14, 1 << 16] {
            let last = (end - 1) as u16;
            let mut pairs = Pairs::with_capacity(4, end);
            for numbers in [[last, 0], [0, last], [last, 0], [0, last]] {
                pairs.push(numbers);
            }
            let found: Vec<_> = pairs.repeated().into_iter().map(|it| it.numbers).collect();
            let expected: &[[u16; 2]] = match last {
                0 => &[[0, 0]],
                _ => &[[0, last], [last, 0]],
            };
            assert_eq!(found, expected, "{end}");
        }
    }
}
