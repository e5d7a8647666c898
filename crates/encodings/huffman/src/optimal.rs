//! The lengths of the best codes of limited length: package-merge.

use alloc::vec::Vec;

use crate::codes::N_VALUES;

/// A byte value, or several in a package, at one level.
#[derive(Clone, Copy)]
struct Item {
    count: u64,
    is_value: bool,
}

/// For values that occur so often the lengths of codes with the fewest bits in all, none longer than `length_max`,
/// which allows a code for each value. Values that do not occur have the length 0; but there are at least two codes, so
/// that every sequence of bits starts with one. The result depends on nothing but the counts.
pub(crate) fn optimal_lengths(counts: &[u64; N_VALUES], length_max: u8) -> [u8; N_VALUES] {
    let values = || (0..=u8::MAX).map(|value| (counts[usize::from(value)], value));
    let mut used: Vec<(u64, u8)> = values().filter(|(count, _)| *count > 0).collect();
    let unused = values().filter(|(count, _)| *count == 0);
    used.extend(unused.take(2usize.saturating_sub(used.len())));
    used.sort_unstable();
    let value_items = used.iter().map(|(count, _)| Item {
        count: *count,
        is_value: true,
    });
    // The items of each level, from that of the longest codes to that of one bit: the values, and pairs of items of the
    // level before.
    let mut levels: Vec<Vec<Item>> = Vec::new();
    for _ in 0..length_max {
        let before = levels.last().map(Vec::as_slice).unwrap_or_default();
        let packages = before.as_chunks::<2>().0.iter().map(|[a, b]| Item {
            count: a.count + b.count,
            is_value: false,
        });
        let mut items: Vec<Item> = value_items.clone().chain(packages).collect();
        items.sort_by_key(|item| item.count);
        levels.push(items);
    }
    // The cheapest items that make up whole codes; a package needs both of its items. At each level they hold the
    // rarest values, each of which gets one bit longer.
    let mut lengths = [0; N_VALUES];
    let mut n_needed = 2 * used.len() - 2;
    for items in levels.iter().rev() {
        let needed = items.iter().take(n_needed);
        let n_values = needed.filter(|item| item.is_value).count();
        for (_, value) in used.iter().take(n_values) {
            lengths[usize::from(*value)] += 1;
        }
        n_needed = 2 * (n_needed - n_values);
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// The sum of `2^-length`, in units of `2^-length_max`.
    fn space(lengths: &[u8], length_max: u8) -> u32 {
        let used = lengths.iter().filter(|length| **length > 0);
        used.map(|length| 1 << (length_max - length)).sum()
    }

    fn bits(counts: &[u64], lengths: &[u8]) -> u64 {
        let all = counts.iter().zip(lengths);
        all.map(|(count, length)| count * u64::from(*length)).sum()
    }

    fn counts_of(counts: &[u64]) -> [u64; N_VALUES] {
        let mut all = [0; N_VALUES];
        all[..counts.len()].copy_from_slice(counts);
        all
    }

    /// The bits of the best codes of any length: Huffman's algorithm merges the two rarest again and again.
    fn unlimited_bits(counts: &[u64]) -> u64 {
        let mut left: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
        let mut bits = 0;
        while left.len() > 1 {
            left.sort_unstable_by(|a, b| b.cmp(a));
            let merged = left.pop().unwrap_or(0) + left.pop().unwrap_or(0);
            bits += merged;
            left.push(merged);
        }
        bits
    }

    /// The bits of the best codes of limited length, of all there are.
    fn least_bits(counts: &[u64], length_max: u8) -> u64 {
        let mut all: Vec<Vec<u8>> = vec![vec![]];
        for _ in counts {
            let longer = |lengths: Vec<u8>| {
                (1..=length_max).map(move |length| [&lengths[..], &[length]].concat())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        let complete = all
            .iter()
            .filter(|it| space(it, length_max) == 1 << length_max);
        let least = complete.map(|lengths| bits(counts, lengths)).min();
        least.expect("codes for so many values")
    }

    /// Numbers that look random.
    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        let next = |it: &u64| Some(it.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        core::iter::successors(Some(seed), next)
            .map(|it| it >> 33)
            .skip(3)
    }

    #[test]
    fn the_best_codes_of_limited_length_are_found() {
        for seed in 0..200 {
            let n = 2 + seed as usize % 5;
            let of_size = |number: u64| 1 + (number >> (number % 31));
            let counts: Vec<u64> = numbers(seed).take(n).map(of_size).collect();
            for length_max in 3..=4 {
                let lengths = optimal_lengths(&counts_of(&counts), length_max);
                let found = bits(&counts, &lengths);
                assert_eq!(found, least_bits(&counts, length_max), "{counts:?}");
            }
        }
    }

    #[test]
    fn any_counts_have_complete_codes() {
        let fibonacci = |_: usize, last: &mut (u64, u64)| {
            *last = (last.1, last.0 + last.1);
            last.0
        };
        let mut last = (0, 1);
        let steep: Vec<u64> = (0..40).map(|i| fibonacci(i, &mut last)).collect();
        let mut all = vec![
            steep,
            vec![1; 256],
            vec![0; 256],
            vec![0, 0, 9],
            vec![1 << 40; 256],
        ];
        all.extend((0..50).map(|seed| {
            let of_size = |number: u64| number >> (number % 31);
            numbers(seed)
                .take(200 + seed as usize)
                .map(of_size)
                .collect()
        }));
        for counts in all {
            let lengths = optimal_lengths(&counts_of(&counts), 12);
            assert_eq!(space(&lengths, 12), 1 << 12, "{counts:?}");
            let n_used = counts.iter().filter(|count| **count > 0).count();
            let n_codes = lengths.iter().filter(|length| **length > 0).count();
            assert_eq!(n_codes, n_used.max(2));
            let (found, least) = (bits(&counts, &lengths), unlimited_bits(&counts));
            let longest = lengths.iter().max().copied().unwrap_or(0);
            // Where the limit is not reached, it makes no difference. One value alone takes no bits there.
            match longest {
                0..12 if n_used > 1 => assert_eq!(found, least, "{counts:?}"),
                _ => assert!(found >= least, "{counts:?}"),
            }
        }
    }

    #[test]
    fn rare_values_have_longer_codes() {
        let lengths = optimal_lengths(&counts_of(&[1, 9, 3, 0, 30]), 12);
        assert_eq!(lengths[..5], [3, 2, 3, 0, 1]);
        let limited = optimal_lengths(&counts_of(&[1, 9, 3, 0, 30]), 2);
        assert_eq!(limited[..5], [2, 2, 2, 0, 2]);
    }
}
