//! Local files by positioned reads.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::{ReadAt, check_inside};

/// A local file, read with `pread` (or its like), so that threads do not share a cursor. On targets without positioned
/// reads the threads take turns.
#[derive(Debug)]
pub struct LocalFile {
    file: positioned::Positioned,
    len: u64,
}

impl LocalFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::InvalidInput`] for what is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_file(File::open(path)?)
    }

    /// Reads an open file. Its length is taken now: bytes appended later are not seen, and reads of bytes that are cut
    /// off later fail.
    ///
    /// # Errors
    /// As [`LocalFile::open`].
    pub fn from_file(file: File) -> io::Result<Self> {
        let len = regular_len(&file)?;
        Self::of_len(file, len)
    }

    /// A regular file whose length is known.
    pub(crate) fn of_len(file: File, len: u64) -> io::Result<Self> {
        Ok(Self {
            file: positioned::new(file)?,
            len,
        })
    }
}

/// The length of a regular file. The length of a pipe or a directory says nothing about what can be read.
pub(crate) fn regular_len(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok(metadata.len())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

impl ReadAt for LocalFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        check_inside(place, buf.len() as u64, self.len)?;
        positioned::read_exact_at(&self.file, place, buf)
    }
}

#[cfg(unix)]
mod positioned {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    pub(super) type Positioned = File;

    pub(super) fn new(file: File) -> io::Result<Positioned> {
        Ok(file)
    }

    pub(super) fn read_exact_at(file: &Positioned, place: u64, buf: &mut [u8]) -> io::Result<()> {
        file.read_exact_at(buf, place)
    }
}

#[cfg(windows)]
mod positioned {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::FileExt;

    pub(super) type Positioned = File;

    pub(super) fn new(file: File) -> io::Result<Positioned> {
        Ok(file)
    }

    pub(super) fn read_exact_at(file: &Positioned, place: u64, buf: &mut [u8]) -> io::Result<()> {
        let (mut place, mut rest) = (place, buf);
        while !rest.is_empty() {
            // This moves the cursor, which nobody else uses.
            match file.seek_read(rest, place) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    place = place.saturating_add(n as u64);
                    rest = rest.get_mut(n..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(not(any(unix, windows)))]
mod positioned {
    use std::fs::File;
    use std::io;

    use crate::{ReadAt, SeekFile};

    pub(super) type Positioned = SeekFile<File>;

    pub(super) fn new(file: File) -> io::Result<Positioned> {
        SeekFile::new(file)
    }

    pub(super) fn read_exact_at(file: &Positioned, place: u64, buf: &mut [u8]) -> io::Result<()> {
        file.read_at(place, buf)
    }
}
