//! Objects of an engine's stores as readers and sinks of Tarsia.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use datafusion::error::{DataFusionError, Result as DataFusionResult};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Error as ObjectError, GetOptions, GetRange as ObjectRange, ObjectMeta, ObjectStore,
    ObjectStoreExt, WriteMultipart,
};
use tarsia::{File, OpenOptions, Result};
use tarsia_io::{
    FileSink, Get, GetRange, Got, ObjectMeta as TarsiaMeta, Sink, Store, StoreError,
    StoreErrorKind, StoreFuture, StoreOperation, Upload, redact,
};
use tarsia_store::RemoteFile;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::cache::{KnownFile, MetadataCache};

/// Bytes of a part of an upload: S3 asks for 5 MiB, and 10,000 parts are all that there may be.
const PART_BYTES: usize = 8 << 20;

/// Parts that are uploaded at the same time.
const PARTS_IN_FLIGHT_MAX: usize = 4;

/// Files of a store that an engine registered. Transfers run on the engine's runtime, whoever waits for them.
#[derive(Clone)]
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    engine: Handle,
    /// Paths are those of the file system.
    is_local: bool,
    /// Metadata of files that are not local.
    cache: Option<MetadataCache>,
}

impl Objects {
    /// Objects of this store, for threads that block.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        // The store of `file://`, which has no prefix. Others are read through their interface.
        let is_local = store.to_string() == LocalFileSystem::new().to_string();
        Self {
            store,
            engine: Handle::current(),
            is_local,
            cache: None,
        }
    }

    /// These objects, of whose metadata the cache has what was read before.
    pub(crate) fn with_cache(mut self, cache: Option<MetadataCache>) -> Self {
        self.cache = cache;
        self
    }

    /// Name of an object in errors.
    pub(crate) fn name(&self, location: &Path) -> String {
        match self.is_local {
            true => format!("/{location}"),
            false => location.to_string(),
        }
    }

    /// Opens the object that was listed, strings as views. A local file is memory-mapped. Of others, what is in the
    /// cache is not read.
    ///
    /// # Errors
    /// An object that is no longer as it was listed; what opening may meet.
    pub(crate) fn open(&self, listed: &ObjectMeta) -> DataFusionResult<File> {
        let opened = match (self.is_local, &self.cache) {
            (true, _) => self.open_local(listed),
            (false, None) => self.open_remote(listed, None),
            (false, Some(cache)) => {
                let known = cache.known(&self.store.to_string(), listed);
                let opened = self.open_remote(listed, Some(&known));
                cache.keep(listed, known);
                opened
            }
        };
        let (file, changed) = opened.map_err(error_of)?;
        match changed {
            None => Ok(file),
            Some(part) => {
                let name = self.name(&listed.location);
                let what = format!(
                    "{name} was changed since the query was planned (its {part}): run it again"
                );
                Err(DataFusionError::Execution(what))
            }
        }
    }

    fn open_local(&self, listed: &ObjectMeta) -> Result<(File, Option<&'static str>)> {
        let path = LocalFileSystem::new()
            .path_to_filesystem(&listed.location)
            .map_err(io::Error::other)?;
        let file = File::open_with(&path, OpenOptions::new().with_views(true))?;
        // After it was opened: whatever replaced it before is seen.
        let now = std::fs::metadata(&path)?;
        let now = TarsiaMeta {
            size: now.len(),
            etag: None,
            last_modified: now.modified().ok(),
        };
        let known = TarsiaMeta {
            etag: None,
            ..exact_meta(listed)
        };
        Ok((file, known.difference(&now)))
    }

    fn open_remote(
        &self,
        listed: &ObjectMeta,
        known: Option<&KnownFile>,
    ) -> Result<(File, Option<&'static str>)> {
        let store = Arc::new(EngineStore {
            store: Arc::clone(&self.store),
            engine: self.engine.clone(),
        });
        let (key, state) = (listed.location.as_ref(), meta_of(listed));
        let remote = match known {
            // By its ETag the store tells whether the object is still the one that was listed.
            Some(known) if !known.files.is_empty() && state.strong_etag().is_some() => {
                RemoteFile::known(store, key, state.clone())
            }
            _ => RemoteFile::open(store, key)?,
        };
        let changed = state.difference(remote.meta());
        let (name, remote) = (self.name(&listed.location), Arc::new(remote));
        let file = match known {
            Some(known) => known.files.open_reader(&name, remote)?,
            None => File::open_named(remote, name, OpenOptions::new().with_views(true))?,
        };
        Ok((file, changed))
    }

    /// Begins the object of this name. It appears with the commit.
    pub(crate) fn create(&self, location: &Path) -> io::Result<Box<dyn Sink>> {
        if self.is_local {
            let path = LocalFileSystem::new()
                .path_to_filesystem(location)
                .map_err(io::Error::other)?;
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            return Ok(Box::new(FileSink::create(path)?));
        }
        Ok(Box::new(ObjectSink {
            objects: self.clone(),
            location: location.clone(),
            upload: None,
        }))
    }
}

/// An error of this crate's files as one of the engine.
pub(crate) fn error_of(error: tarsia::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The state of an object, with its time in all digits.
fn exact_meta(meta: &ObjectMeta) -> TarsiaMeta {
    let known = meta.last_modified.timestamp() > 0;
    TarsiaMeta {
        size: meta.size,
        etag: meta.e_tag.clone(),
        last_modified: known.then(|| SystemTime::from(meta.last_modified)),
    }
}

/// The state of an object. Times are in whole seconds: heads of answers have no smaller unit, lists do.
fn meta_of(meta: &ObjectMeta) -> TarsiaMeta {
    let seconds = u64::try_from(meta.last_modified.timestamp()).unwrap_or_default();
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    TarsiaMeta {
        last_modified: time.filter(|_| seconds > 0),
        ..exact_meta(meta)
    }
}

/// An engine's store as Tarsia reads one. The engine's client tries requests again.
struct EngineStore {
    store: Arc<dyn ObjectStore>,
    engine: Handle,
}

impl fmt::Debug for EngineStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineStore").finish_non_exhaustive()
    }
}

impl EngineStore {
    /// Runs work on the engine's runtime. To drop the future cancels it.
    fn spawn<T: Send + 'static>(
        &self,
        url: String,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<T> {
        let mut task = AbortOnDrop(self.engine.spawn(work));
        Box::pin(async move {
            match (&mut task.0).await {
                Ok(done) => done,
                Err(error) => {
                    let what = format!("the request was given up: {error}");
                    Err(StoreError::new(StoreErrorKind::Other, url, what))
                }
            }
        })
    }

    fn unsupported<T: Send + 'static>(
        &self,
        key: &str,
        operation: StoreOperation,
    ) -> StoreFuture<T> {
        let what = "it is open for reading alone";
        let error = StoreError::new(StoreErrorKind::Unsupported, key, what).during(operation);
        Box::pin(std::future::ready(Err(error)))
    }
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Store for EngineStore {
    fn url(&self, key: &str) -> String {
        key.to_owned()
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        let store = Arc::clone(&self.store);
        self.spawn(get.key.to_string(), async move { read(&*store, get).await })
    }

    fn head(&self, key: &str) -> StoreFuture<TarsiaMeta> {
        let (store, key) = (Arc::clone(&self.store), key.to_owned());
        self.spawn(key.clone(), async move {
            let head = store.head(&path_of(&key)?).await;
            Ok(meta_of(&head.map_err(|error| failed(&key, &error))?))
        })
    }

    fn put(&self, key: &str, _: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        self.unsupported(key, StoreOperation::Put)
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        self.unsupported(key, StoreOperation::Upload)
    }
}

fn path_of(key: &str) -> Result<Path, StoreError> {
    Path::parse(key)
        .map_err(|error| StoreError::new(StoreErrorKind::Invalid, key, error.to_string()))
}

/// Reads bytes of an object. They are counted before memory is taken for them.
async fn read(store: &dyn ObjectStore, get: Get) -> Result<Got, StoreError> {
    let key = &*get.key;
    let path = path_of(key)?;
    let options = |range| GetOptions {
        range,
        if_match: get.if_match.clone(),
        ..GetOptions::default()
    };
    let range = match &get.range {
        GetRange::Bytes(range) => Some(ObjectRange::Bounded(range.clone())),
        GetRange::Suffix(n_bytes) => Some(ObjectRange::Suffix(*n_bytes)),
        GetRange::Whole { .. } => None,
    };
    let mut answer = store.get_opts(&path, options(range)).await;
    // Azure has no ranges from the end.
    if let (Err(ObjectError::NotSupported { .. }), GetRange::Suffix(_)) = (&answer, &get.range) {
        let head = store
            .head(&path)
            .await
            .map_err(|error| failed(key, &error))?;
        let range = get.range.inside(head.size, key)?;
        answer = store
            .get_opts(&path, options(Some(ObjectRange::Bounded(range))))
            .await;
    }
    let answer = answer.map_err(|error| failed(key, &error))?;
    let meta = meta_of(&answer.meta);
    let range = get.range.inside(meta.size, key)?;
    let other = || {
        let what = "the store sent another range than asked for";
        StoreError::new(StoreErrorKind::Other, key, what)
    };
    if answer.range != range {
        return Err(other());
    }
    let bytes = answer.bytes().await.map_err(|error| failed(key, &error))?;
    if bytes.len() as u64 != range.end - range.start {
        return Err(other());
    }
    Ok(Got {
        bytes: bytes.into(),
        start: range.start,
        meta,
    })
}

fn failed(key: &str, error: &ObjectError) -> StoreError {
    match error {
        ObjectError::NotFound { .. } => StoreError::new(StoreErrorKind::NotFound, key, "not found"),
        ObjectError::Precondition { .. } | ObjectError::NotModified { .. } => {
            StoreError::changed(key, "ETag")
        }
        ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
            StoreError::new(StoreErrorKind::Permission, key, "no permission")
        }
        other => StoreError::new(StoreErrorKind::Other, key, redact(&other.to_string())),
    }
}

/// An object that is uploaded in parts. Dropped without a commit, nothing is left.
struct ObjectSink {
    objects: Objects,
    location: Path,
    upload: Option<WriteMultipart>,
}

impl ObjectSink {
    fn failed(&self, error: &ObjectError) -> io::Error {
        let name = self.objects.name(&self.location);
        failed(&name, error).during(StoreOperation::Upload).into()
    }

    /// The upload, which the first byte begins.
    fn upload(&mut self) -> io::Result<&mut WriteMultipart> {
        if self.upload.is_none() {
            let begun = self.objects.store.put_multipart(&self.location);
            let begun = self.objects.engine.block_on(begun);
            let begun = begun.map_err(|error| self.failed(&error))?;
            self.upload = Some(WriteMultipart::new_with_chunk_size(begun, PART_BYTES));
        }
        self.upload
            .as_mut()
            .ok_or_else(|| io::Error::other("no upload"))
    }
}

impl Sink for ObjectSink {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let engine = self.objects.engine.clone();
        let upload = self.upload()?;
        let done = engine.block_on(async {
            // Parts are transferred by tasks of the engine's runtime.
            for part in bytes.chunks(PART_BYTES) {
                upload.wait_for_capacity(PARTS_IN_FLIGHT_MAX).await?;
                upload.write(part);
            }
            Ok(())
        });
        done.map_err(|error| self.failed(&error))
    }

    fn overwrite(&mut self, _: u64, _: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.upload()?;
        let Some(upload) = self.upload.take() else {
            return Err(io::Error::other("no upload"));
        };
        let done = self.objects.engine.block_on(upload.finish());
        done.map(drop).map_err(|error| self.failed(&error))
    }
}

impl Drop for ObjectSink {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            self.objects.engine.spawn(async move {
                // Whatever the store kept of it, nobody sees.
                let _ = upload.abort().await;
            });
        }
    }
}
