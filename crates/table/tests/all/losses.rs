//! Tables that lost something: nothing goes, nothing is copied, and nothing is made over them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tarsia_filter::{Literal, col};
use tarsia_io::{Store, StoreOperation, block_on};
use tarsia_table::meta::{Rule, names};
use tarsia_table::{Compact, Depth, ErrorKind, Gc, Table, TableSpec};
use tarsia_table_testkit::store::SimulatedStore;

use crate::common::{append, batch, info, numbers_at};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A table with rows, deletes, updates, a tag and a state that nobody needs, a month later.
fn table() -> (SimulatedStore, Table) {
    table_after(30 * DAY)
}

fn table_after(age: Duration) -> (SimulatedStore, Table) {
    let store = SimulatedStore::new();
    let spec = TableSpec::new(batch(&[]).schema());
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "c")]);
    let mut txn = table.begin("main", info("")).unwrap();
    txn.delete_where(&col("n").eq(1_i64)).unwrap();
    txn.update_where(&col("n").eq(2_i64), &[("t", Literal::from("z"))])
        .unwrap();
    txn.commit().unwrap();
    append(&table, "main", &[(4, "gone")]);
    table.reset("main", "main~1", &info("")).unwrap();
    table.tag("v1", "main", &info("")).unwrap();
    store.advance(age);
    (store, table)
}

fn copy_of(
    objects: &BTreeMap<String, Arc<Vec<u8>>>,
    is_kept: impl Fn(&str) -> bool,
) -> SimulatedStore {
    let store = SimulatedStore::new();
    for (key, bytes) in objects.iter().filter(|(key, _)| is_kept(key)) {
        block_on(store.put(key, bytes.clone())).unwrap();
    }
    store.advance(30 * DAY);
    store
}

/// Collection is refused, names the object, and deletes nothing.
fn refused(store: &SimulatedStore, key: &str) {
    let before = store.objects();
    let table = Table::open(Arc::new(store.clone())).unwrap();
    for gc in [Gc::new().dry_run(), Gc::new()] {
        let error = table.gc(&gc).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(error.object(), Some(key), "{error}");
        assert!(error.to_string().contains("nothing was deleted"), "{error}");
    }
    assert_eq!(store.objects(), before);
    let report = table.fsck(Depth::Metadata).unwrap();
    let of_key = report.findings.iter().filter(|it| it.object == key);
    assert_eq!(of_key.count(), 1, "{:?}", report.findings);
}

#[test]
fn a_file_that_is_missing_or_cut_keeps_all_others() {
    let (store, table) = table();
    let doomed = table.gc(&Gc::new().dry_run()).unwrap().removed;
    let doomed: Vec<String> = doomed.into_iter().map(|it| it.key).collect();
    let mut n_files = 0;
    for (key, bytes) in store.objects() {
        let is_file = key.starts_with("data/");
        if !(is_file || key.starts_with("meta/")) || doomed.contains(&key) {
            continue;
        }
        n_files += usize::from(is_file);
        block_on(store.delete(&key)).unwrap();
        refused(&store, &key);
        if is_file {
            for wrong in [&bytes[..bytes.len() - 1], &[]] {
                block_on(store.put(&key, Arc::new(wrong.to_vec()))).unwrap();
                refused(&store, &key);
            }
        }
        block_on(store.put(&key, bytes)).unwrap();
    }
    // Rows and updates; few deletes lie in their entry.
    assert_eq!(n_files, 2);
    store.advance(DAY * 2);
    let table = Table::open(Arc::new(store.clone())).unwrap();
    let removed = table.gc(&Gc::new()).unwrap().removed;
    assert_eq!(removed.len(), doomed.len());
    assert!(!removed.is_empty());
    assert_eq!(numbers_at(&table, "main"), [2, 3]);
}

#[test]
fn a_table_whose_refs_are_lost_is_left_alone() {
    let objects = table().0.objects();
    let first = names::ref_key("main", 0).unwrap();
    let prefixes: [&[&str]; 3] = [&["refs/"], &["refs/heads/"], &["refs/", "data/"]];
    for lost in prefixes {
        let store = copy_of(&objects, |key| !lost.iter().any(|it| key.starts_with(it)));
        refused(&store, &first);
        let before = store.objects();
        let here: Arc<dyn Store> = Arc::new(store.clone());
        let spec = TableSpec::new(batch(&[]).schema());
        let error = Table::create(here.clone(), &spec, &info("")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
        assert!(error.to_string().contains("no ref entry"), "{error}");
        let to: Arc<dyn Store> = Arc::new(SimulatedStore::new());
        let error = Table::open(here).unwrap().copy_to(&to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(store.objects(), before);
    }
    // A deleted `main` has its entries.
    let (store, table) = table();
    table.create_branch("other", "main", &info("")).unwrap();
    table.delete_branch("main", &info("")).unwrap();
    assert_eq!(table.fsck(Depth::Deep).unwrap().findings, []);
    store.advance(30 * DAY);
    table.gc(&Gc::new()).unwrap();
    assert_eq!(numbers_at(&table, "other"), [2, 3]);
}

#[test]
fn a_table_whose_making_was_interrupted_is_made() {
    let spec = TableSpec::new(batch(&[]).schema());
    let store = SimulatedStore::new();
    Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    let store = copy_of(&store.objects(), |key| !key.starts_with("refs/"));
    let left = store.objects().len();
    assert_eq!(left, 3);
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    append(&table, "main", &[(1, "x")]);
    assert_eq!(table.fsck(Depth::Deep).unwrap().findings, []);
}

#[test]
fn ref_entries_that_are_missing_or_damaged_keep_all() {
    let (store, _) = table();
    for n in 0..4 {
        let key = names::ref_key("main", n).unwrap();
        let bytes = store.objects()[&key].clone();
        block_on(store.delete(&key)).unwrap();
        refused(&store, &key);
        block_on(store.put(&key, Arc::new(bytes[..20].to_vec()))).unwrap();
        refused(&store, &key);
        block_on(store.put(&key, bytes)).unwrap();
    }
    // Of those that nobody touched, the ones within the time of keeping are read.
    let (store, _) = table_after(3 * DAY);
    let key = names::ref_key("main", 1).unwrap();
    store.damage(&key, |bytes| bytes[20] ^= 1);
    refused(&store, &key);
}

#[test]
fn checks_and_copies_write_nothing_to_the_table() {
    let (store, table) = table();
    let first = store.calls().len();
    table.fsck(Depth::Deep).unwrap();
    let to: Arc<dyn Store> = Arc::new(SimulatedStore::new());
    table.copy_to(&to).unwrap();
    table.gc(&Gc::new().dry_run()).unwrap();
    let reads = [
        StoreOperation::Get,
        StoreOperation::Head,
        StoreOperation::List,
    ];
    let calls = store.calls();
    assert!(calls.len() > first);
    for call in &calls[first..] {
        assert!(reads.contains(&call.call.operation), "{call:?}");
    }
}

#[test]
fn what_is_forbidden_is_not_planned() {
    let (_, table) = table();
    table.compaction_due(&Compact::new()).unwrap();
    table.protect("main", [Rule::MergeOnly], &info("")).unwrap();
    let error = table.compaction_due(&Compact::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
}
