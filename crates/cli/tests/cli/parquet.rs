//! Exports to Parquet: what the library does not do by itself.

use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tarsia_convert::Format;
use tarsia_convert::target::Target;

use crate::run::{Folder, assert_same_table, read_table, write_table};

#[test]
fn a_decimal_beyond_its_precision_is_refused_by_parquet_inside_a_list() {
    let array = Decimal128Array::from(vec![i128::MAX])
        .with_precision_and_scale(15, 2)
        .unwrap();
    let item = Arc::new(Field::new("item", array.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([1]);
    let list = ListArray::new(item, offsets, Arc::new(array), None);
    let batch = RecordBatch::try_from_iter([("d", Arc::new(list) as ArrayRef)]).unwrap();
    let mut target = Target::new(Vec::new(), Format::Parquet, batch.schema()).unwrap();
    let line = target.write(&batch).unwrap_err().to_string();
    assert!(line.contains("column `d`: "), "{line}");
}

/// Rows without columns, in two batches.
fn rows_alone() -> (SchemaRef, Vec<RecordBatch>) {
    let metadata = [("made by".to_owned(), "a test".to_owned())].into();
    let schema = Arc::new(Schema::new_with_metadata(Vec::<Field>::new(), metadata));
    let batch = |rows| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap()
    };
    (schema.clone(), vec![batch(3), batch(2)])
}

#[test]
fn rows_without_columns_are_kept() {
    let folder = Folder::default();
    let (schema, batches) = rows_alone();
    for name in ["p.parquet", "a.arrow"] {
        write_table(&folder.path(name), &schema, &batches);
        let tarsia = format!("{name}.tarsia");
        let text = folder.run(&["import", name, &tarsia]).ok();
        assert!(text.contains("rows       5\n"), "{text}");
        for target in ["again.parquet", "again.arrow"] {
            folder.run(&["export", &tarsia, target]).ok();
            assert_same_table(
                &read_table(&folder.path(target)),
                &(schema.clone(), batches.clone()),
            );
        }
        folder.run(&["export", &tarsia, "again.jsonl"]).ok();
        assert_eq!(folder.read("again.jsonl"), "{}\n".repeat(5));
        let line = folder.run(&["export", &tarsia, "again.csv"]).fails(1);
        assert!(
            line.contains("again.csv: CSV cannot hold a table without columns"),
            "{line}"
        );
    }
    // Other readers count its rows by the footer or by its row groups.
    let bytes = std::fs::read(folder.path("p.parquet")).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let metadata = builder.metadata();
    assert_eq!(metadata.file_metadata().num_rows(), 5);
    assert_eq!(metadata.row_group(0).num_rows(), 5);
}

#[test]
fn parquet_of_many_columns_is_written_column_by_column() {
    let folder = Folder::default();
    let lists = tarsia_testkit::nested::nested_profiles(3).swap_remove(1);
    let pair = DataType::Struct(
        vec![
            Field::new("id", DataType::Int64, false),
            Field::new("names", DataType::new_list(DataType::Utf8, true), true),
        ]
        .into(),
    );
    let columns: Vec<(String, ArrayRef)> = (0..300)
        .map(|i| {
            let array: ArrayRef = match i % 3 {
                0 => Arc::new(Int64Array::from_iter_values(
                    (0..400).map(|row| row * i % 31),
                )),
                1 => Arc::new(StringArray::from_iter_values(
                    (0..400).map(|row| format!("{}", row % (i + 1))),
                )),
                _ => tarsia_testkit::nested::nested_array(&pair, 400, &lists),
            };
            (format!("c{i}"), array)
        })
        .collect();
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let table = (
        batch.schema(),
        vec![batch.slice(0, 150), batch.slice(150, 250)],
    );
    write_table(&folder.path("p.parquet"), &table.0, &table.1);
    assert_same_table(&read_table(&folder.path("p.parquet")), &table);
}

/// 5,000 writers, one per column, ask for more than 500 MB.
#[cfg(target_os = "linux")]
#[test]
fn parquet_of_many_columns_takes_little_memory() {
    let folder = Folder::default();
    let column = |i| {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![i, i + 1]));
        (format!("c{i}"), array)
    };
    let batch = RecordBatch::try_from_iter((0..5_000).map(column)).unwrap();
    folder.import(&batch.schema(), std::slice::from_ref(&batch));
    // Of addresses, in KiB; threads have memory of their own.
    let limited = format!(
        "ulimit -v 500000; exec {} export t.tarsia t.parquet",
        env!("CARGO_BIN_EXE_tarsia")
    );
    let mut shell = std::process::Command::new("sh");
    let shell = shell
        .args(["-c", &limited])
        .current_dir(folder.path(""))
        .env("RAYON_NUM_THREADS", "1")
        .env("MALLOC_ARENA_MAX", "1");
    let done = shell.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let table = (batch.schema(), vec![batch]);
    assert_same_table(&read_table(&folder.path("t.parquet")), &table);
}
