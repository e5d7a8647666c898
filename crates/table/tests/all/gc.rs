//! Garbage collection, pins and policies: what is kept, what goes, and what happens in between.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tarsia_filter::col;
use tarsia_io::{
    Capabilities, Get, Got, List, ListPage, ObjectMeta, PutIfAbsent, Store, StoreFuture,
    StoreOperation, Upload, block_on,
};
use tarsia_table::meta::{Rule, Tag, TxnId, names};
use tarsia_table::{Depth, ErrorKind, Gc, Table, TableSpec};
use tarsia_table_testkit::store::{Fault, SimulatedStore};
use tarsia_testkit::rng::Rng;

use crate::common::{append, batch, info, numbers_at, reader};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn table_in(store: &SimulatedStore) -> Table {
    let spec = TableSpec::new(batch(&[]).schema()).partition_by(["n"]);
    Table::create(Arc::new(store.clone()), &spec, &info("made")).unwrap()
}

fn delete(table: &Table, branch: &str, n: i64) {
    let mut txn = table.begin(branch, info("delete")).unwrap();
    assert!(txn.delete_where(&col("n").eq(n)).unwrap() > 0);
    txn.commit().unwrap();
}

/// A table that lost a partition, was reset, has a branch with changes of its own, a tag, and junk.
fn busy_table() -> (SimulatedStore, Table) {
    busy_table_of(20)
}

fn busy_table_of(n_files: i64) -> (SimulatedStore, Table) {
    let store = SimulatedStore::new();
    let table = table_in(&store);
    let many: Vec<_> = (0..n_files).map(|n| (n, "x")).collect();
    append(&table, "main", &many);
    table.tag("v1", "main", &info("")).unwrap();
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &[(1_000, "e")]);
    delete(&table, "exp", 7);
    for n in 0..5 {
        delete(&table, "main", n);
    }
    append(&table, "main", &[(2_000, "gone")]);
    table.reset("main", "main~1", &info("")).unwrap();
    append(&table, "main", &[(3_000, "m")]);
    delete(&table, "main", 3_000);
    // Changes that a lagging list may not show are these alone.
    for i in 0..80 {
        let key = format!("junk/{i}");
        block_on(store.put(&key, Arc::new(vec![1; 10]))).unwrap();
    }
    (store, table)
}

/// The objects of a store in another one, and a month later.
fn a_month_later(objects: &BTreeMap<String, Arc<Vec<u8>>>) -> (SimulatedStore, Table) {
    let store = SimulatedStore::new();
    for (key, bytes) in objects {
        block_on(store.put(key, bytes.clone())).unwrap();
    }
    store.advance(30 * DAY);
    let table = Table::open(Arc::new(store.clone())).unwrap();
    (store, table)
}

/// Rows of the states that must stay, by name.
fn kept(store: &SimulatedStore) -> BTreeMap<&'static str, Vec<i64>> {
    let table = Table::open(Arc::new(store.clone())).unwrap();
    let states = ["main", "exp", "tag:v1"];
    states
        .map(|state| (state, numbers_at(&table, state)))
        .into()
}

#[test]
fn what_no_ref_keeps_goes() {
    // More files than lie in a commit.
    let (store, table) = busy_table_of(300);
    let before = kept(&store);
    store.advance(DAY / 2);
    assert_eq!(table.gc(&Gc::new()).unwrap().removed, []);
    store.advance(DAY);
    // States of the week stay, and so does nothing else.
    let report = table.gc(&Gc::new()).unwrap();
    assert_eq!(report.removed.len(), 80);
    assert!(report.removed.iter().all(|it| it.key.starts_with("junk/")));
    numbers_at(&table, "main~3");

    store.advance(8 * DAY);
    let dry = table.gc(&Gc::new().dry_run()).unwrap();
    let objects = store.objects();
    assert!(dry.removed.iter().all(|it| objects.contains_key(&it.key)));
    let report = table.gc(&Gc::new()).unwrap();
    assert_eq!(report, dry);
    let n_data = report
        .removed
        .iter()
        .filter(|it| it.key.starts_with("data/"));
    // Rows 2,000, which the branch was reset away from. Those that were added since the fork stay for merges.
    assert_eq!(n_data.count(), 1);
    assert!(
        report
            .removed
            .iter()
            .any(|it| it.key.starts_with("meta/c/"))
    );
    assert!(report.removed_bytes() > 0 && report.needed_objects > 300);
    assert_eq!(kept(&store), before);
    let again = Table::open(Arc::new(store.clone())).unwrap();
    assert_eq!(again.fsck(Depth::Deep).unwrap().findings, []);
    assert_eq!(again.gc(&Gc::new()).unwrap().removed, []);

    // Branches that were not merged still can be.
    again.merge("exp", "main", &info("")).unwrap();
    let mut expected: Vec<i64> = (5..300).filter(|n| *n != 7).collect();
    expected.push(1_000);
    assert_eq!(numbers_at(&again, "main"), expected);
    // Once it is gone, so is what was kept for it.
    again.delete_branch("exp", &info("")).unwrap();
    store.advance(8 * DAY);
    let report = again.gc(&Gc::new()).unwrap();
    assert!(report.removed.iter().any(|it| it.key.starts_with("data/")));
    let again = Table::open(Arc::new(store.clone())).unwrap();
    assert_eq!(numbers_at(&again, "main"), expected);
    assert_eq!(numbers_at(&again, "tag:v1"), before["tag:v1"]);
    assert_eq!(again.fsck(Depth::Deep).unwrap().findings, []);
}

#[test]
fn a_branch_of_an_old_tag_has_no_history() {
    let (store, table) = busy_table();
    table.delete_branch("exp", &info("")).unwrap();
    store.advance(30 * DAY);
    assert!(!table.gc(&Gc::new()).unwrap().removed.is_empty());
    let table = Table::open(Arc::new(store.clone())).unwrap();
    table.create_branch("old", "tag:v1", &info("")).unwrap();
    append(&table, "old", &[(5_000, "o")]);
    let rows = numbers_at(&table, "old");
    let error = table.merge("old", "main", &info("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooOld, "{error}");
    for _ in 0..2 {
        assert_eq!(table.fsck(Depth::Deep).unwrap().findings, []);
        store.advance(30 * DAY);
        table.gc(&Gc::new()).unwrap();
        assert_eq!(numbers_at(&table, "old"), rows);
    }
}

/// A store that does something before refs are listed for the n-th time.
#[derive(Debug)]
struct Hooked {
    store: SimulatedStore,
    n_lists: AtomicUsize,
    hook: Mutex<Hook>,
}

type Act = Box<dyn FnMut(usize) + Send>;

struct Hook(Act);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl Store for Hooked {
    fn url(&self, key: &str) -> String {
        self.store.url(key)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn get(&self, get: Get) -> StoreFuture<Got> {
        self.store.get(get)
    }

    fn head(&self, key: &str) -> StoreFuture<ObjectMeta> {
        self.store.head(key)
    }

    fn put(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<Option<String>> {
        self.store.put(key, bytes)
    }

    fn put_if_absent(&self, key: &str, bytes: Arc<Vec<u8>>) -> StoreFuture<PutIfAbsent> {
        self.store.put_if_absent(key, bytes)
    }

    fn upload(&self, key: &str) -> StoreFuture<Box<dyn Upload>> {
        self.store.upload(key)
    }

    fn list(&self, list: List) -> StoreFuture<ListPage> {
        if list.prefix == "refs/" {
            let n = self.n_lists.fetch_add(1, Ordering::Relaxed);
            (self.hook.lock().unwrap().0)(n);
        }
        self.store.list(list)
    }

    fn delete(&self, key: &str) -> StoreFuture<()> {
        self.store.delete(key)
    }

    fn now(&self, probe: &str) -> StoreFuture<SystemTime> {
        self.store.now(probe)
    }

    fn known_time(&self) -> Option<SystemTime> {
        self.store.known_time()
    }
}

#[test]
fn a_name_that_appears_meanwhile_keeps_its_state() {
    let (store, table) = busy_table();
    table.delete_branch("exp", &info("")).unwrap();
    let doomed = table.at("main~2").unwrap().id();
    let rows = numbers_at(&table, "main~2");
    store.advance(30 * DAY);
    let put = store.clone();
    let hook = move |n| {
        if n == 1 {
            let tag = Tag {
                commit: doomed,
                message: String::new(),
                author: String::new(),
                time: 0,
            };
            let bytes = Arc::new(tag.to_bytes("late").unwrap());
            block_on(put.put("refs/tags/late", bytes)).unwrap();
        }
    };
    let hooked = Hooked {
        store: store.clone(),
        n_lists: AtomicUsize::new(0),
        hook: Mutex::new(Hook(Box::new(hook))),
    };
    let hooked = Arc::new(hooked);
    let table = Table::open(hooked.clone()).unwrap();
    assert!(!table.gc(&Gc::new()).unwrap().removed.is_empty());
    assert!(hooked.n_lists.load(Ordering::Relaxed) > 2);
    let table = Table::open(Arc::new(store)).unwrap();
    assert_eq!(numbers_at(&table, "tag:late"), rows);
    assert_eq!(table.fsck(Depth::Deep).unwrap().findings, []);
}

#[test]
fn old_states_get_no_new_names() {
    let (store, table) = busy_table();
    store.advance(3 * DAY);
    table.create_branch("young", "main~1", &info("")).unwrap();
    store.advance(DAY);
    let digits = table.at("main~3").unwrap().id().to_string();
    for state in ["main~3", "tag:v1~1", &digits] {
        let branch = table.create_branch("old", state, &info(""));
        let reset = table.reset("main", state, &info(""));
        let tag = table.tag("old", state, &info(""));
        let pin = table.pin(state, DAY, &info("")).map(drop);
        for done in [branch, reset, tag, pin] {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::TooOld, "{state}");
        }
    }
    for (n, state) in ["main", "tag:v1", "young"].into_iter().enumerate() {
        table
            .create_branch(&format!("b{n}"), state, &info(""))
            .unwrap();
        table.tag(&format!("t{n}"), state, &info("")).unwrap();
    }
}

#[test]
fn pins_keep_states_for_their_time() {
    let (store, table) = busy_table();
    let rows = numbers_at(&table, "main~3");
    let commit = table.at("main~3").unwrap().id().to_string();
    let pin = table.pin("main~3", 20 * DAY, &info("training")).unwrap();
    store.advance(19 * DAY);
    assert!(!table.gc(&Gc::new()).unwrap().removed.is_empty());
    let again = Table::open(Arc::new(store.clone())).unwrap();
    assert_eq!(numbers_at(&again, &commit), rows);
    let pins = again.pins().unwrap();
    assert_eq!((pins.len(), pins[0].0), (1, pin));
    // A state that a pin names may get another name.
    again.tag("pinned", &commit, &info("")).unwrap();
    store.advance(2 * DAY);
    let report = again.gc(&Gc::new()).unwrap();
    assert_eq!(report.ended_pins, 1);
    assert_eq!(again.pins().unwrap(), []);
    assert_eq!(numbers_at(&again, "tag:pinned"), rows);

    let pin = again.pin("main", DAY, &info("")).unwrap();
    assert_eq!(again.fsck(Depth::Metadata).unwrap().pins, 1);
    again.unpin(&pin).unwrap();
    assert_eq!(again.unpin(&pin).unwrap_err().kind(), ErrorKind::NotFound);
    for lease in [Duration::ZERO, 500 * DAY] {
        let refused = again.pin("main", lease, &info("")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_pin_of_a_transaction_spares_its_files() {
    let store = SimulatedStore::new();
    let table = table_in(&store);
    for has_pin in [false, true] {
        let mut txn = table.begin("main", info("")).unwrap();
        txn.append(reader(&batch(&[(1, "x")]))).unwrap();
        if has_pin {
            txn.pin(10 * DAY).unwrap();
        }
        store.advance(5 * DAY);
        let removed = table.gc(&Gc::new()).unwrap().removed;
        assert_eq!(removed.is_empty(), has_pin, "{removed:?}");
        if has_pin {
            txn.commit().unwrap();
        }
    }
    assert_eq!(numbers_at(&table, "main"), [1]);
}

/// Whatever goes wrong, what is kept stays, and the next run does the rest.
#[test]
fn faults_and_crashes_take_nothing_that_is_kept() {
    let objects = busy_table().0.objects();
    let (store, table) = a_month_later(&objects);
    let before = kept(&store);
    let n_before = store.calls().len();
    let dry = table.gc(&Gc::new().dry_run()).unwrap();
    let n_calls = store.calls().len() - n_before + dry.removed.len() * 2;
    let mut n_failed = 0;
    for at in (0..n_calls).step_by(n_calls / 40) {
        let (store, table) = a_month_later(&objects);
        let first = store.calls().len();
        store.script(move |call| match call.number >= first + at {
            true => Fault::Dropped,
            false => Fault::None,
        });
        n_failed += usize::from(table.gc(&Gc::new()).is_err());
        store.script(|_| Fault::None);
        check(&store, &before);
    }
    assert!(n_failed > 20, "{n_failed}");
    for seed in 0..30 {
        let (store, table) = a_month_later(&objects);
        let mut rng = Rng::new(seed);
        store.script(move |call| match rng.percent(1) {
            // Collections need lists that lag behind nothing.
            true if call.operation != StoreOperation::List => Fault::any(&mut rng),
            _ => Fault::None,
        });
        drop(table.gc(&Gc::new()));
        store.script(|_| Fault::None);
        store.land_late();
        check(&store, &before);
    }
}

fn check(store: &SimulatedStore, before: &BTreeMap<&'static str, Vec<i64>>) {
    assert_eq!(kept(store), *before);
    let table = Table::open(Arc::new(store.clone())).unwrap();
    assert_eq!(table.fsck(Depth::Deep).unwrap().findings, []);
    table.gc(&Gc::new()).unwrap();
    assert_eq!(kept(store), *before);
    assert_eq!(table.gc(&Gc::new()).unwrap().removed, []);
}

#[test]
fn nothing_goes_while_something_is_damaged_or_not_understood() {
    let (store, table) = busy_table();
    store.advance(30 * DAY);
    let head = table.at("main").unwrap().id();
    let schema = table.at("main").unwrap().commit().schema;
    let commit = names::ObjectKind::Commit.key(&head);
    let schema = names::ObjectKind::Schema.key(&schema);
    let entry = names::ref_key("exp", 2).unwrap();
    let objects = store.objects();
    for key in [commit, schema, entry, "refs/tags/v1".to_owned()] {
        store.damage(&key, |bytes| bytes[20] ^= 1);
        let again = Table::open(Arc::new(store.clone())).unwrap();
        let error = again.gc(&Gc::new()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{key}");
        assert!(error.to_string().contains("nothing was deleted"), "{error}");
        store.damage(&key, |bytes| bytes[20] ^= 1);
    }
    for key in ["refs/erasures/1", "refs/heads/.DS_Store", "refs/tags/A"] {
        block_on(store.put(key, Arc::new(vec![1]))).unwrap();
        let error = table.gc(&Gc::new()).unwrap_err();
        assert_eq!(error.object(), Some(key));
        assert!(!table.fsck(Depth::Metadata).unwrap().findings.is_empty());
        block_on(store.delete(key)).unwrap();
    }
    assert_eq!(store.objects(), objects);
    let mut can = Capabilities::ALL;
    can.can_delete = false;
    store.set_capabilities(can);
    let error = table.gc(&Gc::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn the_time_of_keeping_is_the_policys() {
    let (store, table) = busy_table();
    table.delete_branch("exp", &info("")).unwrap();
    assert_eq!(
        table.gc(&Gc::keep_days(6)).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let commit = table.at("main~3").unwrap().id().to_string();
    let rows = numbers_at(&table, &commit);
    let policy = table.keep_states(30, &info("")).unwrap();
    assert_eq!((policy.n, policy.keep_days), (0, 30));
    store.advance(29 * DAY);
    table.gc(&Gc::keep_days(40)).unwrap();
    assert_eq!(table.gc(&Gc::new()).unwrap().keep_days, 30);
    assert_eq!(numbers_at(&table, &commit), rows);
    // Fewer days hold a day later.
    table.keep_states(20, &info("")).unwrap();
    table.keep_states(2, &info("")).unwrap();
    assert_eq!(table.gc(&Gc::new()).unwrap().keep_days, 30);
    store.advance(DAY);
    assert_eq!(table.gc(&Gc::new()).unwrap().keep_days, 2);
    let again = Table::open(Arc::new(store.clone())).unwrap();
    assert!(again.at(&commit).is_err());
    // More days ask for nothing that is gone.
    again.keep_states(300, &info("")).unwrap();
    assert_eq!(again.fsck(Depth::Deep).unwrap().findings, []);
    again.gc(&Gc::new()).unwrap();
    assert!(table.keep_states(0, &info("")).is_err());
}

#[test]
fn rules_of_branches_hold() {
    let store = SimulatedStore::new();
    let table = table_in(&store);
    append(&table, "main", &[(1, "x")]);
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &[(2, "y")]);
    table.protect("main", Rule::ALL, &info("")).unwrap();
    let is_forbidden = |done: Result<(), tarsia_table::Error>| {
        let error = done.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
        assert!(
            error.to_string().contains("branch `main` is protected"),
            "{error}"
        );
    };
    is_forbidden(table.begin("main", info("")).map(drop));
    is_forbidden(table.reset("main", "main~1", &info("")));
    is_forbidden(table.delete_branch("main", &info("")));
    is_forbidden(table.rebase("main", "exp", &info("")).map(drop));
    // Forward is allowed; then both go on, and it is not.
    table.merge("exp", "main", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "main"), [1, 2]);
    table.create_branch("other", "main~1", &info("")).unwrap();
    append(&table, "other", &[(3, "z")]);
    is_forbidden(table.merge("other", "main", &info("")).map(drop));
    table.rebase("other", "main", &info("")).unwrap();
    table.merge("other", "main", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "main"), [1, 2, 3]);
    // One rule at a time.
    table.protect("main", [Rule::NoReset], &info("")).unwrap();
    append(&table, "main", &[(4, "w")]);
    is_forbidden(table.reset("main", "main~1", &info("")));
    let policy = table.protect("main", [], &info("")).unwrap();
    assert_eq!((policy.n, policy.branches.len()), (2, 0));
    table.reset("main", "main~1", &info("")).unwrap();
    assert_eq!(table.policy().unwrap(), policy);
    assert!(table.protect("a..b", [], &info("")).is_err());
    assert_eq!(table.fsck(Depth::Deep).unwrap().findings, []);
    let id = TxnId([1; 16]);
    assert_eq!(table.unpin(&id).unwrap_err().kind(), ErrorKind::NotFound);
}
