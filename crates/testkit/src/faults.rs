//! Readers and sinks that fail on purpose, so that a test can let every single operation fail.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use tarsia_io::{ReadAt, Sink};

/// The text of every error made here.
pub const FAULT: &str = "a fault injected by a test";

fn fault() -> io::Error {
    io::Error::other(FAULT)
}

/// A reader that fails or returns wrong bytes where a test wants it to. It hides that its content may be in memory, so
/// every byte is read through [`ReadAt::read_at`].
#[derive(Debug)]
pub struct FailingReader<R> {
    inner: R,
    call_idx: Option<u64>,
    range: Option<Range<u64>>,
    end: Option<u64>,
    flipped: Vec<(u64, u8)>,
    n_calls: AtomicU64,
}

impl<R: ReadAt> FailingReader<R> {
    /// A reader without faults yet.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            call_idx: None,
            range: None,
            end: None,
            flipped: Vec::new(),
            n_calls: AtomicU64::new(0),
        }
    }

    /// Call `call_idx` (the first is 0) fails; those before and after do not.
    #[must_use]
    pub fn fail_call(mut self, call_idx: u64) -> Self {
        self.call_idx = Some(call_idx);
        self
    }

    /// Reads that touch a byte of `range` fail.
    #[must_use]
    pub fn fail_range(mut self, range: Range<u64>) -> Self {
        self.range = Some(range);
        self
    }

    /// Reads beyond `end` find the end of the file there, although [`ReadAt::len`] is larger, as if the file was cut
    /// while it was open.
    #[must_use]
    pub fn cut_at(mut self, end: u64) -> Self {
        self.end = Some(end);
        self
    }

    /// Bit `bit` (0 ..= 7) of the byte at the offset `place` is read wrong. May be called for several bits.
    #[must_use]
    pub fn flip_bit(mut self, place: u64, bit: u8) -> Self {
        self.flipped.push((place, 1 << (bit % 8)));
        self
    }

    /// Calls of [`ReadAt::read_at`] so far, each of which can be made to fail.
    pub fn n_calls(&self) -> u64 {
        self.n_calls.load(Ordering::Relaxed)
    }
}

impl<R: ReadAt> ReadAt for FailingReader<R> {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        let call_idx = self.n_calls.fetch_add(1, Ordering::Relaxed);
        let end = place.saturating_add(buf.len() as u64);
        if self.call_idx == Some(call_idx) {
            return Err(fault());
        }
        if self
            .range
            .as_ref()
            .is_some_and(|range| place < range.end && range.start < end)
        {
            return Err(fault());
        }
        if self.end.is_some_and(|cut| end > cut) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, FAULT));
        }
        self.inner.read_at(place, buf)?;
        for (at, mask) in &self.flipped {
            if let Some(byte) = at
                .checked_sub(place)
                .and_then(|at| buf.get_mut(usize::try_from(at).ok()?))
            {
                *byte ^= mask;
            }
        }
        Ok(())
    }

    fn check_unchanged(&self) -> io::Result<()> {
        self.inner.check_unchanged()
    }
}

/// A sink that fails where a test wants it to, and always after that.
#[derive(Debug)]
pub struct FailingSink<S> {
    inner: S,
    at_byte: Option<u64>,
    call_idx: Option<u64>,
    on_commit: bool,
    append_only: bool,
    n_calls: u64,
    /// Appended to `inner`.
    n_bytes: u64,
    failed: bool,
}

impl<S: Sink> FailingSink<S> {
    /// A sink without faults yet.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            at_byte: None,
            call_idx: None,
            on_commit: false,
            append_only: false,
            n_calls: 0,
            n_bytes: 0,
            failed: false,
        }
    }

    /// The write that would append byte `at_byte` stores those before it and fails: a full disk.
    #[must_use]
    pub fn fail_at_byte(mut self, at_byte: u64) -> Self {
        self.at_byte = Some(at_byte);
        self
    }

    /// Call `call_idx` of [`Sink::append`] and [`Sink::overwrite`] together (the first is 0) fails.
    #[must_use]
    pub fn fail_call(mut self, call_idx: u64) -> Self {
        self.call_idx = Some(call_idx);
        self
    }

    /// The commit fails, and nothing is committed.
    #[must_use]
    pub fn fail_on_commit(mut self) -> Self {
        self.on_commit = true;
        self
    }

    /// [`Sink::overwrite`] returns `false`, as that of a stream does.
    #[must_use]
    pub fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    fn next_call(&mut self) -> io::Result<()> {
        let call_idx = self.n_calls;
        self.n_calls += 1;
        self.failed |= self.call_idx == Some(call_idx);
        match self.failed {
            true => Err(fault()),
            false => Ok(()),
        }
    }
}

impl<S: Sink> Sink for FailingSink<S> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.next_call()?;
        let n_left = self.at_byte.map(|at_byte| at_byte - self.n_bytes);
        let stored = n_left.and_then(|n_left| bytes.get(..usize::try_from(n_left).ok()?));
        match stored {
            Some(stored) if stored.len() < bytes.len() => {
                self.failed = true;
                self.n_bytes += stored.len() as u64;
                self.inner.append(stored)?;
                Err(fault())
            }
            _ => {
                self.n_bytes += bytes.len() as u64;
                self.inner.append(bytes)
            }
        }
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        self.next_call()?;
        match self.append_only {
            true => Ok(false),
            false => self.inner.overwrite(place, bytes),
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        if self.failed || self.on_commit {
            return Err(fault());
        }
        self.inner.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarsia_io::{MemoryFile, MemorySink};

    fn reader() -> FailingReader<MemoryFile> {
        FailingReader::new(MemoryFile::new(vec![0u8; 100]))
    }

    #[test]
    fn readers_fail_where_they_are_told_to() {
        let mut buf = [0; 10];
        let third = reader().fail_call(2);
        let got: Vec<bool> = (0..5).map(|_| third.read_at(0, &mut buf).is_ok()).collect();
        assert_eq!(got, [true, true, false, true, true]);
        assert_eq!(third.n_calls(), 5);

        let hole = reader().fail_range(20..22);
        for (place, fine) in [(0, true), (10, true), (11, false), (21, false), (22, true)] {
            assert_eq!(hole.read_at(place, &mut buf).is_ok(), fine, "{place}");
        }

        let cut = reader().cut_at(50);
        assert_eq!(cut.len(), 100);
        assert!(cut.read_at(40, &mut buf).is_ok());
        let error = cut.read_at(41, &mut buf).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);

        let wrong = reader().flip_bit(15, 3).flip_bit(99, 0);
        assert!(wrong.mapped().is_none());
        wrong.read_at(10, &mut buf).unwrap();
        assert_eq!(buf, [0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
        wrong.read_at(90, &mut buf).unwrap();
        assert_eq!(buf, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        wrong.read_at(16, &mut buf).unwrap();
        assert_eq!(buf, [0; 10]);
        assert!(wrong.read_at(95, &mut buf).is_err());
    }

    #[test]
    fn sinks_fail_where_they_are_told_to() {
        let mut stored = Vec::new();
        let mut full = FailingSink::new(&mut stored).fail_at_byte(5);
        full.append(b"abc").unwrap();
        assert!(full.append(b"defg").is_err());
        assert!(full.overwrite(0, b"x").is_err());
        assert!(full.commit().is_err());
        assert_eq!(stored, b"abcde");

        let sink = MemorySink::new();
        let handle = sink.handle();
        let mut exact = FailingSink::new(sink).fail_at_byte(5);
        exact.append(b"abcde").unwrap();
        exact.commit().unwrap();
        assert_eq!(handle.take().unwrap(), b"abcde");

        let mut second = FailingSink::new(MemorySink::new()).fail_call(1);
        second.append(b"a").unwrap();
        assert!(second.overwrite(0, b"b").is_err());
        assert!(second.append(b"c").is_err());

        let mut stream = FailingSink::new(MemorySink::new())
            .append_only()
            .fail_on_commit();
        stream.append(b"a").unwrap();
        assert!(!stream.overwrite(0, b"b").unwrap());
        assert!(stream.commit().is_err());
    }
}
