//! Every reader against a slice, alone and with many threads; fetching ranges against single reads.

#![cfg(any(unix, windows))]

use std::io::{self, Cursor, ErrorKind};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tarsia_io::{
    Access, Conflict, CountingReader, IoStats, LocalFile, MappedFile, MemoryFile, ReadAt,
    ReadBytes, ReadOptions, SeekFile, coalesce, lie_alone, read_once, read_range, read_ranges,
};

fn content(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8)
        .collect()
}

struct Files {
    // Keeps the files until the end of the test.
    _directory: tempfile::TempDir,
    path: PathBuf,
    content: Vec<u8>,
}

fn files(len: usize) -> Files {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("content");
    let content = content(len);
    std::fs::write(&path, &content).unwrap();
    Files {
        _directory: directory,
        path,
        content,
    }
}

impl Files {
    fn readers(&self) -> Vec<(&'static str, Box<dyn ReadAt>)> {
        vec![
            ("memory", Box::new(MemoryFile::new(self.content.clone()))),
            (
                "memory, shared",
                Box::new(MemoryFile::new(Arc::<[u8]>::from(&self.content[..]))),
            ),
            ("local", Box::new(LocalFile::open(&self.path).unwrap())),
            ("mapped", Box::new(MappedFile::open(&self.path).unwrap())),
            (
                "seek",
                Box::new(SeekFile::new(Cursor::new(self.content.clone())).unwrap()),
            ),
            (
                "counting",
                Box::new(CountingReader::new(LocalFile::open(&self.path).unwrap())),
            ),
            (
                "behind an Arc",
                Box::new(Arc::new(LocalFile::open(&self.path).unwrap())),
            ),
        ]
    }
}

fn check_reads(name: &str, reader: &dyn ReadAt, content: &[u8]) {
    let len = content.len() as u64;
    assert_eq!(reader.len(), len, "{name}");
    assert_eq!(reader.is_empty(), content.is_empty(), "{name}");
    if let Some(mapped) = reader.mapped() {
        assert_eq!(mapped, content, "{name}");
    }
    for place in [0, 1, len / 2, len.saturating_sub(1), len] {
        for n in [0, 1, 2, 100, 5000, len - place.min(len)] {
            let mut buf = vec![0xee; n as usize];
            let got = reader.read_at(place, &mut buf);
            if place + n <= len {
                got.unwrap_or_else(|error| panic!("{name}: {n} at {place}: {error}"));
                assert_eq!(
                    buf,
                    content[place as usize..][..n as usize],
                    "{name}: {n} at {place}"
                );
            } else {
                assert_eq!(
                    got.unwrap_err().kind(),
                    ErrorKind::UnexpectedEof,
                    "{name}: {n} at {place}"
                );
            }
        }
    }
    for place in [len + 1, u64::MAX, u64::MAX - 3, 1 << 40] {
        for n in [0, 1, 8] {
            let got = reader.read_at(place, &mut vec![0; n]);
            assert_eq!(
                got.unwrap_err().kind(),
                ErrorKind::UnexpectedEof,
                "{name}: {n} at {place}"
            );
        }
    }
}

#[test]
fn every_reader_reads_what_the_file_holds() {
    for len in [0, 1, 4095, 4096, 10_000] {
        let files = files(len);
        for (name, reader) in files.readers() {
            check_reads(name, &*reader, &files.content);
        }
    }
}

#[test]
fn threads_read_at_once() {
    let files = files(300_000);
    for (name, reader) in files.readers() {
        let (reader, content) = (&*reader, &files.content);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut place = thread * 7919;
                    for _ in 0..300 {
                        place = (place * 31 + 17) % 290_000;
                        let mut buf = [0; 1000];
                        reader.read_at(place as u64, &mut buf).unwrap();
                        assert_eq!(buf, content[place..place + 1000], "{name} at {place}");
                    }
                });
            }
        });
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    // Some systems refuse to open a directory at all.
    assert!(LocalFile::open(directory.path()).is_err());
    assert!(MappedFile::open(directory.path()).is_err());
    let missing = directory.path().join("missing");
    assert_eq!(
        LocalFile::open(&missing).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        MappedFile::open(&missing).unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_file_that_is_cut_off_is_an_error_and_one_that_grows_keeps_its_length() {
    let files = files(1000);
    let reader = LocalFile::open(&files.path).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&files.path)
        .unwrap();
    file.set_len(2000).unwrap();
    assert_eq!(reader.len(), 1000);
    assert!(reader.read_at(999, &mut [0; 2]).is_err());
    file.set_len(10).unwrap();
    let got = reader.read_at(5, &mut [0; 10]);
    let changed = |error| matches!(Conflict::of(&error), Some(Conflict::Changed { .. }));
    assert!(changed(got.unwrap_err()));
    assert!(changed(read_range(&reader, 5..15).unwrap_err()));
}

#[test]
fn content_in_memory_is_borrowed() {
    let files = files(5000);
    for (name, reader) in files.readers() {
        let parts = read_ranges(&*reader, &[10..20, 4000..5000], ReadOptions::LOCAL).unwrap();
        for part in &parts {
            assert_eq!(part.is_borrowed(), reader.mapped().is_some(), "{name}");
        }
        if let Some(mapped) = reader.mapped() {
            assert_eq!(parts[1].as_ptr(), mapped[4000..].as_ptr(), "{name}");
        }
        let one = read_range(&*reader, 10..20).unwrap();
        assert_eq!(&*one, &*parts[0], "{name}");
    }
}

#[test]
fn neighbours_share_requests() {
    let reader = CountingReader::new(MemoryFile::new(content(100_000)));
    let ranges = [0..10, 50_000..50_100, 10..20, 30..40, 50_050..50_060, 7..7];
    let options = ReadOptions {
        gap_bytes: 16,
        request_bytes_max: 1000,
    };
    let parts = read_ranges(&reader, &ranges, options).unwrap();
    assert_eq!(
        reader.stats(),
        IoStats {
            requests: 2,
            bytes: 140
        }
    );
    for (part, range) in parts.iter().zip(&ranges) {
        let expected = &content(100_000)[range.start as usize..range.end as usize];
        assert_eq!(&**part, expected, "{range:?}");
    }
    assert_eq!(reader.reset().requests, 2);
    assert_eq!(reader.stats(), IoStats::default());
    assert_eq!(reader.into_inner().len(), 100_000);
}

/// Claims a size that no machine has memory for.
struct Endless;

impl ReadAt for Endless {
    fn len(&self) -> u64 {
        u64::MAX
    }

    fn read_at(&self, _: u64, buf: &mut [u8]) -> io::Result<()> {
        buf.fill(1);
        Ok(())
    }
}

#[test]
fn hostile_ranges_are_errors_and_cost_no_memory() {
    let small = CountingReader::new(MemoryFile::new(content(100)));
    let kind = |reader: &dyn ReadAt, range: Range<u64>| {
        let single = read_range(reader, range.clone()).unwrap_err().kind();
        let many = read_ranges(reader, &[0..1, range], ReadOptions::LOCAL)
            .unwrap_err()
            .kind();
        assert_eq!(single, many);
        single
    };
    assert_eq!(kind(&small, 0..u64::MAX), ErrorKind::UnexpectedEof);
    assert_eq!(kind(&small, 101..101), ErrorKind::UnexpectedEof);
    assert_eq!(kind(&small, u64::MAX..u64::MAX), ErrorKind::UnexpectedEof);
    #[expect(clippy::reversed_empty_ranges, reason = "this is what must be refused")]
    let reversed = 50..40;
    assert_eq!(kind(&small, reversed), ErrorKind::InvalidInput);
    assert_eq!(
        small.stats().requests,
        0,
        "nothing is read before all ranges are checked"
    );
    assert_eq!(kind(&Endless, 1..1 << 63), ErrorKind::OutOfMemory);
    assert_eq!(
        &*read_range(&Endless, u64::MAX - 2..u64::MAX).unwrap(),
        [1, 1]
    );
}

#[test]
fn bytes_read_are_sliced_without_copies() {
    let buffer = Arc::new(content(100));
    let shared = ReadBytes::shared(Arc::clone(&buffer), 10..60).unwrap();
    let borrowed = ReadBytes::borrowed(&buffer[10..60]);
    for bytes in [shared, borrowed] {
        let part = bytes.slice(5..7).unwrap();
        assert_eq!(part.as_ptr(), buffer[15..].as_ptr());
        assert_eq!(part.len(), 2);
        assert_eq!(bytes.slice(50..50).unwrap().len(), 0);
        assert!(bytes.slice(50..51).is_err());
        assert!(bytes.slice(usize::MAX - 1..usize::MAX).is_err());
        let owned = bytes.clone().into_owned();
        assert!(!owned.is_borrowed());
        assert_eq!(owned.as_ref(), &buffer[10..60]);
    }
    assert!(ReadBytes::shared(Arc::clone(&buffer), 10..101).is_err());
}

fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
    let range = (0..2000u64, 0..300u64).prop_map(|(start, len)| start..(start + len).min(2000));
    prop::collection::vec(range, 0..40)
}

proptest! {
    #[test]
    fn plans_cover_each_range_once_and_keep_their_limits(
        ranges in ranges(),
        gap in 0..200u64,
        max in 0..1000u64,
    ) {
        let reads = coalesce(&ranges, gap, max);
        let mut n_uses = vec![0; ranges.len()];
        for read in &reads {
            let mut covered = read.range.start;
            for member in &read.members {
                let range = &ranges[*member];
                n_uses[*member] += 1;
                prop_assert!(read.range.start <= range.start && range.end <= read.range.end);
                // Sorted by start, so whatever lies between is a gap.
                prop_assert!(range.start <= covered + gap);
                covered = covered.max(range.end);
            }
            prop_assert_eq!(covered, read.range.end);
            prop_assert_eq!(ranges[read.members[0]].start, read.range.start);
            let n_bytes = read.range.end - read.range.start;
            let first = &ranges[read.members[0]];
            prop_assert!(n_bytes <= max.max(first.end - first.start));
        }
        for (range, n_uses) in ranges.iter().zip(n_uses) {
            prop_assert_eq!(n_uses, usize::from(!range.is_empty()));
        }
        for pair in reads.windows(2) {
            prop_assert!(pair[0].range.start <= pair[1].range.start);
            // Two requests that could be one.
            let together = pair[0].range.end.max(pair[1].range.end) - pair[0].range.start;
            let near = pair[1].range.start <= pair[0].range.end + gap;
            prop_assert!(!near || together > max);
        }
    }

    #[test]
    fn ranges_read_together_are_those_read_alone(
        ranges in ranges(),
        gap_bytes in 0..200u64,
        request_bytes_max in 0..1000u64,
    ) {
        let content = content(2000);
        let reader = CountingReader::new(MemoryFile::new(content.clone()));
        let options = ReadOptions { gap_bytes, request_bytes_max };
        let parts = read_ranges(&reader, &ranges, options).unwrap();
        prop_assert_eq!(parts.len(), ranges.len());
        for (part, range) in parts.iter().zip(&ranges) {
            prop_assert_eq!(&**part, &content[range.start as usize..range.end as usize]);
        }
    }
}

#[test]
fn what_is_read_once_is_copied_where_it_is_short() {
    let content: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    let reader = MemoryFile::new(content.clone());
    for (range, copied) in [(5..20, true), (0..4096, true), (1..4098, false)] {
        let bytes = read_once(&reader, range.clone()).unwrap();
        assert_eq!(&*bytes, &content[range.start as usize..range.end as usize]);
        assert_eq!(bytes.is_borrowed(), !copied, "{range:?}");
    }
    assert!(read_once(&reader, 99_999..100_001).is_err());
    let places = [
        0..100,
        1 << 20..(1 << 20) + 100_000,
        // Each short, yet together touched as one run of memory.
        3 << 20..(3 << 20) + 3_000,
        (3 << 20) + 40_000..(3 << 20) + 43_000,
        5 << 20..(5 << 20) + 4096,
    ];
    assert_eq!(lie_alone(&places), [true, false, false, false, true]);
    assert!(lie_alone(&[]).is_empty());
}

/// Counts calls that read many ranges.
struct Waves(MemoryFile, AtomicUsize);

impl ReadAt for Waves {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        self.0.read_at(place, buf)
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &[Range<u64>],
        options: ReadOptions,
    ) -> io::Result<Vec<ReadBytes<'a>>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read_ranges(ranges, options)
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        match access {
            Access::Take => ReadOptions::REMOTE_TAKE,
            Access::Scan => ReadOptions::REMOTE_SCAN,
        }
    }
}

#[test]
fn a_reader_reads_many_ranges_in_its_own_way_behind_every_pointer() {
    let reader = Arc::new(Waves(MemoryFile::new(content(2000)), 0.into()));
    let boxed: Box<dyn ReadAt> = Box::new(Arc::clone(&reader));
    let ranges = [5..10, 1_000..1_005];
    for reader in [&*boxed, &&*boxed] {
        let parts = read_ranges(reader, &ranges, ReadOptions::LOCAL).unwrap();
        assert_eq!(*parts[1], content(2000)[1_000..1_005]);
        assert_eq!(reader.read_options(Access::Scan), ReadOptions::REMOTE_SCAN);
    }
    assert_eq!(reader.1.load(Ordering::Relaxed), 2);
    // Others read one request after the other, as local files are best read.
    let local = MemoryFile::new(Vec::new());
    assert_eq!(local.read_options(Access::Scan), ReadOptions::LOCAL);
}
