//! The order in which the pages of columns lie.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use tarsia::{ErrorKind, File, OpenOptions, Threads, WriteOptions, Writer};
use tarsia_io::{CountingReader, MemoryFile};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, open, read_all, same_rows, write};

/// Columns of random numbers, of which the last one but two is a text of few values, a struct, and a list.
fn table(rows: usize) -> RecordBatch {
    let mut rng = Rng::new(3);
    let mut numbers = || -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            (0..rows).map(|_| rng.u64() as i64),
        ))
    };
    let mut columns: Vec<(String, ArrayRef)> =
        (0..40).map(|i| (format!("c{i}"), numbers())).collect();
    let texts =
        StringArray::from_iter_values((0..rows).map(|row| ["oak", "elm"][row * 7 % 11 % 2]));
    columns.push(("text".into(), Arc::new(texts)));
    let field = |name| Arc::new(Field::new(name, DataType::Int64, true));
    let fields = StructArray::from(vec![(field("a"), numbers()), (field("b"), numbers())]);
    columns.push(("s".into(), Arc::new(fields)));
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in 0..rows as i64 {
        lists.append_value([Some(row), Some(row * row)]);
    }
    columns.push(("l".into(), Arc::new(lists.finish())));
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(order: &[&str], options: WriteOptions) -> Vec<u8> {
    let table = table(1_000);
    write(
        table.schema(),
        &[table],
        options.with_column_order(order.to_vec()),
    )
}

/// The names of the leaf columns in the order of their first pages.
fn order_of(file: &File) -> Vec<String> {
    let mut columns = file.inspect().unwrap().columns;
    columns.sort_by_key(|column| column.place);
    columns.into_iter().map(|column| column.name).collect()
}

#[test]
fn pages_lie_in_the_order_asked_for_and_then_in_that_of_the_schema() {
    let bytes = written(&["c30", "l", "s.b", "c3", "text"], deterministic());
    let file = open(&bytes).unwrap();
    let mut expected = vec!["c30", "l.item", "s.b", "c3", "text"];
    let others: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
    let others = others.iter().map(String::as_str).chain(["s.a"]);
    expected.extend(others.filter(|name| !["c30", "c3"].contains(name)));
    assert_eq!(order_of(&file), expected);
    assert_eq!(file.schema().unwrap().fields(), table(1).schema().fields());
    same_rows(&read_all(&file).unwrap(), &table(1_000), "in an order");
    file.verify().unwrap();
    // Without an order, that of the schema.
    let plain = open(&written(&[], deterministic())).unwrap();
    assert_eq!(order_of(&plain)[..3], ["c0", "c1", "c2"]);
    // A name covers what is in it, and a longer one comes before.
    let file = open(&written(&["s", "c1", "s.a"], deterministic())).unwrap();
    assert_eq!(order_of(&file)[..4], ["s.b", "c1", "s.a", "c0"]);
}

#[test]
fn the_bytes_depend_on_the_order_and_not_on_batches() {
    let table = table(1_000);
    for budget in [20_000, 256 << 20] {
        for page_bytes in [3_000, 8 << 20] {
            let options = || {
                deterministic()
                    .with_page_bytes(page_bytes)
                    .with_memory_budget_bytes(budget)
            };
            let order = ["c30", "s.b", "c3"];
            let whole = written(&order, options());
            assert!(whole != written(&[], options()));
            for rows in [1, 77, 640] {
                let starts = (0..table.num_rows()).step_by(rows);
                let batches: Vec<_> = starts
                    .map(|start| table.slice(start, rows.min(table.num_rows() - start)))
                    .collect();
                let cut = write(table.schema(), &batches, options().with_column_order(order));
                assert!(cut == whole, "{rows} rows, {budget} bytes");
            }
            let file = open(&whole).unwrap();
            same_rows(&read_all(&file).unwrap(), &table, "in an order");
        }
    }
}

#[test]
fn columns_that_lie_together_are_read_with_one_request() {
    let requests = |order: &[&str]| {
        // Long enough that nobody reads over the columns between.
        let table = table(20_000);
        let options = deterministic().with_column_order(order.to_vec());
        let bytes = write(table.schema(), &[table], options);
        let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
        let options = OpenOptions::new().with_threads(Threads::One);
        let file = File::open_reader(reader, options).unwrap();
        // Its last row in one column, and its first row in the next: both lie next to each other.
        let taken = file.take(&[0, 19_999]).columns(&["c3", "c30"]);
        taken.read_counted().unwrap().reads.requests
    };
    assert_eq!(requests(&[]), 4);
    assert_eq!(requests(&["c3", "c30"]), 3);
}

#[test]
fn names_that_lead_nowhere_or_twice_to_one_column_are_refused() {
    let refused = |order: &[&str], kind: ErrorKind, name: &str| {
        let options = WriteOptions::new().with_column_order(order.to_vec());
        let mut sink = Vec::new();
        let error = Writer::new(&mut sink, table(1).schema(), options)
            .err()
            .unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        assert!(sink.is_empty());
    };
    refused(&["c1", "c99"], ErrorKind::NoSuchColumn, "c99");
    refused(&["c1", "s.c"], ErrorKind::NoSuchColumn, "s.c");
    refused(&["c1", ""], ErrorKind::NoSuchColumn, "");
    refused(&["c1", "c2", "c1"], ErrorKind::InvalidInput, "c1");
    refused(&["s.a", "s.a"], ErrorKind::InvalidInput, "s.a");
}
