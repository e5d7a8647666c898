//! Checks of whole tables.

use std::sync::Arc;

use tarsia_filter::col;
use tarsia_io::{Store, block_on};
use tarsia_table::{AlterField, Depth, Table, TableSpec};
use tarsia_table_testkit::store::SimulatedStore;

use crate::common::{append, batch, info};

/// A table with objects of all kinds, and one that nothing refers to.
fn table() -> (SimulatedStore, Table) {
    let store = SimulatedStore::new();
    let spec = TableSpec::new(batch(&[]).schema()).partition_by(["n"]);
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    let rows: Vec<_> = (0..300).map(|n| (n, "x")).collect();
    append(&table, "main", &rows);
    append(&table, "main", &[(1, "y"), (1, "z")]);
    let mut txn = table.begin("main", info("")).unwrap();
    txn.delete_where(&col("t").eq("y")).unwrap();
    txn.alter(&[AlterField::rename("t", "u")]).unwrap();
    txn.commit().unwrap();
    table.create_branch("exp", "main~1", &info("")).unwrap();
    append(&table, "exp", &[(400, "w")]);
    table.delete_branch("exp", &info("")).unwrap();
    table.tag("v1", "main", &info("")).unwrap();
    block_on(store.put("data/00/left", Arc::new(vec![0; 7]))).unwrap();
    (store, table)
}

#[test]
fn a_whole_table_has_no_findings() {
    let (_, table) = table();
    let report = table.fsck(Depth::Digests).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!((report.refs, report.commits, report.manifests), (8, 5, 1));
    assert_eq!(report.files, 302);
    assert_eq!((report.unused_objects, report.unused_bytes), (1, 7));
}

#[test]
fn each_object_that_is_damaged_or_missing_is_found() {
    let (store, table) = table();
    let is_shown = |depth: Depth, key: &str| {
        let again = Table::open(table.store().clone()).unwrap();
        let report = again.fsck(depth).unwrap();
        report
            .findings
            .iter()
            .any(|it| it.object == key || it.what.contains(key))
    };
    let mut n_data = 0;
    for (key, bytes) in store.objects() {
        let is_data = key.starts_with("data/");
        n_data += usize::from(is_data);
        if key == "TABLE" || key == "data/00/left" || (is_data && n_data % 100 != 1) {
            continue;
        }
        store.damage(&key, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        });
        assert!(is_shown(Depth::Digests, &key), "{key}");
        block_on(store.delete(&key)).unwrap();
        // What the newest entries and tags were, nobody knows.
        let is_newest =
            key.ends_with("main/fffffffffffff/ffc") || key.ends_with("exp/fffffffffffff/ffd");
        if !is_newest && !key.starts_with("refs/tags/") {
            assert!(is_shown(Depth::Metadata, &key), "{key}");
        }
        block_on(store.put(&key, bytes)).unwrap();
    }
    assert_eq!(table.fsck(Depth::Digests).unwrap().findings, []);
}

/// A ref entry or a tag that was copied says of what it is one.
#[test]
fn copies_under_other_names_are_found() {
    let store = SimulatedStore::new();
    let spec = TableSpec::new(batch(&[]).schema());
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    table.create_branch("exp", "main", &info("")).unwrap();
    table.tag("v1", "main", &info("")).unwrap();
    let copy = |from: &str, to: &str| {
        let bytes = store.objects()[from].clone();
        block_on(store.put(to, bytes)).unwrap();
    };
    let key = |branch: &str| tarsia_table_meta::names::ref_key(branch, 0).unwrap();
    copy(&key("main"), &key("exp"));
    copy(&key("main"), &key("new"));
    copy("refs/tags/v1", "refs/tags/v2");
    let table = Table::open(Arc::new(store.clone())).unwrap();
    for state in ["exp", "new", "tag:v2"] {
        let error = table.at(state).unwrap_err();
        assert_eq!(error.kind(), tarsia_table::ErrorKind::Corrupt, "{state}");
        assert!(error.to_string().contains("under the key of"), "{error}");
    }
    let report = table.fsck(Depth::Metadata).unwrap();
    assert_eq!(report.findings.len(), 3, "{:?}", report.findings);
}
