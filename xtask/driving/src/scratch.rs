//! Folders for the files of a run.

use std::io;
use std::path::Path;

use tempfile::TempDir;

/// Files in memory: the command syncs each file that it writes, and on a disk most of a run would be that.
const IN_MEMORY: &str = "/dev/shm";

/// A folder of its own, removed when it is dropped; in memory where the system has such a place.
pub fn folder() -> io::Result<TempDir> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("tarsia-run-");
        builder
    };
    match Path::new(IN_MEMORY).is_dir() {
        true => builder()
            .tempdir_in(IN_MEMORY)
            .or_else(|_| builder().tempdir()),
        false => builder().tempdir(),
    }
}
