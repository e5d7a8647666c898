//! Tables: states, partitions, deletes, branches, merges.

use std::sync::Arc;

use tarsia_filter::col;
use tarsia_io::{MemoryStore, Store, block_on};
use tarsia_table::meta::{Operation, RefOp, limits};
use tarsia_table::{Depth, Entries, ErrorKind, Origin, Table};

use crate::common::{append, batch, info, numbers, numbers_at, reader, table};

#[test]
fn states_are_found_by_branch_number_time_tag_and_digest() {
    let table = table(&[]);
    for n in 1..=3 {
        let time = 1_777_593_600_000 + n * 1000;
        let mut txn = table.begin("main", info("more").time(time)).unwrap();
        txn.append(reader(&batch(&[(n as i64, "x")]))).unwrap();
        txn.commit().unwrap();
    }
    table.tag("V 2", "main~1", &info("second")).unwrap();
    let id = table.at("main~2").unwrap().id().to_string();
    for (state, expect) in [
        ("main", &[1, 2, 3][..]),
        ("main~1", &[1, 2]),
        ("main~3", &[]),
        ("tag:V 2", &[1, 2]),
        ("tag:V 2~1", &[1]),
        (&id, &[1]),
        (&id[..10], &[1]),
        ("main@2026-05-01T00:00:02Z", &[1, 2]),
        ("main@2026-05-01T02:00:01.500+02:00", &[1]),
        ("main@2030-01-01", &[1, 2, 3]),
    ] {
        assert_eq!(numbers_at(&table, state), expect, "{state}");
    }
    for (state, kind) in [
        ("main~4", ErrorKind::NotFound),
        ("other", ErrorKind::NotFound),
        ("tag:v3", ErrorKind::NotFound),
        ("main@2020-01-01T00:00:00Z", ErrorKind::NotFound),
        ("main@yesterday", ErrorKind::InvalidInput),
        ("main~x", ErrorKind::InvalidInput),
        ("0123456789", ErrorKind::NotFound),
    ] {
        assert_eq!(table.at(state).unwrap_err().kind(), kind, "{state}");
    }
}

#[test]
fn filters_open_the_files_of_their_partitions_alone() {
    let table = table(&["t"]);
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "a"), (4, "c")]);
    append(&table, "main", &[(5, "b"), (6, "d")]);
    let snapshot = table.at("main").unwrap();
    assert_eq!(snapshot.commit().files, 5);
    let filter = col("t").is_in(["b", "d"]).and(col("n").gt(2));
    let files = snapshot.files(Some(&filter)).unwrap();
    let partitions: Vec<_> = files
        .iter()
        .map(|file| snapshot.describe_partition(file).unwrap())
        .collect();
    assert_eq!(partitions, ["t=b", "t=b", "t=d"]);
    assert_eq!(
        numbers(snapshot.scan().filter(filter.clone()).build().unwrap()),
        [5, 6]
    );
    assert_eq!(snapshot.scan().filter(filter).count().unwrap(), 2);
    assert_eq!(snapshot.scan().filter(col("t").eq("a")).count().unwrap(), 2);
    assert_eq!(
        snapshot
            .scan()
            .filter(col("t").eq("z"))
            .build()
            .unwrap()
            .files_left(),
        0
    );
}

#[test]
fn rows_of_a_partition_that_a_condition_covers_go_without_being_read() {
    let table = table(&["t"]);
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "a")]);
    let file = table
        .at("main")
        .unwrap()
        .files(Some(&col("t").eq("a")))
        .unwrap();
    // Nobody can read the file any more, and nobody has to.
    let key = tarsia_table::meta::names::data_key(&file[0].file);
    block_on(table.store().delete(&key)).unwrap();
    let mut txn = table.begin("main", info("no a")).unwrap();
    assert_eq!(txn.delete_where(&col("t").eq("a")).unwrap(), 2);
    txn.commit().unwrap();
    assert_eq!(numbers_at(&table, "main"), [2]);
    assert_eq!(table.at("main").unwrap().commit().files, 1);
}

#[test]
fn rows_are_deleted_by_condition_and_by_name() {
    let table = table(&[]);
    let rows: Vec<_> = (0..1000).map(|n| (n, "x")).collect();
    append(&table, "main", &rows);
    let mut txn = table.begin("main", info("even")).unwrap();
    assert_eq!(txn.delete_where(&col("n").between(100, 899)).unwrap(), 800);
    // A row is deleted once.
    assert_eq!(txn.delete_where(&col("n").between(850, 909)).unwrap(), 10);
    txn.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    assert_eq!(snapshot.scan().count().unwrap(), 190);
    let file = snapshot.files(None).unwrap()[0].file;
    let origin = |position| Origin { file, position };
    let mut txn = table.begin("main", info("two")).unwrap();
    let error = txn.delete_rows(&[origin(5), origin(500)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        txn.delete_rows(&[origin(5), origin(999), origin(5)])
            .unwrap(),
        2
    );
    assert!(txn.delete_rows(&[origin(5)]).is_err());
    txn.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    assert_eq!(snapshot.scan().count().unwrap(), 188);
    assert_eq!(
        numbers(snapshot.scan().columns(&["n"]).rows(4..7).build().unwrap()),
        [4, 6, 7]
    );
    let taken = snapshot
        .take(&[origin(998), origin(6), origin(998)], Some(&["n"]))
        .unwrap();
    assert_eq!(
        taken,
        batch(&[(998, ""), (6, ""), (998, "")])
            .project(&[0])
            .unwrap()
    );
    assert!(snapshot.take(&[origin(5)], None).is_err());
    // The rest goes: the file is removed as a whole.
    let mut txn = table.begin("main", info("all")).unwrap();
    txn.delete_where(&col("n").gt_eq(0)).unwrap();
    txn.commit().unwrap();
    assert_eq!(table.at("main").unwrap().commit().files, 0);
}

#[test]
fn large_sets_of_deleted_rows_have_a_file() {
    let table = table(&[]);
    let rows: Vec<_> = (0..70_000).map(|n| (n, "x")).collect();
    append(&table, "main", &rows);
    let snapshot = table.at("main").unwrap();
    let file = snapshot.files(None).unwrap()[0].file;
    let odd: Vec<_> = (0..35_000)
        .map(|n| Origin {
            file,
            position: n * 2 + 1,
        })
        .collect();
    let mut txn = table.begin("main", info("odd")).unwrap();
    assert_eq!(txn.delete_rows(&odd).unwrap(), 35_000);
    txn.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    assert!(snapshot.commit().own_entries[0].has_file());
    assert_eq!(snapshot.scan().count().unwrap(), 35_000);
    assert_eq!(snapshot.scan().filter(col("n").lt(10)).count().unwrap(), 5);
}

#[test]
fn replaced_rows_go_with_the_commit_that_brings_the_new_ones() {
    let table = table(&["t"]);
    append(&table, "main", &[(1, "a"), (2, "b")]);
    let mut txn = table.begin("main", info("a anew")).unwrap();
    let new = batch(&[(7, "a"), (8, "a")]);
    assert_eq!(
        txn.replace_where(&col("t").eq("a"), reader(&new)).unwrap(),
        [1, 2]
    );
    let commit = txn.commit().unwrap();
    assert_eq!(numbers_at(&table, "main"), [2, 7, 8]);
    let commit = table.at(&commit.commit.to_string()).unwrap();
    assert_eq!(commit.commit().changes[0].op, Operation::Replace);
}

#[test]
fn writers_do_not_disturb_each_other_unless_they_meet() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a"), (2, "b")]);
    let begin = || table.begin("main", info("at the same time")).unwrap();
    let (mut one, mut other, mut third) = (begin(), begin(), begin());
    one.append(reader(&batch(&[(3, "c")]))).unwrap();
    other.delete_where(&col("n").eq(1)).unwrap();
    third.delete_where(&col("n").gt(0)).unwrap();
    one.commit().unwrap();
    other.commit().unwrap();
    // It had the rows in view that were there when it began.
    third.commit().unwrap();
    assert_eq!(numbers_at(&table, "main"), [3]);
    assert_eq!(table.at("main").unwrap().commit().files, 1);
}

#[test]
fn tasks_write_files_that_a_driver_commits_once() {
    let table = table(&["t"]);
    let task = |rows: &[(i64, &str)]| {
        let mut txn = table.begin("main", info("task")).unwrap();
        let entries = txn.write_entries(reader(&batch(rows))).unwrap();
        entries.as_bytes().to_vec()
    };
    let parts = [task(&[(1, "a"), (2, "b")]), task(&[(3, "a")]), task(&[])];
    assert_eq!(numbers_at(&table, "main"), [0; 0]);
    let mut txn = table.begin("main", info("all tasks")).unwrap();
    for part in &parts {
        txn.add(&Entries::from_bytes(part.clone())).unwrap();
    }
    let twice = txn.add(&Entries::from_bytes(parts[0].clone())).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidInput);
    assert!(txn.add(&Entries::from_bytes(vec![1, 2, 3])).is_err());
    txn.commit().unwrap();
    assert_eq!(numbers_at(&table, "main"), [1, 2, 3]);
}

#[test]
fn a_number_of_an_application_is_committed_once() {
    let table = table(&[]);
    for (number, was_there) in [(1, false), (1, true), (3, false), (2, true)] {
        let mut txn = table
            .begin("main", info("x").idempotent("postbacks", number))
            .unwrap();
        txn.append(reader(&batch(&[(number as i64, "x")]))).unwrap();
        assert_eq!(txn.commit().unwrap().was_there, was_there, "{number}");
    }
    assert_eq!(numbers_at(&table, "main"), [1, 3]);
}

#[test]
fn branches_are_made_deleted_and_made_again() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a")]);
    table.create_branch("Exp", "main", &info("")).unwrap();
    append(&table, "Exp", &[(2, "b")]);
    let exists = table.create_branch("Exp", "main", &info("")).unwrap_err();
    assert_eq!(exists.kind(), ErrorKind::Exists);
    table.delete_branch("Exp", &info("")).unwrap();
    assert_eq!(table.at("Exp").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(table.delete_branch("Exp", &info("")).is_err());
    assert!(table.begin("Exp", info("")).is_err());
    table.create_branch("Exp", "main", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "Exp"), [1]);
    let ops: Vec<_> = table
        .log("Exp")
        .unwrap()
        .iter()
        .map(|it| (it.entry.n, it.entry.op))
        .collect();
    let expect = [RefOp::Create, RefOp::Delete, RefOp::Commit, RefOp::Create];
    assert_eq!(
        ops,
        [3, 2, 1, 0].into_iter().zip(expect).collect::<Vec<_>>()
    );
    let names: Vec<_> = table
        .branches()
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["Exp", "main"]);
    table.reset("main", "main~1", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "main"), [0; 0]);
    table.tag("v1", "Exp", &info("first")).unwrap();
    assert_eq!(
        table.tag("v1", "main", &info("")).unwrap_err().kind(),
        ErrorKind::Exists
    );
    assert_eq!(table.tags().unwrap().len(), 1);
}

#[test]
fn a_transaction_that_began_before_a_reset_is_refused() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a")]);
    let mut txn = table.begin("main", info("late")).unwrap();
    txn.append(reader(&batch(&[(2, "b")]))).unwrap();
    table.reset("main", "main~1", &info("")).unwrap();
    let error = txn.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("was reset"), "{error}");
}

#[test]
fn merges_repeat_what_is_missing_and_nothing_twice() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a"), (2, "a")]);
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &[(3, "b")]);
    // The target has nothing of its own: it is set to the source's commit.
    table.create_branch("ahead", "main", &info("")).unwrap();
    table.merge("exp", "ahead", &info("")).unwrap();
    assert_eq!(
        table.at("ahead").unwrap().id(),
        table.at("exp").unwrap().id()
    );

    let mut txn = table.begin("main", info("without 1")).unwrap();
    txn.delete_where(&col("n").eq(1)).unwrap();
    txn.commit().unwrap();
    let diff = table.diff("main", "exp").unwrap();
    assert_eq!([diff.first.len(), diff.second.len()], [1, 1]);
    let merged = table.merge("exp", "main", &info("merge")).unwrap();
    assert!(!merged.was_there);
    assert_eq!(numbers_at(&table, "main"), [2, 3]);
    assert_eq!(table.at("main").unwrap().commit().parents.len(), 2);
    assert!(table.merge("exp", "main", &info("")).unwrap().was_there);
    // Criss-cross.
    append(&table, "exp", &[(4, "c")]);
    table.merge("main", "exp", &info("")).unwrap();
    table.merge("exp", "main", &info("")).unwrap();
    for branch in ["main", "exp"] {
        assert_eq!(numbers_at(&table, branch), [2, 3, 4], "{branch}");
    }
    let diff = table.diff("main", "exp").unwrap();
    assert_eq!([diff.first.len(), diff.second.len()], [0, 0]);
}

#[test]
fn a_rebase_puts_changes_behind_those_of_another_branch() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a")]);
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &[(2, "b")]);
    append(&table, "exp", &[(3, "b")]);
    assert_eq!(table.rebase("exp", "main", &info("")).unwrap(), 0);
    append(&table, "main", &[(4, "c")]);
    assert_eq!(table.rebase("exp", "main", &info("")).unwrap(), 2);
    assert_eq!(numbers_at(&table, "exp"), [1, 2, 3, 4]);
    assert_eq!(
        table.at("exp~2").unwrap().id(),
        table.at("main").unwrap().id()
    );
    // What was rebased is known by its transactions.
    table.merge("exp", "main", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "main"), [1, 2, 3, 4]);
}

#[test]
fn many_files_go_to_manifests_and_manifests_to_tiers() {
    let table = table(&["n"]);
    let mut expect = Vec::new();
    for i in 0..24 {
        let rows: Vec<_> = (i * 20..i * 20 + 20).map(|n| (n, "x")).collect();
        expect.extend(rows.iter().map(|row| row.0));
        append(&table, "main", &rows);
    }
    let snapshot = table.at("main").unwrap();
    assert!(!snapshot.commit().manifests.is_empty());
    assert!(snapshot.commit().entries.len() <= limits::INLINE_ENTRIES_MAX);
    assert_eq!(numbers_at(&table, "main"), expect);
    let found = snapshot.files(Some(&col("n").eq(77))).unwrap();
    assert_eq!(found.len(), 1);
    // More files in one commit than fit into it.
    let rows: Vec<_> = (1000..1300).map(|n| (n, "x")).collect();
    expect.extend(rows.iter().map(|row| row.0));
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &rows);
    let commit = table.at("exp").unwrap();
    assert_eq!(commit.commit().own_entries.len(), 0);
    assert_eq!(commit.commit().own_manifests.len(), 1);
    append(&table, "main", &[(2000, "y")]);
    expect.push(2000);
    table.merge("exp", "main", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "main"), expect);
    let merged = table.at("main").unwrap();
    assert_eq!(
        merged.commit().own_manifests[0].id,
        commit.commit().own_manifests[0].id
    );
    assert_eq!(merged.commit().files, expect.len() as u64);
    let mut txn = table.begin("main", info("")).unwrap();
    txn.delete_where(&col("n").lt(1100)).unwrap();
    txn.commit().unwrap();
    expect.retain(|n| *n >= 1100);
    assert_eq!(numbers_at(&table, "main"), expect);
    assert_eq!(
        table.at("main").unwrap().commit().files,
        expect.len() as u64
    );
}

#[test]
fn metadata_are_compacted_and_rows_stay() {
    let table = table(&["n"]);
    let refused = table.compact_metadata("other", &info("")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(table.compact_metadata("main", &info("")).unwrap().was_there);
    for i in 0..4 {
        let rows: Vec<_> = (0..300)
            .map(|n| (n, if i == 0 { "x" } else { "y" }))
            .collect();
        append(&table, "main", &rows);
    }
    append(&table, "main", &[(7, "z")]);
    let mut txn = table.begin("main", info("")).unwrap();
    txn.delete_where(&col("n").eq(9)).unwrap();
    txn.commit().unwrap();
    table.create_branch("exp", "main", &info("")).unwrap();
    let before = table.at("main").unwrap();
    assert_eq!(before.commit().manifests.len(), 4);
    let committed = table.compact_metadata("main", &info("")).unwrap();
    let after = table.at("main").unwrap();
    assert_eq!(after.id(), committed.commit);
    assert_eq!(after.commit().manifests.len(), 1);
    assert!(after.commit().entries.is_empty() && after.commit().own_entries.is_empty());
    assert_eq!(after.commit().changes[0].op, Operation::Compact);
    let numbers = [&before, &after].map(|it| (it.commit().files, it.commit().rows));
    assert_eq!(numbers[0], numbers[1]);
    for filter in [
        None,
        Some(col("n").eq(7)),
        Some(col("n").eq(9)),
        Some(col("n").gt(290)),
    ] {
        let files = [&before, &after].map(|it| it.files(filter.as_ref()).unwrap());
        assert_eq!(files[0], files[1]);
    }
    assert_eq!(after.files(Some(&col("n").eq(7))).unwrap().len(), 5);
    let again = table.compact_metadata("main", &info("")).unwrap();
    assert!(again.was_there);
    // It is no change of rows, so a merge does not repeat it, and its branch goes on.
    append(&table, "exp", &[(1000, "x")]);
    table.merge("exp", "main", &info("")).unwrap();
    append(&table, "main", &[(1001, "x")]);
    assert_eq!(table.at("main").unwrap().scan().count().unwrap(), 1199);
    assert!(table.fsck(Depth::Metadata).unwrap().findings.is_empty());
}

#[test]
fn a_table_that_was_opened_long_ago_sees_what_is_new() {
    let table = table(&[]);
    let early = Table::open(table.store().clone()).unwrap();
    for n in 1..=5 {
        append(&table, "main", &[(n, "a")]);
    }
    assert_eq!(numbers_at(&early, "main"), [1, 2, 3, 4, 5]);
    append(&table, "main", &[(6, "a")]);
    assert_eq!(numbers_at(&early, "main"), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_a_transaction_did_is_found_later() {
    let table = table(&[]);
    let mut txn = table.begin("main", info("x")).unwrap();
    txn.append(reader(&batch(&[(1, "a")]))).unwrap();
    let id = txn.id();
    assert_eq!(table.outcome("main", id).unwrap(), None);
    let committed = txn.commit().unwrap();
    assert_eq!(
        table.outcome("main", id).unwrap().unwrap().commit,
        committed.commit
    );
}

#[test]
fn a_table_is_opened_by_whoever_has_the_store() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    assert_eq!(Table::open(store).unwrap_err().kind(), ErrorKind::NotATable);
    let table = table(&[]);
    append(&table, "main", &[(1, "a")]);
    let again = Table::open(table.store().clone()).unwrap();
    assert_eq!(numbers_at(&again, "main"), [1]);
    assert_eq!(again.root(), table.root());
}

#[test]
fn tasks_are_read_by_themselves_and_in_parts() {
    let table = table(&["t"]);
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "a"), (4, "a")]);
    append(&table, "main", &[(5, "b"), (6, "d")]);
    let mut txn = table.begin("main", info("gone")).unwrap();
    assert_eq!(txn.delete_where(&col("n").eq(3)).unwrap(), 1);
    txn.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    let tasks = snapshot.tasks(Some(&col("t").eq("a"))).unwrap();
    assert_eq!(tasks.len(), 1);
    let task = &tasks[0];
    assert_eq!((task.rows(), snapshot.live_rows(task).unwrap()), (3, 2));
    assert_eq!(snapshot.files(None).unwrap()[0].file, task.file());
    let count = |rows| snapshot.scan().task(task, rows).count();
    // Places count the row that is deleted.
    for (rows, expect) in [(0..3, 2), (0..1, 1), (1..2, 0), (2..3, 1), (0..0, 0)] {
        assert_eq!(count(rows.clone()).unwrap(), expect, "{rows:?}");
    }
    assert_eq!(count(0..4).unwrap_err().kind(), ErrorKind::InvalidInput);
    // The filter that tasks were found by is no filter of their scans.
    let other = snapshot
        .scan()
        .task(&task.apart(), 0..3)
        .filter(col("n").gt(1));
    assert_eq!(other.count().unwrap(), 1);
    let all = snapshot.tasks(None).unwrap();
    let n_rows: u64 = all.iter().map(|it| snapshot.live_rows(it).unwrap()).sum();
    assert_eq!(n_rows, snapshot.scan().count().unwrap());
}
