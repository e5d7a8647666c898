//! The bytes of an open file. This is the only layer that reads; all others say which ranges they want.

mod at_hand;
mod in_flight;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_buffer::Buffer;
use tarsia_arrow::borrowed_buffer;
use tarsia_io::{Access, ReadAt, ReadBytes, ReadOptions};

use crate::error::{Error, ErrorKind, Result};

use in_flight::InFlight;

pub(crate) use at_hand::{AtHand, Step, Stop, all, run, run_all};

/// Most bytes that are held of ranges of which each is looked at once, with the gaps that are read over.
const WINDOW_BYTES: u64 = 8 << 20;

/// Reads of a take: the requests that positional reads make (a memory-mapped file needs none; then it is what they
/// would have made). Neighbouring blocks are read together. The 192 bytes that say whether the file was changed
/// meanwhile are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Requests for blocks.
    pub requests: u64,
    /// Bytes of those requests.
    pub bytes: u64,
    /// Requests for records, page lists, block tables and shared buffers. They are read once and kept, so this is zero
    /// where a page was touched before. While other threads read, their requests count too.
    pub metadata_requests: u64,
    /// Bytes of those requests.
    pub metadata_bytes: u64,
}

impl Reads {
    /// Adds requests for blocks.
    pub(crate) fn add(&mut self, blocks: Self) {
        self.requests += blocks.requests;
        self.bytes += blocks.bytes;
    }
}

/// Several ranges of the file that belong together: those of one column.
pub(crate) trait Ranges {
    /// The ranges in the order in which their bytes are wanted.
    fn ranges(&self) -> impl Iterator<Item = Range<u64>>;

    /// From the first byte to the last.
    fn extent(&self) -> Range<u64> {
        let whole = self
            .ranges()
            .reduce(|whole, range| whole.start.min(range.start)..whole.end.max(range.end));
        whole.unwrap_or(0..0)
    }
}

/// An open file as bytes: how they are read, what was counted, and the part that is in memory anyway.
pub(crate) struct Source {
    reader: Arc<dyn ReadAt>,
    name: String,
    metadata_requests: AtomicU64,
    metadata_bytes: AtomicU64,
    kept_bytes: Arc<AtomicU64>,
    /// Metadata that threads are reading.
    in_flight: Arc<InFlight>,
}

/// A part of a file in memory that an Arrow buffer refers to.
struct Borrowed {
    reader: Arc<dyn ReadAt>,
    place: Range<usize>,
}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        let all = self.reader.mapped().unwrap_or_default();
        all.get(self.place.clone()).unwrap_or_default()
    }
}

impl Source {
    pub(crate) fn new(reader: Arc<dyn ReadAt>, name: String) -> Self {
        Self {
            reader,
            name,
            metadata_requests: AtomicU64::new(0),
            metadata_bytes: AtomicU64::new(0),
            kept_bytes: Arc::default(),
            in_flight: Arc::default(),
        }
    }

    /// Counts what is kept of the file with what others have kept of it.
    #[must_use]
    pub(crate) fn counting_into(mut self, kept_bytes: Arc<AtomicU64>) -> Self {
        self.kept_bytes = kept_bytes;
        self
    }

    /// The count of bytes that are kept of the file: metadata as they were read, and decoded shared pages.
    pub(crate) fn kept_bytes(&self) -> &Arc<AtomicU64> {
        &self.kept_bytes
    }

    /// Counts bytes that are kept.
    pub(crate) fn count_kept(&self, n_bytes: u64) {
        self.kept_bytes.fetch_add(n_bytes, Ordering::Relaxed);
    }

    /// Returns the reader of the file.
    pub(crate) fn reader(&self) -> &Arc<dyn ReadAt> {
        &self.reader
    }

    /// The file's name, for errors.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.reader.len()
    }

    /// All bytes of a file that is in memory, where they stay as long as the source lives; `None` of others.
    pub(crate) fn mapped(&self) -> Option<&[u8]> {
        self.reader.mapped()
    }

    /// Whether the file is in memory: a second look at a place finds the same bytes at the same address.
    pub(crate) fn is_mapped(&self) -> bool {
        self.reader.mapped().is_some()
    }

    /// Whether each read waits for longer than its bytes take, as those of a store do: so the reader says by what it
    /// joins to save one.
    pub(crate) fn is_far(&self) -> bool {
        !self.is_mapped() && self.scan_gap_bytes() > ReadOptions::LOCAL.gap_bytes
    }

    /// Bytes that a scan reads over to save a request: about as many as come in the time that it waits.
    pub(crate) fn scan_gap_bytes(&self) -> u64 {
        self.reader.read_options(Access::Scan).gap_bytes
    }

    /// A part of a file in memory.
    pub(crate) fn slice(&self, range: Range<u64>) -> Result<&[u8]> {
        let beyond = || {
            let what = format!("bytes {}..{} beyond the end", range.start, range.end);
            Error::new(ErrorKind::Corrupt, what)
        };
        slice_of(self.mapped(), range.clone()).ok_or_else(beyond)
    }

    /// A part of a file in memory as an Arrow buffer that keeps the file open: zero-copy.
    pub(crate) fn borrow(&self, place: Range<usize>) -> Buffer {
        borrowed_buffer(Borrowed {
            reader: self.reader.clone(),
            place,
        })
    }

    /// Whether all that is read is of one version of the file.
    pub(crate) fn is_one_version(&self) -> bool {
        self.reader.is_one_version()
    }

    /// Checks that the file is as it was when it was opened, as far as that can be known without reading it.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        Ok(self.reader.check_unchanged()?)
    }

    /// Tells the system that these ranges will be read.
    pub(crate) fn prefetch(&self, ranges: &[Range<u64>]) {
        self.reader.prefetch(ranges);
    }

    /// The bytes of a range.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<ReadBytes<'_>> {
        Ok(tarsia_io::read_range(&*self.reader, range)?)
    }

    /// The bytes of a range that is read once: short ones are copied, since touching a new page of a map costs more.
    pub(crate) fn read_once(&self, range: Range<u64>) -> Result<ReadBytes<'_>> {
        Ok(tarsia_io::read_once(&*self.reader, range)?)
    }

    /// As [`Source::read_once`], counted as metadata.
    pub(crate) fn read_metadata(&self, range: Range<u64>) -> Result<ReadBytes<'_>> {
        self.count_metadata(&range);
        self.read_once(range)
    }

    /// Counts a range that was read and is kept.
    pub(crate) fn count_metadata(&self, range: &Range<u64>) {
        let bytes = range.end.saturating_sub(range.start);
        self.metadata_requests.fetch_add(1, Ordering::Relaxed);
        self.metadata_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.count_kept(bytes);
    }

    /// Reads the ranges of a wave, sorted and apart, all together. `of_metadata` are those that are counted.
    fn read_wave(
        &self,
        ranges: &[Range<u64>],
        of_metadata: &[Range<u64>],
    ) -> Result<Vec<ReadBytes<'_>>> {
        let options = self.reader.read_options(Access::Take);
        let ReadOptions {
            gap_bytes,
            request_bytes_max,
        } = options;
        for read in tarsia_io::coalesce(of_metadata, gap_bytes, request_bytes_max) {
            self.count_metadata(&read.range);
        }
        Ok(tarsia_io::read_ranges(&*self.reader, ranges, options)?)
    }

    /// The bytes of each range of one group.
    pub(crate) fn fetch(&self, group: &impl Ranges) -> Result<Vec<ReadBytes<'_>>> {
        let ranges: Vec<_> = group.ranges().collect();
        let bytes = tarsia_io::read_ranges(&*self.reader, &ranges, ReadOptions::LOCAL)?;
        Ok(bytes)
    }

    /// The bytes of several groups, fetched together so that neighbours share requests.
    pub(crate) fn fetch_all<G: Ranges>(&self, groups: &[G]) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        if self.is_mapped() {
            self.reader.prefetch(&all_ranges(groups));
            return groups.iter().map(|group| self.fetch(group)).collect();
        }
        self.fetch_joined(groups, Access::Take)
    }

    /// Fetches for a scan, which comes to each place once: a group that lies alone is copied, where touching a map
    /// would cost more.
    pub(crate) fn fetch_once<G: Ranges>(&self, groups: &[G]) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        if !self.is_mapped() {
            return self.fetch_joined(groups, Access::Scan);
        }
        let extents: Vec<_> = groups.iter().map(Ranges::extent).collect();
        let lies_alone = tarsia_io::lie_alone(&extents);
        let groups = groups.iter().zip(extents).zip(lies_alone);
        let fetched = groups.map(|((group, extent), alone)| {
            if !alone {
                return self.fetch(group);
            }
            let bytes = tarsia_io::read_once(&*self.reader, extent.clone())?;
            let part = |range: Range<u64>| {
                // The extent is short, and the range inside it.
                let start = (range.start - extent.start) as usize;
                let end = (range.end - extent.start) as usize;
                Ok(bytes.slice(start..end)?)
            };
            group.ranges().map(part).collect()
        });
        fetched.collect()
    }

    /// Cuts rising ranges, of which each is looked at once, into runs for [`Source::read_window`]. Of a file in memory
    /// all are one run.
    pub(crate) fn windows<'r>(
        &self,
        ranges: &'r [Range<u64>],
    ) -> impl Iterator<Item = &'r [Range<u64>]> + use<'r> {
        let bytes_max = match self.is_mapped() {
            true => u64::MAX,
            false => WINDOW_BYTES,
        };
        let gap_bytes = self.reader.read_options(Access::Scan).gap_bytes;
        let (mut held, mut end) = (0_u64, 0);
        ranges.chunk_by(move |before, range| {
            if held == 0 {
                held = before.end.saturating_sub(before.start);
            }
            end = before.end.max(end);
            let gap = range.start.saturating_sub(end).min(gap_bytes);
            let more = range.end.saturating_sub(range.start).saturating_add(gap);
            held = held.saturating_add(more);
            let is_together = held <= bytes_max;
            if !is_together {
                held = 0;
            }
            is_together
        })
    }

    /// The bytes of each range of a window, with as few requests as the source wants; `None` where one of them cannot
    /// be read, for the caller to read them one by one and to say which.
    pub(crate) fn read_window(&self, window: &[Range<u64>]) -> Option<Vec<ReadBytes<'_>>> {
        let options = self.reader.read_options(Access::Scan);
        tarsia_io::read_ranges(&*self.reader, window, options).ok()
    }

    /// Bytes that are held by those of a window, with the gaps that are read over.
    pub(crate) fn held_bytes(&self, window: &[Range<u64>]) -> u64 {
        if self.is_mapped() {
            return 0;
        }
        let ReadOptions {
            gap_bytes,
            request_bytes_max,
        } = self.reader.read_options(Access::Scan);
        let requests = tarsia_io::coalesce(window, gap_bytes, request_bytes_max);
        let bytes = requests
            .iter()
            .map(|read| read.range.end - read.range.start);
        bytes.sum()
    }

    fn fetch_joined<G: Ranges>(
        &self,
        groups: &[G],
        access: Access,
    ) -> Result<Vec<Vec<ReadBytes<'_>>>> {
        let ranges = all_ranges(groups);
        let options = self.reader.read_options(access);
        let fetched = tarsia_io::read_ranges(&*self.reader, &ranges, options)?;
        let mut fetched = fetched.into_iter();
        let groups = groups.iter();
        let groups = groups.map(|group| fetched.by_ref().take(group.ranges().count()).collect());
        Ok(groups.collect())
    }

    /// Metadata read so far, and the requests that reading some groups takes.
    pub(crate) fn reads<G: Ranges>(&self, groups: &[G]) -> Reads {
        let ReadOptions {
            gap_bytes,
            request_bytes_max,
        } = self.reader.read_options(Access::Take);
        let requests = tarsia_io::coalesce(&all_ranges(groups), gap_bytes, request_bytes_max);
        let bytes = requests
            .iter()
            .map(|read| read.range.end - read.range.start);
        Reads {
            requests: requests.len() as u64,
            bytes: bytes.sum(),
            metadata_requests: self.metadata_requests.load(Ordering::Relaxed),
            metadata_bytes: self.metadata_bytes.load(Ordering::Relaxed),
        }
    }

    /// The metadata read since `before` was counted, with the blocks of `blocks`.
    pub(crate) fn reads_since(&self, before: Reads, blocks: Reads) -> Reads {
        let requests = self.metadata_requests.load(Ordering::Relaxed);
        let bytes = self.metadata_bytes.load(Ordering::Relaxed);
        Reads {
            metadata_requests: requests - before.metadata_requests,
            metadata_bytes: bytes - before.metadata_bytes,
            ..blocks
        }
    }
}

/// A part of a file in memory; `None` of others, and beyond the end.
pub(crate) fn slice_of(mapped: Option<&[u8]>, range: Range<u64>) -> Option<&[u8]> {
    let place = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
    mapped?.get(place)
}

fn all_ranges<G: Ranges>(groups: &[G]) -> Vec<Range<u64>> {
    groups.iter().flat_map(Ranges::ranges).collect()
}

/// A group that is all of its ranges.
impl Ranges for Vec<Range<u64>> {
    fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use tarsia_io::MemoryFile;

    use super::*;

    struct Group(Vec<Range<u64>>);

    impl Ranges for Group {
        fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
            self.0.iter().cloned()
        }
    }

    /// Bytes that only positional reads can get at.
    struct Unmapped(Vec<u8>);

    impl ReadAt for Unmapped {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, place: u64, buf: &mut [u8]) -> std::io::Result<()> {
            let start = place as usize;
            buf.copy_from_slice(&self.0[start..start + buf.len()]);
            Ok(())
        }
    }

    #[test]
    fn windows_hold_few_bytes() {
        let mib = 1 << 20;
        let range = |start: u64, end: u64| start * mib..end * mib;
        let ranges = [
            range(0, 3),
            range(3, 8),
            range(8, 9),
            range(20, 40),
            range(40, 41),
            range(41, 42),
            range(42, 42),
        ];
        let unmapped = Source::new(Arc::new(Unmapped(Vec::new())), String::from("test"));
        let lengths: Vec<_> = unmapped.windows(&ranges).map(<[_]>::len).collect();
        assert_eq!(lengths, [2, 1, 1, 3]);
        assert_eq!(unmapped.windows(&[]).count(), 0);
        assert!(unmapped.read_window(&ranges).is_none());
        let mapped = Source::new(Arc::new(MemoryFile::new(vec![7])), String::from("test"));
        assert_eq!(mapped.windows(&ranges).count(), 1);
        let bytes = mapped.read_window(&[0..1, 1..1]).unwrap();
        assert_eq!((&*bytes[0], &*bytes[1]), (&[7][..], &[][..]));
    }

    #[test]
    fn groups_come_back_as_they_were_asked_for() {
        let content: Vec<u8> = (0..=255).cycle().take(200_000).collect();
        let groups = [
            Group(vec![10..20, 15..17]),
            Group(Vec::new()),
            Group(vec![100_000..100_100, 4..8]),
        ];
        assert_eq!(groups[0].extent(), 10..20);
        assert_eq!(groups[1].extent(), 0..0);
        assert_eq!(groups[2].extent(), 4..100_100);
        let readers: [Arc<dyn ReadAt>; 2] = [
            Arc::new(MemoryFile::new(content.clone())),
            Arc::new(Unmapped(content.clone())),
        ];
        for reader in readers {
            let source = Source::new(reader, String::from("test"));
            for fetched in [source.fetch_all(&groups), source.fetch_once(&groups)] {
                let fetched = fetched.unwrap();
                for (group, bytes) in groups.iter().zip(&fetched) {
                    assert_eq!(group.0.len(), bytes.len());
                    for (range, bytes) in group.0.iter().zip(bytes) {
                        let expected = &content[range.start as usize..range.end as usize];
                        assert_eq!(&**bytes, expected);
                    }
                }
            }
            let reads = source.reads(&groups);
            assert_eq!((reads.requests, reads.bytes), (2, 116));
            assert_eq!(reads.metadata_requests, 0);
            source.read_metadata(0..12).unwrap();
            let since = source.reads_since(Reads::default(), reads);
            assert_eq!((since.metadata_requests, since.metadata_bytes), (1, 12));
            assert_eq!(since.requests, 2);
        }
    }
}
