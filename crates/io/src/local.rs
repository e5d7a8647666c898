//! Local files by positioned reads.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::conflict::Conflict;
use crate::read::{ReadAt, check_inside};

/// A local file, read with `pread` (or its like), so that threads do not share a cursor. On targets without positioned
/// reads the threads take turns.
///
/// It holds no lock, so others may change the file in place meanwhile. What was read is a copy and stays as it is; a
/// read may return old bytes, new ones or a mixture. [`ReadAt::check_unchanged`] says whether that can have happened.
#[derive(Debug)]
pub struct LocalFile {
    file: positioned::Positioned,
    path: Option<PathBuf>,
    opened: State,
    version: Option<String>,
}

/// Properties of a file that change with its content. Reading it takes as long as reading 4 KiB that are in the
/// system's cache (0.46 and 0.50 µs on a virtual machine with Linux on x86-64), so it is not read again with each read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    len: u64,
    /// `None` if the system does not keep it.
    modified: Option<SystemTime>,
}

impl LocalFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::InvalidInput`] for what is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        Ok(Self::from_file(open_regular(path)?)?.named(path))
    }

    /// Reads an open file. Its length is taken now: bytes appended later are not seen, and reads of bytes that are cut
    /// off later fail.
    ///
    /// # Errors
    /// As [`LocalFile::open`].
    pub fn from_file(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        Ok(Self {
            file: positioned::new(file)?,
            path: None,
            opened: State::of(&metadata),
            version: version_of(&metadata),
        })
    }

    /// The handle, whose cursor reads do not use.
    #[cfg(any(unix, windows))]
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Takes the length anew, after the owner of the file changed it.
    #[cfg(any(unix, windows))]
    pub(crate) fn set_known_len(&mut self, len: u64) {
        self.opened.len = len;
    }

    /// Names the file in errors.
    pub(crate) fn named(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
        }
    }
}

/// Opens a file to read it. Opening a pipe would wait for somebody who writes to it, so others than regular files are
/// refused before.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    check_regular(&std::fs::metadata(path)?)?;
    File::open(path)
}

/// Refuses pipes and directories: their length says nothing about what can be read.
fn check_regular(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )),
    }
}

impl ReadAt for LocalFile {
    fn len(&self) -> u64 {
        self.opened.len
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        check_inside(place, buf.len() as u64, self.opened.len)?;
        let read = positioned::read_exact_at(&self.file, place, buf);
        read.map_err(|error| match error.kind() {
            // It was long enough when it was opened.
            io::ErrorKind::UnexpectedEof => Conflict::changed(self.path.as_deref(), "length"),
            _ => error,
        })
    }

    fn check_unchanged(&self) -> io::Result<()> {
        let now = State::of(&positioned::metadata(&self.file)?);
        let what = if now.len != self.opened.len {
            "length"
        } else if now.modified != self.opened.modified {
            "time of modification"
        } else {
            return Ok(());
        };
        Err(Conflict::changed(self.path.as_deref(), what))
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }
}

/// Names the content of a file by all that changes with it. The time of the last change of the inode (`ctime`) cannot
/// be set back.
#[cfg(unix)]
fn version_of(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let inode = (metadata.dev(), metadata.ino(), metadata.len());
    let modified = (metadata.mtime(), metadata.mtime_nsec());
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Some(format!("{inode:?} {modified:?} {changed:?}"))
}

#[cfg(not(unix))]
fn version_of(_: &Metadata) -> Option<String> {
    None
}

#[cfg(unix)]
mod positioned {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::unix::fs::FileExt;

    pub(super) type Positioned = File;

    pub(super) fn new(file: File) -> io::Result<Positioned> {
        Ok(file)
    }

    pub(super) fn metadata(file: &Positioned) -> io::Result<Metadata> {
        file.metadata()
    }

    pub(super) fn read_exact_at(file: &Positioned, place: u64, buf: &mut [u8]) -> io::Result<()> {
        file.read_exact_at(buf, place)
    }
}

#[cfg(windows)]
mod positioned {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::windows::fs::FileExt;

    pub(super) type Positioned = File;

    pub(super) fn new(file: File) -> io::Result<Positioned> {
        Ok(file)
    }

    pub(super) fn metadata(file: &Positioned) -> io::Result<Metadata> {
        file.metadata()
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
    use std::fs::{File, Metadata};
    use std::io;

    use crate::read::ReadAt;
    use crate::seek::SeekFile;

    /// The handle for reads, and one for questions.
    #[derive(Debug)]
    pub(super) struct Positioned {
        reader: SeekFile<File>,
        file: File,
    }

    pub(super) fn new(file: File) -> io::Result<Positioned> {
        let reader = SeekFile::new(file.try_clone()?)?;
        Ok(Positioned { reader, file })
    }

    pub(super) fn metadata(file: &Positioned) -> io::Result<Metadata> {
        file.file.metadata()
    }

    pub(super) fn read_exact_at(file: &Positioned, place: u64, buf: &mut [u8]) -> io::Result<()> {
        file.reader.read_at(place, buf)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use crate::{LocalFile, MappedFile};

    /// A pipe that nobody writes to: opening it would wait for ever.
    #[test]
    fn a_pipe_is_refused_before_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        for error in [
            LocalFile::open(&path).map(drop).unwrap_err(),
            MappedFile::open(&path).map(drop).unwrap_err(),
        ] {
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
    }
}
