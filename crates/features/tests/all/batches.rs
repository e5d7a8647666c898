//! Record batches with dual columns.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, RecordBatchOptions,
    StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia_features::dual::{
    dual_field, is_dual, join_columns, split_columns, widen_columns, widen_high,
};

use crate::lists::fixed;

fn batch() -> RecordBatch {
    let vectors = Arc::new(Float32Array::from_iter_values(
        (0..6).map(|i| i as f32 / 7.0),
    ));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("key", Arc::new(Int32Array::from(vec![1, 2, 3])), false),
        ("vector", fixed(&(vectors as ArrayRef), 2, 3, &[1]), true),
        (
            "score",
            Arc::new(Float64Array::from(vec![0.1, 0.2, 0.3])),
            false,
        ),
        (
            "plain",
            Arc::new(Float32Array::from(vec![0.1, 0.2, 0.3])),
            false,
        ),
    ];
    let fields = columns
        .iter()
        .map(|(name, array, nullable)| Field::new(*name, array.data_type().clone(), *nullable));
    let metadata = [("of".to_owned(), "the schema".to_owned())];
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata.into());
    let columns = columns.iter().map(|(_, array, _)| array.clone()).collect();
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns of the schema")
}

#[test]
fn named_columns_are_split_and_all_dual_ones_joined() {
    let batch = batch();
    // Named twice is named.
    let split = split_columns(&batch, &["score", "vector", "score"]).expect("floats");
    let marked: Vec<bool> = split
        .schema()
        .fields()
        .iter()
        .map(|field| is_dual(field))
        .collect();
    assert_eq!(marked, [false, true, true, false]);
    assert_eq!(split.schema().metadata(), batch.schema().metadata());
    assert_eq!(join_columns(&split).expect("halves"), batch);
    assert_eq!(
        join_columns(&split.slice(1, 2)).expect("halves"),
        batch.slice(1, 2)
    );
    assert_eq!(split_columns(&batch, &[]).expect("nothing to do"), batch);
    assert_eq!(join_columns(&batch).expect("nothing to do"), batch);
}

#[test]
fn high_alone_is_widened_but_not_joined() {
    let batch = batch();
    let split = split_columns(&batch, &["vector"]).expect("floats");
    let wide = widen_columns(&split).expect("halves");
    assert_eq!(wide.schema(), batch.schema());

    // What a projection to `vector.high` reads.
    let schema = split.schema();
    let (field, column) = (schema.field(1), split.column(1));
    let column = arrow_array::cast::as_struct_array(column);
    let fields = vec![column.fields()[0].clone()];
    let field = field
        .clone()
        .with_data_type(DataType::Struct(fields.clone().into()));
    let high = vec![column.column(0).clone()];
    let expect = widen_high(&high[0]).expect("a half");
    let high = StructArray::new(fields.into(), high, column.nulls().cloned());
    let schema = Arc::new(Schema::new(vec![field]));
    let projected = RecordBatch::try_new(schema, vec![Arc::new(high)]).expect("a column");
    let error = join_columns(&projected).expect_err("no low").to_string();
    assert!(error.contains("no field `low`"), "{error}");
    let projected = widen_columns(&projected).expect("high");
    assert_eq!(projected.column(0), &expect);
    assert_eq!(projected.column(0), wide.column(1));
    assert_eq!(projected.schema().field(0), batch.schema().field(1));
}

#[test]
fn names_must_be_of_one_column() {
    let check = |batch: &RecordBatch, names: &[&str], expect: &str| {
        let error = split_columns(batch, names).expect_err(expect).to_string();
        assert_eq!(error, format!("Invalid argument error: {expect}"));
    };
    let batch = batch();
    check(&batch, &["score", "z", "y"], "no column is named \"y\"");
    let expect = "Int32 has no halves: only Float32, Float64 and lists of them do";
    check(&batch, &["key"], expect);
    let twice = batch.project(&[2, 0, 2]).expect("columns");
    check(&twice, &["score"], "several columns are named \"score\"");
    assert_eq!(split_columns(&twice, &[]).expect("nothing to do"), twice);
}

#[test]
fn batches_without_columns_or_rows_stay() {
    let options = RecordBatchOptions::new().with_row_count(Some(7));
    let schema = Arc::new(Schema::empty());
    let empty = RecordBatch::try_new_with_options(schema, vec![], &options).expect("no columns");
    assert_eq!(
        split_columns(&empty, &[]).expect("no columns").num_rows(),
        7
    );
    assert_eq!(join_columns(&empty).expect("no columns").num_rows(), 7);
    let no_rows = batch().slice(1, 0);
    let split = split_columns(&no_rows, &["vector", "plain"]).expect("floats");
    assert_eq!(join_columns(&split).expect("halves"), no_rows);
}

#[test]
fn marked_columns_of_other_types_are_refused() {
    let field = Field::new("x", DataType::Float32, true);
    let dual = dual_field(&field)
        .expect("floats")
        .with_data_type(DataType::Float32);
    let columns: Vec<ArrayRef> = vec![Arc::new(Float32Array::from(vec![1.0]))];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![dual])), columns);
    let batch = batch.expect("a column");
    for result in [join_columns(&batch), widen_columns(&batch)] {
        let error = result.expect_err("no struct").to_string();
        assert!(error.ends_with("its type is no struct"), "{error}");
    }
}
