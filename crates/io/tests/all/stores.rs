//! Stores against a map: all operations, lists in order and in pages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use tarsia_io::{
    Get, GetRange, List, Listing, LocalStore, MemoryStore, PutIfAbsent, Store, StoreErrorKind,
    StoreOperation, block_on,
};

/// Names whose order as texts differs from that of folders walked one by one.
const KEYS: [&str; 12] = [
    "a-", "a-b/c", "a.b", "a/a", "a/b.c", "a/b/c", "a/b/d", "a0", "b/a/a", "b/a/b", "b0/x", "ü/y",
];

#[derive(Debug, Clone)]
enum Change {
    Put(usize, u8),
    PutIfAbsent(usize, u8),
    Delete(usize),
    Upload(usize, u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let key = 0..KEYS.len();
    let change = prop_oneof![
        (key.clone(), any::<u8>()).prop_map(|(key, byte)| Change::Put(key, byte)),
        (key.clone(), any::<u8>()).prop_map(|(key, byte)| Change::PutIfAbsent(key, byte)),
        key.clone().prop_map(Change::Delete),
        (key, any::<u8>()).prop_map(|(key, byte)| Change::Upload(key, byte)),
    ];
    prop::collection::vec(change, 0..40)
}

type Model = BTreeMap<String, Vec<u8>>;

fn apply(store: &dyn Store, model: &mut Model, change: &Change) {
    match *change {
        Change::Put(at, byte) => {
            block_on(store.put(KEYS[at], Arc::new(vec![byte; 3]))).unwrap();
            model.insert(KEYS[at].to_owned(), vec![byte; 3]);
        }
        Change::PutIfAbsent(at, byte) => {
            let done = block_on(store.put_if_absent(KEYS[at], Arc::new(vec![byte; 2]))).unwrap();
            let is_there = model.contains_key(KEYS[at]);
            assert_eq!(done == PutIfAbsent::Exists, is_there);
            let bytes = model.entry(KEYS[at].to_owned());
            bytes.or_insert_with(|| vec![byte; 2]);
        }
        Change::Delete(at) => {
            block_on(store.delete(KEYS[at])).unwrap();
            model.remove(KEYS[at]);
        }
        Change::Upload(at, byte) => {
            let upload = block_on(store.upload(KEYS[at])).unwrap();
            for index in [1, 0] {
                block_on(upload.put_part(index, Arc::new(vec![byte, index as u8]))).unwrap();
            }
            block_on(upload.complete(2)).unwrap();
            model.insert(KEYS[at].to_owned(), vec![byte, 0, byte, 1]);
        }
    }
}

/// Entries of a list as the pages bring them.
fn listed(store: &dyn Store, list: List) -> Vec<String> {
    let mut names = Vec::new();
    let mut next = Some(list);
    while let Some(list) = next.take() {
        let page_max = list.page_max;
        let page = block_on(store.list(list)).unwrap();
        assert!(page.objects.len() + page.folders.len() <= page_max);
        let mut of_page: Vec<String> = page.folders;
        of_page.extend(page.objects.into_iter().map(|listed| {
            assert_eq!(block_on(store.head(&listed.key)).unwrap(), listed.meta);
            listed.key
        }));
        of_page.sort();
        names.extend(of_page);
        next = page.next;
    }
    names
}

fn expected(model: &Model, list: &List) -> Vec<String> {
    let names: BTreeSet<&str> = (model.keys())
        .filter_map(|key| list.entry_of(key))
        .map(|entry| entry.name())
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Makes changes and compares the store with the model, in all its lists.
fn check(store: &dyn Store, changes: &[Change]) {
    let mut model = Model::new();
    for change in changes {
        apply(store, &mut model, change);
    }
    for key in KEYS {
        let whole = Get::new(key, GetRange::Whole { bytes_max: 10 });
        match (block_on(store.get(whole)), model.get(key)) {
            (Ok(got), Some(bytes)) => assert_eq!(&got.bytes, bytes),
            (Err(error), None) => {
                assert_eq!(error.kind(), StoreErrorKind::NotFound);
                assert_eq!(error.operation(), Some(StoreOperation::Get));
                assert_eq!(error.object(), store.url(key));
            }
            (got, bytes) => panic!("{key}: {got:?} instead of {bytes:?}"),
        }
    }
    for prefix in ["", "a", "a/", "a/b", "a/b/", "b/a/a", "c", "ü/"] {
        for folders in [false, true] {
            for page_max in [1, 2, 5, 1_000] {
                for start in ["", "a", "a/", "a/b", "a/b/", "a0", "z"] {
                    let mut list = List::new(prefix).page_max(page_max);
                    list.folders = folders;
                    list.start_after = Some(start.to_owned()).filter(|start| !start.is_empty());
                    let expected = expected(&model, &list);
                    assert_eq!(listed(store, list.clone()), expected, "{list:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_store_in_memory_is_a_map(changes in changes()) {
        check(&MemoryStore::new(), &changes);
    }

    #[test]
    fn a_folder_is_a_map(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        check(&LocalStore::open(folder.path()).unwrap(), &changes);
    }
}

#[test]
fn ranges_are_whole_or_errors() {
    check_ranges(&MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    check_ranges(&LocalStore::open(folder.path()).unwrap());
}

fn check_ranges(store: &dyn Store) {
    let etag = block_on(store.put("k", Arc::new((0..100).collect()))).unwrap();
    let get = |range| block_on(store.get(Get::new("k", range)));
    assert_eq!(get(GetRange::Bytes(3..5)).unwrap().bytes, [3, 4]);
    let end = get(GetRange::Suffix(2)).unwrap();
    assert_eq!(
        (end.bytes, end.start, end.meta.etag),
        (vec![98, 99], 98, etag.clone())
    );
    assert_eq!(get(GetRange::Suffix(1_000)).unwrap().bytes.len(), 100);
    let kind = |range| get(range).unwrap_err().kind();
    let part = "length";
    assert_eq!(
        kind(GetRange::Bytes(90..101)),
        StoreErrorKind::Changed { part }
    );
    assert_eq!(
        kind(GetRange::Whole { bytes_max: 99 }),
        StoreErrorKind::NoRanges
    );
    let (start, end) = (5, 4);
    assert_eq!(kind(GetRange::Bytes(start..end)), StoreErrorKind::Invalid);
    let mut get = Get::new("k", GetRange::Suffix(1));
    get.if_match = etag;
    block_on(store.get(get.clone())).unwrap();
    block_on(store.put("k", Arc::new(vec![9; 100]))).unwrap();
    let part = "ETag";
    let error = block_on(store.get(get)).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Changed { part });
}

#[test]
fn a_listing_walks_through_all_pages() {
    let store = MemoryStore::new();
    for n in 0..25 {
        block_on(store.put(&format!("k{n:02}"), Arc::default())).unwrap();
    }
    let keys: Vec<String> = Listing::new(&store, List::new("k").page_max(4).start_after("k04"))
        .map(|listed| listed.unwrap().key)
        .collect();
    assert_eq!(keys.len(), 20);
    assert!(keys.is_sorted() && keys[0] == "k05");
}

/// A store as it was before lists and conditions: it says what it lacks.
#[derive(Debug)]
struct Plain(MemoryStore);

impl Store for Plain {
    fn url(&self, key: &str) -> String {
        format!("plain://{key}")
    }

    fn get(&self, get: Get) -> tarsia_io::StoreFuture<tarsia_io::Got> {
        self.0.get(get)
    }

    fn head(&self, key: &str) -> tarsia_io::StoreFuture<tarsia_io::ObjectMeta> {
        self.0.head(key)
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> tarsia_io::StoreFuture<Option<String>> {
        self.0.put(key, bytes)
    }

    fn upload(&self, key: &str) -> tarsia_io::StoreFuture<Box<dyn tarsia_io::Upload>> {
        self.0.upload(key)
    }
}

#[test]
fn a_store_says_what_it_lacks() {
    let store = Plain(MemoryStore::new());
    let can = store.capabilities();
    assert!(!can.can_list && !can.can_put_if_absent && !can.can_delete && !can.can_say_time);
    let errors = [
        block_on(store.list(List::new("k"))).unwrap_err(),
        block_on(store.put_if_absent("k", Arc::default())).unwrap_err(),
        block_on(store.delete("k")).unwrap_err(),
        block_on(store.now("k")).unwrap_err(),
    ];
    let operations = ["list", "put if absent", "delete", "now"];
    for (error, operation) in errors.into_iter().zip(operations) {
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.starts_with("plain://k: it "), "{text}");
        assert!(text.ends_with(&format!("({operation})")), "{text}");
    }
}
