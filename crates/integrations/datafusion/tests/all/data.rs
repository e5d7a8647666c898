//! Tables of the tests.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray, StructArray,
    TimestampMicrosecondArray, UInt8Array,
};
use arrow_schema::{DataType, Field, Fields};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use tarsia::io::OnBusy;
use tarsia::{Eraser, ErasureLevel, OpenOptions, RowSet, WriteOptions, Writer};

/// Rows of the table `t`.
pub(crate) const ROWS: i64 = 20_000;

/// Rows of which fields are null that the first file of several lacks.
pub(crate) const ROWS_OF_OLD_FILE: i64 = 1_000;

/// Numbers without an order, the same each time.
fn mixed(row: i64) -> i64 {
    row.wrapping_mul(7_919).wrapping_add(row / 13) % 10_007
}

/// Rising numbers that are not regular, so that their pages are large enough for zones.
pub(crate) fn key(row: i64) -> i64 {
    row * 1_000_003 + mixed(row).wrapping_mul(104_729) % 1_000_003
}

/// A number that is null for some rows.
fn some<T>(row: i64, every: i64, value: T) -> Option<T> {
    (mixed(row) % every != 0).then_some(value)
}

fn special(row: i64) -> f64 {
    match mixed(row) % 41 {
        0 => f64::NAN,
        1 => -0.0,
        2 => 0.0,
        3 => 1.5,
        4 => f64::INFINITY,
        _ => (mixed(row) - 5_000) as f64 / 16.0,
    }
}

/// Columns of all types that conditions look at, of these rows.
pub(crate) fn table(rows: impl Iterator<Item = i64> + Clone) -> RecordBatch {
    let every = || rows.clone();
    let n = |row: i64| some(row, 11, (mixed(row) % 1_000 - 200) as i32);
    let text = |row: i64| some(row, 17, format!("name {}", mixed(row) % 97));
    let colour = |row: i64| ["red", "green", "blue"][(row / 3_000 % 3) as usize];
    let mut dict = StringDictionaryBuilder::<Int8Type>::new();
    let mut list = ListBuilder::new(Int32Builder::new());
    for row in every() {
        dict.append_option(some(
            row,
            7,
            ["a", "b", "c", "d"][(mixed(row) % 4) as usize],
        ));
        for item in 0..mixed(row) % 4 {
            list.values().append_value((mixed(row + item) % 9) as i32);
        }
        list.append(mixed(row) % 23 != 0);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(every()))),
        (
            "key",
            Arc::new(Int64Array::from_iter_values(every().map(key))),
        ),
        ("n", Arc::new(every().map(n).collect::<Int32Array>())),
        (
            "u",
            Arc::new(UInt8Array::from_iter_values(every().map(|row| row as u8))),
        ),
        (
            "m",
            Arc::new(
                every()
                    .map(|row| (row >= ROWS_OF_OLD_FILE).then_some(row % 60))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "x",
            Arc::new(
                every()
                    .map(|row| some(row, 19, special(row)))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "y",
            Arc::new(Float64Array::from_iter_values(
                every().map(|row| mixed(row) as f64 / 4.0),
            )),
        ),
        (
            "f",
            Arc::new(Float32Array::from_iter_values(
                every().map(|row| (mixed(row) % 100) as f32 / 10.0 - 3.0),
            )),
        ),
        (
            "t",
            Arc::new(every().map(text).collect::<StringViewArray>()),
        ),
        (
            "c",
            Arc::new(StringViewArray::from_iter_values(every().map(colour))),
        ),
        ("dict", Arc::new(dict.finish())),
        (
            "d",
            Arc::new(Date32Array::from_iter_values(
                every().map(|row| 19_000 + (row / 20) as i32),
            )),
        ),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                every().map(|row| 1_640_995_200_000_000 + row * 3_600_000_000),
            )),
        ),
        (
            "ok",
            Arc::new(
                every()
                    .map(|row| some(row, 5, mixed(row) % 3 == 0))
                    .collect::<BooleanArray>(),
            ),
        ),
        (
            "dec",
            Arc::new(
                every()
                    .map(|row| some(row, 29, i128::from(mixed(row) - 3_000) * 3))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
        (
            "bin",
            Arc::new(
                every()
                    .map(|row| some(row, 13, [(row % 128) as u8, 0xff]))
                    .collect::<BinaryViewArray>(),
            ),
        ),
        ("s", Arc::new(structs(every()))),
        ("l", Arc::new(list.finish())),
    ];
    let columns = columns.into_iter().map(|(name, array)| {
        let is_nullable = array.null_count() > 0 || name == "m";
        (name, array, is_nullable)
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Structs with a struct inside. Fields of structs that are null are null.
fn structs(rows: impl Iterator<Item = i64> + Clone) -> StructArray {
    let is_there = |row: i64| mixed(row) % 31 != 0;
    let a = |row: i64| {
        is_there(row)
            .then_some(())
            .and_then(|()| some(row, 9, (mixed(row) % 100) as i32))
    };
    let b = |row: i64| {
        (is_there(row) && row >= ROWS_OF_OLD_FILE).then(|| format!("b {}", mixed(row) % 20))
    };
    let e = |row: i64| is_there(row).then_some(mixed(row) % 6);
    let inner = Fields::from(vec![Field::new("e", DataType::Int64, true)]);
    let valid = |rows: &mut dyn Iterator<Item = i64>| -> Vec<bool> { rows.map(is_there).collect() };
    let nulls = valid(&mut rows.clone());
    let e: ArrayRef = Arc::new(rows.clone().map(e).collect::<Int64Array>());
    let c = StructArray::new(inner.clone(), vec![e], Some(nulls.clone().into()));
    let fields = Fields::from(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8View, true),
        Field::new("c", DataType::Struct(inner), true),
    ]);
    let a: ArrayRef = Arc::new(rows.clone().map(a).collect::<Int32Array>());
    let b: ArrayRef = Arc::new(rows.map(b).collect::<StringViewArray>());
    StructArray::new(fields, vec![a, b, Arc::new(c)], Some(nulls.into()))
}

/// A small table that is joined with `t`.
pub(crate) fn small() -> RecordBatch {
    let n: ArrayRef = Arc::new(Int32Array::from_iter(
        (0..40).map(|row| (row != 9).then_some(row * 5 - 50)),
    ));
    let label: ArrayRef = Arc::new(StringViewArray::from_iter_values(
        (0..40).map(|row| format!("label {}", row % 8)),
    ));
    let big: ArrayRef = Arc::new(Int64Array::from_iter_values((0..40).map(|row| row * 321)));
    RecordBatch::try_from_iter_with_nullable([
        ("n", n, true),
        ("label", label, false),
        ("big", big, false),
    ])
    .unwrap()
}

/// Writes a file in pages that are small for these tables.
pub(crate) fn write(path: &Path, batch: &RecordBatch) {
    let options = WriteOptions::new().with_page_bytes(64 << 10);
    write_with(path, batch, options);
}

pub(crate) fn write_with(path: &Path, batch: &RecordBatch, options: WriteOptions) {
    let mut writer = Writer::create(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Removes rows from a file, in place.
pub(crate) fn erase(path: &Path, rows: impl IntoIterator<Item = u64>, level: ErasureLevel) {
    let rows: RowSet = rows.into_iter().collect();
    let eraser = Eraser::open(path, OnBusy::Refuse, OpenOptions::new()).unwrap();
    let plan = eraser.plan(&rows, level).unwrap();
    eraser.commit(plan).unwrap();
}

/// A session that knows the format, with so many partitions. Files are cut however small they are.
pub(crate) fn session(partitions: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(1_000)
        .with_repartition_file_min_size(1);
    let ctx = SessionContext::new_with_config(config).enable_url_table();
    tarsia_datafusion::register(&ctx).unwrap();
    ctx
}

/// Makes a table of files.
pub(crate) async fn create(ctx: &SessionContext, name: &str, location: &Path, options: &str) {
    let statement = format!(
        "CREATE EXTERNAL TABLE {name} STORED AS TARSIA LOCATION '{}' {options}",
        location.display()
    );
    let made = ctx.sql(&statement).await.unwrap();
    made.collect().await.unwrap();
}

/// The rows of an answer as lines of text, without the head.
pub(crate) async fn lines(ctx: &SessionContext, statement: &str) -> Result<Vec<String>> {
    let batches = ctx.sql(statement).await?.collect().await?;
    let text = pretty_format_batches(&batches)?.to_string();
    Ok(text.lines().map(str::to_owned).collect())
}

/// The number that a statement answers.
pub(crate) async fn number(ctx: &SessionContext, statement: &str) -> i64 {
    let batches = ctx.sql(statement).await.unwrap().collect().await.unwrap();
    let column = batches[0].column(0).as_any().downcast_ref::<Int64Array>();
    column.unwrap().value(0)
}
