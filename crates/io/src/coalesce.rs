//! Plans of few requests for many ranges.

use std::ops::Range;

/// Which ranges are joined into one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Two ranges with at most this many bytes between them are read by one request. Best is about as much as the
    /// source delivers in the time that one more request takes.
    pub gap_bytes: u64,
    /// Most bytes of a request that serves several ranges; a single range may be larger.
    pub request_bytes_max: u64,
}

impl ReadOptions {
    /// For local files: a `pread` from the page cache took 0.5 µs for its first byte and about 0.1 µs for each further
    /// KiB (Linux on x86-64), so that joining pays up to gaps of about 4 KiB.
    pub const LOCAL: Self = Self {
        gap_bytes: 4 << 10,
        request_bytes_max: 8 << 20,
    };

    /// For takes from object stores. A request waits for tens of milliseconds, in which about a MiB would arrive. But
    /// requests of a take run at the same time, so a gap costs bandwidth and saves no time; 64 KiB is what Lance joins.
    /// Requests have at most 8 MiB, as AWS advises (8 to 16 MiB), since larger ones keep others from running beside.
    pub const REMOTE_TAKE: Self = Self {
        gap_bytes: 64 << 10,
        request_bytes_max: 8 << 20,
    };

    /// For scans of object stores, which have more requests than may run at the same time, so that each one that is
    /// saved saves its wait: gaps of 1 MiB, as object_store and Vortex have.
    pub const REMOTE_SCAN: Self = Self {
        gap_bytes: 1 << 20,
        request_bytes_max: 8 << 20,
    };
}

/// How ranges are spread over a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Some rows: short ranges, far from each other.
    Take,
    /// All rows, or most: long ranges, near each other.
    Scan,
}

/// [`read_once`](crate::read_once) copies up to this many bytes.
pub(crate) const COPIED_BYTES_MAX: u64 = 4 << 10;

/// Bytes that Linux maps around an address at the first access to it.
const MAPPED_AROUND_BYTES: u64 = 64 << 10;

/// One request that serves several ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoalescedRead {
    /// The bytes to read.
    pub range: Range<u64>,
    /// Indices of the ranges inside it, in the order of their starts.
    pub members: Vec<usize>,
}

/// Plans the requests for `ranges`, which may be unsorted and may overlap. Two neighbours share a request if there are
/// at most `gap` bytes between them and the request has at most `max` bytes. A range inside another always shares its
/// request. Every range is a member of exactly one request, except empty ranges, which need none. Requests are sorted
/// by their starts.
pub fn coalesce(ranges: &[Range<u64>], gap: u64, max: u64) -> Vec<CoalescedRead> {
    let mut order: Vec<usize> = (0..ranges.len())
        .filter(|i| !ranges[*i].is_empty())
        .collect();
    // Of equal starts the longest first, so that the others are inside it.
    order.sort_by_key(|i| (ranges[*i].start, u64::MAX - ranges[*i].end, *i));
    let mut reads: Vec<CoalescedRead> = Vec::new();
    for i in order {
        let range = &ranges[i];
        if let Some(last) = reads.last_mut() {
            let end = last.range.end.max(range.end);
            let near = range.start <= last.range.end.saturating_add(gap);
            let grows = end > last.range.end;
            if near && (!grows || end - last.range.start <= max) {
                last.range.end = end;
                last.members.push(i);
                continue;
            }
        }
        reads.push(CoalescedRead {
            range: range.clone(),
            members: vec![i],
        });
    }
    reads
}

/// For each of `ranges`: true if it is short and no other range is near, so that [`read_once`](crate::read_once)
/// costs less than an access to a map. The first access to a page also maps its neighbours (on Linux 64 KiB), so ranges
/// that are near each other cost little in a map.
pub fn lie_alone(ranges: &[Range<u64>]) -> Vec<bool> {
    let mut alone = vec![false; ranges.len()];
    for read in coalesce(ranges, MAPPED_AROUND_BYTES, u64::MAX) {
        if read.range.end - read.range.start <= COPIED_BYTES_MAX {
            for member in read.members {
                alone[member] = true;
            }
        }
    }
    alone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ranges: &[Range<u64>], gap: u64, max: u64, expect: &[(Range<u64>, &[usize])]) {
        let got = coalesce(ranges, gap, max);
        let got: Vec<(Range<u64>, &[usize])> = got
            .iter()
            .map(|read| (read.range.clone(), &read.members[..]))
            .collect();
        assert_eq!(got, expect, "{ranges:?} gap {gap} max {max}");
    }

    #[test]
    fn neighbours_are_joined_and_others_are_not() {
        check(&[], 0, 10, &[]);
        check(std::slice::from_ref(&(5..5)), 0, 10, &[]);
        check(&[0..2, 2..4], 0, 10, &[(0..4, &[0, 1])]);
        check(&[0..2, 3..4], 0, 10, &[(0..2, &[0]), (3..4, &[1])]);
        check(&[0..2, 3..4], 1, 10, &[(0..4, &[0, 1])]);
        check(&[3..4, 0..2], 1, 10, &[(0..4, &[1, 0])]);
        check(&[0..6, 6..12], 1, 10, &[(0..6, &[0]), (6..12, &[1])]);
        check(&[0..60, 60..61], 0, 10, &[(0..60, &[0]), (60..61, &[1])]);
        // Inside another, whatever the limit.
        check(&[7..9, 0..60, 0..3], 0, 10, &[(0..60, &[1, 2, 0])]);
        check(&[0..5, 3..8, 3..8], 0, 10, &[(0..8, &[0, 1, 2])]);
        check(
            &[u64::MAX - 1..u64::MAX, 0..1],
            u64::MAX,
            u64::MAX,
            &[(0..u64::MAX, &[1, 0])],
        );
    }
}
