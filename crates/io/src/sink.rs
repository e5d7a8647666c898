//! The trait of sinks, and the one in memory.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The destination of a file that is written front to back. It is complete only after [`Sink::commit`].
pub trait Sink: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// What the system reports; the sink cannot be committed then.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Bytes appended so far.
    fn position(&self) -> u64;

    /// Overwrites bytes that were appended before; the end does not move. Returns `false`, and writes nothing, if this
    /// kind of sink cannot go back (a stream to an object store).
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the range reaches beyond the end, else as [`Sink::write_all`].
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool>;

    /// Makes the file visible under its name, complete and durable. A sink that is dropped without a commit leaves
    /// nothing behind.
    ///
    /// # Errors
    /// What the system reports, or that an earlier write failed.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).write_all(bytes)
    }

    fn position(&self) -> u64 {
        (**self).position()
    }

    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        (**self).write_at(place, bytes)
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        (*self).commit()
    }
}

/// Checks that `n_bytes` bytes at `place` were appended before, if `position` bytes were. Every [`Sink::write_at`] does
/// this first.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if they were not.
pub fn check_overwrite(place: u64, n_bytes: u64, position: u64) -> io::Result<()> {
    match place.checked_add(n_bytes) {
        Some(end) if end <= position => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cannot overwrite {n_bytes} bytes at {place}: only {position} were written"),
        )),
    }
}

/// Collects a file in memory. Its [`MemorySink::handle`] gets the bytes once it is committed.
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
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes.try_reserve(bytes.len()).is_err() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn position(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        check_overwrite(place, bytes.len() as u64, self.position())?;
        let place = usize::try_from(place).map_err(io::Error::other)?;
        let old = self.bytes.iter_mut().skip(place);
        for (old, new) in old.zip(bytes) {
            *old = *new;
        }
        Ok(true)
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        *self.committed.lock() = Some(self.bytes);
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
