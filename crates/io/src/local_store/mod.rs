//! A local folder as a store.

mod folder;
mod list;
mod upload;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use self::folder::Folder;
use self::upload::LocalUpload;
use crate::coalesce::{Access, ReadOptions};
use crate::file_system::{FileSystem, SystemFiles};
use crate::list::{List, ListPage};
use crate::object::{Get, Got, ObjectMeta};
use crate::store::{Capabilities, PutIfAbsent, Store, StoreFuture, Upload};
use crate::store_error::{StoreError, StoreOperation};

/// A local folder: the object `a/b` is the file `b` in its folder `a`. Clones share what they know of the folder.
///
/// What was answered survives a loss of power, as far as the disk keeps what it says that it wrote: a file is written
/// under a temporary name, synced, gets its name, and then its folder is synced, with new folders above it. Names are
/// given by a link or, if the file system has none, by a rename that replaces nothing; where neither works,
/// [`Store::put_if_absent`] is [`StoreErrorKind::Unsupported`](crate::StoreErrorKind).
///
/// An object that another program is writing can be read a moment before it is sure to survive.
/// [`PutIfAbsent::Exists`] says that it is sure: who builds on an object in another folder puts it again first.
///
/// Keys are checked by [`check_key`](crate::check_key); names of temporary files (`NAME.tmp` and 16 hexadecimal digits)
/// are refused, and never listed. A file system that ignores the case of letters makes one object of `a` and `A`.
/// Objects may not lie below one another: with `a` there is no `a/b`. Symbolic links to folders are not listed.
///
/// ```
/// use std::sync::Arc;
/// use tarsia_io::{Get, GetRange, LocalStore, Store, block_on};
///
/// let folder = tempfile::tempdir()?;
/// let store = LocalStore::open(folder.path())?;
/// block_on(store.put("data/1", Arc::new(b"tarsia".to_vec())))?;
/// let got = block_on(store.get(Get::new("data/1", GetRange::Suffix(2))))?;
/// assert_eq!(got.bytes, b"ia");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct LocalStore<F: FileSystem = SystemFiles> {
    folder: Arc<Folder<F>>,
}

impl LocalStore {
    /// The store of an existing folder.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], [`io::ErrorKind::NotADirectory`], and what the system reports.
    pub fn open(root: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_in(SystemFiles, root.as_ref())
    }

    /// The store of a folder, which is created, with those above it, if it is not there.
    ///
    /// # Errors
    /// What the system reports.
    pub fn create(root: impl AsRef<Path>) -> io::Result<Self> {
        Self::create_in(SystemFiles, root.as_ref())
    }
}

impl<F: FileSystem + Clone + 'static> LocalStore<F> {
    /// The store of an existing folder of a file system.
    ///
    /// # Errors
    /// As [`LocalStore::open`].
    pub fn open_in(files: F, root: &Path) -> io::Result<Self> {
        let folder = Arc::new(Folder::open(files, &std::path::absolute(root)?)?);
        Ok(Self { folder })
    }

    /// The store of a folder of a file system, which is created if it is not there.
    ///
    /// # Errors
    /// As [`LocalStore::create`].
    pub fn create_in(files: F, root: &Path) -> io::Result<Self> {
        let folder = Arc::new(Folder::create(files, &std::path::absolute(root)?)?);
        Ok(Self { folder })
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        self.folder.root()
    }

    /// Removes temporary files that writers left when they crashed: those that were not written to for `age`, by the
    /// clock of the file system. Returns their number. A writer that is slower than `age` fails, so a day is a good
    /// age.
    ///
    /// # Errors
    /// The first one that the system reports; what was removed stays removed.
    pub fn remove_temporaries(&self, age: Duration) -> Result<u64, StoreError> {
        let removed = self.folder.remove_temporaries(age);
        removed.map_err(|error| error.during(StoreOperation::Delete))
    }

    /// Counts the temporary files that [`LocalStore::remove_temporaries`] would remove, by this machine's clock; for an
    /// age of zero all of them, also those of writers that are alive. Writes nothing.
    ///
    /// # Errors
    /// What the system reports.
    pub fn count_temporaries(&self, age: Duration) -> Result<u64, StoreError> {
        let left = self.folder.temporaries(SystemTime::now(), age);
        let left = left.map_err(|error| error.during(StoreOperation::List))?;
        Ok(left.len() as u64)
    }

    /// Counts temporary files of both kinds in one walk: all, and those that [`LocalStore::remove_temporaries`] would
    /// remove, by this machine's clock. Writes nothing.
    ///
    /// # Errors
    /// What the system reports.
    pub fn count_all_temporaries(&self, age: Duration) -> Result<[u64; 2], StoreError> {
        let now = SystemTime::now();
        let all = self.folder.temporaries(now, Duration::ZERO);
        let all = all.map_err(|error| error.during(StoreOperation::List))?;
        let old = all.iter().filter(|left| self.folder.is_old(left, now, age));
        Ok([all.len() as u64, old.count() as u64])
    }

    /// Runs a step when the future is polled.
    fn later<T: Send + 'static>(
        &self,
        operation: StoreOperation,
        step: impl FnOnce(Arc<Folder<F>>) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<T> {
        let folder = Arc::clone(&self.folder);
        Box::pin(async move { step(folder).map_err(|error| error.during(operation)) })
    }
}

impl<F: FileSystem> Clone for LocalStore<F> {
    fn clone(&self) -> Self {
        let folder = Arc::clone(&self.folder);
        Self { folder }
    }
}

impl<F: FileSystem> fmt::Debug for LocalStore<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalStore({})", self.folder.root().display())
    }
}

impl<F: FileSystem + Clone + 'static> Store for LocalStore<F> {
    fn url(&self, key: &str) -> String {
        self.folder.url(key)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        self.later(StoreOperation::Get, move |folder| folder.get(&get))
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        let key = key.to_owned();
        self.later(StoreOperation::Head, move |folder| folder.head(&key))
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        let key = key.to_owned();
        self.later(StoreOperation::Put, move |folder| folder.put(&key, &bytes))
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        let key = key.to_owned();
        self.later(StoreOperation::PutIfAbsent, move |folder| {
            folder.put_if_absent(&key, &bytes)
        })
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        let key = key.to_owned();
        self.later(StoreOperation::Upload, move |folder| {
            Ok(Box::new(LocalUpload::begin(folder, &key)?) as Box<dyn Upload>)
        })
    }

    fn list(&self, list: List) -> StoreFuture<ListPage> {
        self.later(StoreOperation::List, move |folder| folder.list(&list))
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        let key = key.to_owned();
        self.later(StoreOperation::Delete, move |folder| folder.delete(&key))
    }

    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        let probe = probe.to_owned();
        self.later(StoreOperation::Now, move |folder| folder.now(&probe))
    }

    fn read_options(&self, _: Access) -> ReadOptions {
        ReadOptions::LOCAL
    }
}
