//! Tables as record batches: one to start from, and their comparison.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{Schema, SchemaRef};

/// The schema and the batches of a table.
pub type Table = (SchemaRef, Vec<RecordBatch>);

/// Compares two tables whose batches may be cut differently: schema with all metadata, and every bit of every value.
///
/// # Panics
/// They differ.
#[track_caller]
pub fn assert_same_table(got: &Table, expected: &Table) {
    assert_eq!(got.0, expected.0);
    let rows = |table: &[RecordBatch]| table.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(rows(&got.1), rows(&expected.1));
    for (i, field) in expected.0.fields().iter().enumerate() {
        // Pieces that lie in one batch on both sides, so that nothing has to be joined and dictionaries may differ.
        let (mut left, mut right) = (got.1.iter(), expected.1.iter());
        let (mut a, mut b): (Option<ArrayRef>, Option<ArrayRef>) = (None, None);
        loop {
            a = a
                .filter(|a| !a.is_empty())
                .or_else(|| next_array(&mut left, i));
            b = b
                .filter(|b| !b.is_empty())
                .or_else(|| next_array(&mut right, i));
            let (Some(x), Some(y)) = (&a, &b) else { break };
            let n = x.len().min(y.len());
            let (left, right) = (x.slice(0, n), y.slice(0, n));
            let compared = match field.data_type().is_nested() {
                true => crate::nested::logical_difference(&left, &right),
                false => crate::arrays::bit_difference(&left, &right),
            };
            if let Err(difference) = compared {
                panic!(
                    "column `{}` of type {}: {difference}",
                    field.name(),
                    field.data_type()
                );
            }
            let (rest_x, rest_y) = (x.slice(n, x.len() - n), y.slice(n, y.len() - n));
            (a, b) = (Some(rest_x), Some(rest_y));
        }
    }
}

/// The column of the next batch that has rows.
fn next_array<'a>(
    batches: &mut impl Iterator<Item = &'a RecordBatch>,
    column: usize,
) -> Option<ArrayRef> {
    batches
        .find(|batch| batch.num_rows() > 0)
        .map(|batch| batch.column(column).clone())
}

/// Makes a small table with nulls, specials and metadata: `id`, `x`, `name`, `flag`, `price`, `day`, `at`, `raw`.
pub fn small_table() -> (SchemaRef, Vec<RecordBatch>) {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "id",
            Arc::new(Int64Array::from(vec![1, 2, i64::MAX, i64::MIN, 5])),
        ),
        (
            "x",
            Arc::new(Float64Array::from(vec![
                Some(0.1),
                None,
                Some(f64::NAN),
                Some(f64::INFINITY),
                Some(-0.0),
            ])),
        ),
        (
            "name",
            Arc::new(StringArray::from(vec![
                Some("a,b"),
                Some(""),
                None,
                Some("\u{1b}[31mred\n\"q\""),
                Some("é"),
            ])),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                None,
                Some(true),
                Some(false),
            ])),
        ),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(1), Some(-250), None, Some(99_999), Some(0)])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(19_782),
                None,
                Some(-1),
                Some(1),
            ])),
        ),
        (
            "at",
            Arc::new(
                TimestampMicrosecondArray::from(vec![
                    Some(0),
                    Some(1_500_000),
                    None,
                    Some(-1),
                    Some(1),
                ])
                .with_timezone("UTC"),
            ),
        ),
        (
            "raw",
            Arc::new(BinaryArray::from(vec![
                Some(&[0_u8, 255][..]),
                None,
                Some(b""),
                Some(b"abc"),
                Some(b"z"),
            ])),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let batch = batch.unwrap();
    let mut fields: Vec<_> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields[0].set_metadata([("unit".to_owned(), "none".to_owned())].into());
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        [("made by".to_owned(), "a test".to_owned())].into(),
    ));
    let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec()).unwrap();
    (schema, vec![batch])
}

/// The columns of [`small_table`] that are not named here.
pub fn small_table_without(names: &[&str]) -> (SchemaRef, Vec<RecordBatch>) {
    let (schema, batches) = small_table();
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|&i| !names.contains(&schema.field(i).name().as_str()))
        .collect();
    let batches: Vec<RecordBatch> = batches
        .iter()
        .map(|batch| batch.project(&kept).unwrap())
        .collect();
    (batches[0].schema(), batches)
}
