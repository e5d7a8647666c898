//! A folder for the files of a test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// An empty folder, removed when this is dropped.
pub struct Folder(TempDir);

impl Default for Folder {
    fn default() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
}

impl Folder {
    /// Where it is.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    #[track_caller]
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// The text of a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
