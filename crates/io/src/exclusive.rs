//! Files that are changed in place.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::change::ChangeAt;
use crate::conflict::Conflict;
use crate::local::LocalFile;
use crate::read::ReadAt;

/// Says how to treat a file that others use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBusy {
    /// Wait until they are done. A thread that maps the file itself would wait forever.
    Wait,
    /// Return [`Conflict::InUse`], or [`Conflict::NoLocks`] if nothing says whether there are others.
    Refuse,
    /// Change the file anyway. Arrays that other handles borrow from a map of it change too, or reading them ends their
    /// process, so this is for files of which the caller knows that nobody maps them.
    Override,
}

/// Times that a file which is replaced while we wait for its lock is opened again.
const ATTEMPTS_MAX: u32 = 16;

/// A file that is changed in place, under an exclusive lock: meanwhile nobody maps it
/// ([`MappedFile`](crate::MappedFile)) and nobody else changes it. The lock ends with the value, also if the process
/// dies.
///
/// Its bytes and its length are changed by [`ChangeAt`]; [`ReadAt::len`] is the current length. Readers by position
/// ([`LocalFile`]) hold no lock and are not kept out; they see old bytes, new ones or a mixture, which checksums find,
/// and [`ReadAt::check_unchanged`] explains.
///
/// Files that are written anew do not need it: [`FileSink`](crate::FileSink) never changes a file in place.
#[derive(Debug)]
pub struct ExclusiveFile {
    file: LocalFile,
    path: PathBuf,
    absolute: PathBuf,
    is_locked: bool,
}

impl ExclusiveFile {
    /// Opens an existing file for reading and changing.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::InvalidInput`] for what is not a regular file; a [`Conflict`] if
    /// others use the file and `on_busy` does not say otherwise. On a file system without locks, [`OnBusy::Wait`] and
    /// [`OnBusy::Refuse`] both return [`Conflict::NoLocks`].
    pub fn open(path: impl AsRef<Path>, on_busy: OnBusy) -> io::Result<Self> {
        Self::open_by(
            path.as_ref(),
            on_busy,
            &Locks {
                try_lock: File::try_lock,
                wait: File::lock,
            },
        )
    }

    fn open_by(path: &Path, on_busy: OnBusy, locks: &Locks) -> io::Result<Self> {
        for _ in 0..ATTEMPTS_MAX {
            let file = held_by_name().read(true).write(true).open(path)?;
            let is_locked = match (locks.try_lock)(&file) {
                Ok(()) => true,
                Err(_) if on_busy == OnBusy::Override => false,
                Err(TryLockError::WouldBlock) if on_busy == OnBusy::Wait => {
                    (locks.wait)(&file)?;
                    true
                }
                Err(TryLockError::WouldBlock) => return Err(Conflict::in_use(path)),
                Err(TryLockError::Error(_)) => return Err(Conflict::no_locks(path)),
            };
            // Others may have put a new file under the name meanwhile; the one that is locked is then nobody's.
            if is_at(&file, path)? {
                // A relative name leads to the same place when the process has another folder.
                let absolute = std::path::absolute(path)?;
                return Ok(Self {
                    file: LocalFile::from_file(file)?,
                    path: path.to_owned(),
                    absolute,
                    is_locked,
                });
            }
        }
        Err(Conflict::in_use(path))
    }

    /// False if the file was opened by [`OnBusy::Override`] although others use it, or without locks.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the path by which it was opened still leads to it, through the same or other links. False if another
    /// file is there now, or none. Unix: device and inode are compared, which no other file has while this one is open.
    /// Windows: always true, since the file is opened so that nobody can rename, replace or remove it.
    ///
    /// # Errors
    /// What the system reports, other than that there is no file.
    pub fn is_at_its_path(&self) -> io::Result<bool> {
        match is_at(self.file.file(), &self.absolute) {
            Err(error) if is_absence(&error) => Ok(false),
            known => known,
        }
    }

    /// Asks the system for the length after a write that failed, which may have extended the file.
    fn take_len_anew(&mut self) {
        if let Ok(metadata) = self.file.file().metadata() {
            self.file.set_known_len(metadata.len());
        }
    }
}

impl ChangeAt for ExclusiveFile {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let end = place.checked_add(bytes.len() as u64);
        let Some(end) = end.filter(|end| i64::try_from(*end).is_ok()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a write of {} bytes at {place} ends beyond 2^63",
                    bytes.len()
                ),
            ));
        };
        if bytes.is_empty() {
            return Ok(());
        }
        let mut file = self.file.file();
        // Reads are positioned and do not use the cursor.
        let written = file
            .seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(bytes));
        match written {
            Ok(()) => self.file.set_known_len(end.max(self.file.len())),
            Err(_) => self.take_len_anew(),
        }
        written
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.file().sync_all()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let set = self.file.file().set_len(len);
        match set {
            Ok(()) => self.file.set_known_len(len),
            Err(_) => self.take_len_anew(),
        }
        set
    }

    fn check_named(&self) -> io::Result<()> {
        match self.is_at_its_path()? {
            true => Ok(()),
            false => Err(Conflict::replaced(&self.path)),
        }
    }
}

impl ReadAt for ExclusiveFile {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, place: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_at(place, buf)
    }
}

/// How locks are taken: tests have other ones.
struct Locks {
    try_lock: fn(&File) -> Result<(), TryLockError>,
    wait: fn(&File) -> io::Result<()>,
}

/// True if `path` still leads to this file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (ours, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino()))
}

/// [`held_by_name`] keeps the file at its path. Between opening and locking nothing changes that.
#[cfg(windows)]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// A path that leads nowhere, as far as errors tell.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Options of an open file whose name others may take.
#[cfg(unix)]
fn held_by_name() -> OpenOptions {
    OpenOptions::new()
}

/// Options of an open file that others may read and write, but neither rename, replace nor remove while it is open:
/// the shares are all but `FILE_SHARE_DELETE`.
#[cfg(windows)]
fn held_by_name() -> OpenOptions {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_WRITE: u32 = 2;
    let mut options = OpenOptions::new();
    options.share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_locks_only_an_override_opens_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"old").unwrap();
        let none = Locks {
            try_lock: |_| Err(TryLockError::Error(io::ErrorKind::Unsupported.into())),
            wait: |_| unreachable!(),
        };
        for on_busy in [OnBusy::Wait, OnBusy::Refuse] {
            let error = ExclusiveFile::open_by(&path, on_busy, &none).unwrap_err();
            let expect = Conflict::NoLocks { path: path.clone() };
            assert_eq!(Conflict::of(&error), Some(&expect));
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        }
        let mut file = ExclusiveFile::open_by(&path, OnBusy::Override, &none).unwrap();
        assert!(!file.is_locked());
        file.write_at(0, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
