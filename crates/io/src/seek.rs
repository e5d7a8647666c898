//! Readers that must seek.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use crate::{ReadAt, check_inside};

/// A [`ReadAt`] over anything that reads and seeks. It serves one read at a time, unlike
/// [`LocalFile`](crate::LocalFile).
#[derive(Debug)]
pub struct SeekFile<R> {
    inner: Mutex<R>,
    len: u64,
}

impl<R: Read + Seek + Send> SeekFile<R> {
    /// Takes the length from the end of `inner`.
    ///
    /// # Errors
    /// Where `inner` cannot seek to its end.
    pub fn new(mut inner: R) -> io::Result<Self> {
        let len = inner.seek(SeekFrom::End(0))?;
        Ok(Self {
            inner: Mutex::new(inner),
            len,
        })
    }
}

impl<R: Read + Seek + Send> ReadAt for SeekFile<R> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        check_inside(place, buf.len() as u64, self.len)?;
        // Each read seeks first, so a read that panicked half-way leaves nothing behind that matters.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.seek(SeekFrom::Start(place))?;
        inner.read_exact(buf)
    }
}
