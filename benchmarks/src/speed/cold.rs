//! Files that are not in memory: what has to be read comes from the disk.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

/// How well the system forgot files when it was asked to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Evictions {
    /// How often files were to be forgotten.
    pub(super) asked: u64,
    /// How often nothing was left of them.
    pub(super) complete: u64,
    /// How often the system did not say.
    pub(super) unknown: u64,
    /// The largest part of a file's pages that was left.
    pub(super) part_left_max: f64,
}

impl Evictions {
    /// One line for people.
    pub(super) fn line(&self) -> String {
        match self {
            Self { asked: 0, .. } => "No file was dropped from memory.".to_owned(),
            Self { asked, unknown, .. } if asked == unknown => {
                "Whether files were dropped from memory could not be measured.".to_owned()
            }
            _ => format!(
                "Files were dropped from memory {} times; {} times no page was left (`mincore`), and at most {:.1} % \
                 of the pages of a file; {} times that could not be measured.",
                self.asked,
                self.complete,
                self.part_left_max * 100.0,
                self.unknown
            ),
        }
    }
}

/// Whether the folder is on a disk, as far as can be told: a file system in memory has nothing to forget.
pub(super) fn is_on_disk(folder: &Path) -> bool {
    let path = std::ffi::CString::new(folder.as_os_str().as_encoded_bytes());
    let Ok(path) = path else { return false };
    let mut info = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends with a zero, and the struct is written by the call, which says so by returning 0.
    let info = unsafe {
        if libc::statfs(path.as_ptr(), info.as_mut_ptr()) != 0 {
            return false;
        }
        info.assume_init()
    };
    let kind = u64::try_from(info.f_type).unwrap_or(0);
    kind != u64::try_from(libc::TMPFS_MAGIC).unwrap_or(0) && kind != RAMFS_MAGIC
}

/// `RAMFS_MAGIC` of `linux/magic.h`.
const RAMFS_MAGIC: u64 = 0x8584_58f6;

/// Copies a file, or a folder with all in it, and waits until it is on its device.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let target = match file.strip_prefix(from) {
            Ok(rest) if !rest.as_os_str().is_empty() => to.join(rest),
            _ => to.to_owned(),
        };
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::copy(&file, &target)?;
        File::open(&target)?.sync_all()?;
    }
    Ok(())
}

/// Asks the system to drop a file, or all files of a folder, from memory, and checks whether it did. No process may
/// have mapped them.
pub(super) fn evict(path: &Path, evictions: &mut Evictions) -> Result<()> {
    let mut pages = Some((0, 0));
    for path in files(path)? {
        let file = File::open(&path)?;
        // SAFETY: the descriptor is open, and the call takes no memory.
        let result =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        ensure!(result == 0, "posix_fadvise: error {result}");
        pages = match (pages, resident(&file)) {
            (Some((left, all)), Ok((n_left, n_all))) => Some((left + n_left, all + n_all)),
            _ => None,
        };
    }
    evictions.asked += 1;
    match pages {
        None => evictions.unknown += 1,
        Some((left, all)) => {
            evictions.complete += u64::from(left == 0);
            let part = left as f64 / (all as f64).max(1.0);
            evictions.part_left_max = evictions.part_left_max.max(part);
        }
    }
    Ok(())
}

/// Pages of a file that are in memory, and all its pages.
fn resident(file: &File) -> Result<(usize, usize)> {
    // SAFETY: the call has no preconditions.
    let page_bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) })?;
    if file.metadata()?.len() == 0 {
        return Ok((0, 0));
    }
    // SAFETY: nothing changes or truncates the file, which lies in a folder of this run alone; a mapping reads nothing
    // by itself.
    let map = unsafe { memmap2::MmapOptions::new().map(file)? };
    let n_pages = map.len().div_ceil(page_bytes);
    let mut pages = vec![0_u8; n_pages];
    // SAFETY: the range is that of the mapping, which begins at a page, and there is a byte for each of its pages.
    let result = unsafe {
        libc::mincore(
            map.as_ptr().cast_mut().cast(),
            map.len(),
            pages.as_mut_ptr(),
        )
    };
    ensure!(result == 0, "mincore: {}", std::io::Error::last_os_error());
    Ok((pages.iter().filter(|page| **page & 1 == 1).count(), n_pages))
}

/// The file, or all files of the folder.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut all = Vec::new();
    let entries = std::fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
    for entry in entries {
        all.extend(files(&entry?.path())?);
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_copied_whole() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::create_dir_all(from.join("inner")).unwrap();
        std::fs::write(from.join("a"), vec![1; 10_000]).unwrap();
        std::fs::write(from.join("inner/b"), b"b").unwrap();
        let to = folder.path().join("to");
        copy(&from, &to).unwrap();
        assert_eq!(std::fs::read(to.join("inner/b")).unwrap(), b"b");
        assert_eq!(files(&to).unwrap().len(), 2);
        let file = folder.path().join("file");
        copy(&to.join("a"), &file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap().len(), 10_000);
        // Just read, so it is in memory, unless the system does not say.
        if let Ok((left, all)) = resident(&File::open(&file).unwrap()) {
            assert!(left <= all && all >= 1);
        }
        let mut evictions = Evictions::default();
        evict(&to, &mut evictions).unwrap();
        assert_eq!(evictions.asked, 1);
    }
}
