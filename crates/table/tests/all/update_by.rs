//! Updates by key: which rows get which values, and what is refused.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchReader, StringArray, TimestampMicrosecondArray,
};
use tarsia_filter::col;
use tarsia_io::MemoryStore;
use tarsia_table::meta::EntryKind;
use tarsia_table::{
    AlterField, Compact, Depth, ErrorKind, Table, TableSpec, Transaction, Unmatched,
};

use crate::common::{append, info, reader, table};

fn begin(table: &Table) -> Transaction {
    table.begin("main", info("update")).unwrap()
}

/// New values of `n` for rows that have a text.
fn by_text(rows: &[(&str, i64)]) -> RecordBatch {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|it| it.0)));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|it| it.1)));
    RecordBatch::try_from_iter([("t", texts), ("n", numbers)]).unwrap()
}

/// Texts and numbers of a state, sorted.
fn rows_at(table: &Table, state: &str) -> Vec<(String, i64)> {
    let snapshot = table.at(state).unwrap();
    let scan = snapshot.scan().columns(&["t", "n"]).build().unwrap();
    let mut rows = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        let numbers = batch.column(1).as_primitive::<Int64Type>();
        let texts = batch.column(0).as_string::<i32>();
        rows.extend((0..batch.num_rows()).map(|i| (texts.value(i).to_owned(), numbers.value(i))));
    }
    rows.sort();
    rows
}

fn owned(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|it| (it.0.to_owned(), it.1)).collect()
}

#[test]
fn all_rows_with_a_key_get_its_values() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "a")]);
    append(&table, "main", &[(4, "a"), (5, "c")]);
    let mut txn = begin(&table);
    let new = by_text(&[("c", 50), ("a", 10)]);
    let matched = txn
        .update_by(&["t"], reader(&new), Unmatched::Fail)
        .unwrap();
    assert_eq!((matched.rows, matched.unmatched), (4, 0));
    txn.commit().unwrap();
    let expect = [("a", 10), ("a", 10), ("a", 10), ("b", 2), ("c", 50)];
    assert_eq!(rows_at(&table, "main"), owned(&expect));
    // All rows of the second file, and some of the first.
    let snapshot = table.at("main").unwrap();
    let updates = snapshot.commit().own_entries.iter();
    let updates: Vec<_> = updates.filter(|it| it.kind == EntryKind::Update).collect();
    let mut dense: Vec<_> = updates
        .iter()
        .flat_map(|it| &it.targets)
        .map(|it| it.dense)
        .collect();
    dense.sort_unstable();
    assert_eq!(dense, [false, true]);
    // Rows of a compaction's output are found, too, and keep what is newer.
    table.compact(&Compact::new(), &info("")).unwrap();
    let mut txn = begin(&table);
    txn.update_by(
        &["t"],
        reader(&by_text(&[("b", 20), ("c", 51)])),
        Unmatched::Fail,
    )
    .unwrap();
    txn.commit().unwrap();
    let expect = [("a", 10), ("a", 10), ("a", 10), ("b", 20), ("c", 51)];
    assert_eq!(rows_at(&table, "main"), owned(&expect));
    assert!(table.fsck(Depth::Digests).unwrap().findings.is_empty());
}

#[test]
fn keys_that_no_row_has_are_an_error_or_left_out() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a"), (2, "b"), (3, "c")]);
    let mut txn = begin(&table);
    txn.delete_where(&col("t").eq("c")).unwrap();
    let new = by_text(&[("a", 10), ("x", 5), ("c", 30)]);
    let refused = txn.update_by(&["t"], reader(&new), Unmatched::Fail);
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(
        refused.to_string().contains("key `t` of row 1"),
        "{refused}"
    );
    let counted = txn.count_by(&["t"], reader(&new), Unmatched::Skip).unwrap();
    let matched = txn
        .update_by(&["t"], reader(&new), Unmatched::Skip)
        .unwrap();
    assert_eq!(counted, matched);
    assert_eq!((matched.rows, matched.unmatched), (1, 2));
    txn.commit().unwrap();
    assert_eq!(rows_at(&table, "main"), owned(&[("a", 10), ("b", 2)]));
    // Nothing is updated by nothing.
    let mut txn = begin(&table);
    let matched = txn
        .update_by(&["t"], reader(&by_text(&[])), Unmatched::Fail)
        .unwrap();
    assert_eq!(
        (matched.rows, matched.unmatched, txn.is_empty()),
        (0, 0, true)
    );
    let nobody = by_text(&[("y", 1)]);
    txn.update_by(&["t"], reader(&nobody), Unmatched::Skip)
        .unwrap();
    assert!(txn.is_empty());
}

#[test]
fn what_is_no_key_is_refused() {
    let table = table(&["n"]);
    append(&table, "main", &[(1, "a"), (2, "b")]);
    let mut txn = begin(&table);
    let field = arrow_schema::Field::new("x", arrow_schema::DataType::Float64, true);
    txn.alter(&[AlterField::add(field)]).unwrap();
    txn.commit().unwrap();
    let column = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let both = |name: &str, keys: ArrayRef, other: &str, values: ArrayRef| {
        let columns = [(name, keys, true), (other, values, true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let numbers = || column(&[1, 2]);
    for (keys, new, kind, why) in [
        (
            &["n"][..],
            both("n", column(&[1, 1]), "x", floats.clone()),
            ErrorKind::InvalidInput,
            "row 1 has the same key `n` as row 0",
        ),
        (
            &["t"],
            both("t", texts.clone(), "x", floats.clone()),
            ErrorKind::InvalidInput,
            "row 1: key `t` is null",
        ),
        (
            &["x"],
            both("x", floats.clone(), "t", texts.clone()),
            ErrorKind::InvalidInput,
            "field `x` of type Float64 is no key",
        ),
        (
            &["t"],
            both("n", numbers(), "x", floats.clone()),
            ErrorKind::InvalidInput,
            "no key `t`",
        ),
        (
            &["t"],
            both("t", numbers(), "x", floats.clone()),
            ErrorKind::InvalidInput,
            "key `t` of type Int64 for a field of type Utf8",
        ),
        (
            &["t", "t"],
            both("t", texts.clone(), "x", floats.clone()),
            ErrorKind::InvalidInput,
            "key `t` is there twice",
        ),
        (
            &["n"],
            both("n", numbers(), "n", column(&[3, 4])),
            ErrorKind::InvalidInput,
            "the new values have the key `n` twice",
        ),
        (
            &["y"],
            both("y", numbers(), "x", floats.clone()),
            ErrorKind::NotFound,
            "no field `y`",
        ),
        (
            &["n"],
            both("n", numbers(), "y", floats.clone()),
            ErrorKind::NotFound,
            "no field `y`",
        ),
        (
            &["t"],
            both("t", texts.clone(), "n", numbers()),
            ErrorKind::InvalidInput,
            "partitioned by field `n`",
        ),
        (
            &["n", "t"],
            both("n", numbers(), "t", texts.clone()),
            ErrorKind::InvalidInput,
            "an update of no field",
        ),
        (
            &[],
            both("n", numbers(), "x", floats.clone()),
            ErrorKind::InvalidInput,
            "by no key",
        ),
        (
            &["n"],
            both("n", numbers(), "x", numbers()),
            ErrorKind::InvalidInput,
            "values of type Int64 for field `x`",
        ),
    ] {
        let mut txn = begin(&table);
        let refused = txn
            .update_by(keys, reader(&new), Unmatched::Fail)
            .unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
        assert!(txn.is_empty());
    }
    // Rows are counted over all batches.
    let parts = [by_text(&[("a", 1), ("b", 1)]), by_text(&[("a", 1)])];
    let schema = parts[0].schema();
    let table = crate::common::table(&[]);
    append(&table, "main", &[(1, "a"), (2, "b")]);
    let reader = RecordBatchIterator::new(parts.map(Ok), schema);
    let refused = begin(&table).update_by(&["t"], reader, Unmatched::Skip);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("row 2 has the same key `t` as row 0"),
        "{refused}"
    );
}

#[test]
fn an_update_by_key_conflicts_with_one_of_the_key() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a"), (2, "b")]);
    let of_number = |n: i64, text: &str| {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![n]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    };
    let mut first = begin(&table);
    let mut second = begin(&table);
    let mut third = begin(&table);
    first
        .update_by(&["n"], reader(&of_number(1, "x")), Unmatched::Fail)
        .unwrap();
    // It looks at texts, of which the first transaction changes one.
    second
        .update_by(&["t"], reader(&by_text(&[("b", 7)])), Unmatched::Fail)
        .unwrap();
    // Another row of the same column.
    third
        .update_by(&["n"], reader(&of_number(2, "y")), Unmatched::Fail)
        .unwrap();
    // A row that others add meanwhile has a key, and stays as it is.
    append(&table, "main", &[(1, "new")]);
    first.commit().unwrap();
    assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);
    third.commit().unwrap();
    let expect = [("new", 1), ("x", 1), ("y", 2)];
    assert_eq!(rows_at(&table, "main"), owned(&expect));
}

/// A table of four columns, whose rows are spread over files by `day`.
fn of_keys(n_rows: i64) -> (Table, RecordBatch) {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n_rows));
    let days = (0..n_rows).map(|n| (n % 5) * 86_400_000_000);
    let days: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(days));
    let flags: ArrayRef = Arc::new(
        (0..n_rows)
            .map(|n| Some(n % 2 == 0))
            .collect::<BooleanArray>(),
    );
    let values: ArrayRef = Arc::new(Int64Array::from(vec![0; n_rows as usize]));
    let columns = [
        ("id", numbers),
        ("day", days),
        ("flag", flags),
        ("a.b", values),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let spec = TableSpec::new(batch.schema()).partition_by(["day(day)"]);
    let table = Table::create(Arc::new(MemoryStore::new()), &spec, &info("made")).unwrap();
    let mut txn = begin(&table);
    txn.append(reader(&batch)).unwrap();
    txn.commit().unwrap();
    (table, batch)
}

#[test]
fn several_columns_of_all_kinds_are_one_key() {
    let (table, batch) = of_keys(200);
    let some: Vec<usize> = (0..200).filter(|n| n % 3 == 0).collect();
    let rows = arrow_array::UInt64Array::from_iter_values(some.iter().map(|n| *n as u64));
    let new = arrow_select::take::take_record_batch(&batch, &rows).unwrap();
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(some.iter().map(|n| *n as i64)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("day", new.column(1).clone()),
        ("a.b", values),
        ("id", new.column(0).clone()),
        ("flag", new.column(2).clone()),
    ];
    let new = RecordBatch::try_from_iter(columns).unwrap();
    // Few keys are looked for by themselves, more by what lies between them.
    for n_rows in [1, 67] {
        let new = new.slice(0, n_rows);
        let mut txn = begin(&table);
        let keys = ["flag", "id", "day"];
        let matched = txn.update_by(&keys, reader(&new), Unmatched::Fail).unwrap();
        assert_eq!(matched.rows, n_rows as u64);
        if n_rows == 67 {
            txn.commit().unwrap();
        }
    }
    let scan = table
        .at("main")
        .unwrap()
        .scan()
        .columns(&["id", "a.b"])
        .build()
        .unwrap();
    for batch in scan {
        let batch = batch.unwrap();
        let [ids, values] = [0, 1].map(|i| batch.column(i).as_primitive::<Int64Type>().clone());
        for (id, value) in ids.values().iter().zip(values.values()) {
            assert_eq!(*value, if id % 3 == 0 { *id } else { 0 }, "row {id}");
        }
    }
    // A key with a point in its name, and rows that a reader gives in many batches.
    let given = (0..3).map(|i| {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![i * 3 + 3]));
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![i == 1]));
        Ok(RecordBatch::try_from_iter([("a.b", keys), ("flag", flags)]).unwrap())
    });
    let given: Vec<_> = given.collect();
    let schema = given[0].as_ref().map(RecordBatch::schema).unwrap();
    let given: Box<dyn RecordBatchReader> = Box::new(RecordBatchIterator::new(given, schema));
    let mut txn = begin(&table);
    let matched = txn.update_by(&["a.b"], given, Unmatched::Fail).unwrap();
    assert_eq!(matched.rows, 3);
    txn.commit().unwrap();
    let filter = col("id").is_in([3, 6, 9]).and(col("flag").eq(true));
    let count = table.at("main").unwrap().scan().filter(filter).count();
    assert_eq!(count.unwrap(), 1);
}

#[test]
fn rows_that_get_all_their_values_by_name_are_a_dense_update() {
    let (table, _) = of_keys(50);
    let mut txn = begin(&table);
    txn.delete_where(&col("id").eq(7)).unwrap();
    txn.commit().unwrap();
    let scan = table
        .at("main")
        .unwrap()
        .scan()
        .columns(&["id", "a.b"])
        .with_origins();
    let scan = scan.build().unwrap();
    let schema = scan.schema();
    let parts: Vec<_> = scan.collect::<Result<_, _>>().unwrap();
    let rows = arrow_select::concat::concat_batches(&schema, &parts).unwrap();
    let ids = rows.column(0).clone();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a.b", ids),
        (tarsia_table::FILE_COLUMN, rows.column(2).clone()),
        (tarsia_table::POSITION_COLUMN, rows.column(3).clone()),
    ];
    let new = RecordBatch::try_from_iter(columns).unwrap();
    let mut txn = begin(&table);
    assert_eq!(txn.update_rows(reader(&new)).unwrap(), 49);
    txn.commit().unwrap();
    let snapshot = table.at("main").unwrap();
    let mut targets = snapshot
        .commit()
        .own_entries
        .iter()
        .flat_map(|it| &it.targets);
    assert!(targets.all(|it| it.dense));
    for batch in snapshot.scan().columns(&["id", "a.b"]).build().unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.column(0), batch.column(1));
    }
}
