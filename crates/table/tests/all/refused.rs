//! Arguments that are refused, and damaged objects.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia_filter::col;
use tarsia_io::{Capabilities, Get, GetRange, MemoryStore, Store, block_on};
use tarsia_table::meta::names;
use tarsia_table::{ErrorKind, Table, TableSpec};
use tarsia_table_testkit::store::SimulatedStore;

use crate::common::{append, batch, info, numbers_at, reader, table};

fn refused_rows(rows: RecordBatch, why: &str) {
    let table = table(&[]);
    let mut txn = table.begin("main", info("")).unwrap();
    let error = txn.append(reader(&rows)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn rows_that_do_not_fit_are_refused_by_field() {
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let of = |fields: &[(&str, &ArrayRef)]| {
        let fields = fields
            .iter()
            .map(|(name, array)| (*name, (*array).clone(), true));
        RecordBatch::try_from_iter_with_nullable(fields).unwrap()
    };
    refused_rows(of(&[("n", &number)]), "the rows have no field `t`");
    refused_rows(
        of(&[("n", &number), ("t", &text), ("x", &text)]),
        "the table has no field `x`",
    );
    refused_rows(
        of(&[("n", &text), ("t", &text)]),
        "field `n` has type Utf8, in the table Int64",
    );
}

#[test]
fn nulls_that_are_not_allowed_are_refused_by_row() {
    let field = arrow_schema::Field::new("n", arrow_schema::DataType::Int64, false);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let table = Table::create(
        Arc::new(MemoryStore::new()),
        &TableSpec::new(schema),
        &info(""),
    )
    .unwrap();
    let mut txn = table.begin("main", info("")).unwrap();
    let rows: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), None]));
    let rows = RecordBatch::try_from_iter_with_nullable([("n", rows, true)]).unwrap();
    let error = txn.append(reader(&rows)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("field `n` allows no nulls, row 2 has one"),
        "{error}"
    );
}

#[test]
fn names_and_partitions_that_cannot_be_are_refused() {
    let table = table(&[]);
    let long = "x".repeat(300);
    for name in ["", "..", "a..b", &long, "a~1"] {
        let error = table.create_branch(name, "main", &info("")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        assert!(table.tag(name, "main", &info("")).is_err());
    }
    table.create_branch("Main", "main", &info("")).unwrap();
    for partition in [
        "x",
        "day(t)",
        "day(n",
        "truncate(t)",
        "truncate(t, 0)",
        "bucket(n, 3)",
    ] {
        let spec = TableSpec::new(batch(&[]).schema()).partition_by([partition]);
        let error = Table::create(Arc::new(MemoryStore::new()), &spec, &info("")).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidInput,
            "{partition}: {error}"
        );
    }
    let error = table.begin("main", info("")).unwrap().commit().unwrap_err();
    assert!(error.to_string().contains("changes nothing"), "{error}");
    let again = TableSpec::new(batch(&[]).schema());
    let error = Table::create(table.store().clone(), &again, &info("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
}

#[test]
fn scans_that_cannot_be_are_refused() {
    let table = table(&[]);
    append(&table, "main", &[(1, "a")]);
    let scan = || table.at("main").unwrap().scan();
    assert_eq!(
        scan().columns(&["x"]).build().unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(scan().filter(col("x").eq(1)).build().is_err());
    assert!(scan().filter(col("n").eq("text")).build().is_err());
    assert!(scan().rows(0..2).build().is_err());
    assert!(scan().batch_rows(0).build().is_err());
    assert_eq!(scan().limit(0).count().unwrap(), 0);
    assert_eq!(scan().columns::<&str>(&[]).count().unwrap(), 1);
}

#[test]
fn tables_without_a_commit_in_common_do_not_merge() {
    let (one, other) = (table(&[]), table(&[]));
    append(&other, "main", &[(1, "a")]);
    let foreign = other.at("main").unwrap().id();
    // Somebody copied a commit by hand.
    let key = names::ObjectKind::Commit.key(&foreign);
    let whole = GetRange::Whole { bytes_max: 1 << 20 };
    let bytes = block_on(other.store().get(Get::new(key.as_str(), whole)))
        .unwrap()
        .bytes;
    block_on(one.store().put(&key, Arc::new(bytes))).unwrap();
    let error = one
        .merge(&foreign.to_string(), "main", &info(""))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("belongs to table"), "{error}");
}

#[test]
fn stores_that_cannot_be_written_safely_are_refused() {
    let store = SimulatedStore::new();
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let spec = TableSpec::new(batch(&[]).schema());
    let made = Table::create(shared.clone(), &spec, &info("")).unwrap();
    append(&made, "main", &[(1, "a")]);
    let mut capabilities = Capabilities::ALL;
    capabilities.can_put_if_absent = false;
    store.set_capabilities(capabilities);
    let table = Table::open(shared.clone()).unwrap();
    assert_eq!(numbers_at(&table, "main"), [1]);
    for error in [
        table.begin("main", info("")).err().unwrap(),
        table.tag("x", "main", &info("")).unwrap_err(),
        Table::create(shared, &spec, &info("")).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("only if there is none"),
            "{error}"
        );
    }
}

/// Any object that is damaged, missing or exchanged is an error that names it, never other rows.
#[test]
fn damaged_objects_are_named() {
    let store = SimulatedStore::new();
    let spec = TableSpec::new(batch(&[]).schema()).partition_by(["n"]);
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    let rows: Vec<_> = (0..300).map(|n| (n, "x")).collect();
    append(&table, "main", &rows);
    append(&table, "main", &[(300, "y")]);
    let expect = numbers_at(&table, "main");
    let objects = store.objects();
    let mut found = 0;
    for (place, (key, bytes)) in objects.iter().enumerate() {
        // Of the many data files a few will do.
        if key.starts_with("data/") && place % 50 != 0 {
            continue;
        }
        for damage in 0..3 {
            let change = |bytes: &mut Vec<u8>| match damage {
                0 => bytes.truncate(bytes.len() / 2),
                1 => bytes.clear(),
                _ => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0x10;
                }
            };
            store.damage(key, change);
            let read = Table::open(Arc::new(store.clone())).and_then(|table| {
                let scan = table.at("main")?.scan().columns(&["n"]).build()?;
                let batches = scan.collect::<Result<Vec<_>, _>>()?;
                Ok(batches.iter().map(RecordBatch::num_rows).sum::<usize>())
            });
            match read {
                Ok(n_rows) => assert_eq!(n_rows, expect.len(), "{key}"),
                Err(error) => {
                    found += 1;
                    let text = error.to_string();
                    assert!(
                        text.contains(key.as_str()) || key == "TABLE",
                        "{key}: {text}"
                    );
                }
            }
            store.damage(key, |it| *it = bytes.to_vec());
        }
    }
    assert!(found > 20, "{found}");
    assert_eq!(numbers_at(&table, "main"), expect);
}
