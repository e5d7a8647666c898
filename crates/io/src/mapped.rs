//! Local files by memory map.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memmap2::Mmap;

use crate::coalesce::coalesce;
use crate::conflict::Conflict;
use crate::local::{LocalFile, open_regular};
use crate::read::ReadAt;

/// A local file mapped into memory: reads borrow and copy nothing, and pages come from the system's cache as they are
/// touched.
///
/// [`ReadAt::read_at`] reads by position and does not use the map. The first access to a page of a map costs a page
/// fault, in which the system also maps the neighbours. If few bytes are read, once and far apart (the records of ten
/// of 100,000 columns), a positioned read is cheaper.
///
/// # Others who change the file
/// The map shows the file as it is, not as it was. As long as the value lives it therefore holds a shared lock on the
/// file, which keeps an [`ExclusiveFile`](crate::ExclusiveFile) from changing it in place. Replacing the file by
/// renaming another over it, as [`FileSink`](crate::FileSink) does, needs no lock: the map keeps the old file.
///
/// Where the file system has no locks, the file is not mapped: [`ReadAt::mapped`] is `None`, and reads copy.
///
/// Locks are advisory on most systems. A process that changes the file without asking for the lock changes bytes that
/// were checked before, and cutting the file short ends this process with a signal once it touches the part that was
/// cut off. `docs/design/zero-copy-under-change.md` has the reasons. Where that may happen, use
/// [`LocalFile`](crate::LocalFile).
#[derive(Debug)]
pub struct MappedFile {
    content: Content,
    // Its handle holds the lock, so it is dropped after the map.
    file: LocalFile,
    asked: Asked,
}

#[derive(Debug)]
enum Content {
    /// Some systems refuse to map nothing.
    Empty,
    Mapped(Mmap),
    /// There is no lock that would keep others from changing it.
    Unmapped,
}

/// The pages of a file that the system was asked to fetch. It is asked once per page, because asking costs as much as
/// reading a page that is in memory.
#[derive(Debug)]
struct Asked {
    chunks: Vec<OnceLock<Box<[AtomicU64]>>>,
}

/// Asking for three ranges that are in memory and accessing them takes less, even if their pages are not mapped yet
/// (some 15 µs). No disk answers that fast.
const SLOW: Duration = Duration::from_micros(40);

/// Ranges at most this far apart are asked for together. Asking for a range that is not in memory took some 15 µs; in
/// that time a disk reads 10 KiB, and a fast one more.
const ASKED_GAP_BYTES: u64 = 16 << 10;

/// The system's pages may be larger, and then are asked for more than once.
const PAGE_BYTES: u64 = 4096;
const CHUNK_WORDS: u64 = 512;
const CHUNK_PAGES: u64 = CHUNK_WORDS * 64;

impl Asked {
    fn new(len: u64) -> Self {
        let n_chunks = len.div_ceil(PAGE_BYTES * CHUNK_PAGES);
        Self {
            chunks: (0..n_chunks).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Whether the page was asked for.
    fn has(&self, page: u64) -> bool {
        let chunk = self.chunks.get((page / CHUNK_PAGES) as usize);
        let words = chunk.and_then(OnceLock::get);
        let word = words.and_then(|words| words.get((page % CHUNK_PAGES / 64) as usize));
        word.is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (page % 64)) != 0)
    }

    /// Notes the pages; whether one of them is new.
    fn add(&self, pages: Range<u64>) -> bool {
        let mut new = false;
        for page in pages {
            let Some(chunk) = self.chunks.get((page / CHUNK_PAGES) as usize) else {
                return new;
            };
            let words = chunk.get_or_init(|| (0..CHUNK_WORDS).map(|_| AtomicU64::new(0)).collect());
            let bit = 1 << (page % 64);
            if let Some(word) = words.get((page % CHUNK_PAGES / 64) as usize)
                && word.load(Ordering::Relaxed) & bit == 0
            {
                word.fetch_or(bit, Ordering::Relaxed);
                new = true;
            }
        }
        new
    }
}

impl MappedFile {
    /// Maps a file and locks it against changes, if the file system has locks.
    ///
    /// # Errors
    /// What the system reports; [`Conflict::BeingChanged`] if another handle changes it now,
    /// [`io::ErrorKind::InvalidInput`] for what is not a regular file, [`io::ErrorKind::OutOfMemory`] for a file larger
    /// than the address space.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_by(path.as_ref(), File::try_lock_shared)
    }

    /// The handle is opened here and given to nobody: another one of the same origin could end the lock.
    fn open_by(
        path: &Path,
        try_lock_shared: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Self> {
        let file = open_regular(path)?;
        let is_locked = match try_lock_shared(&file) {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => return Err(Conflict::being_changed(path)),
            // Reading must work everywhere, so what cannot be locked is copied instead of refused.
            Err(TryLockError::Error(_)) => false,
        };
        // Its length is that of the locked file.
        let file = LocalFile::from_file(file)?.named(path);
        let len = file.len();
        let content = match (len, is_locked) {
            (0, _) => Content::Empty,
            (_, false) => Content::Unmapped,
            (len, true) => Content::Mapped(map(&file, len)?),
        };
        Ok(Self {
            content,
            file,
            asked: Asked::new(len),
        })
    }

    /// Asks the system to fetch bytes, unless it was asked before.
    fn ask_for(&self, range: &Range<u64>) {
        let Content::Mapped(map) = &self.content else {
            return;
        };
        let end = range.end.min(map.len() as u64);
        let pages = range.start / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
        if range.start < end && self.asked.add(pages) {
            // A system that cannot do it reads the bytes when they are touched.
            will_need(map, range.start as usize, (end - range.start) as usize);
        }
    }

    /// Whether a range begins or ends where nothing was asked for.
    fn is_new(&self, range: &Range<u64>) -> bool {
        let last = range.end.saturating_sub(1).max(range.start);
        !self.asked.has(range.start / PAGE_BYTES) || !self.asked.has(last / PAGE_BYTES)
    }

    /// Reads a byte, which waits for its page.
    fn touch(&self, place: u64) {
        if let Content::Mapped(map) = &self.content {
            let byte = usize::try_from(place).ok().and_then(|at| map.get(at));
            std::hint::black_box(byte.copied());
        }
    }
}

/// Maps a file of `len` bytes, which is locked.
fn map(file: &LocalFile, len: u64) -> io::Result<Mmap> {
    if usize::try_from(len).is_err() {
        return Err(io::Error::new(
            io::ErrorKind::OutOfMemory,
            format!("a file of {len} bytes does not fit the address space"),
        ));
    }
    #[expect(unsafe_code, reason = "there is no safe way to map a file")]
    // SAFETY: the map is read-only, private to one `MappedFile`, and lives as long as the slices borrowed from it. All
    // that time the handle in the same `MappedFile` holds a shared lock on the file: `open_by` maps nothing without it,
    // the handle has no clone that could end it, and it is dropped after the map. So everybody who follows the rule
    // that a change in place needs the exclusive lock, as `ExclusiveFile` does, leaves the file alone. That other
    // programs follow the rule cannot be checked; the type's documentation says so. The operating system keeps the
    // mapped file alive when it is removed or replaced by renaming.
    let map = unsafe { Mmap::map(file.file()) }?;
    // What was cut off between the lock and now was cut off by somebody without a lock.
    if map.len() as u64 != len {
        return Err(Conflict::changed(None, "length"));
    }
    Ok(map)
}

#[cfg(unix)]
fn will_need(map: &Mmap, start: usize, len: usize) {
    let _ = map.advise_range(memmap2::Advice::WillNeed, start, len);
}

#[cfg(not(unix))]
fn will_need(_: &Mmap, _: usize, _: usize) {}

impl ReadAt for MappedFile {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_at(place, buf)
    }

    /// `None` if the file system has no locks.
    fn mapped(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Empty => Some(&[]),
            Content::Mapped(map) => Some(map),
            Content::Unmapped => None,
        }
    }

    fn check_unchanged(&self) -> io::Result<()> {
        self.file.check_unchanged()
    }

    /// Without it, ranges that are not in memory are fetched one after the other, at the first access to each. Asking
    /// for a range that is in memory costs as much as reading it. So a few ranges are asked for and accessed first, and
    /// the others are asked for only if that took as long as a disk takes.
    fn prefetch(&self, ranges: &[Range<u64>]) {
        // Ranges that were asked for before do not show whether the rest is in memory: opening a file has fetched its
        // end, which most takes read first, but not its dictionaries.
        let is_new = |range: &&Range<u64>| self.is_new(range);
        let (front, back) = ranges.split_at(ranges.len() / 2);
        let middle = back.iter().find(is_new);
        let probes = [
            front.iter().find(is_new),
            middle,
            back.iter()
                .rev()
                .take_while(|range| Some(*range) != middle)
                .find(is_new),
        ];
        let probes = || probes.into_iter().flatten();
        let begin = Instant::now();
        for range in probes() {
            self.ask_for(range);
        }
        if ranges.len() <= probes().count() {
            return;
        }
        for range in probes() {
            self.touch(range.start);
        }
        // Asking counts too: it may take so long that the bytes have come when they are touched.
        if begin.elapsed() >= SLOW {
            let mut joined = coalesce(ranges, ASKED_GAP_BYTES, u64::MAX);
            // What is used first is asked for first, so that using it and reading the rest go on at the same time.
            joined.sort_by_key(|joined| joined.members.iter().min().copied());
            for joined in joined {
                self.ask_for(&joined.range);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_locks_a_file_is_read_and_not_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"content").unwrap();
        for kind in [io::ErrorKind::Unsupported, io::ErrorKind::Other] {
            let none = |_: &File| Err(TryLockError::Error(kind.into()));
            let file = MappedFile::open_by(&path, none).unwrap();
            assert_eq!((file.len(), file.mapped()), (7, None));
            file.prefetch(&[0..1, 2..3, 3..4, 4..5, 6..7]);
            let mut buf = [0; 4];
            file.read_at(3, &mut buf).unwrap();
            assert_eq!(&buf, b"tent");
            assert_eq!(&*crate::read_range(&file, 3..7).unwrap(), b"tent");
            assert!(file.read_at(4, &mut buf).is_err());
        }
        let busy = |_: &File| Err(TryLockError::WouldBlock);
        let error = MappedFile::open_by(&path, busy).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
    }

    #[test]
    fn pages_are_asked_for_once() {
        let asked = Asked::new(PAGE_BYTES * (2 * CHUNK_PAGES + 5));
        assert!(asked.add(0..1));
        assert!(!asked.add(0..1));
        assert!(asked.add(0..2));
        assert!(asked.add(CHUNK_PAGES - 1..CHUNK_PAGES + 1));
        assert!(!asked.add(CHUNK_PAGES..CHUNK_PAGES + 1));
        assert!(asked.add(2 * CHUNK_PAGES + 4..2 * CHUNK_PAGES + 5));
        // Nothing is noted beyond the file's last chunk.
        assert!(!asked.add(3 * CHUNK_PAGES..3 * CHUNK_PAGES + 9));
    }

    /// Tests that the end of a file, in memory or not, says nothing of the rest.
    #[test]
    fn pages_that_were_asked_for_are_no_probes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 64 * PAGE_BYTES as usize]).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let page = |page: u64| page * PAGE_BYTES..page * PAGE_BYTES + 100;
        assert!(file.is_new(&page(60)) && file.is_new(&(0..0)));
        file.prefetch(&[
            60 * PAGE_BYTES..62 * PAGE_BYTES,
            62 * PAGE_BYTES..64 * PAGE_BYTES,
        ]);
        assert!(!file.is_new(&page(60)) && !file.is_new(&page(63)));
        assert!(file.is_new(&(59 * PAGE_BYTES..61 * PAGE_BYTES)));
        // Of seven, the first three that are new: no more, whether they are found in memory or not.
        file.prefetch(&[
            page(61),
            page(62),
            page(1),
            page(63),
            page(5),
            page(60),
            page(9),
        ]);
        for asked in [1, 5, 9] {
            assert!(!file.is_new(&page(asked)), "{asked}");
        }
    }

    #[test]
    fn whatever_is_asked_for_the_bytes_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let n = bytes.len() as u64;
        #[expect(clippy::reversed_empty_ranges, reason = "asked for by a broken plan")]
        file.prefetch(&[
            0..1,
            4095..4097,
            70_000..90_001,
            n - 1..n,
            n..n + 10,
            9..9,
            10..5,
            0..u64::MAX,
        ]);
        file.prefetch(&[u64::MAX..u64::MAX, n..n]);
        file.prefetch(&[]);
        assert_eq!(file.mapped(), Some(&bytes[..]));
        let empty = folder.path().join("empty");
        std::fs::write(&empty, []).unwrap();
        MappedFile::open(&empty).unwrap().prefetch(&[0..1, 1..2]);
    }
}
