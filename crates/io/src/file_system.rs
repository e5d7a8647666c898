//! Calls to the system's files and folders, behind a trait: tests have a disk that loses power at any of them.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use crate::local::{LocalFile, open_regular};
use crate::read::ReadAt;

/// Calls of a file system that files appear by. All but [`FileSystem::sync`] and [`FileSystem::sync_folder`] may be
/// undone by a loss of power, each on its own.
///
/// It is public for simulated disks. There is no reason to implement it otherwise.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// A file that is written.
    type File: fmt::Debug + Send + Sync;
    /// A file that is read.
    type Reader: ReadAt;

    /// Creates a file; an error if the name is taken.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::NotFound`] for its folder, and others that the system
    /// reports.
    fn create_new(&self, path: &Path) -> io::Result<Self::File>;

    /// Writes all bytes from `place` on.
    ///
    /// # Errors
    /// What the system reports; any part may be written then.
    fn write_at(&self, file: &Self::File, place: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until content and length of a file are on the disk.
    ///
    /// # Errors
    /// What the system reports.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Waits until the names in a folder are on the disk; nothing on systems where folders cannot be synced.
    ///
    /// # Errors
    /// What the system reports.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Creates a folder inside an existing one.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and others that the system reports.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, over a file that had it.
    ///
    /// # Errors
    /// What the system reports.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name that no file has.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`]; [`io::ErrorKind::Unsupported`] or [`io::ErrorKind::InvalidInput`] if the file
    /// system cannot do that; others that the system reports.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name that no file has.
    ///
    /// # Errors
    /// As [`FileSystem::rename_new`]; systems without links report [`io::ErrorKind::PermissionDenied`], too.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name of a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], and others that the system reports.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Opens a regular file for reading, with its state.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for folders, pipes and devices, and others that the system reports.
    fn open(&self, path: &Path) -> io::Result<Opened<Self::Reader>>;

    /// Returns the state of what has a name, behind symbolic links.
    ///
    /// # Errors
    /// What the system reports.
    fn state(&self, path: &Path) -> io::Result<FileState>;

    /// Tells the names in a folder, in any order, until `each` breaks.
    ///
    /// # Errors
    /// What the system reports.
    fn each_entry(
        &self,
        folder: &Path,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> io::Result<()>;
}

/// A file that is read, and its state when it was opened.
#[derive(Debug)]
pub struct Opened<R> {
    /// Its bytes.
    pub reader: R,
    /// Its state.
    pub state: FileState,
}

/// State of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// Kind of what has the name.
    pub kind: FileKind,
    /// Bytes.
    pub len: u64,
    /// Time of the last change, if the system keeps it.
    pub modified: Option<SystemTime>,
    /// A number that no other file has at this moment; 0 where the system says none.
    pub id: u64,
    /// Names that it has; 0 where the system does not say it.
    pub n_links: u64,
}

/// Kinds of what a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, or a symbolic link to one.
    File,
    /// A folder. A symbolic link to one is [`FileKind::Other`] in [`FileSystem::each_entry`], so that walks end.
    Folder,
    /// Anything else.
    Other,
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without the folder's.
    pub name: OsString,
    /// Kind of what has it.
    pub kind: FileKind,
}

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl FileSystem for SystemFiles {
    type File = File;
    type Reader = LocalFile;

    fn create_new(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    fn write_at(&self, mut file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
        file.seek(SeekFrom::Start(place))?;
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    #[cfg(unix)]
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match File::open(path)?.sync_all() {
            // Some file systems do not sync folders, and say so.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    #[cfg(not(unix))]
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn rename_new(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn open(&self, path: &Path) -> io::Result<Opened<LocalFile>> {
        let file = open_regular(path)?;
        let state = state_of(&file.metadata()?);
        let reader = LocalFile::from_file(file)?.named(path);
        Ok(Opened { reader, state })
    }

    fn state(&self, path: &Path) -> io::Result<FileState> {
        Ok(state_of(&fs::metadata(path)?))
    }

    fn each_entry(
        &self,
        folder: &Path,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => FileKind::File,
                kind if kind.is_dir() => FileKind::Folder,
                kind if kind.is_symlink() => match fs::metadata(entry.path()) {
                    Ok(behind) if behind.is_file() => FileKind::File,
                    _ => FileKind::Other,
                },
                _ => FileKind::Other,
            };
            let name = entry.file_name();
            if each(Entry { name, kind }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn state_of(metadata: &Metadata) -> FileState {
    let kind = match metadata {
        it if it.is_file() => FileKind::File,
        it if it.is_dir() => FileKind::Folder,
        _ => FileKind::Other,
    };
    #[cfg(unix)]
    let (id, n_links) = {
        use std::os::unix::fs::MetadataExt;
        (metadata.ino(), metadata.nlink())
    };
    #[cfg(not(unix))]
    let (id, n_links) = (0, 0);
    FileState {
        kind,
        len: metadata.len(),
        modified: metadata.modified().ok(),
        id,
        n_links,
    }
}
