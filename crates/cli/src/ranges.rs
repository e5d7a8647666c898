//! Rows as rising ranges that do not touch each other.

use std::ops::Range;

/// Adds a range that does not start before the last one.
pub(crate) fn push_rising(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

/// Adds a range in any order: to the last one if it follows that, so that many rows in order take little memory.
pub(crate) fn push_next(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// The rows of all ranges, each once.
pub(crate) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut rising = Vec::new();
    for range in ranges {
        push_rising(&mut rising, range);
    }
    rising
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        for (ranges, rising) in [
            (vec![], vec![]),
            (vec![3..3], vec![]),
            (vec![5..6, 1..2, 2..4], vec![1..4, 5..6]),
            (vec![1..9, 2..3, 9..9, 9..10], vec![1..10]),
            (vec![7..8, 7..8, 0..1], vec![0..1, 7..8]),
            (vec![u64::MAX - 1..u64::MAX, 0..u64::MAX], vec![0..u64::MAX]),
        ] {
            assert_eq!(merged(ranges), rising);
        }
    }
}
