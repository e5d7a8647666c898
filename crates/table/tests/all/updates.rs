//! Updates of columns and compaction: what they write, what conflicts, and what is left.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};
use tarsia_filter::{Literal, col};
use tarsia_table::meta::EntryKind;
use tarsia_table::{AlterField, Compact, Depth, ErrorKind, Overlap, Table, Transaction};

use crate::common::{append, info, numbers_at, table};

fn begin(table: &Table, branch: &str) -> Transaction {
    table.begin(branch, info("update")).unwrap()
}

fn set(table: &Table, branch: &str, from: i64, to: i64) {
    let mut txn = begin(table, branch);
    let n_rows = txn.update_where(&col("n").eq(from), &[("n", to.into())]);
    assert_eq!(n_rows.unwrap(), 1);
    txn.commit().unwrap();
}

fn three_rows() -> Table {
    let table = table(&[]);
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "c")]);
    table
}

#[test]
fn a_new_column_costs_its_bytes() {
    let table = table(&[]);
    let rows: Vec<(i64, &str)> = (0..30_000).map(|n| (n * 7_919 % 30_011, "text")).collect();
    for part in rows.chunks(10_000) {
        append(&table, "main", part);
    }
    let files = table.at("main").unwrap().files(None).unwrap().len();
    let mut txn = begin(&table, "main");
    let score = Field::new("score", DataType::Int64, true);
    let n_rows = txn.add_column(score, &["n"], |batch| {
        assert_eq!(batch.num_columns(), 1);
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        Ok(Arc::new(numbers.unary::<_, Int64Type>(|n| n * 2)) as ArrayRef)
    });
    assert_eq!(n_rows.unwrap(), 30_000);
    txn.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    let new = &snapshot.commit().own_entries;
    let n_bytes: u64 = new.iter().map(|entry| entry.bytes).sum();
    assert!(new.iter().all(|entry| entry.kind == EntryKind::Update));
    // 15 bits a value, and the kernels that a file carries.
    assert!(
        n_bytes < 30_000 * 15 / 8 * 11 / 10 + (64 << 10),
        "{n_bytes}"
    );
    assert_eq!(snapshot.files(None).unwrap().len(), files);
    let scan = snapshot.scan().columns(&["n", "score"]).build().unwrap();
    for batch in scan {
        let batch = batch.unwrap();
        let [n, score] = [0, 1].map(|i| batch.column(i).as_primitive::<Int64Type>().clone());
        assert_eq!(n.unary::<_, Int64Type>(|n| n * 2).values(), score.values());
    }
    let n_low = rows.iter().filter(|row| row.0 < 50).count();
    let scan = snapshot.scan().filter(col("score").lt(100));
    assert_eq!(scan.count().unwrap(), n_low as u64);
    assert!(table.fsck(Depth::Digests).unwrap().findings.is_empty());
}

#[test]
fn the_second_of_two_updates_of_a_row_conflicts() {
    let table = three_rows();
    let mut first = begin(&table, "main");
    let mut second = begin(&table, "main");
    let mut third = begin(&table, "main");
    let mut fourth = begin(&table, "main");
    first
        .update_where(&col("t").eq("a"), &[("n", 10.into())])
        .unwrap();
    second
        .update_where(&col("t").eq("a"), &[("n", 20.into())])
        .unwrap();
    third
        .update_where(&col("t").eq("b"), &[("n", 30.into())])
        .unwrap();
    fourth
        .update_where(&col("n").eq(3), &[("t", "d".into())])
        .unwrap();
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(
        error.to_string().contains("field `n`: row 0 of file"),
        "{error}"
    );
    // Other rows of the same file and field.
    third.commit().unwrap();
    // Its condition looked at values that were changed.
    let error = fourth.commit().unwrap_err();
    assert!(
        error.to_string().contains("that were read for this update"),
        "{error}"
    );
    assert_eq!(numbers_at(&table, "main"), [3, 10, 30]);
}

#[test]
fn updates_and_changes_of_the_schema_conflict() {
    let table = three_rows();
    let mut update = begin(&table, "main");
    update
        .update_where(&col("n").eq(1), &[("t", "z".into())])
        .unwrap();
    let mut drop = begin(&table, "main");
    drop.alter(&[AlterField::drop("t")]).unwrap();
    let mut rename = begin(&table, "main");
    rename.alter(&[AlterField::rename("t", "u")]).unwrap();
    update.commit().unwrap();
    assert_eq!(drop.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let mut late = begin(&table, "main");
    late.update_where(&col("n").eq(2), &[("t", "y".into())])
        .unwrap();
    rename.commit().unwrap();
    late.commit().unwrap();
    let scan = table.at("main").unwrap().scan();
    assert_eq!(scan.filter(col("u").is_in(["z", "y"])).count().unwrap(), 2);
    let mut late = begin(&table, "main");
    late.update_where(&col("n").eq(3), &[("u", "x".into())])
        .unwrap();
    let mut drop = begin(&table, "main");
    drop.alter(&[AlterField::drop("u")]).unwrap();
    drop.commit().unwrap();
    assert_eq!(late.commit().unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_row_that_was_deleted_meanwhile_stays_deleted() {
    let table = three_rows();
    let mut update = begin(&table, "main");
    update
        .update_where(&col("n").lt_eq(2), &[("t", "z".into())])
        .unwrap();
    let mut delete = begin(&table, "main");
    delete.delete_where(&col("n").eq(1)).unwrap();
    delete.commit().unwrap();
    update.commit().unwrap();
    assert_eq!(numbers_at(&table, "main"), [2, 3]);
}

#[test]
fn a_merge_fails_or_takes_the_values_of_one_side() {
    for overlap in [Overlap::Fail, Overlap::Source, Overlap::Target] {
        let table = three_rows();
        table.create_branch("exp", "main", &info("")).unwrap();
        set(&table, "main", 1, 10);
        let mut txn = begin(&table, "exp");
        // All rows, so that a dense update loses some of its values.
        let n_rows = txn.update_column("n", &["n"], |batch| {
            let numbers = batch.column(0).as_primitive::<Int64Type>();
            Ok(Arc::new(numbers.unary::<_, Int64Type>(|n| n + 100)) as ArrayRef)
        });
        assert_eq!(n_rows.unwrap(), 3);
        txn.update_where(&col("t").eq("a"), &[("t", "z".into()), ("n", 7.into())])
            .unwrap();
        txn.commit().unwrap();
        let merged = table.merge_with("exp", "main", overlap, &info(""));
        match overlap {
            Overlap::Fail => assert_eq!(merged.unwrap_err().kind(), ErrorKind::Conflict),
            _ => assert!(!merged.unwrap().was_there),
        }
        let (numbers, texts) = match overlap {
            Overlap::Fail => ([2, 3, 10], 0),
            Overlap::Source => ([7, 102, 103], 1),
            Overlap::Target => ([10, 102, 103], 1),
        };
        assert_eq!(numbers_at(&table, "main"), numbers, "{overlap:?}");
        let scan = table.at("main").unwrap().scan();
        assert_eq!(scan.filter(col("t").eq("z")).count().unwrap(), texts);
        assert!(table.fsck(Depth::Digests).unwrap().findings.is_empty());
    }
}

#[test]
fn a_rebase_keeps_values_of_the_state_below_if_it_is_told_to() {
    let table = three_rows();
    table.create_branch("exp", "main", &info("")).unwrap();
    set(&table, "main", 1, 10);
    set(&table, "exp", 1, 20);
    set(&table, "exp", 2, 30);
    let refused = table.rebase("exp", "main", &info("")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    table
        .rebase_with("exp", "main", Overlap::Target, &info(""))
        .unwrap();
    assert_eq!(numbers_at(&table, "exp"), [3, 10, 30]);
}

#[test]
fn what_was_committed_during_a_compaction_applies_to_its_output() {
    let table = three_rows();
    append(&table, "main", &[(4, "d"), (5, "e")]);
    table.create_branch("exp", "main", &info("")).unwrap();
    let mut update = begin(&table, "main");
    update
        .update_where(&col("n").is_in([2, 5]), &[("t", "z".into())])
        .unwrap();
    let mut delete = begin(&table, "main");
    delete.delete_where(&col("n").eq(4)).unwrap();
    let mut whole = begin(&table, "exp");
    // A file is removed, on a branch that knows no compaction.
    whole.delete_where(&col("n").lt_eq(3)).unwrap();
    whole.commit().unwrap();
    let done = table.compact(&Compact::new(), &info("")).unwrap();
    assert_eq!((done.files_before, done.files_after, done.rows), (2, 1, 5));
    assert_eq!(table.at("main").unwrap().files(None).unwrap().len(), 1);
    update.commit().unwrap();
    delete.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    assert_eq!(numbers_at(&table, "main"), [1, 2, 3, 5]);
    assert_eq!(snapshot.scan().filter(col("t").eq("z")).count().unwrap(), 2);
    // Again, with updates and deletes of rows that a compaction has moved.
    let due = table.compaction_due(&Compact::new()).unwrap();
    assert_eq!((due.files_before, due.files_after), (1, 1));
    table.compact(&Compact::new(), &info("")).unwrap();
    let snapshot = table.at("main").unwrap();
    let entries = snapshot.commit().own_entries.iter();
    // The update and the delete are no more needed.
    assert!(entries.filter(|it| it.kind != EntryKind::Data).count() >= 2);
    assert_eq!(
        table.compaction_due(&Compact::new()).unwrap().files_before,
        0
    );
    table.merge("exp", "main", &info("")).unwrap();
    assert_eq!(numbers_at(&table, "main"), [5]);
    assert!(table.fsck(Depth::Digests).unwrap().findings.is_empty());
}

#[test]
fn compactions_of_the_same_file_conflict() {
    let table = three_rows();
    append(&table, "main", &[(4, "d")]);
    let mut whole = begin(&table, "main");
    whole.delete_where(&col("n").gt(0)).unwrap();
    table.compact(&Compact::new(), &info("")).unwrap();
    // The files are gone, their rows are deleted where they are now.
    whole.commit().unwrap();
    assert!(numbers_at(&table, "main").is_empty());
}

#[test]
fn values_and_rows_that_do_not_fit_are_refused() {
    let table = table(&["t"]);
    append(&table, "main", &[(1, "a"), (2, "b")]);
    let mut txn = begin(&table, "main");
    let all = col("n").gt(0);
    let mut refused = |name: &str, value: Literal| {
        let error = txn.update_where(&all, &[(name, value)]).unwrap_err();
        (error.kind(), error.to_string())
    };
    assert_eq!(refused("x", 1.into()).0, ErrorKind::NotFound);
    assert_eq!(refused("t", "z".into()).0, ErrorKind::InvalidInput);
    let (kind, what) = refused("n", 1.5.into());
    assert_eq!(kind, ErrorKind::InvalidInput);
    assert!(what.contains("field `n`"), "{what}");
    let short = |_: &arrow_array::RecordBatch| Ok(Arc::new(Int64Array::from(vec![1])) as ArrayRef);
    let mut txn = begin(&table, "main");
    txn.update_column("n", &[], short).unwrap();
    append(&table, "main", &[(3, "a"), (4, "a")]);
    let mut txn = begin(&table, "main");
    assert_eq!(
        txn.update_column("n", &[], short).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let texts = |batch: &arrow_array::RecordBatch| {
        Ok(arrow_array::new_null_array(
            &DataType::Utf8,
            batch.num_rows(),
        ))
    };
    let error = txn.update_column("n", &[], texts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn columns_are_computed_on_threads_in_the_order_of_rows() {
    // A file whose rows several threads compute, files of one thread each, and rows that were deleted.
    let table = table(&["truncate(t, 1)"]);
    let large: Vec<(i64, &str)> = (0..600_000).map(|n| (n, "a")).collect();
    append(&table, "main", &large);
    for first in 0..20 {
        let rows: Vec<(i64, &str)> = (0..50)
            .map(|n| (600_000 + first * 50 + n, ["a", "b"][n as usize % 2]))
            .collect();
        append(&table, "main", &rows);
    }
    let mut txn = begin(&table, "main");
    assert_eq!(
        txn.delete_where(&col("n").between(250_000, 270_000))
            .unwrap(),
        20_001
    );
    txn.commit().unwrap();
    let calls = std::sync::Mutex::new(std::collections::HashSet::new());
    let mut txn = begin(&table, "main");
    let new = Field::new("twice", DataType::Int64, true);
    let n_rows = txn.add_column(new, &["n"], |batch| {
        calls.lock().unwrap().insert(std::thread::current().id());
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        Ok(Arc::new(numbers.unary::<_, Int64Type>(|n| n * 2)) as ArrayRef)
    });
    assert_eq!(n_rows.unwrap(), 601_000 - 20_001);
    let n_threads = calls.lock().unwrap().len();
    let is_parallel = std::thread::available_parallelism().unwrap().get() > 1;
    assert!(!is_parallel || n_threads > 1, "{n_threads}");
    // One update file for each partition.
    let written = txn.written();
    assert_eq!(written.files, 2);
    txn.commit().unwrap();
    let scan = table.at("main").unwrap().scan().columns(&["n", "twice"]);
    let mut n_rows = 0;
    for batch in scan.build().unwrap() {
        let batch = batch.unwrap();
        let [n, twice] = [0, 1].map(|i| batch.column(i).as_primitive::<Int64Type>().clone());
        assert_eq!(twice.null_count(), 0);
        assert_eq!(n.unary::<_, Int64Type>(|n| n * 2).values(), twice.values());
        n_rows += batch.num_rows();
    }
    assert_eq!(n_rows, 601_000 - 20_001);
    let mut txn = begin(&table, "main");
    let wrong = txn.update_column("twice", &["n"], |batch| {
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        match numbers.value(0) >= 300_000 {
            true => Err(arrow_schema::ArrowError::ComputeError("too large".into())),
            false => Ok(Arc::new(numbers.clone()) as ArrayRef),
        }
    });
    assert!(wrong.unwrap_err().to_string().contains("too large"));
}
