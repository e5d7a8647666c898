//! Scans of selected rows: those that a take of the same rows gives, of all types, before and after erasures, with the
//! numbers of the rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{
    Access, EmbedKernels, ErasureLevel, ErrorKind, File, OpenOptions, ROW_NUMBER, RowSelection,
    RowSet, WriteOptions,
};
use tarsia_arrow::{leaf_paths, reorder};
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::nested::{is_uninhabited, nested_array, nested_profiles, nested_types};
use tarsia_testkit::rng::Rng;

use crate::common::{one_column, open, same_rows, write};
use crate::erasure::erased;

const ROWS: u64 = 5_000;

/// Rows as real filters leave them: runs and gaps of all lengths, and single rows.
fn some_rows(rng: &mut Rng) -> Vec<u64> {
    let lengths = [1, 3, 40, 1_500];
    let (run, gap) = (*rng.pick(&lengths), *rng.pick(&lengths));
    let (mut rows, mut at) = (Vec::new(), rng.below(gap + 1) as u64);
    while at < ROWS {
        let end = ROWS.min(at + 1 + rng.below(run) as u64);
        rows.extend(at..end);
        at = end + 1 + rng.below(gap) as u64;
    }
    rows
}

fn options() -> WriteOptions {
    WriteOptions::new()
        .with_embed_kernels(EmbedKernels::Omit)
        .with_page_bytes(20_000)
}

/// Rows of a table, each once, with their numbers.
fn expected(batch: &RecordBatch, rows: &[u64]) -> RecordBatch {
    let places = UInt64Array::from(rows.to_vec());
    let columns = batch.columns().iter();
    let columns = columns.map(|column| reorder(column, &places).unwrap());
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(ROW_NUMBER, DataType::UInt64, false)));
    let mut columns: Vec<ArrayRef> = columns.collect();
    columns.push(Arc::new(places));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn read(file: &File, rows: &[u64], batch_rows: usize) -> Vec<RecordBatch> {
    let selection = RowSelection::from_rows(rows.iter().copied()).unwrap();
    let scan = file.scan().selection(selection).batch_rows(batch_rows);
    let batches = scan.with_row_numbers().build().unwrap().read_all().unwrap();
    assert!(batches.iter().all(|batch| batch.num_rows() <= batch_rows));
    batches
}

fn check(file: &File, batch: &RecordBatch, deleted: &[u64], rng: &mut Rng, what: &str) {
    for _ in 0..some_or_all(2, 10) {
        let rows = some_rows(rng);
        let live: Vec<u64> = rows
            .iter()
            .copied()
            .filter(|row| !deleted.contains(row))
            .collect();
        let batch_rows = *rng.pick(&[1_usize, 77, 1_024, 100_000]);
        let batch_rows = batch_rows.max(rows.len() / 50);
        same_rows(
            &read(file, &rows, batch_rows),
            &expected(batch, &live),
            what,
        );
    }
}

fn columns() -> Vec<ArrayRef> {
    let rows = ROWS as usize;
    let flat = flat_types()
        .into_iter()
        .zip(profiles(5).into_iter().cycle());
    let flat = flat.map(|(data_type, profile)| array(&data_type, rows, profile));
    let is_stored = |it: &DataType| !is_uninhabited(it) && leaf_paths(it, true).is_ok();
    let nested = nested_types().into_iter().filter(is_stored);
    let nested = nested.zip(nested_profiles(6).into_iter().cycle());
    let nested = nested.map(|(data_type, profile)| nested_array(&data_type, rows, &profile));
    flat.chain(nested).collect()
}

#[test]
fn selected_rows_of_every_type_are_those_of_the_table() {
    let mut rng = Rng::new(11);
    for column in columns() {
        let batch = one_column(column);
        let what = batch.schema().field(0).data_type().to_string();
        let file = open(&write(
            batch.schema(),
            std::slice::from_ref(&batch),
            options(),
        ))
        .unwrap();
        check(&file, &batch, &[], &mut rng, &what);
    }
}

#[test]
fn erased_rows_are_left_out_of_what_is_selected() {
    let mut rng = Rng::new(12);
    for (number, column) in columns().into_iter().enumerate() {
        if number % some_or_all(3, 1) != 0 {
            continue;
        }
        let batch = one_column(column);
        let what = batch.schema().field(0).data_type().to_string();
        for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
            let bytes = write(
                batch.schema(),
                std::slice::from_ref(&batch),
                options().with_erasure(level),
            );
            let file = open(&bytes).unwrap();
            let deleted = some_rows(&mut rng);
            let mut set = RowSet::new();
            deleted
                .iter()
                .for_each(|row| set.insert_range(*row..*row + 1));
            let file = open(&erased(&file, &set, level)).unwrap();
            check(
                &file,
                &batch,
                &deleted,
                &mut rng,
                &format!("{what} at {level:?}"),
            );
        }
    }
}

/// A table of which one column is long text.
fn table() -> RecordBatch {
    let numbers = Int64Array::from_iter_values((0..100_000).map(|i| i * i % 1_009));
    let text = (0..100_000).map(|i| format!("text {}", i * 7_919 % 10_007));
    let columns: [(&str, ArrayRef); 2] = [
        ("number", Arc::new(numbers)),
        ("text", Arc::new(StringArray::from_iter_values(text))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn rows_are_numbered_whatever_is_read() {
    let batch = table();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    std::fs::write(&path, write(batch.schema(), &[batch], options())).unwrap();
    for access in [Access::Map, Access::Read] {
        let file = File::open_with(&path, OpenOptions::new().with_access(access)).unwrap();
        let scan = || file.scan().rows(10..70_000).with_row_numbers();
        let names: [&[&str]; 3] = [&["text"], &[], &["text", "number"]];
        for names in names {
            let batches = scan().columns(names).build().unwrap();
            assert_eq!(batches.schema().fields().len(), names.len() + 1);
            let numbers = batches.flat_map(|batch| {
                let batch = batch.unwrap();
                let numbers = batch.column(names.len()).as_primitive::<UInt64Type>();
                numbers.values().to_vec()
            });
            assert!(numbers.eq(10..70_000));
        }
        // What is selected and the range both count, and the limit counts rows of both.
        let selection = RowSelection::from_rows((0..100_000).step_by(3)).unwrap();
        let found = scan().selection(selection.clone()).matching_rows().unwrap();
        assert_eq!(found, selection.within(10..70_000));
        let found = scan()
            .selection(selection)
            .limit(20_001)
            .matching_rows()
            .unwrap();
        assert_eq!((found.len(), found.end()), (20_001, 60_013));
        assert_eq!(scan().limit(0).count().unwrap(), 0);
        assert_eq!(scan().count().unwrap(), 69_990);
    }
}

#[test]
fn rows_that_the_file_lacks_cannot_be_selected() {
    let batch = one_column(Arc::new(Int64Array::from(vec![1, 2, 3])));
    let file = open(&write(batch.schema(), &[batch], options())).unwrap();
    let selection = RowSelection::from_rows([1, 3]).unwrap();
    let error = file.scan().selection(selection).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.to_string().contains("row 3 of 3"), "{error}");
    let none = file.scan().selection(RowSelection::none()).build().unwrap();
    assert_eq!(none.count(), 0);
}
