//! Layouts that are captured from one file and written again.

use std::sync::Arc;

use crate::common::{assert_rows, deterministic, open, read_all, write};
use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use tarsia::choose::Outline;
use tarsia::{ColumnOptions, File, Preset, WriteOptions};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::tables::{flat_tables, nested_tables, read_parquet};

fn written(batch: &RecordBatch, options: WriteOptions) -> File {
    let bytes = write(batch.schema(), std::slice::from_ref(batch), options);
    let file = open(&bytes).unwrap();
    assert_rows(&read_all(&file).unwrap(), batch);
    file
}

fn main_trees(file: &File) -> Vec<String> {
    let columns = file.inspect().unwrap().columns.into_iter();
    columns.map(|column| column.trees[0].0.clone()).collect()
}

fn sizes(file: &File) -> u64 {
    let columns = file.inspect().unwrap().columns;
    columns.iter().map(|column| column.encoded_bytes).sum()
}

/// A table whose columns have trees of several kinds; `blob` lies row by row.
fn table(seed: u64, rows: usize) -> RecordBatch {
    let mut rng = Rng::new(seed);
    let mut time = 0;
    let times = Int64Array::from_iter_values((0..rows).map(|_| {
        time += rng.below(100) as i64;
        time
    }));
    let city = |i: usize| format!("city number {}", i % 20);
    let cities = StringArray::from_iter_values((0..rows).map(|i| city(i / 3 + rng.below(3))));
    let blobs = BinaryArray::from_iter_values((0..rows).map(|_| rng.bytes(6000)));
    RecordBatch::try_from_iter([
        ("time", Arc::new(times) as ArrayRef),
        ("city", Arc::new(cities)),
        ("blob", Arc::new(blobs)),
    ])
    .unwrap()
}

#[test]
fn a_table_like_the_first_is_written_like_it() {
    let first = written(&table(1, 2000), deterministic());
    let trees = main_trees(&first);
    assert!(trees[2].starts_with("full-zip"), "{trees:?}");
    let layout = first.capture_layout().unwrap();
    assert_eq!(layout.n_columns(), 3);
    assert_eq!(layout.outline("time").unwrap().to_string(), trees[0]);
    assert_eq!(layout.outline("blob"), None);
    let like = written(&table(2, 2000), deterministic().with_layout(layout));
    assert_eq!(main_trees(&like), trees);
}

#[test]
fn the_layout_counts_where_a_search_would_find_another() {
    let outline: Outline = "delta(plain)".parse().unwrap();
    let options = deterministic()
        .with_column("time", ColumnOptions::new().with_outline(outline.clone()))
        .with_full_zip_bytes_min(u32::MAX);
    let first = written(&table(1, 2000), options);
    let layout = first.capture_layout().unwrap();
    assert_eq!(layout.outline("time"), Some(&outline));
    let of_blobs = layout.outline("blob").unwrap().to_string();
    assert_eq!(of_blobs, "bytes(constant)");
    let like = written(&table(1, 2000), deterministic().with_layout(layout.clone()));
    assert_eq!(main_trees(&like), main_trees(&first));
    // What the options of a column say counts before it.
    let other = ColumnOptions::new().with_preset(Preset::Balanced);
    let options = deterministic()
        .with_layout(layout)
        .with_column("time", other);
    let searched = written(&table(1, 2000), options);
    assert_ne!(main_trees(&searched)[0], "delta(plain)");
}

#[test]
fn columns_that_either_table_lacks_are_passed_over() {
    let first = written(&table(1, 500).project(&[0, 1]).unwrap(), deterministic());
    let layout = first.capture_layout().unwrap();
    let other = table(1, 500).project(&[1, 2]).unwrap();
    let like = written(&other, deterministic().with_layout(layout));
    let searched = written(&other, deterministic());
    assert_eq!(main_trees(&like), main_trees(&searched));
}

#[test]
fn values_that_the_encodings_do_not_suit_are_searched() {
    let constant = Int64Array::from(vec![7; 5000]);
    let constant = RecordBatch::try_from_iter([("x", Arc::new(constant) as ArrayRef)]).unwrap();
    let first = written(&constant, deterministic());
    assert_eq!(main_trees(&first), ["constant"]);
    let layout = first.capture_layout().unwrap();
    let mut rng = Rng::new(1);
    let many = Int64Array::from_iter_values((0..5000).map(|_| rng.below(1000) as i64));
    let many = RecordBatch::try_from_iter([("x", Arc::new(many) as ArrayRef)]).unwrap();
    let like = written(&many, deterministic().with_layout(layout.clone()));
    assert_eq!(main_trees(&like), ["bitpack"]);
    // Neither does another type.
    let text = StringArray::from_iter_values((0..500).map(|i| format!("{i} and more")));
    let text = RecordBatch::try_from_iter([("x", Arc::new(text) as ArrayRef)]).unwrap();
    let like = written(&text, deterministic().with_layout(layout));
    let searched = written(&text, deterministic());
    assert_eq!(main_trees(&like), main_trees(&searched));
}

#[test]
fn real_tables_keep_their_size_under_their_own_layout() {
    for (name, path) in flat_tables().into_iter().chain(nested_tables()) {
        let (schema, batches) = read_parquet(&path);
        let bytes = write(schema.clone(), &batches, deterministic());
        let first = open(&bytes).unwrap();
        let layout = first.capture_layout().unwrap();
        let bytes = write(schema, &batches, deterministic().with_layout(layout));
        let like = open(&bytes).unwrap();
        assert_eq!(like.num_rows(), first.num_rows(), "{name}");
        let (like, first) = (sizes(&like), sizes(&first));
        assert!(like.abs_diff(first) * 50 <= first, "{name}: {like} {first}");
    }
}
