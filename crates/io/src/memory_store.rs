//! A store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::coalesce::{Access, ReadOptions};
use crate::keys::check_key;
use crate::list::{List, ListPage};
use crate::object::{Get, Got, ObjectMeta};
use crate::store::{Capabilities, PutIfAbsent, Store, StoreFuture, Upload};
use crate::store_error::{StoreError, StoreErrorKind, StoreOperation};

/// Objects in memory, for tests and for tables that live as long as the process. Clones share the objects.
///
/// ```
/// use std::sync::Arc;
/// use tarsia_io::{MemoryStore, PutIfAbsent, Store, block_on};
///
/// let store = MemoryStore::new();
/// let first = block_on(store.put_if_absent("entry", Arc::new(vec![1])))?;
/// assert!(matches!(first, PutIfAbsent::Created { .. }));
/// let second = block_on(store.put_if_absent("entry", Arc::new(vec![2])))?;
/// assert_eq!(second, PutIfAbsent::Exists);
/// # Ok::<(), tarsia_io::StoreError>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    objects: BTreeMap<String, Object>,
    /// Changes so far: ETags are made of it.
    n_changes: u64,
}

#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    change: u64,
    written: SystemTime,
}

impl Object {
    fn meta(&self) -> ObjectMeta {
        ObjectMeta {
            size: self.bytes.len() as u64,
            etag: Some(etag(self.change)),
            last_modified: Some(self.written),
        }
    }
}

fn etag(change: u64) -> String {
    format!("\"{change:x}\"")
}

impl Shared {
    fn write(&mut self, key: &str, bytes: Arc<Vec<u8>>) -> String {
        self.n_changes += 1;
        let object = Object {
            bytes,
            change: self.n_changes,
            written: SystemTime::now(),
        };
        self.objects.insert(key.to_owned(), object);
        etag(self.n_changes)
    }
}

impl MemoryStore {
    /// A store without objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.lock().objects.len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Every change under the lock is whole.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &str) -> Result<Object, StoreError> {
        let found = self.lock().objects.get(key).cloned();
        found.ok_or_else(|| StoreError::new(StoreErrorKind::NotFound, self.url(key), "not found"))
    }

    fn read(&self, get: &Get) -> Result<Got, StoreError> {
        let url = self.url(&get.key);
        let object = self.find(&get.key)?;
        let meta = object.meta();
        if get.if_match.is_some() && get.if_match != meta.etag {
            return Err(StoreError::changed(url, "ETag"));
        }
        let range = get.range.inside(meta.size, &url)?;
        let place = |at: u64| usize::try_from(at).ok();
        let bytes = place(range.start)
            .zip(place(range.end))
            .and_then(|(start, end)| object.bytes.get(start..end))
            .unwrap_or_default();
        Ok(Got {
            bytes: bytes.to_vec(),
            start: range.start,
            meta,
        })
    }

    fn page(&self, list: &List) -> ListPage {
        let shared = self.lock();
        let start = match &list.start_after {
            Some(start) if *start >= list.prefix => Bound::Excluded(start.as_str()),
            _ => Bound::Included(list.prefix.as_str()),
        };
        let behind = shared.objects.range::<str, _>((start, Bound::Unbounded));
        let listed = behind.take_while(|(key, _)| key.starts_with(&list.prefix));
        ListPage::collect(
            list,
            listed.map(|(key, object)| Found { key, object }),
            |it| it.object.meta(),
        )
    }
}

/// An object and its key.
struct Found<'a> {
    key: &'a str,
    object: &'a Object,
}

impl AsRef<str> for Found<'_> {
    fn as_ref(&self) -> &str {
        self.key
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} objects)", self.len())
    }
}

/// An answer that is there at once.
fn answer<T: Send + 'static>(
    operation: StoreOperation,
    done: Result<T, StoreError>,
) -> StoreFuture<T> {
    Box::pin(ready(done.map_err(|error| error.during(operation))))
}

impl Store for MemoryStore {
    fn url(&self, key: &str) -> String {
        format!("memory:///{key}")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        answer(StoreOperation::Get, self.read(&get))
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        let meta = self.find(key).map(|object| object.meta());
        answer(StoreOperation::Head, meta)
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        let good = check_key(key, &self.url(key));
        let done = good.map(|()| Some(self.lock().write(key, bytes)));
        answer(StoreOperation::Put, done)
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        let done = check_key(key, &self.url(key)).map(|()| {
            let mut shared = self.lock();
            match shared.objects.contains_key(key) {
                true => PutIfAbsent::Exists,
                false => PutIfAbsent::Created {
                    etag: Some(shared.write(key, bytes)),
                },
            }
        });
        answer(StoreOperation::PutIfAbsent, done)
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        let upload = check_key(key, &self.url(key)).map(|()| {
            Box::new(MemoryUpload {
                store: self.clone(),
                key: key.to_owned(),
                parts: Mutex::default(),
            }) as Box<dyn Upload>
        });
        answer(StoreOperation::Upload, upload)
    }

    fn list(&self, list: List) -> StoreFuture<ListPage> {
        answer(StoreOperation::List, Ok(self.page(&list)))
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        self.lock().objects.remove(key);
        answer(StoreOperation::Delete, Ok(()))
    }

    fn now(&self, _: &str) -> StoreFuture<SystemTime> {
        answer(StoreOperation::Now, Ok(SystemTime::now()))
    }

    fn known_time(&self) -> Option<SystemTime> {
        Some(SystemTime::now())
    }

    fn read_options(&self, _: Access) -> ReadOptions {
        ReadOptions::LOCAL
    }
}

struct MemoryUpload {
    store: MemoryStore,
    key: String,
    parts: Mutex<BTreeMap<u32, Arc<Vec<u8>>>>,
}

impl MemoryUpload {
    fn parts(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Vec<u8>>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, n_parts: u32) -> Result<Option<String>, StoreError> {
        let parts = self.parts();
        if parts.len() != n_parts as usize || parts.keys().copied().ne(0..n_parts) {
            let what = format!("{} of {n_parts} parts were written", parts.len());
            let url = self.store.url(&self.key);
            return Err(StoreError::new(StoreErrorKind::Invalid, url, what));
        }
        let bytes: Vec<u8> = parts
            .values()
            .flat_map(|part| part.iter().copied())
            .collect();
        Ok(Some(self.store.lock().write(&self.key, Arc::new(bytes))))
    }
}

impl fmt::Debug for MemoryUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryUpload({})", self.store.url(&self.key))
    }
}

impl Upload for MemoryUpload {
    fn put_part(&self, index: u32, bytes: Arc<Vec<u8>>) -> StoreFuture<()> {
        self.parts().insert(index, bytes);
        answer(StoreOperation::Upload, Ok(()))
    }

    fn complete(&self, n_parts: u32) -> StoreFuture<Option<String>> {
        answer(StoreOperation::Upload, self.join(n_parts))
    }

    fn abort(&self) -> StoreFuture<()> {
        self.parts().clear();
        answer(StoreOperation::Upload, Ok(()))
    }
}
