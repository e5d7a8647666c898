//! Reading many ranges with few requests.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::read::{ReadAt, ReadBytes, check_inside};

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

    /// For object stores: a request waits for tens of milliseconds, in which about a MiB would arrive.
    pub const REMOTE: Self = Self {
        gap_bytes: 1 << 20,
        request_bytes_max: 16 << 20,
    };
}

/// [`read_once`] copies up to this many bytes.
const COPIED_BYTES_MAX: u64 = 4 << 10;

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

/// Reads all `ranges` and returns their bytes in the same order. The bytes are borrowed if the reader has its content
/// in memory ([`ReadAt::mapped`]). Otherwise they are copied, and neighbours share requests and buffers as [`coalesce`]
/// plans.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] for a range beyond the end (before anything is read),
/// [`io::ErrorKind::InvalidInput`] for one whose end is before its start, [`io::ErrorKind::OutOfMemory`] if there is no
/// memory for a request, and errors of the reader.
pub fn read_ranges<'a, R: ReadAt + ?Sized>(
    reader: &'a R,
    ranges: &[Range<u64>],
    options: ReadOptions,
) -> io::Result<Vec<ReadBytes<'a>>> {
    let len = reader.len();
    for range in ranges {
        check_inside(range.start, range_bytes(range)?, len)?;
    }
    if let Some(content) = reader.mapped() {
        return ranges.iter().map(|range| borrow(content, range)).collect();
    }
    let mut parts = vec![ReadBytes::borrowed(&[]); ranges.len()];
    for read in coalesce(ranges, options.gap_bytes, options.request_bytes_max) {
        let buffer = Arc::new(read_buffer(reader, &read.range)?);
        for member in read.members {
            if let (Some(part), Some(range)) = (parts.get_mut(member), ranges.get(member)) {
                let start = in_memory(range.start - read.range.start)?;
                let end = in_memory(range.end - read.range.start)?;
                *part = ReadBytes::shared(Arc::clone(&buffer), start..end)?;
            }
        }
    }
    Ok(parts)
}

/// Reads one range.
///
/// # Errors
/// As [`read_ranges`].
pub fn read_range<R: ReadAt + ?Sized>(reader: &R, range: Range<u64>) -> io::Result<ReadBytes<'_>> {
    let n_bytes = range_bytes(&range)?;
    check_inside(range.start, n_bytes, reader.len())?;
    match reader.mapped() {
        Some(content) => borrow(content, &range),
        None => {
            let buffer = read_buffer(reader, &range)?;
            let len = buffer.len();
            ReadBytes::shared(Arc::new(buffer), 0..len)
        }
    }
}

/// Reads one range that is used only once. A range of at most 4 KiB is copied even if the reader is mapped: a
/// positioned read costs less than the first access to a page of a map.
///
/// # Errors
/// As [`read_ranges`].
pub fn read_once<R: ReadAt + ?Sized>(reader: &R, range: Range<u64>) -> io::Result<ReadBytes<'_>> {
    let n_bytes = range_bytes(&range)?;
    if n_bytes > COPIED_BYTES_MAX {
        return read_range(reader, range);
    }
    check_inside(range.start, n_bytes, reader.len())?;
    let buffer = read_buffer(reader, &range)?;
    let len = buffer.len();
    ReadBytes::shared(Arc::new(buffer), 0..len)
}

/// For each of `ranges`: true if it is short and no other range is near, so that [`read_once`] costs less than an
/// access to a map. The first access to a page also maps its neighbours (on Linux 64 KiB), so ranges that are near each
/// other cost little in a map.
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

fn range_bytes(range: &Range<u64>) -> io::Result<u64> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the range {range:?} ends before it starts"),
        )
    })
}

fn borrow<'a>(content: &'a [u8], range: &Range<u64>) -> io::Result<ReadBytes<'a>> {
    crate::read::inside(content, range.start, range_bytes(range)?).map(ReadBytes::borrowed)
}

/// Reads a range into a new buffer. The caller has compared it with the length of the file.
fn read_buffer<R: ReadAt + ?Sized>(reader: &R, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let len = in_memory(range_bytes(range)?)?;
    let mut buffer = Vec::new();
    // A sparse file may be larger than memory; that is an error, not the end of the process.
    if buffer.try_reserve_exact(len).is_err() {
        return Err(no_memory(len as u64));
    }
    buffer.resize(len, 0);
    reader.read_at(range.start, &mut buffer)?;
    Ok(buffer)
}

fn in_memory(n_bytes: u64) -> io::Result<usize> {
    usize::try_from(n_bytes).map_err(|_| no_memory(n_bytes))
}

fn no_memory(n_bytes: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::OutOfMemory,
        format!("no memory for a read of {n_bytes} bytes"),
    )
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
