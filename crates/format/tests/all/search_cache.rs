//! Memory that a reader keeps to find blocks: at most a thousandth of what the columns decode to, page by page as they
//! are touched.

use std::sync::Arc;

use crate::common::{deterministic, open, write};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{File, OpenOptions, Threads};
use tarsia_io::{CountingReader, MemoryFile};
use tarsia_testkit::arrays::{Distribution, Nulls};
use tarsia_testkit::nested::{Lengths, NestedProfile, nested_array};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::tables::{flat_tables, nested_tables, read_parquet};

/// A page of one block has no table: what is kept of it is how many rows and bytes it has.
const PAGE_HEAD_BYTES: u64 = 16;

/// The table of a page of a few blocks: its header, one group, and 8 bytes each for starts and rows of blocks.
const TABLE_BYTES: u64 = 40;

#[test]
fn real_tables_take_a_thousandth_of_what_they_decode_to() {
    let mut over = vec![];
    for (name, path) in flat_tables().into_iter().chain(nested_tables()) {
        let (schema, batches) = read_parquet(&path);
        let bytes = write(schema, &batches, deterministic());
        drop(batches);
        let file = open(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        for batch in file.scan().build().unwrap() {
            batch.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let columns = file.inspect().unwrap().columns;
        let kept: u64 = columns.iter().map(|column| column.search_cache_bytes).sum();
        let decoded: u64 = columns.iter().map(|column| column.decoded_bytes).sum();
        let line = format!(
            "{name}: {kept} bytes in {} columns of {decoded}, {:.4} %",
            columns.len(),
            kept as f64 * 100.0 / decoded as f64
        );
        println!("{line}");
        // Whole tables stand above the thousandth by the heads alone, those of a thousand columns of a kilobyte.
        if kept > decoded / 1000 + PAGE_HEAD_BYTES * columns.len() as u64 {
            over.push(line);
        }
        for column in columns {
            let (kept, decoded) = (column.search_cache_bytes, column.decoded_bytes);
            if kept > decoded / 1000 + PAGE_HEAD_BYTES + TABLE_BYTES {
                over.push(format!("{name}.{}: {kept} bytes of {decoded}", column.name));
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

const ROWS: usize = 60_000;

fn two_columns() -> (Vec<u8>, Arc<Schema>) {
    let mut rng = Rng::new(7);
    let numbers = Int64Array::from_iter_values((0..ROWS).map(|_| rng.u64() as i64));
    let profile = NestedProfile::new(Nulls::Percent(5), Distribution::Random, Lengths::Short, 3);
    let lists = nested_array(&DataType::new_list(DataType::Int32, true), ROWS, &profile);
    let columns: Vec<ArrayRef> = vec![Arc::new(numbers), lists];
    let fields = ["flat", "nested"].into_iter().zip(&columns);
    let fields = fields.map(|(name, column)| Field::new(name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let options = deterministic().with_page_bytes(70_000);
    (write(schema.clone(), &[batch], options), schema)
}

/// The block table of a page is read when the page is first touched, once, and with it no other.
#[test]
fn tables_are_read_when_their_pages_are_touched() {
    let (bytes, schema) = two_columns();
    let open = || -> File {
        let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes.clone())));
        let options = OpenOptions::new().with_threads(Threads::One);
        File::open_reader(reader, options).unwrap()
    };
    // Another file, since looking at all tables reads them.
    let inspected = open().inspect().unwrap().columns;
    for (field, inspected) in schema.fields().iter().zip(inspected) {
        let file = open();
        let names = [field.name().as_str()];
        let touch = |row: usize| {
            let tarsia::Taken { reads, .. } = file
                .take(&[row as u64])
                .columns(&names)
                .read_counted()
                .unwrap();
            (reads.metadata_requests, reads.metadata_bytes)
        };
        assert!(inspected.pages >= 5 && inspected.blocks >= 5 * inspected.pages);
        // The first touch reads the column's record as well.
        assert!(touch(0).0 > 1);
        assert_eq!(touch(1), (0, 0));
        let mut tables = vec![];
        for row in (0..ROWS).step_by(101) {
            match touch(row) {
                (0, 0) => {}
                (1, bytes) => tables.push(bytes),
                other => panic!("row {row} of {names:?}: {other:?}"),
            }
            assert_eq!(touch(row), (0, 0), "row {row} of {names:?}");
        }
        // All pages but the first, whose table is what is left.
        assert_eq!(tables.len() as u64, inspected.pages - 1, "{names:?}");
        let kept: u64 = tables.iter().map(|bytes| bytes + PAGE_HEAD_BYTES).sum();
        let first = inspected.search_cache_bytes - kept - PAGE_HEAD_BYTES;
        let longest = tables.iter().max().unwrap();
        assert!(first >= 32 && first <= longest + 8, "{first} {tables:?}");
    }
}

#[test]
fn a_scan_of_some_rows_reads_the_tables_of_their_pages() {
    let (bytes, _) = two_columns();
    let file = open(&bytes).unwrap();
    let scan = file.scan().columns(&["flat"]).rows(0..10).build().unwrap();
    assert_eq!(
        scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        10
    );
    let touch = |row: usize, name: &str| {
        let tarsia::Taken { reads, .. } = file
            .take(&[row as u64])
            .columns(&[name])
            .read_counted()
            .unwrap();
        reads.metadata_requests
    };
    assert_eq!(touch(5, "flat"), 0);
    assert_eq!(touch(ROWS - 1, "flat"), 1);
    assert!(touch(5, "nested") > 1, "a column that nobody asked for");
}
