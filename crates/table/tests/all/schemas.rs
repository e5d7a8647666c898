//! Changes of schemas, and files that were written before them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use tarsia_filter::col;
use tarsia_io::MemoryStore;
use tarsia_table::{AlterField, ErrorKind, Table, TableSpec};

use crate::common::{append, batch, info, reader, table};

fn alter(table: &Table, branch: &str, changes: &[AlterField]) {
    let mut txn = table.begin(branch, info("alter")).unwrap();
    txn.alter(changes).unwrap();
    txn.commit().unwrap();
}

fn all(table: &Table, state: &str) -> RecordBatch {
    let scan = table.at(state).unwrap().scan().build().unwrap();
    let schema = scan.schema();
    let batches: Vec<_> = scan.map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

#[test]
fn old_files_are_read_under_the_new_schema() {
    let small: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let old =
        RecordBatch::try_from_iter_with_nullable([("small", small, true), ("text", text, true)])
            .unwrap();
    let spec = TableSpec::new(old.schema());
    let table = Table::create(Arc::new(MemoryStore::new()), &spec, &info("made")).unwrap();
    let mut txn = table.begin("main", info("old")).unwrap();
    txn.append(reader(&old)).unwrap();
    txn.commit().unwrap();
    let default: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    alter(
        &table,
        "main",
        &[
            AlterField::widen("small", DataType::Int64),
            AlterField::rename("text", "name"),
            AlterField::rename("small", "text"),
            AlterField::add_with_default(Field::new("seven", DataType::Int64, false), default),
            AlterField::add(Field::new("nothing", DataType::Utf8, true)),
            AlterField::move_to("name", Some(0)),
        ],
    );
    let name: ArrayRef = Arc::new(StringArray::from(vec!["c"]));
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40]));
    let new = RecordBatch::try_from_iter_with_nullable([
        ("text", number.clone(), true),
        ("nothing", name.clone(), true),
        ("seven", number, false),
        ("name", name, true),
    ]);
    let mut txn = table.begin("main", info("new")).unwrap();
    txn.append(reader(&new.unwrap())).unwrap();
    txn.commit().unwrap();
    let rows = all(&table, "main");
    let names: Vec<_> = rows
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["name", "text", "seven", "nothing"]);
    let numbers = |i: usize| rows.column(i).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(
        rows.column(0)
            .as_string::<i32>()
            .iter()
            .flatten()
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(
        (numbers(1), numbers(2)),
        (vec![1, 2, 1 << 40], vec![7, 7, 1 << 40])
    );
    assert_eq!(rows.column(3).null_count(), 2);
    // Filters mean the new names, types and defaults in all files.
    let count = |filter| {
        table
            .at("main")
            .unwrap()
            .scan()
            .filter(filter)
            .count()
            .unwrap()
    };
    assert_eq!(count(col("name").eq("b").and(col("text").eq(2))), 1);
    assert_eq!(count(col("seven").eq(7)), 2);
    assert_eq!(count(col("nothing").is_null().and(col("text").gt(1))), 1);
    let mut txn = table.begin("main", info("")).unwrap();
    assert_eq!(txn.delete_where(&col("text").lt_eq(1)).unwrap(), 1);
    txn.commit().unwrap();
    assert_eq!(all(&table, "main").num_rows(), 2);
    // The state before has the schema of its time.
    assert_eq!(all(&table, "main~3"), old);
}

#[test]
fn parts_of_nested_fields_are_read_from_files_of_all_ages() {
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let more: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let user = StructArray::from(vec![
        (Arc::new(Field::new("id", DataType::Int64, true)), inner),
        (Arc::new(Field::new("more", DataType::Utf8, true)), more),
    ]);
    let user: ArrayRef = Arc::new(user);
    let old = batch(&[(1, "a"), (2, "b")]);
    let table = table(&[]);
    append(&table, "main", &[(0, "z")]);
    alter(
        &table,
        "main",
        &[AlterField::add(Field::new(
            "user",
            user.data_type().clone(),
            true,
        ))],
    );
    let columns = [
        ("n", old.column(0).clone(), true),
        ("t", old.column(1).clone(), true),
        ("user", user, true),
    ];
    let mut txn = table.begin("main", info("")).unwrap();
    txn.append(reader(
        &RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
    ))
    .unwrap();
    txn.commit().unwrap();
    alter(&table, "main", &[AlterField::rename("user", "person")]);
    let snapshot = table.at("main").unwrap();
    let scan = snapshot
        .scan()
        .columns(&["person.id", "n"])
        .build()
        .unwrap();
    let schema = scan.schema();
    let batches: Vec<_> = scan.map(Result::unwrap).collect();
    let rows = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    let person = rows.column(0).as_struct();
    assert_eq!(person.column_names(), ["id"]);
    assert_eq!(
        person.column(0).as_primitive::<Int64Type>().values()[1..],
        [1, 2]
    );
    assert!(person.is_null(0));
    assert_eq!(rows.schema().field(0).name(), "person");
    assert_eq!(
        snapshot
            .scan()
            .filter(col("person.id").eq(2))
            .count()
            .unwrap(),
        1
    );
    assert_eq!(
        snapshot
            .scan()
            .columns(&["person.x"])
            .build()
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn changes_of_one_field_at_the_same_time_conflict() {
    let table = table(&["t"]);
    let add = |name: &str| AlterField::add(Field::new(name, DataType::Int8, true));
    let conflict = |mine: AlterField, other: AlterField| {
        let mut txn = table.begin("main", info("mine")).unwrap();
        txn.alter(&[mine]).unwrap();
        alter(&table, "main", &[other]);
        txn.commit().unwrap_err()
    };
    let error = conflict(AlterField::rename("n", "x"), AlterField::rename("n", "y"));
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("field `n`"), "{error}");
    let error = conflict(add("same"), add("same"));
    assert!(error.to_string().contains("the name `same`"), "{error}");
    let error = conflict(AlterField::rename("y", "same 2"), add("same 2"));
    assert_eq!(error.kind(), ErrorKind::Conflict);
    // Other fields, and rows, are no obstacle.
    let mut txn = table.begin("main", info("mine")).unwrap();
    txn.alter(&[add("mine")]).unwrap();
    alter(&table, "main", &[add("yours")]);
    txn.commit().unwrap();
    let schema = table.at("main").unwrap().arrow_schema();
    assert!(schema.index_of("mine").unwrap() > schema.index_of("yours").unwrap());
    // Rows with a field that is dropped meanwhile.
    let schema = table.at("main").unwrap().arrow_schema();
    let nulls = schema
        .fields()
        .iter()
        .map(|it| arrow_array::new_null_array(it.data_type(), 1));
    let rows = RecordBatch::try_new(schema.clone(), nulls.collect()).unwrap();
    let mut txn = table.begin("main", info("rows")).unwrap();
    txn.append(reader(&rows)).unwrap();
    alter(&table, "main", &[AlterField::drop("mine")]);
    let error = txn.commit().unwrap_err();
    assert!(
        error.to_string().contains("dropped field `mine`"),
        "{error}"
    );
    let mut txn = table.begin("main", info("t")).unwrap();
    for change in [
        AlterField::drop("t"),
        AlterField::widen("t", DataType::LargeUtf8),
    ] {
        let error = txn.alter(&[change]).unwrap_err();
        assert!(
            error.to_string().contains("partitioned by field `t`"),
            "{error}"
        );
    }
    txn.alter(&[AlterField::rename("t", "u")]).unwrap();
    txn.commit().unwrap();
}

#[test]
fn branches_that_change_one_field_do_not_merge() {
    let table = table(&[]);
    table.create_branch("exp", "main", &info("")).unwrap();
    alter(&table, "main", &[AlterField::rename("n", "x")]);
    alter(
        &table,
        "exp",
        &[AlterField::add(Field::new("new", DataType::Int8, true))],
    );
    append_one(&table, "exp");
    table.merge("exp", "main", &info("")).unwrap();
    let merged = all(&table, "main");
    let names: Vec<_> = merged
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(
        (names, merged.num_rows()),
        (vec!["x".to_owned(), "t".to_owned(), "new".to_owned()], 1)
    );
    alter(&table, "exp", &[AlterField::rename("n", "y")]);
    let error = table.merge("exp", "main", &info("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(
        table.rebase("exp", "main", &info("")).unwrap_err().kind(),
        ErrorKind::Conflict
    );
}

fn append_one(table: &Table, branch: &str) {
    let old = batch(&[(1, "a")]);
    let new: ArrayRef = Arc::new(arrow_array::Int8Array::from(vec![5]));
    let columns = [
        ("n", old.column(0).clone(), true),
        ("t", old.column(1).clone(), true),
        ("new", new, true),
    ];
    let mut txn = table.begin(branch, info("")).unwrap();
    txn.append(reader(
        &RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
    ))
    .unwrap();
    txn.commit().unwrap();
}

#[test]
fn more_changes_than_a_list_holds_are_written_as_a_schema() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a")]);
    for i in 0..70 {
        alter(
            &table,
            "main",
            &[
                AlterField::rename("n", format!("m{i}")),
                AlterField::rename(format!("m{i}"), "n"),
            ],
        );
    }
    let rows = all(&table, "main");
    assert_eq!(rows, batch(&[(1, "a")]));
    let field = table.at("main").unwrap();
    assert_eq!(field.schema().by_name("n").unwrap().former.len(), 64);
}
