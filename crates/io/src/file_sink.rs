//! Files that appear whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::{FileSystem, SystemFiles};
use crate::temporary::{Temporary, folder_of};
use crate::{Sink, check_overwrite};

/// Bytes collected before they are written: large enough that system calls cost nothing beside the copy.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a file under a temporary name in the target's directory and renames it over the target on
/// [`Sink::commit`]. Until the rename the target stays as it was; a reader sees the old file or the new one, never a
/// part. Dropped without a commit, the temporary file is removed; after a crash one may remain, named
/// `TARGET.tmp` and 16 hexadecimal digits.
///
/// The old target is never changed in place, so it needs no lock: whoever has it open or mapped keeps the old file.
/// Somebody who changes the old file in place at that moment ([`ExclusiveFile`](crate::ExclusiveFile)) changes what
/// nobody sees any more.
///
/// Where the target is a symbolic link, the file it points to is replaced. An existing target's permissions are kept on
/// Unix.
#[derive(Debug)]
pub struct FileSink {
    /// `None` once the temporary file is gone.
    open: Option<Temporary<SystemFiles>>,
    target: PathBuf,
    /// Bytes after `flushed`, not yet written.
    buffer: Vec<u8>,
    flushed: u64,
    failed: bool,
}

impl FileSink {
    /// Starts a file that is to appear at `path`.
    ///
    /// # Errors
    /// What the system reports, say that the directory does not exist; [`io::ErrorKind::InvalidInput`] for a path
    /// without a file name and where the target is a device, a pipe or a socket, [`io::ErrorKind::IsADirectory`] where
    /// it is a directory.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let target = resolve(path.as_ref())?;
        let open = Temporary::create(SystemFiles, &target)?;
        Ok(Self {
            open: Some(open),
            target,
            buffer: Vec::new(),
            flushed: 0,
            failed: false,
        })
    }

    /// The file that is written until the commit, for programs that remove it when they are stopped by a signal; `None`
    /// after the commit.
    #[must_use]
    pub fn temporary(&self) -> Option<&Path> {
        self.open.as_ref().map(Temporary::path)
    }

    /// Writes what was appended to the disk, still under the temporary name: the commit that follows has only the
    /// rename to do, if nothing is appended in between.
    ///
    /// # Errors
    /// What the system reports, as at a commit.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.on_file(|file| file.sync())
    }

    /// Runs a step on the file; after a step that failed the content is unknown, and every further one is
    /// refused, as all are after the commit.
    fn on_file<T>(
        &mut self,
        step: impl FnOnce(&Temporary<SystemFiles>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.failed {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        let Some(open) = &self.open else {
            return Err(io::Error::other("this file was committed before"));
        };
        let done = step(open);
        self.failed = done.is_err();
        done
    }

    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let place = self.flushed;
        self.on_file(|file| file.write_at(place, &buffer))?;
        self.flushed += buffer.len() as u64;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Bytes appended so far.
    fn end(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    fn commit_steps(&mut self) -> io::Result<()> {
        self.flush()?;
        #[cfg(unix)]
        if let Ok(old) = fs::metadata(&self.target) {
            self.on_file(|file| file.file()?.set_permissions(old.permissions()))?;
        }
        self.on_file(|file| file.sync())?;
        if let Some(mut temporary) = self.open.take() {
            let renamed = temporary.rename(&self.target);
            self.failed = renamed.is_err();
            renamed?;
        }
        SystemFiles.sync_folder(folder_of(&self.target))
    }
}

impl Sink for FileSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.failed || self.open.is_none() {
            return self.on_file(|_| Ok(()));
        }
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            let place = self.flushed;
            self.on_file(|file| file.write_at(place, bytes))?;
            self.flushed += bytes.len() as u64;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        check_overwrite(place, bytes.len() as u64, self.end())?;
        let n_in_file = self.flushed.saturating_sub(place).min(bytes.len() as u64);
        // At most `bytes.len()`, so it fits.
        let (in_file, in_buffer) = bytes.split_at(n_in_file as usize);
        if !in_file.is_empty() {
            self.on_file(|file| file.write_at(place, in_file))?;
        }
        if !in_buffer.is_empty() {
            // Inside the buffer, as checked above, so it fits as well.
            let start = place.saturating_sub(self.flushed) as usize;
            for (old, new) in self.buffer.iter_mut().skip(start).zip(in_buffer) {
                *old = *new;
            }
        }
        Ok(true)
    }

    /// Flushes, syncs the file, renames it over the target and (on Unix) syncs the directory. An error of the last step
    /// leaves the new file in place, though a crash of the system might still undo the rename; after any other error
    /// the target is as it was.
    fn commit(&mut self) -> io::Result<()> {
        self.commit_steps()
    }
}

/// The file that is to be replaced: behind a symbolic link, the one it points to.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    if path.file_name().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} has no file name", path.display()),
        ));
    }
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let target = match is_link {
        true => fs::canonicalize(path)?,
        false => path.to_owned(),
    };
    let Ok(found) = fs::metadata(&target) else {
        return Ok(target);
    };
    if found.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            format!("{} is a directory", target.display()),
        ));
    }
    // Renaming a file over it would remove a device or a pipe that others use.
    if !found.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is no regular file", target.display()),
        ));
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failed_write_nothing_is_committed() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("table.tarsia");
        fs::write(&target, b"old").unwrap();
        let mut sink = FileSink::create(&target).unwrap();
        sink.append(b"new").unwrap();
        let open = sink.open.as_mut().unwrap();
        let read_only = fs::File::open(open.path()).unwrap();
        let writable = open.replace_file(read_only);
        assert!(sink.append(&vec![1; BUFFER_BYTES]).is_err());
        // Even though writing would work again, bytes are missing.
        sink.open.as_mut().unwrap().replace_file(writable);
        assert!(sink.append(b"more").is_err());
        assert!(sink.commit().is_err());
        assert_eq!(fs::read(&target).unwrap(), b"old");
        drop(sink);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_synced_has_its_name_after_the_commit_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("table.tarsia");
        let mut sink = FileSink::create(&target).unwrap();
        sink.append(b"whole").unwrap();
        sink.sync().unwrap();
        assert!(!target.exists());
        assert_eq!(fs::read(sink.temporary().unwrap()).unwrap(), b"whole");
        sink.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
        assert!(sink.sync().is_err());
    }

    #[test]
    fn after_the_commit_nothing_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("table.tarsia");
        let mut sink = FileSink::create(&target).unwrap();
        sink.append(b"whole").unwrap();
        sink.commit().unwrap();
        for refused in [
            sink.append(b"more"),
            sink.overwrite(0, b"w").map(drop),
            sink.commit(),
        ] {
            let error = refused.unwrap_err();
            assert!(error.to_string().contains("committed before"), "{error}");
        }
        drop(sink);
        assert_eq!(fs::read(&target).unwrap(), b"whole");
    }
}
