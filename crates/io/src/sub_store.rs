//! A part of a store as a store.

use std::sync::Arc;
use std::time::SystemTime;

use crate::coalesce::{Access, ReadOptions};
use crate::list::{List, ListPage};
use crate::object::{Get, Got, ObjectMeta};
use crate::store::{Capabilities, PutIfAbsent, Store, StoreFuture, Upload};

/// The objects of a store whose keys begin with a prefix and `/`, under the rest of their keys: a table among others in
/// a bucket.
///
/// ```
/// use std::sync::Arc;
/// use tarsia_io::{Get, GetRange, MemoryStore, Store, SubStore, block_on};
///
/// let bucket = Arc::new(MemoryStore::new());
/// let ads = SubStore::new(bucket.clone(), "tables/ads");
/// block_on(ads.put("TABLE", Arc::new(vec![1])))?;
/// assert_eq!(block_on(bucket.head("tables/ads/TABLE"))?.size, 1);
/// # Ok::<(), tarsia_io::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubStore {
    store: Arc<dyn Store>,
    /// Ends with `/`, or is empty.
    prefix: Arc<str>,
}

impl SubStore {
    /// The objects of a store below a prefix; slashes at its end make no difference. With an empty one all objects.
    pub fn new(store: Arc<dyn Store>, prefix: &str) -> Self {
        let prefix = prefix.trim_end_matches('/');
        let prefix = match prefix.is_empty() {
            true => String::new(),
            false => format!("{prefix}/"),
        };
        Self {
            store,
            prefix: prefix.into(),
        }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

fn without(prefix: &str, mut key: String) -> Option<String> {
    key.starts_with(prefix).then(|| key.split_off(prefix.len()))
}

/// The page with keys that are relative to a prefix.
fn relative(prefix: &str, page: ListPage) -> ListPage {
    let objects = page.objects.into_iter().filter_map(|mut listed| {
        listed.key = without(prefix, listed.key)?;
        Some(listed)
    });
    let folders = page.folders.into_iter();
    ListPage {
        objects: objects.collect(),
        folders: folders.filter_map(|it| without(prefix, it)).collect(),
        next: page.next.and_then(|next| {
            Some(List {
                prefix: without(prefix, next.prefix)?,
                start_after: next.start_after.and_then(|start| without(prefix, start)),
                ..next
            })
        }),
    }
}

impl Store for SubStore {
    fn url(&self, key: &str) -> String {
        self.store.url(&self.key(key))
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn get(&self, mut get: Get) -> StoreFuture<Got> {
        get.key = self.key(&get.key).into();
        self.store.get(get)
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        self.store.head(&self.key(key))
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        self.store.put(&self.key(key), bytes)
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        self.store.put_if_absent(&self.key(key), bytes)
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        self.store.upload(&self.key(key))
    }

    fn list(&self, mut list: List) -> StoreFuture<ListPage> {
        list.prefix = self.key(&list.prefix);
        list.start_after = list.start_after.map(|start| self.key(&start));
        let (page, prefix) = (self.store.list(list), Arc::clone(&self.prefix));
        Box::pin(async move { Ok(relative(&prefix, page.await?)) })
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        self.store.delete(&self.key(key))
    }

    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        self.store.now(&self.key(probe))
    }

    fn known_time(&self) -> Option<SystemTime> {
        self.store.known_time()
    }

    fn read_options(&self, access: Access) -> ReadOptions {
        self.store.read_options(access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GetRange, Listing, MemoryStore, block_on};

    #[test]
    fn a_part_of_a_store_has_its_own_keys_alone() {
        let all = Arc::new(MemoryStore::new());
        let sub = SubStore::new(all.clone(), "t/a//");
        for key in ["t/a", "t/ab/x", "t/0", "u"] {
            block_on(all.put(key, Arc::new(vec![9]))).unwrap();
        }
        for key in ["b/1", "b/2", "c"] {
            block_on(sub.put(key, Arc::new(key.into()))).unwrap();
        }
        let keys = |list: List| -> Vec<String> {
            Listing::new(&sub, list).map(|it| it.unwrap().key).collect()
        };
        assert_eq!(keys(List::new("")), ["b/1", "b/2", "c"]);
        assert_eq!(keys(List::new("").page_max(1)), ["b/1", "b/2", "c"]);
        assert_eq!(keys(List::new("b").start_after("b/1")), ["b/2"]);
        let page = block_on(sub.list(List::new("").folders())).unwrap();
        assert_eq!(
            (page.folders, page.objects.len()),
            (vec!["b/".to_owned()], 1)
        );
        let whole = GetRange::Whole { bytes_max: 9 };
        let got = block_on(sub.get(Get::new("c", whole))).unwrap();
        assert_eq!(got.bytes, b"c");
        assert_eq!(sub.url("c"), all.url("t/a/c"));
        block_on(sub.delete("c")).unwrap();
        assert!(block_on(sub.head("c")).is_err());
        let done = block_on(sub.put_if_absent("b/1", Arc::new(vec![]))).unwrap();
        assert_eq!(done, PutIfAbsent::Exists);
        assert_eq!(keys(List::new("")), ["b/1", "b/2"]);
        let root = SubStore::new(all.clone(), "");
        assert_eq!(block_on(root.head("u")).unwrap().size, 1);
    }
}
