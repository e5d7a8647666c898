//! Local files by memory map.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

use crate::local::{LocalFile, regular_len};
use crate::{ReadAt, read::inside};

/// A local file mapped into memory: what is lent is not copied, and pages come from the system's cache as they are touched.
///
/// [`ReadAt::read_at`] does not go through the map. Touching a page of it for the first time costs a fault, in which the system maps
/// the pages around it too; a positioned read of the little that is read once is cheaper. That shows where what is read lies far
/// apart, as the records of ten of 100,000 columns do.
///
/// # What the operating system cannot promise
/// The map shows the file as it is, not as it was. While it lives, **no process may change the file in place or cut it
/// short**: bytes that were checked could change afterwards, and touching a part that was cut off ends the process with
/// a signal. Replacing the file by renaming another over it, as [`FileSink`](crate::FileSink) does, is safe: the map
/// keeps the old one. Where others may write to the file, erasures included, use [`LocalFile`](crate::LocalFile).
#[derive(Debug)]
pub struct MappedFile {
    // Some systems refuse to map nothing, so an empty file has no map.
    map: Option<Mmap>,
    file: LocalFile,
}

impl MappedFile {
    /// Maps a file; see [`MappedFile`] for what must hold while it lives.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::InvalidInput`] for what is not a regular file,
    /// [`io::ErrorKind::OutOfMemory`] for a file larger than the address space.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_file(File::open(path)?)
    }

    /// Maps an open file.
    ///
    /// # Errors
    /// As [`MappedFile::open`].
    pub fn from_file(file: File) -> io::Result<Self> {
        let len = regular_len(&file)?;
        if len == 0 {
            let file = LocalFile::of_len(file, len)?;
            return Ok(Self { map: None, file });
        }
        if usize::try_from(len).is_err() {
            return Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                format!("a file of {len} bytes does not fit the address space"),
            ));
        }
        #[expect(unsafe_code, reason = "there is no safe way to map a file")]
        // SAFETY: the map is private to this value, read-only, and lives as long as the slices borrowed from it. That
        // the file is not changed or cut short meanwhile is outside what any check here could establish; the type's
        // documentation makes it the duty of whoever opens the file. The operating system keeps the mapped file alive
        // when it is closed, removed or replaced by renaming.
        let map = unsafe { Mmap::map(&file) }?;
        let file = LocalFile::of_len(file, len)?;
        Ok(Self {
            map: Some(map),
            file,
        })
    }

    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

impl ReadAt for MappedFile {
    fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        inside(self.bytes(), place, buf.len() as u64)?;
        self.file.read_at(place, buf)
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(self.bytes())
    }
}
