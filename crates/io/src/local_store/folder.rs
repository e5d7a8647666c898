//! Objects of a folder: how they are read, written and removed.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::conflict::Conflict;
use crate::file_system::{FileKind, FileState, FileSystem};
use crate::keys::check_key;
use crate::object::{Get, Got, ObjectMeta};
use crate::read::ReadAt;
use crate::store::PutIfAbsent;
use crate::store_error::{StoreError, StoreErrorKind};
use crate::temporary::{Temporary, folder_of, is_temporary};

/// Folders that are remembered as synced; then all are forgotten, and synced once more.
const KNOWN_MAX: usize = 16_384;

/// A folder and the folders below it that are known to be on the disk.
#[derive(Debug)]
pub(super) struct Folder<F: FileSystem> {
    pub(super) files: F,
    root: PathBuf,
    /// Folders whose names, from the root down, are on the disk.
    known: Mutex<HashSet<PathBuf>>,
}

impl<F: FileSystem + Clone> Folder<F> {
    pub(super) fn open(files: F, root: &Path) -> io::Result<Self> {
        match files.state(root)?.kind {
            FileKind::Folder => Ok(Self::new(files, root)),
            FileKind::File | FileKind::Other => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Creates the folder and those above it. All their names are on the disk then.
    pub(super) fn create(files: F, root: &Path) -> io::Result<Self> {
        let missing = root.ancestors().take_while(|folder| {
            let state = files.state(folder);
            state.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        });
        let missing: Vec<&Path> = missing.collect();
        for folder in missing.iter().rev() {
            make_folder(&files, folder)?;
        }
        for folder in &missing {
            files.sync_folder(folder_of(folder))?;
        }
        if missing.is_empty() {
            // Another program may have created it a moment ago. Who may not read the folder above did not.
            match files.sync_folder(folder_of(root)) {
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
                done => done?,
            }
        }
        Self::open(files, root)
    }

    fn new(files: F, root: &Path) -> Self {
        Self {
            files,
            root: root.to_owned(),
            known: Mutex::default(),
        }
    }

    pub(super) fn get(&self, get: &Get) -> Result<Got, StoreError> {
        let path = self.path(&get.key)?;
        let url = self.url(&get.key);
        let opened =
            (self.files.open(&path)).map_err(|error| self.read_failure(&get.key, error))?;
        let meta = meta_of(&opened.state);
        if get.if_match.is_some() && get.if_match != meta.etag {
            return Err(StoreError::changed(url, "ETag"));
        }
        // The size is that of the file, so memory is bounded by what is there.
        let range = get.range.inside(meta.size, &url)?;
        let no_memory = |_| StoreError::new(StoreErrorKind::Other, url.as_str(), "no memory");
        let len = usize::try_from(range.end - range.start)
            .map_err(|_| StoreError::new(StoreErrorKind::Other, url.as_str(), "no memory"))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(no_memory)?;
        bytes.resize(len, 0);
        // Files that are replaced keep their bytes for those who have them open. Who changes one in place is found out.
        let read = opened.reader.read_at(range.start, &mut bytes);
        let read = read.and_then(|()| opened.reader.check_unchanged());
        read.map_err(|error| match Conflict::of(&error) {
            Some(Conflict::Changed { what, .. }) => StoreError::changed(url.as_str(), what),
            _ => self.failure(&get.key, &error),
        })?;
        Ok(Got {
            bytes,
            start: range.start,
            meta,
        })
    }

    pub(super) fn head(&self, key: &str) -> Result<ObjectMeta, StoreError> {
        let state = self.files.state(&self.path(key)?);
        let state = state.map_err(|error| self.read_failure(key, error))?;
        match state.kind {
            FileKind::File => Ok(meta_of(&state)),
            FileKind::Folder | FileKind::Other => {
                Err(self.read_failure(key, ErrorKind::InvalidInput.into()))
            }
        }
    }

    pub(super) fn put(&self, key: &str, bytes: &[u8]) -> Result<Option<String>, StoreError> {
        let temporary = self.begin(key)?;
        let written = temporary.write_at(0, bytes);
        written.map_err(|error| self.failure(key, &error))?;
        self.put_file(key, temporary)
    }

    /// Starts the file of an object under a temporary name, in a folder that is on the disk.
    pub(super) fn begin(&self, key: &str) -> Result<Temporary<F>, StoreError> {
        let path = self.path(key)?;
        let begin = || {
            self.prepare(folder_of(&path))?;
            Temporary::create(self.files.clone(), &path)
        };
        let begun = begin().or_else(|error| match error.kind() {
            // Somebody removed a folder that this process had made.
            ErrorKind::NotFound => {
                self.known().clear();
                begin()
            }
            _ => Err(error),
        });
        begun.map_err(|error| match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                let what = "an object has the name of one of its folders";
                StoreError::new(StoreErrorKind::Invalid, self.url(key), what)
            }
            _ => self.failure(key, &error),
        })
    }

    /// Gives a complete file its name, over an object that had it.
    pub(super) fn put_file(
        &self,
        key: &str,
        mut temporary: Temporary<F>,
    ) -> Result<Option<String>, StoreError> {
        let path = self.path(key)?;
        let state = temporary
            .sync()
            .and_then(|()| self.files.state(temporary.path()));
        let state = state.map_err(|error| self.failure(key, &error))?;
        let renamed = temporary.rename(&path);
        renamed.map_err(|error| match self.is_folder(&path) {
            true => self.has_folder(key),
            false => self.maybe_named(key, &error),
        })?;
        let synced = self.files.sync_folder(folder_of(&path));
        synced.map_err(|error| self.unknown(key, &error))?;
        Ok(meta_of(&state).etag)
    }

    pub(super) fn put_if_absent(&self, key: &str, bytes: &[u8]) -> Result<PutIfAbsent, StoreError> {
        let path = self.path(key)?;
        // A file that is there need not be written to be refused.
        if self.files.state(&path).is_ok() {
            return self.exists(key, &path);
        }
        let mut temporary = self.begin(key)?;
        let written = temporary.write_at(0, bytes).and_then(|()| temporary.sync());
        written.map_err(|error| self.failure(key, &error))?;
        let state = self.files.state(temporary.path());
        let state = state.map_err(|error| self.failure(key, &error))?;
        if !self.name_new(key, &mut temporary, &path)? {
            drop(temporary);
            return self.exists(key, &path);
        }
        // With the temporary name still there a crash would leave it; the sync below covers both.
        drop(temporary);
        let synced = self.files.sync_folder(folder_of(&path));
        synced.map_err(|error| self.unknown(key, &error))?;
        let etag = meta_of(&state).etag;
        Ok(PutIfAbsent::Created { etag })
    }

    /// Gives a file a name that nothing has. False if something has it.
    fn name_new(
        &self,
        key: &str,
        temporary: &mut Temporary<F>,
        path: &Path,
    ) -> Result<bool, StoreError> {
        let error = match self.files.link(temporary.path(), path) {
            Ok(()) => return Ok(true),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::AlreadyExists => {
                // A network file system repeats a request whose answer was lost, and then finds the link of the first.
                let state = self.files.state(temporary.path());
                Ok(state.is_ok_and(|state| state.n_links > 1))
            }
            ErrorKind::PermissionDenied | ErrorKind::Unsupported => {
                match temporary.rename_new(path) {
                    Ok(()) => Ok(true),
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                    Err(other) => match other.kind() {
                        ErrorKind::Unsupported | ErrorKind::InvalidInput => {
                            Err(self.cannot_name(key, &error))
                        }
                        _ => Err(self.maybe_named(key, &other)),
                    },
                }
            }
            _ => Err(self.maybe_named(key, &error)),
        }
    }

    /// Answers that an object is there, once that is sure to stay so: its writer may not have synced the folder yet.
    fn exists(&self, key: &str, path: &Path) -> Result<PutIfAbsent, StoreError> {
        if self.is_folder(path) {
            return Err(self.has_folder(key));
        }
        // Its writer had the folder's own name on the disk before it gave the object a name.
        let synced = self.files.sync_folder(folder_of(path));
        synced.map_err(|error| self.failure(key, &error))?;
        Ok(PutIfAbsent::Exists)
    }

    pub(super) fn delete(&self, key: &str) -> Result<(), StoreError> {
        let path = self.path(key)?;
        match self.files.remove(&path) {
            Ok(()) => {}
            Err(error) if is_absence(&error) || self.is_folder(&path) => {}
            Err(error) => return Err(self.failure(key, &error)),
        }
        // Also where nothing was removed: whoever removed it may not have come so far.
        match self.files.sync_folder(folder_of(&path)) {
            Err(error) if !is_absence(&error) => Err(self.failure(key, &error)),
            _ => Ok(()),
        }
    }

    /// The time of a file that was written just now.
    pub(super) fn now(&self, probe: &str) -> Result<SystemTime, StoreError> {
        let temporary = self.begin(probe)?;
        let state = temporary.write_at(0, b"now");
        let state = state.and_then(|()| self.files.state(temporary.path()));
        let state = state.map_err(|error| self.failure(probe, &error))?;
        state.modified.ok_or_else(|| {
            let what = "the file system keeps no times";
            StoreError::new(StoreErrorKind::Unsupported, self.url(probe), what)
        })
    }

    /// Makes a folder of the store and has its name, and those of the folders above it, on the disk. Those that were
    /// there are synced once, too: whoever made them may not have come so far.
    fn prepare(&self, folder: &Path) -> io::Result<()> {
        if self.known().contains(folder) {
            return Ok(());
        }
        let below_root = folder.ancestors().take_while(|it| *it != self.root);
        let mut chain: Vec<&Path> = below_root.collect();
        chain.reverse();
        for folder in &chain {
            make_folder(&self.files, folder)?;
        }
        for folder in chain {
            if self.known().contains(folder) {
                continue;
            }
            self.files.sync_folder(folder_of(folder))?;
            let mut known = self.known();
            if known.len() >= KNOWN_MAX {
                known.clear();
            }
            known.insert(folder.to_owned());
        }
        Ok(())
    }

    fn is_folder(&self, path: &Path) -> bool {
        let state = self.files.state(path);
        state.is_ok_and(|state| state.kind == FileKind::Folder)
    }
}

impl<F: FileSystem> Folder<F> {
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn url(&self, key: &str) -> String {
        format!("{}/{key}", self.root.display())
    }

    fn known(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        // Every change under the lock is whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of an object.
    pub(super) fn path(&self, key: &str) -> Result<PathBuf, StoreError> {
        let url = self.url(key);
        check_key(key, &url)?;
        let invalid = |what: &str| StoreError::new(StoreErrorKind::Invalid, url.as_str(), what);
        let name = key.rsplit('/').next().unwrap_or_default();
        if is_temporary(name.as_ref()) {
            return Err(invalid("the name is one of temporary files"));
        }
        if cfg!(windows) && !key.split('/').all(is_windows_name) {
            return Err(invalid("a part of the key is no name of Windows"));
        }
        Ok(key
            .split('/')
            .fold(self.root.clone(), |path, part| path.join(part)))
    }

    /// An error of the system while an object was written or removed.
    pub(super) fn failure(&self, key: &str, error: &io::Error) -> StoreError {
        let kind = match error.kind() {
            ErrorKind::NotFound => StoreErrorKind::NotFound,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                StoreErrorKind::Permission
            }
            ErrorKind::Unsupported => StoreErrorKind::Unsupported,
            ErrorKind::InvalidFilename | ErrorKind::InvalidInput => StoreErrorKind::Invalid,
            _ => StoreErrorKind::Other,
        };
        StoreError::new(kind, self.url(key), error.to_string())
    }

    /// An error of the system while an object was looked for.
    fn read_failure(&self, key: &str, error: io::Error) -> StoreError {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                StoreError::new(StoreErrorKind::NotFound, self.url(key), "not found")
            }
            ErrorKind::InvalidInput => {
                let what = "not found: no regular file has the name";
                StoreError::new(StoreErrorKind::NotFound, self.url(key), what)
            }
            _ => self.failure(key, &error),
        }
    }

    fn has_folder(&self, key: &str) -> StoreError {
        let what = "a folder has this name";
        StoreError::new(StoreErrorKind::Invalid, self.url(key), what)
    }

    fn cannot_name(&self, key: &str, error: &io::Error) -> StoreError {
        let what = format!(
            "the file system has neither links nor a rename that replaces nothing, so no file can be created by one \
             of several writers alone ({error})"
        );
        StoreError::new(StoreErrorKind::Unsupported, self.url(key), what)
    }

    /// An error while a file got its name. The system refuses some things before it does anything.
    fn maybe_named(&self, key: &str, error: &io::Error) -> StoreError {
        match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::TooManyLinks
            | ErrorKind::CrossesDevices
            | ErrorKind::InvalidFilename => self.failure(key, error),
            _ => self.unknown(key, error),
        }
    }

    fn unknown(&self, key: &str, error: &io::Error) -> StoreError {
        let what = format!("it may be there or not ({error})");
        StoreError::new(StoreErrorKind::Unknown, self.url(key), what)
    }
}

/// Makes a folder, unless there is one.
fn make_folder<F: FileSystem>(files: &F, folder: &Path) -> io::Result<()> {
    match files.create_folder(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// An error that says that there is no such file.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A name that Windows takes as it stands.
fn is_windows_name(name: &str) -> bool {
    !name.contains(['<', '>', ':', '"', '|', '?', '*']) && !name.ends_with(['.', ' '])
}

/// The state of an object. The time of the last change of the inode is no part of the ETag: it changes when the
/// temporary name of a linked file goes.
pub(super) fn meta_of(state: &FileState) -> ObjectMeta {
    let nanoseconds =
        state
            .modified
            .map(|time| match time.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(since) => since.as_nanos() as i128,
                Err(before) => -(before.duration().as_nanos() as i128),
            });
    ObjectMeta {
        size: state.len,
        etag: nanoseconds.map(|time| format!("\"{:x}-{:x}-{time:x}\"", state.id, state.len)),
        last_modified: state.modified,
    }
}
