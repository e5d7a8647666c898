//! Files that lie in a store.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tarsia_io::{
    Access, Get, GetRange, Got, ObjectMeta, Priority, ReadAt, ReadBytes, ReadOptions, Store,
    StoreError, StoreErrorKind, block_on, check_inside, coalesce,
};

use crate::tries::add;

/// Bytes read from the end of a file when it is opened: the postscript, the footer and, of narrow tables, all records.
/// As Vortex and Lance read; a request of this size takes hardly longer than one of a byte.
pub const TAIL_BYTES: u64 = 64 << 10;

/// Most bytes kept of ranges that were announced ([`ReadAt::prefetch`]).
const ANNOUNCED_BYTES_MAX: u64 = 8 << 20;

/// An object of a [`Store`], read as a file by any number of threads. Cloning shares it.
///
/// - [`RemoteFile::open`] reads the last 64 KiB and learns size and ETag from the same answer: one request. Reads
///   inside these bytes need no other. Of a server that ignores ranges, a small file is read as a whole.
/// - A call that reads many ranges makes its requests at the same time: a *wave*. Neighbours share a request, a range
///   over the largest request is split, and the first range comes first.
/// - All bytes are of the object that was opened. Requests name its ETag, and each answer's size and ETag (or time of
///   modification, if there is no ETag) are compared with those known. So a changed object is an error
///   ([`Conflict::Changed`](tarsia_io::Conflict::Changed)).
///
/// The calling thread waits; transfers run elsewhere. [`RemoteFile::get_ranges`] does not wait.
#[derive(Clone)]
pub struct RemoteFile(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    key: Arc<str>,
    meta: ObjectMeta,
    tail: Chunk,
    /// Announced ranges, the newest last.
    announced: Mutex<VecDeque<Chunk>>,
    waves: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// Bytes of the file that are in memory.
#[derive(Clone)]
struct Chunk {
    start: u64,
    bytes: Arc<Vec<u8>>,
}

impl Chunk {
    /// The bytes of a range, if all of them are here.
    fn part(&self, range: &Range<u64>) -> Option<ReadBytes<'static>> {
        let start = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let end = start.checked_add(len)?;
        ReadBytes::shared(Arc::clone(&self.bytes), start..end).ok()
    }
}

/// Counts of a [`RemoteFile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// Times that something was waited for: requests that were made together count once.
    pub waves: u64,
    /// Requests, without those that a store makes again.
    pub requests: u64,
    /// Bytes of their answers.
    pub bytes: u64,
}

impl RemoteFile {
    /// Opens an object: reads its last 64 KiB.
    ///
    /// # Errors
    /// Errors of the store ([`StoreError::of`] finds them): the object does not exist, may not be read, or is large and
    /// on a server that ignores ranges.
    pub fn open(store: Arc<dyn Store>, key: &str) -> io::Result<Self> {
        Ok(block_on(Self::open_async(store, key.into()))?)
    }

    /// Opens an object as [`RemoteFile::open`] does, without waiting.
    ///
    /// # Errors
    /// As [`RemoteFile::open`].
    pub async fn open_async(store: Arc<dyn Store>, key: Arc<str>) -> Result<Self, StoreError> {
        let suffix = Get::new(Arc::clone(&key), GetRange::Suffix(TAIL_BYTES));
        let mut n_requests = 1;
        let got = match store.get(suffix).await {
            Err(error) if error.kind() == StoreErrorKind::NoRanges => {
                n_requests += 1;
                let bytes_max = store.read_options(Access::Scan).request_bytes_max;
                let whole = GetRange::Whole { bytes_max };
                let got = store.get(Get::new(Arc::clone(&key), whole)).await;
                got.map_err(explain)?
            }
            // No byte of an empty object is in any range.
            Err(error) if error.kind() == StoreErrorKind::Outside => {
                n_requests += 1;
                let meta = store.head(&key).await?;
                if meta.size > 0 {
                    return Err(error);
                }
                Got {
                    bytes: Vec::new(),
                    start: 0,
                    meta,
                }
            }
            got => got?,
        };
        let file = Self::new(store, key, got.meta, got.start, got.bytes);
        add(&file.0.waves, n_requests);
        add(&file.0.requests, n_requests);
        add(&file.0.bytes, file.0.tail.bytes.len() as u64);
        Ok(file)
    }

    /// Opens an object whose state is known, say from an earlier open or a list of files: reads nothing.
    pub fn known(store: Arc<dyn Store>, key: &str, meta: ObjectMeta) -> Self {
        let start = meta.size;
        Self::new(store, key.into(), meta, start, Vec::new())
    }

    fn new(
        store: Arc<dyn Store>,
        key: Arc<str>,
        meta: ObjectMeta,
        start: u64,
        tail: Vec<u8>,
    ) -> Self {
        let bytes = Arc::new(tail);
        Self(Arc::new(Inner {
            store,
            key,
            meta,
            tail: Chunk { start, bytes },
            announced: Mutex::default(),
            waves: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }))
    }

    /// Returns the state of the object when it was opened.
    pub fn meta(&self) -> &ObjectMeta {
        &self.0.meta
    }

    /// Returns the URL, without anything secret.
    pub fn url(&self) -> String {
        self.0.store.url(&self.0.key)
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> FileCounts {
        FileCounts {
            waves: self.0.waves.load(Ordering::Relaxed),
            requests: self.0.requests.load(Ordering::Relaxed),
            bytes: self.0.bytes.load(Ordering::Relaxed),
        }
    }

    /// Reads many ranges in one wave, as [`ReadAt::read_ranges`] does, without waiting. Dropped, it is cancelled.
    /// `priority` is the place among all that is read from this store.
    ///
    /// # Errors
    /// As [`tarsia_io::read_ranges`], and those of the store.
    pub async fn get_ranges(
        &self,
        ranges: &[Range<u64>],
        options: ReadOptions,
        priority: Priority,
    ) -> io::Result<Vec<ReadBytes<'static>>> {
        for range in ranges {
            let n_bytes = range.end.checked_sub(range.start).ok_or_else(|| {
                let what = format!("the range {range:?} ends before it starts");
                io::Error::new(io::ErrorKind::InvalidInput, what)
            })?;
            check_inside(range.start, n_bytes, self.0.meta.size)?;
        }
        let empty = Arc::new(Vec::new());
        let mut parts = Vec::with_capacity(ranges.len());
        let mut missing = Vec::new();
        {
            let announced = self.announced();
            for (place, range) in ranges.iter().enumerate() {
                let known = match range.is_empty() {
                    true => Some(ReadBytes::shared(Arc::clone(&empty), 0..0)?),
                    false => self.in_memory(&announced, range),
                };
                if known.is_none() {
                    missing.push((place, range.clone()));
                }
                parts.push(known.unwrap_or(ReadBytes::borrowed(&[])));
            }
        }
        if missing.is_empty() {
            return Ok(parts);
        }
        let wanted: Vec<_> = missing.iter().map(|(_, range)| range.clone()).collect();
        let reads = self.plan(&wanted, options);
        let buffers = self.wave(&reads, priority).await?;
        for (read, bytes) in reads.iter().zip(buffers) {
            let chunk = Chunk {
                start: read.range.start,
                bytes: Arc::new(bytes),
            };
            for member in &read.members {
                let Some((place, range)) = missing.get(*member) else {
                    continue;
                };
                if let (Some(part), Some(bytes)) = (parts.get_mut(*place), chunk.part(range)) {
                    *part = bytes;
                }
            }
        }
        Ok(parts)
    }

    fn announced(&self) -> MutexGuard<'_, VecDeque<Chunk>> {
        // Chunks are pushed and popped whole.
        self.0
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn in_memory(
        &self,
        announced: &VecDeque<Chunk>,
        range: &Range<u64>,
    ) -> Option<ReadBytes<'static>> {
        let known = self.0.tail.part(range);
        known.or_else(|| announced.iter().rev().find_map(|chunk| chunk.part(range)))
    }

    /// Joins ranges to requests, in the order in which their first ranges were asked for. Single ranges may be larger
    /// than the largest request.
    fn plan(&self, ranges: &[Range<u64>], options: ReadOptions) -> Vec<tarsia_io::CoalescedRead> {
        let own = self.read_options(Access::Take);
        let gap_bytes = options.gap_bytes.max(own.gap_bytes);
        let bytes_max = options.request_bytes_max.min(own.request_bytes_max).max(1);
        let mut reads = coalesce(ranges, gap_bytes, bytes_max);
        reads.sort_by_key(|read| read.members.iter().min().copied());
        reads
    }

    /// Makes requests for all of `reads` at the same time. Returns their bytes in the same order.
    async fn wave(
        &self,
        reads: &[tarsia_io::CoalescedRead],
        priority: Priority,
    ) -> io::Result<Vec<Vec<u8>>> {
        let inner = &*self.0;
        let bytes_max = self.read_options(Access::Take).request_bytes_max.max(1);
        let mut requests = FuturesUnordered::new();
        for (index, read) in reads.iter().enumerate() {
            for piece in pieces(&read.range, bytes_max) {
                let mut get = Get::new(Arc::clone(&inner.key), GetRange::Bytes(piece.clone()));
                get.if_match = inner.meta.strong_etag().map(str::to_owned);
                get.priority = priority.at(requests.len() as u64);
                let request = inner.store.get(get);
                requests.push(async move { (index, piece, request.await) });
            }
        }
        add(&inner.waves, 1);
        add(&inner.requests, requests.len() as u64);
        let mut buffers = vec![Vec::new(); reads.len()];
        while let Some((index, piece, got)) = requests.next().await {
            let got = self.checked(&piece, got)?;
            add(&inner.bytes, got.bytes.len() as u64);
            let (Some(read), Some(buffer)) = (reads.get(index), buffers.get_mut(index)) else {
                continue;
            };
            put_piece(buffer, &read.range, &piece, got.bytes)?;
        }
        Ok(buffers)
    }

    /// An answer with exactly the bytes of `piece`, of the object that was opened.
    fn checked(&self, piece: &Range<u64>, got: Result<Got, StoreError>) -> io::Result<Got> {
        let changed = |part| io::Error::from(StoreError::changed(self.url(), part));
        let got = match got {
            Ok(got) => got,
            Err(error) if error.kind() == StoreErrorKind::Outside => return Err(changed("length")),
            Err(error) => return Err(error.into()),
        };
        if let Some(part) = self.0.meta.difference(&got.meta) {
            return Err(changed(part));
        }
        if got.start != piece.start || got.bytes.len() as u64 != piece.end - piece.start {
            let what = "the store sent another range than asked for";
            let error = StoreError::new(StoreErrorKind::Other, self.url(), what);
            return Err(error.into());
        }
        Ok(got)
    }
}

/// Adds what to do about a server without ranges.
fn explain(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::NoRanges => error
            .with(" from a server that ignores ranges: download the file, or use another server"),
        _ => error,
    }
}

/// Cuts a range into pieces of at most so many bytes.
fn pieces(range: &Range<u64>, bytes_max: u64) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    let mut start = range.start;
    std::iter::from_fn(move || {
        let piece = start..end.min(start.saturating_add(bytes_max));
        start = piece.end;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Puts the bytes of a piece to their place in a range. A range that is one piece takes them as they are.
fn put_piece(
    buffer: &mut Vec<u8>,
    range: &Range<u64>,
    piece: &Range<u64>,
    bytes: Vec<u8>,
) -> io::Result<()> {
    if piece == range {
        *buffer = bytes;
        return Ok(());
    }
    let no_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    if buffer.is_empty() {
        let len = usize::try_from(range.end - range.start).map_err(|_| no_memory())?;
        buffer.try_reserve_exact(len).map_err(|_| no_memory())?;
        buffer.resize(len, 0);
    }
    // Inside the range, whose bytes fit into memory.
    let start = (piece.start - range.start) as usize;
    let place = buffer.get_mut(start..start + bytes.len());
    place.ok_or_else(no_memory)?.copy_from_slice(&bytes);
    Ok(())
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFile")
            .field("url", &self.url())
            .field("meta", &self.0.meta)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl ReadAt for RemoteFile {
    fn len(&self) -> u64 {
        self.0.meta.size
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        let n_bytes = buf.len() as u64;
        check_inside(place, n_bytes, self.len())?;
        let options = self.read_options(Access::Take);
        let range = place..place + n_bytes;
        let parts = block_on(self.get_ranges(&[range], options, Priority::next()))?;
        let bytes = parts.first().filter(|bytes| bytes.len() == buf.len());
        let Some(bytes) = bytes else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        buf.copy_from_slice(bytes);
        Ok(())
    }

    /// The content, if the file was read as a whole when it was opened.
    fn mapped(&self) -> Option<&[u8]> {
        let tail = &self.0.tail;
        let is_whole = tail.start == 0 && tail.bytes.len() as u64 == self.len();
        is_whole.then_some(tail.bytes.as_slice())
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &[Range<u64>],
        options: ReadOptions,
    ) -> io::Result<Vec<ReadBytes<'a>>> {
        block_on(self.get_ranges(ranges, options, Priority::next()))
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        self.0.store.read_options(access)
    }

    /// Reads the ranges in one wave and keeps up to 8 MiB of them. Errors are left to the reads that follow.
    fn prefetch(&self, ranges: &[Range<u64>]) {
        let len = self.len();
        let mut missing: Vec<Range<u64>> = ranges
            .iter()
            .map(|range| range.start.min(len)..range.end.min(len))
            // The tail may cover the end of a range: the rest is what is missing.
            .map(|range| match range.end > self.0.tail.start {
                true => range.start..range.end.min(self.0.tail.start),
                false => range,
            })
            .filter(|range| !range.is_empty())
            .collect();
        let announced = self.announced();
        missing.retain(|range| self.in_memory(&announced, range).is_none());
        drop(announced);
        let bytes = missing.iter().map(|range| range.end - range.start);
        let n_bytes = bytes.fold(0, u64::saturating_add);
        if missing.is_empty() || n_bytes > ANNOUNCED_BYTES_MAX {
            return;
        }
        let reads = self.plan(&missing, self.read_options(Access::Take));
        let Ok(buffers) = block_on(self.wave(&reads, Priority::next())) else {
            return;
        };
        let mut announced = self.announced();
        for (read, bytes) in reads.iter().zip(buffers) {
            let start = read.range.start;
            let bytes = Arc::new(bytes);
            announced.push_back(Chunk { start, bytes });
        }
        let all = announced.iter().map(|chunk| chunk.bytes.len() as u64);
        let mut kept: u64 = all.sum();
        while kept > ANNOUNCED_BYTES_MAX
            && let Some(oldest) = announced.pop_front()
        {
            kept -= oldest.bytes.len() as u64;
        }
    }

    /// Asks the store only if the object has no strong ETag: with one, all bytes that were read and that will be are of
    /// the object that was opened.
    fn check_unchanged(&self) -> io::Result<()> {
        let inner = &*self.0;
        if self.is_one_version() {
            return Ok(());
        }
        // Not `head`: a signed URL allows one method alone.
        let get = Get::new(Arc::clone(&inner.key), GetRange::Bytes(0..1));
        add(&inner.waves, 1);
        add(&inner.requests, 1);
        self.checked(&(0..1), block_on(inner.store.get(get)))?;
        Ok(())
    }

    fn is_one_version(&self) -> bool {
        self.0.meta.strong_etag().is_some() || self.mapped().is_some()
    }

    fn version(&self) -> Option<String> {
        let etag = self.0.meta.strong_etag()?;
        Some(format!("{etag} {}", self.0.meta.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_into_pieces() {
        let cut = |range: Range<u64>, max| pieces(&range, max).collect::<Vec<_>>();
        assert_eq!(cut(0..10, 4), [0..4, 4..8, 8..10]);
        assert_eq!(cut(3..8, 4), [3..7, 7..8]);
        assert_eq!(cut(3..7, 4).len(), 1);
        assert!(cut(5..5, 4).is_empty());
        let end = u64::MAX;
        assert_eq!(cut(end - 3..end, 2), [end - 3..end - 1, end - 1..end]);
    }

    #[test]
    fn pieces_come_in_any_order() {
        let mut buffer = Vec::new();
        put_piece(&mut buffer, &(10..15), &(13..15), vec![4, 5]).unwrap();
        put_piece(&mut buffer, &(10..15), &(10..13), vec![1, 2, 3]).unwrap();
        assert_eq!(buffer, [1, 2, 3, 4, 5]);
        let mut buffer = Vec::new();
        put_piece(&mut buffer, &(10..12), &(10..12), vec![1, 2]).unwrap();
        assert_eq!(buffer, [1, 2]);
    }
}
