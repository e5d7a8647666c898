//! Files that appear whole or not at all.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Sink, check_overwrite};

/// Bytes collected before they are written: large enough that system calls cost nothing beside the copy.
const BUFFER_BYTES: usize = 1 << 20;

/// Longest target name to which the temporary suffix is appended; file systems allow 255 bytes.
const NAME_BYTES_MAX: usize = 200;

/// Names tried before giving up. Names carry 64 random bits, so the second is never needed in practice.
const NAME_ATTEMPTS_MAX: u32 = 16;

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
    open: Option<Open>,
    target: PathBuf,
    /// Bytes after `flushed`, not yet written.
    buffer: Vec<u8>,
    flushed: u64,
    failed: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    temporary: PathBuf,
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
        let open = create_temporary(&target)?;
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
        self.open.as_ref().map(|open| open.temporary.as_path())
    }

    /// Writes what was appended to the disk, still under the temporary name: the commit that follows has only the
    /// rename to do, if nothing is appended in between.
    ///
    /// # Errors
    /// What the system reports, as at a commit.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.on_file(|file| file.sync_all())
    }

    /// Runs a step on the file; after a step that failed the content is unknown, and every further one is
    /// refused, as all are after the commit.
    fn on_file<T>(&mut self, step: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        if self.failed {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        let Some(open) = &mut self.open else {
            return Err(io::Error::other("this file was committed before"));
        };
        let done = step(&mut open.file);
        self.failed = done.is_err();
        done
    }

    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.on_file(|file| file.write_all(&buffer))?;
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
            self.on_file(|file| file.set_permissions(old.permissions()))?;
        }
        self.on_file(|file| file.sync_all())?;
        if let Some(Open { file, temporary }) = self.open.take() {
            // Windows does not rename open files.
            close(file);
            if let Err(error) = fs::rename(&temporary, &self.target) {
                self.failed = true;
                remove(&temporary);
                return Err(error);
            }
        }
        sync_directory(directory_of(&self.target))
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
            self.on_file(|file| file.write_all(bytes))?;
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
            let end = self.flushed;
            self.on_file(|file| {
                file.seek(SeekFrom::Start(place))?;
                file.write_all(in_file)?;
                file.seek(SeekFrom::Start(end)).map(|_| ())
            })?;
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

impl Drop for FileSink {
    fn drop(&mut self) {
        if let Some(Open { file, temporary }) = self.open.take() {
            close(file);
            remove(&temporary);
        }
    }
}

/// Closes a file, before it is renamed or removed. (`drop` has nothing to do on targets without files, and lints say
/// so.)
fn close(_: File) {}

/// Removes a temporary file. Where that fails, nobody is left to tell; the name says what it is.
fn remove(temporary: &Path) {
    let _ = fs::remove_file(temporary);
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

fn create_temporary(target: &Path) -> io::Result<Open> {
    let mut attempt = 0;
    loop {
        let temporary = temporary_name(target, attempt);
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary);
        match created {
            Ok(file) => return Ok(Open { file, temporary }),
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && attempt < NAME_ATTEMPTS_MAX =>
            {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn temporary_name(target: &Path, attempt: u32) -> PathBuf {
    // The standard library's hash keys are random per process and differ per call: no generator needed.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(attempt);
    let mut name = match target.file_name() {
        Some(name) if name.len() <= NAME_BYTES_MAX => name.to_owned(),
        _ => OsString::from(".tarsia"),
    };
    name.push(format!(".tmp{:016x}", hasher.finish()));
    target.with_file_name(name)
}

fn directory_of(target: &Path) -> &Path {
    match target.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// The rename itself is only durable once the directory is.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        // Some file systems do not sync directories, and say so.
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
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
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
        let writable = std::mem::replace(&mut open.file, File::open(&open.temporary).unwrap());
        assert!(sink.append(&vec![1; BUFFER_BYTES]).is_err());
        // Even though writing would work again, bytes are missing.
        sink.open.as_mut().unwrap().file = writable;
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

    #[test]
    fn temporary_names_differ_and_stay_short() {
        let target = Path::new("some/where/table.tarsia");
        let first = temporary_name(target, 0);
        assert_ne!(first, temporary_name(target, 0));
        assert_eq!(first.parent(), target.parent());
        let name = first.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("table.tarsia.tmp"), "{name}");
        let long = temporary_name(&PathBuf::from("x".repeat(250)), 0);
        assert!(long.to_str().unwrap().starts_with(".tarsia.tmp"));
    }
}
