//! Arrays of all flat types can be made, and comparison finds what differs.
#![cfg(feature = "arrow")]

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array,
    RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia_testkit::arrays::{
    Distribution, Nulls, Profile, array, assert_bit_equal, batch_bit_equal, bit_difference,
    flat_types, profiles, sliced,
};

#[test]
fn arrays_have_the_rows_and_nulls_they_should() {
    for data_type in flat_types() {
        for profile in profiles(5) {
            for rows in [0, 1, 700] {
                let made = array(&data_type, rows, profile);
                made.to_data()
                    .validate_full()
                    .unwrap_or_else(|error| panic!("{data_type} {profile:?}: {error}"));
                assert_eq!((made.data_type(), made.len()), (&data_type, rows));
                let n_nulls = made.logical_null_count();
                match profile.nulls {
                    _ if data_type == DataType::Null => assert_eq!(n_nulls, rows),
                    Nulls::None | Nulls::EmptyBitmap => {
                        assert_eq!(n_nulls, 0, "{data_type} {profile:?}")
                    }
                    Nulls::All => assert_eq!(n_nulls, rows, "{data_type} {profile:?}"),
                    Nulls::Percent(30) if rows == 700 => {
                        assert!(
                            (100..500).contains(&n_nulls),
                            "{data_type} {profile:?}: {n_nulls}"
                        );
                    }
                    _ => {}
                }
                assert_bit_equal(&made, &array(&data_type, rows, profile));
                let cut = sliced(&data_type, rows, profile);
                assert_eq!(cut.len(), rows);
                assert_bit_equal(&cut, &cut.slice(0, rows));
            }
        }
    }
}

#[test]
fn slices_equal_their_part_of_the_whole() {
    let profile = Profile::new(Nulls::Percent(20), Distribution::Random, 9);
    for data_type in flat_types() {
        let whole = array(&data_type, 219, profile);
        let part = sliced(&data_type, 200, profile);
        assert_bit_equal(&part, &whole.slice(13, 200));
        let shifted = bit_difference(&whole.slice(13, 200), &whole.slice(14, 200));
        let may_be_equal = matches!(data_type, DataType::Null);
        assert_eq!(shifted.is_ok(), may_be_equal, "{data_type}");
    }
}

fn difference(got: &dyn Array, expected: &dyn Array) -> String {
    bit_difference(got, expected).expect_err("they differ")
}

#[test]
fn differences_are_named() {
    let ints = |values: &[Option<i32>]| Int32Array::from(values.to_vec());
    let base = ints(&[Some(1), None, Some(3)]);
    assert_bit_equal(&base, &ints(&[Some(1), None, Some(3)]));
    assert_eq!(
        difference(&base, &ints(&[Some(1), None, Some(4)])),
        "Int32, row 2: [03, 00, 00, 00] instead of [04, 00, 00, 00]"
    );
    assert_eq!(
        difference(&base, &ints(&[Some(1), Some(2), Some(3)])),
        "Int32, row 1: null instead of [02, 00, 00, 00]"
    );
    assert_eq!(
        difference(&ints(&[Some(1), Some(2), Some(3)]), &base),
        "Int32, row 1: [02, 00, 00, 00] instead of null"
    );
    assert_eq!(
        difference(&base, &base.slice(0, 2)),
        "Int32: 3 rows instead of 2"
    );
    assert_eq!(
        difference(&base, &StringArray::from(vec!["a"])),
        "type Int32 instead of Utf8"
    );
    let floats = |value: f64| Float64Array::from(vec![value]);
    assert_bit_equal(&floats(f64::NAN), &floats(f64::NAN));
    assert!(difference(&floats(0.0), &floats(-0.0)).contains("row 0"));
    let payload = f64::from_bits(f64::NAN.to_bits() | 1);
    assert!(difference(&floats(f64::NAN), &floats(payload)).contains("row 0"));
    let bits = BooleanArray::from(vec![true, false]);
    assert_eq!(
        difference(&bits, &BooleanArray::from(vec![true, true])),
        "Boolean, row 1: false instead of true"
    );
}

fn dictionary(keys: Vec<Option<i8>>, values: Vec<Option<&str>>) -> ArrayRef {
    let values = Arc::new(StringArray::from(values));
    Arc::new(DictionaryArray::<Int8Type>::new(
        Int8Array::from(keys),
        values,
    ))
}

#[test]
fn dictionaries_are_compared_by_what_they_mean() {
    let base = dictionary(vec![Some(0), Some(1), None], vec![Some("a"), Some("b")]);
    assert_bit_equal(
        &base,
        &dictionary(
            vec![Some(2), Some(0), Some(1)],
            vec![Some("b"), None, Some("a")],
        ),
    );
    let other = dictionary(vec![Some(0), Some(1), None], vec![Some("a"), Some("c")]);
    assert!(difference(&base, &other).contains("row 1"));
    let empty = dictionary(vec![None, None], vec![]);
    assert_bit_equal(&empty, &dictionary(vec![None, Some(0)], vec![None]));
}

#[test]
fn batches_are_compared_with_their_schemas() {
    let batch = |name: &str, values: Vec<i32>| {
        let schema = Schema::new(vec![Field::new(name, DataType::Int32, false)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from(values))]).unwrap()
    };
    batch_bit_equal(&batch("a", vec![1, 2]), &batch("a", vec![1, 2]));
    let fails = |got: RecordBatch, expected: RecordBatch, text: &str| {
        let compare = std::panic::AssertUnwindSafe(|| batch_bit_equal(&got, &expected));
        let panic = std::panic::catch_unwind(compare).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains(text), "{message}");
    };
    fails(batch("a", vec![1]), batch("b", vec![1]), "schemas differ");
    fails(
        batch("a", vec![1]),
        batch("a", vec![1, 2]),
        "numbers of rows differ",
    );
    fails(
        batch("a", vec![1]),
        batch("a", vec![2]),
        "column a: Int32, row 0",
    );
}
