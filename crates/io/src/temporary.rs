//! Files that are written under a temporary name, beside the name that they get when they are complete.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::file_system::FileSystem;

/// Longest target name to which the temporary suffix is appended; file systems allow 255 bytes.
const NAME_BYTES_MAX: usize = 200;

/// Names tried before giving up. Names carry 64 random bits, so the second is never needed in practice.
const NAME_ATTEMPTS_MAX: u32 = 16;

/// Text between the name of the target and the random digits of a temporary name.
const MARK: &str = ".tmp";

/// Hexadecimal digits at the end of a temporary name.
const N_DIGITS: usize = 16;

/// A file under a temporary name. Dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Temporary<F: FileSystem> {
    files: F,
    /// `None` once the file has its name or is removed.
    file: Option<F::File>,
    path: PathBuf,
}

impl<F: FileSystem> Temporary<F> {
    /// Creates a file in the folder of `target`.
    pub(crate) fn create(files: F, target: &Path) -> io::Result<Self> {
        let mut attempt = 0;
        loop {
            let path = temporary_name(target, attempt);
            match files.create_new(&path) {
                Ok(file) => {
                    return Ok(Self {
                        files,
                        file: Some(file),
                        path,
                    });
                }
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists
                        && attempt < NAME_ATTEMPTS_MAX =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file; an error after it got its name.
    pub(crate) fn file(&self) -> io::Result<&F::File> {
        let gone = || io::Error::other("this file was committed before");
        self.file.as_ref().ok_or_else(gone)
    }

    /// Puts another handle in the place of the file's.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: F::File) -> F::File {
        self.file.replace(file).unwrap()
    }

    pub(crate) fn write_at(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.files.write_at(self.file()?, place, bytes)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.files.sync(self.file()?)
    }

    /// Gives the file its name, over a file that had it. It is synced before; the folder is not synced yet.
    pub(crate) fn rename(&mut self, target: &Path) -> io::Result<()> {
        // Windows does not rename open files.
        self.close();
        let renamed = self.files.rename(&self.path, target);
        if renamed.is_err() {
            self.remove();
        }
        renamed
    }

    /// Gives the file a name that no file has. After an error it still has its temporary name.
    pub(crate) fn rename_new(&mut self, target: &Path) -> io::Result<()> {
        self.files.rename_new(&self.path, target)?;
        self.close();
        Ok(())
    }

    /// Closes the file, before it is renamed or removed.
    fn close(&mut self) {
        self.file = None;
    }

    /// Removes the file. Where that fails, nobody is left to tell; the name says what it is.
    fn remove(&mut self) {
        self.close();
        let _ = self.files.remove(&self.path);
    }
}

impl<F: FileSystem> Drop for Temporary<F> {
    fn drop(&mut self) {
        if self.file.is_some() {
            self.remove();
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
    name.push(format!("{MARK}{:016x}", hasher.finish()));
    target.with_file_name(name)
}

/// Whether a file has a name that only temporary files have.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let Some((_, digits)) = name.to_str().and_then(|name| name.rsplit_once(MARK)) else {
        return false;
    };
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits.len() == N_DIGITS && digits.bytes().all(is_digit)
}

/// The folder of a file.
pub(crate) fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_differ_stay_short_and_are_known() {
        let target = Path::new("some/where/table.tarsia");
        let first = temporary_name(target, 0);
        assert_ne!(first, temporary_name(target, 0));
        assert_eq!(first.parent(), target.parent());
        let name = first.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("table.tarsia.tmp"), "{name}");
        assert!(is_temporary(name.as_ref()));
        let long = temporary_name(&PathBuf::from("x".repeat(250)), 0);
        assert!(long.to_str().unwrap().starts_with(".tarsia.tmp"));
        assert!(is_temporary(long.as_os_str()));
        for name in [
            "a.tmp",
            "a.tmp0123",
            "a.tmp0123456789abcdeg",
            "0123456789abcdef",
            "a.tmp0123456789abcdef0",
        ] {
            assert!(!is_temporary(name.as_ref()), "{name}");
        }
    }
}
