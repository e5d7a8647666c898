//! The trait of sinks, and the one in memory.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a file is written: front to back, and complete only after [`Sink::commit`].
///
/// Every [`io::Write`] that can be sent to another thread is a sink: a `Vec<u8>`, a socket, a `BufWriter`, a `&mut` of
/// these. Such a sink cannot go back, and its commit is [`io::Write::flush`]. What was written before a commit stays
/// where it is, so a program that gives up half-way has to remove it. [`FileSink`](crate::FileSink) does so by itself.
pub trait Sink: Send {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// What the system reports; the sink must not be committed then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Overwrites bytes that were appended before; does not move the end. `false`, and nothing done, if this sink
    /// cannot go back (a stream to an object store).
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if that reaches beyond the end, else as [`Sink::append`].
    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool>;

    /// Completes the file. Called once, after the last byte.
    ///
    /// # Errors
    /// What the system reports, or that an earlier write failed.
    fn commit(&mut self) -> io::Result<()>;
}

impl<W: io::Write + Send> Sink for W {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn overwrite(&mut self, _: u64, _: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// Whether `n_bytes` at `place` were appended before: the check every [`Sink::overwrite`] makes first.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] where they were not.
pub fn check_overwrite(place: u64, n_bytes: u64, position: u64) -> io::Result<()> {
    match place.checked_add(n_bytes) {
        Some(end) if end <= position => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cannot overwrite {n_bytes} bytes at {place}: only {position} were written"),
        )),
    }
}

/// Collects a file in memory. Its [`MemorySink::handle`] gets the bytes once it is committed. Unlike a `Vec<u8>` it can
/// go back, so that its bytes are those that [`FileSink`](crate::FileSink) would write.
#[derive(Debug, Default)]
pub struct MemorySink {
    bytes: Vec<u8>,
    committed: MemorySinkHandle,
}

impl MemorySink {
    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gets the bytes after the commit; may be cloned and sent to other threads.
    pub fn handle(&self) -> MemorySinkHandle {
        self.committed.clone()
    }
}

impl Sink for MemorySink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes.try_reserve(bytes.len()).is_err() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        check_overwrite(place, bytes.len() as u64, self.bytes.len() as u64)?;
        let place = usize::try_from(place).map_err(io::Error::other)?;
        let old = self.bytes.iter_mut().skip(place);
        for (old, new) in old.zip(bytes) {
            *old = *new;
        }
        Ok(true)
    }

    fn commit(&mut self) -> io::Result<()> {
        *self.committed.lock() = Some(std::mem::take(&mut self.bytes));
        Ok(())
    }
}

/// The bytes of a committed [`MemorySink`].
#[derive(Debug, Clone, Default)]
pub struct MemorySinkHandle {
    bytes: Arc<Mutex<Option<Vec<u8>>>>,
}

impl MemorySinkHandle {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        // The only writes under the lock are whole assignments.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bytes out; `None` before the commit, and after the first call.
    pub fn take(&self) -> Option<Vec<u8>> {
        self.lock().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts calls of `flush`.
    #[derive(Default)]
    struct Stream {
        bytes: Vec<u8>,
        n_flushed: usize,
    }

    impl io::Write for Stream {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // As a pipe may: not all at once.
            let n = bytes.len().min(3);
            self.bytes.extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.n_flushed += 1;
            Ok(())
        }
    }

    fn check<S: Sink>(mut sink: S) -> S {
        sink.append(b"tars").unwrap();
        sink.append(b"").unwrap();
        sink.append(b"ia").unwrap();
        assert!(!sink.overwrite(0, b"T").unwrap());
        sink.commit().unwrap();
        sink
    }

    #[test]
    fn whatever_can_be_written_to_is_a_sink_that_cannot_go_back() {
        assert_eq!(check(Vec::new()), b"tarsia");
        let mut bytes = vec![b'>'];
        check(&mut bytes);
        assert_eq!(bytes, b">tarsia");
        let stream = check(Stream::default());
        assert_eq!(
            (stream.bytes.as_slice(), stream.n_flushed),
            (&b"tarsia"[..], 1)
        );
        check(Box::new(Vec::new()) as Box<dyn io::Write + Send>);
    }
}
