//! Comparison of nested arrays finds what differs and nothing else, case by case.
#![cfg(feature = "arrow")]

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Float64Array, Int8Array, Int32Array,
    ListArray, ListViewArray, NullArray, RecordBatch, RunArray, StringArray, StructArray,
    UnionArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, UnionFields};
use tarsia_testkit::arrays::{Distribution, Nulls};
use tarsia_testkit::nested::{
    Lengths, NestedProfile, assert_logically_equal, batch_logical_difference, logical_difference,
    nested_array,
};

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn list_of(items: ArrayRef, offsets: Vec<i32>, valid: Vec<bool>) -> ListArray {
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::new(offsets.into());
    ListArray::new(item, offsets, items, Some(valid.into()))
}

#[test]
fn lists_are_compared_by_their_items() {
    let base = list_of(
        ints(&[Some(1), Some(2), None]),
        vec![0, 2, 2, 3],
        vec![true; 3],
    );
    let moved = list_of(
        ints(&[Some(9), Some(1), Some(2), None, None]),
        vec![1, 3, 3, 4],
        vec![true; 3],
    );
    assert_logically_equal(&base, &moved);
    let null = list_of(
        ints(&[Some(1), Some(2), Some(8), None]),
        vec![0, 2, 3, 4],
        vec![true, false, true],
    );
    assert_eq!(
        difference(&base, &null),
        "List(Int32), row 1: a value instead of null"
    );
    assert_eq!(
        difference(&null, &base),
        "List(Int32), row 1: null instead of a value"
    );
    let other_garbage = list_of(
        ints(&[Some(1), Some(2), None]),
        vec![0, 2, 2, 3],
        vec![true, false, true],
    );
    assert_logically_equal(&null, &other_garbage);
    let longer = list_of(
        ints(&[Some(1), Some(2), None]),
        vec![0, 1, 2, 3],
        vec![true; 3],
    );
    assert_eq!(
        difference(&longer, &base),
        "List(Int32), row 0: 1 items instead of 2"
    );
    let changed = list_of(
        ints(&[Some(1), Some(2), Some(0)]),
        vec![0, 2, 2, 3],
        vec![true; 3],
    );
    assert_eq!(
        difference(&changed, &base),
        "[] (Int32), row 2: a value instead of null"
    );
    assert_eq!(difference(&base.slice(0, 2), &base), "2 rows instead of 3");

    let view = |offsets: Vec<i32>, sizes: Vec<i32>, items: &[Option<i32>]| {
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        ListViewArray::new(item, offsets.into(), sizes.into(), ints(items), None)
    };
    assert_logically_equal(
        &view(vec![2, 0], vec![2, 2], &[Some(1), Some(2), Some(3), None]),
        &view(
            vec![0, 3],
            vec![2, 2],
            &[Some(3), None, Some(7), Some(1), Some(2)],
        ),
    );
    assert!(
        difference(
            &view(vec![0, 0], vec![1, 1], &[Some(1)]),
            &view(vec![0, 1], vec![1, 1], &[Some(1), Some(2)]),
        )
        .contains("[] (Int32), row 1")
    );
}

#[test]
fn types_are_compared_with_all_of_their_fields() {
    let vector = |field: Field| {
        let items = ints(&[Some(1), Some(2)]);
        FixedSizeListArray::new(Arc::new(field), 2, items, None)
    };
    let base = Field::new("item", DataType::Int32, true);
    let metadata = HashMap::from([("key".to_owned(), "value".to_owned())]);
    for other in [
        base.clone().with_name("element"),
        base.clone().with_nullable(false),
        base.clone().with_metadata(metadata),
    ] {
        let text = difference(&vector(other), &vector(base.clone()));
        assert!(text.starts_with("type "), "{text}");
    }
    assert_logically_equal(&vector(base.clone()), &vector(base));
}

#[test]
fn runs_and_dictionaries_are_compared_by_what_rows_mean() {
    let dictionary = |keys: Vec<Option<i8>>, values: Vec<Option<&str>>| {
        let values = Arc::new(StringArray::from(values));
        DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values)
    };
    let base = dictionary(vec![Some(0), None, Some(0)], vec![Some("a")]);
    let other = dictionary(
        vec![Some(2), Some(1), Some(0)],
        vec![Some("a"), None, Some("a")],
    );
    assert_logically_equal(&base, &other);
    assert!(difference(&base, &dictionary(vec![Some(0); 3], vec![Some("a")])).contains("row 1"));
    let empty = dictionary(vec![None; 3], vec![]);
    assert_logically_equal(&empty, &dictionary(vec![Some(0); 3], vec![None]));
    assert!(difference(&empty, &base).contains("row 0"));

    let runs = |ends: Vec<i32>, values: &[Option<i32>]| {
        RunArray::<Int32Type>::try_new(&Int32Array::from(ends), &ints(values)).unwrap()
    };
    let base = runs(vec![2, 5], &[Some(1), None]);
    assert_logically_equal(&base, &runs(vec![1, 2, 5], &[Some(1), Some(1), None]));
    let text = difference(&base, &runs(vec![3, 5], &[Some(1), None]));
    assert!(text.contains("row 2: null instead of a value"), "{text}");
    let cut = runs(vec![3, 6, 7], &[Some(1), None, Some(4)]).slice(1, 5);
    assert_logically_equal(&cut, &base);
}

#[test]
fn unions_are_compared_by_type_id_and_value() {
    let union = |ids: Vec<i8>, offsets: Option<Vec<i32>>, left: &[Option<i32>], right: &[f64]| {
        let arms = [
            Field::new("l", DataType::Int32, true),
            Field::new("r", DataType::Float64, false),
        ];
        let fields = UnionFields::try_new([7, 2], arms).unwrap();
        let right: ArrayRef = Arc::new(Float64Array::from(right.to_vec()));
        let offsets = offsets.map(Into::into);
        UnionArray::try_new(fields, ids.into(), offsets, vec![ints(left), right]).unwrap()
    };
    let base = union(vec![7, 2], None, &[Some(1), Some(9)], &[0.5, 0.0]);
    // What is not chosen does not count.
    assert_logically_equal(
        &base,
        &union(vec![7, 2], None, &[Some(1), None], &[1.5, 0.0]),
    );
    let text = difference(
        &base,
        &union(vec![7, 2], None, &[Some(1), None], &[1.5, -0.0]),
    );
    assert!(text.starts_with("<r> (Float64), row 1: "), "{text}");
    let text = difference(
        &base,
        &union(vec![7, 7], None, &[Some(1), Some(9)], &[0.5, 0.0]),
    );
    assert!(text.ends_with("row 1: type id 2 instead of 7"), "{text}");
    let dense = union(vec![7, 2], Some(vec![0, 0]), &[Some(1)], &[0.0]);
    assert!(difference(&base, &dense).contains("type"));
    let other = union(
        vec![7, 2],
        Some(vec![1, 2]),
        &[None, Some(1)],
        &[1.0, 2.0, 0.0],
    );
    assert_logically_equal(&dense, &other);
}

#[test]
fn what_is_under_a_null_struct_does_not_count() {
    let point = |valid: Vec<bool>, x: &[Option<i32>]| {
        let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
        StructArray::new(fields, vec![ints(x)], Some(valid.into()))
    };
    let base = point(vec![true, false], &[Some(1), Some(2)]);
    assert_logically_equal(&base, &point(vec![true, false], &[Some(1), None]));
    let text = difference(&base, &point(vec![true, false], &[Some(2), None]));
    assert_eq!(
        text,
        ".x (Int32), row 0: [01, 00, 00, 00] instead of [02, 00, 00, 00]"
    );
    let nothing = StructArray::new_empty_fields(2, Some(vec![true, false].into()));
    let other = StructArray::new_empty_fields(2, Some(vec![false, false].into()));
    assert!(difference(&nothing, &other).contains("row 0"));
    assert_logically_equal(&NullArray::new(3), &NullArray::new(3));
}

#[test]
fn batches_are_compared_with_their_schemas() {
    let batch = |name: &str, values: Vec<f64>| {
        let item = Arc::new(Field::new("item", DataType::Float64, true));
        let n_rows = values.len() / 2;
        let items = Arc::new(Float64Array::from(values));
        let lists = FixedSizeListArray::new(item, 2, items, None);
        assert_eq!(lists.len(), n_rows);
        let schema = Schema::new(vec![Field::new(name, lists.data_type().clone(), true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(lists)]).unwrap()
    };
    let base = batch("a", vec![1.0, 2.0, 3.0, f64::NAN]);
    assert_eq!(batch_logical_difference(&base, &base.clone()), Ok(()));
    let fails = |other: RecordBatch, text: &str| {
        let difference = batch_logical_difference(&other, &base).unwrap_err();
        assert!(difference.contains(text), "{difference}");
    };
    fails(batch("b", vec![1.0, 2.0, 3.0, f64::NAN]), "schema");
    fails(batch("a", vec![1.0, 2.0]), "1 rows instead of 2");
    fails(
        batch("a", vec![1.0, 2.0, 4.0, f64::NAN]),
        "a[] (Float64), row 1",
    );
}

#[test]
fn a_hundred_thousand_rows_are_compared_level_by_level() {
    let fields = Fields::from(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("score", DataType::Float64, true),
    ]);
    let item = Arc::new(Field::new("item", DataType::Struct(fields), true));
    let profile = NestedProfile::new(Nulls::Percent(30), Distribution::Random, Lengths::Short, 1);
    let made = nested_array(&DataType::List(item), 100_000, &profile);
    assert_logically_equal(&made, &made.slice(0, 100_000));
    let list = made.as_list::<i32>();
    let is_there = |at: usize| {
        let items = list.values().as_struct();
        items.is_valid(at) && items.column(2).is_valid(at)
    };
    let row = (0..100_000)
        .rev()
        .find(|row| list.is_valid(*row) && list.value_length(*row) > 0);
    let row = row.unwrap();
    let at = list.value_offsets()[row] as usize;
    // The last item of all changes, where it counts.
    let items = list.values().as_struct();
    let mut columns = items.columns().to_vec();
    let scores = columns[2].as_primitive::<Float64Type>();
    let changed = scores
        .iter()
        .enumerate()
        .map(|(index, score)| match index == at {
            true if is_there(at) => None,
            _ => score,
        });
    columns[2] = Arc::new(Float64Array::from_iter(changed));
    let items = StructArray::new(items.fields().clone(), columns, items.nulls().cloned());
    let DataType::List(item) = made.data_type() else {
        unreachable!()
    };
    let other = ListArray::new(
        item.clone(),
        list.offsets().clone(),
        Arc::new(items),
        list.nulls().cloned(),
    );
    match is_there(at) {
        true => assert!(
            difference(&other, &made).starts_with(&format!("[].score (Float64), row {row}"))
        ),
        false => assert_logically_equal(&other, &made),
    }
}

fn difference(got: &dyn Array, expected: &dyn Array) -> String {
    logical_difference(got, expected).expect_err("they differ")
}
