//! Metadata of files of stores, kept between queries in the engine's cache.

use std::any::Any;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::HashMap;
use datafusion::execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use object_store::ObjectMeta;
use tarsia::{FileCache, OpenOptions};

/// The engine's cache of metadata, which has a limit in bytes and an entry for each path.
#[derive(Clone)]
pub(crate) struct MetadataCache {
    cache: Arc<FileMetadataCache>,
}

/// Metadata of one object, as far as it was read.
pub(crate) struct KnownFile {
    /// The store: the engine's cache tells paths apart, not stores.
    store: String,
    /// Has the object alone. It knows by its ETag whether an object is the one that it knows.
    pub(crate) files: FileCache,
}

impl MetadataCache {
    /// The cache of a session.
    pub(crate) fn of(session: &dyn Session) -> Self {
        let cache = session
            .runtime_env()
            .cache_manager
            .get_file_metadata_cache();
        Self { cache }
    }

    /// The metadata of an object as it was listed: none yet, unless it was opened before.
    pub(crate) fn known(&self, store: &str, listed: &ObjectMeta) -> Arc<KnownFile> {
        let entry = self.cache.get(&listed.location);
        let entry = entry.filter(|entry| entry.is_valid_for(listed));
        let known = entry.and_then(|entry| {
            let known: Arc<dyn Any + Send + Sync> = entry.file_metadata;
            known.downcast::<KnownFile>().ok()
        });
        let known = known.filter(|known| known.store == store);
        known.unwrap_or_else(|| {
            Arc::new(KnownFile {
                store: store.to_owned(),
                // The engine limits the bytes.
                files: FileCache::new(u64::MAX, OpenOptions::new().with_views(true)),
            })
        })
    }

    /// Keeps what is known of an object. What was kept before has grown by what was read since.
    pub(crate) fn keep(&self, listed: &ObjectMeta, known: Arc<KnownFile>) {
        if known.files.is_empty() {
            return;
        }
        let entry = CachedFileMetadataEntry::new(listed.clone(), known);
        self.cache.put(&listed.location, entry);
    }
}

impl FileMetadata for KnownFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        usize::try_from(self.files.bytes()).unwrap_or(usize::MAX)
    }

    fn extra_info(&self) -> HashMap<String, String> {
        HashMap::from([("format".to_owned(), "tarsia".to_owned())])
    }
}
