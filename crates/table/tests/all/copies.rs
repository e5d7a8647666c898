//! Copies of tables between stores.

use std::sync::Arc;

use tarsia_filter::col;
use tarsia_io::{Store, block_on};
use tarsia_table::{Depth, ErrorKind, Gc, Table, TableSpec};
use tarsia_table_testkit::store::{Fault, SimulatedStore};
use tarsia_testkit::rng::Rng;

use crate::common::{append, batch, info, numbers_at};

fn table() -> (SimulatedStore, Table) {
    let store = SimulatedStore::new();
    let spec = TableSpec::new(batch(&[]).schema()).partition_by(["n"]);
    let table = Table::create(Arc::new(store.clone()), &spec, &info("made")).unwrap();
    let many: Vec<_> = (0..30).map(|n| (n, "x")).collect();
    append(&table, "main", &many);
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &[(1_000, "e")]);
    table.tag("v1", "main", &info("")).unwrap();
    let mut txn = table.begin("main", info("")).unwrap();
    txn.delete_where(&col("n").lt(10)).unwrap();
    txn.commit().unwrap();
    table.keep_states(9, &info("")).unwrap();
    (store, table)
}

fn target() -> (SimulatedStore, Arc<dyn Store>) {
    let store = SimulatedStore::new();
    (store.clone(), Arc::new(store))
}

const STATES: [&str; 4] = ["main", "exp", "tag:v1", "main~1"];

fn check(table: &Table, to: &Arc<dyn Store>) {
    let copy = Table::open(to.clone()).unwrap();
    assert_eq!(copy.root(), table.root());
    for state in STATES {
        assert_eq!(numbers_at(&copy, state), numbers_at(table, state));
    }
    assert_eq!(copy.policy().unwrap(), table.policy().unwrap());
    let report = copy.fsck(Depth::Deep).unwrap();
    assert_eq!((report.findings.len(), report.unused_objects), (0, 0));
}

#[test]
fn a_copy_is_the_table_and_goes_on_where_it_stopped() {
    let (_, table) = table();
    table
        .pin("main", std::time::Duration::from_secs(60), &info(""))
        .unwrap();
    let (store, to) = target();
    let plan = table.copy_plan(&to).unwrap();
    assert_eq!(store.objects().len(), 0);
    let report = table.copy_to(&to).unwrap();
    assert_eq!(report, plan);
    assert!(report.objects > 30 && report.refs == 7, "{report:?}");
    check(&table, &to);
    assert!(Table::open(to.clone()).unwrap().pins().unwrap().is_empty());

    append(&table, "main", &[(5_000, "later")]);
    let report = table.copy_to(&to).unwrap();
    assert_eq!((report.objects, report.refs), (2, 1), "{report:?}");
    check(&table, &to);
    assert_eq!(table.copy_to(&to).unwrap().refs, 0);
    // The copy is a table: it is collected and written to like any other.
    let copy = Table::open(to.clone()).unwrap();
    copy.gc(&Gc::new()).unwrap();
    append(&copy, "main", &[(6_000, "there")]);
    append(&table, "main", &[(7_000, "here")]);
    let objects = store.objects();
    let error = table.copy_to(&to).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("branch `main`"), "{error}");
    assert_eq!(store.objects(), objects);
}

#[test]
fn interrupted_copies_go_on() {
    let (_, table) = table();
    let (store, to) = target();
    let n_calls = {
        table.copy_to(&to).unwrap();
        store.calls().len()
    };
    for at in (0..n_calls).step_by(n_calls / 30) {
        let (store, to) = target();
        store.script(move |call| match call.number >= at {
            true => Fault::Dropped,
            false => Fault::None,
        });
        table.copy_to(&to).unwrap_err();
        store.script(|_| Fault::None);
        // What can be read is right.
        if let Ok(copy) = Table::open(to.clone())
            && copy.at("tag:v1").is_ok()
        {
            assert_eq!(numbers_at(&copy, "tag:v1"), numbers_at(&table, "tag:v1"));
        }
        table.copy_to(&to).unwrap();
        check(&table, &to);
    }
    for seed in 0..20 {
        let (store, to) = target();
        let mut rng = Rng::new(seed);
        store.script(move |_| match rng.percent(1) {
            true => Fault::any(&mut rng),
            false => Fault::None,
        });
        drop(table.copy_to(&to));
        store.script(|_| Fault::None);
        store.land_late();
        table.copy_to(&to).unwrap();
        check(&table, &to);
    }
}

#[test]
fn what_is_damaged_or_in_the_way_is_not_copied() {
    let (store, table) = table();
    let objects = store.objects();
    let data = objects.keys().find(|key| key.starts_with("data/")).unwrap();
    let commit = objects
        .keys()
        .find(|key| key.starts_with("meta/c/"))
        .unwrap();
    for key in [data, commit] {
        store.damage(key, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        });
        let (_, to) = target();
        let again = Table::open(Arc::new(store.clone())).unwrap();
        let error = again.copy_to(&to).unwrap_err();
        assert!(error.to_string().contains(key.as_str()), "{error}");
        store.damage(key, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        });
    }
    let (_, to) = target();
    block_on(to.put("notes.txt", Arc::new(vec![1]))).unwrap();
    assert_eq!(table.copy_to(&to).unwrap_err().kind(), ErrorKind::Exists);
    let (_, to) = target();
    let spec = TableSpec::new(batch(&[]).schema());
    Table::create(to.clone(), &spec, &info("")).unwrap();
    let error = table.copy_to(&to).unwrap_err();
    assert!(error.to_string().contains("another table"), "{error}");
}
