//! Arrays in halves.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt16Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int32Array, ListArray,
    StringArray, StructArray, UInt16Array, UInt32Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use tarsia_features::dual;

use crate::lists::{fixed, leaf_of, lists, nulls_at, shapes};

fn floats_32(n: usize) -> ArrayRef {
    let bits = (0..n as u32).map(|i| i.wrapping_mul(0x9E37_79B9) ^ 0x7F81_8000);
    let floats = bits.map(|bits| (bits % 5 != 0).then(|| f32::from_bits(bits)));
    Arc::new(Float32Array::from_iter(floats))
}

fn floats_64(n: usize) -> ArrayRef {
    let bits = (0..n as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let floats = bits.map(|bits| (bits % 5 != 0).then(|| f64::from_bits(bits)));
    Arc::new(Float64Array::from_iter(floats))
}

fn pair(high: ArrayRef, low: ArrayRef) -> StructArray {
    struct_of(&[("high", high), ("low", low)])
}

fn struct_of(columns: &[(&str, ArrayRef)]) -> StructArray {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let fields: Fields = columns.iter().map(field).collect();
    let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
    StructArray::try_new(fields, arrays, None).expect("columns of one length")
}

fn halves(values: &[u16]) -> ArrayRef {
    Arc::new(UInt16Array::from(values.to_vec()))
}

#[test]
fn arrays_come_back() {
    let arrays = shapes(floats_32).into_iter().chain(shapes(floats_64));
    for array in arrays {
        let dual = dual::split(&array).expect("floats");
        assert_eq!(dual.len(), array.len());
        for half in [&dual as &dyn Array, dual.column(0), dual.column(1)] {
            let is_null = |array: &dyn Array| (0..array.len()).map(|i| array.is_null(i)).collect();
            let (of_half, of_array): (Vec<bool>, Vec<bool>) = (is_null(half), is_null(&array));
            assert_eq!(of_half, of_array, "{}", array.data_type());
        }
        let field = Field::new("x", array.data_type().clone(), true);
        let field = dual::dual_field(&field).expect("floats");
        assert_eq!(dual.data_type(), field.data_type());
        let joined = dual::join(&dual).expect("halves");
        assert_eq!(&joined, &array);
        joined.to_data().validate_full().expect("an array");
    }
}

#[test]
fn halves_may_be_sliced_and_reordered() {
    for array in shapes(floats_32) {
        let dual = dual::split(&array).expect("floats");
        let (start, n) = (array.len() / 3, array.len() / 2);
        let joined = dual::join(&dual.slice(start, n)).expect("halves");
        assert_eq!(&joined, &array.slice(start, n));
        let [high, low] = [0, 1].map(|i| dual.column(i).clone());
        let reordered = struct_of(&[("low", low), ("high", high)]);
        assert_eq!(&dual::join(&reordered).expect("halves"), &array);
    }
}

#[test]
fn embeddings_have_halves_of_fixed_size() {
    let array = fixed(&floats_32(768 * 2), 768, 2, &[]);
    let dual = dual::split(&array).expect("floats");
    for (column, name) in dual.columns().iter().zip(["high", "low"]) {
        let vectors = column.as_fixed_size_list();
        assert_eq!(vectors.value_length(), 768, "{name}");
        let DataType::FixedSizeList(field, _) = vectors.data_type() else {
            panic!("{}", vectors.data_type());
        };
        assert_eq!(*field.data_type(), DataType::UInt16, "{name}");
        assert_eq!(field.name(), "element");
        assert_eq!(field.metadata()["unit"], "metre");
        assert!(dual.column_by_name(name).is_some());
    }
}

#[test]
fn high_alone_is_rounded() {
    for array in shapes(floats_32) {
        let dual = dual::split(&array).expect("floats");
        let wide = dual::widen_high(dual.column(0)).expect("a half");
        assert_eq!(wide.data_type(), array.data_type());
        assert_eq!(wide.nulls(), array.nulls());
        let of_high = struct_of(&[("high", dual.column(0).clone())]);
        assert_eq!(&dual::widen_high(&of_high).expect("a half"), &wide);
        assert_eq!(&dual::widen_high(&dual).expect("halves"), &wide);
        let (high, wide) = (leaf_of(dual.column(0)), leaf_of(&wide));
        assert_eq!(wide.nulls(), high.nulls());
        let high = high.as_primitive::<UInt16Type>().values();
        let wide = wide.as_primitive::<Float32Type>().values();
        let expect = high.iter().map(|high| u32::from(*high) << 16);
        assert!(wide.iter().map(|wide| wide.to_bits()).eq(expect));
    }
    let vectors = Float64Array::from(vec![1.0, 1.0 + 2f64.powi(-21)]);
    let dual = dual::split(&vectors).expect("floats");
    let wide = dual::widen_high(dual.column(0)).expect("a half");
    let expect = Float64Array::from(vec![1.0, 1.0 + 2f64.powi(-20)]);
    assert_eq!(wide.as_ref(), &expect as &dyn Array);
}

#[test]
fn slices_of_lists_hold_their_own_items_only() {
    let array = lists::<i32>(&floats_32(20), &[3, 0, 5, 2, 0, 1, 4, 5], &[]);
    let dual = dual::split(&array.slice(2, 2)).expect("floats");
    assert_eq!(leaf_of(dual.column(0)).len(), 7);
    assert_eq!(leaf_of(dual.column(1)).len(), 7);
}

#[test]
fn nulls_of_the_struct_and_of_both_halves_are_united() {
    let with_null = |at: usize| -> ArrayRef {
        Arc::new(UInt16Array::new(vec![0x3F80; 4].into(), nulls_at(4, &[at])))
    };
    let dual = pair(with_null(0), with_null(1));
    let (fields, columns, _) = dual.into_parts();
    let dual = StructArray::new(fields, columns, nulls_at(4, &[2]));
    let joined = dual::join(&dual).expect("halves");
    assert_eq!(joined.nulls(), nulls_at(4, &[0, 1, 2]).as_ref());
    let wide = dual::widen_high(&dual).expect("halves");
    assert_eq!(wide.nulls(), nulls_at(4, &[0, 2]).as_ref());

    let vectors = |at: usize, list: usize| fixed(&with_null(at), 2, 2, &[list]);
    let dual = pair(vectors(2, 0), vectors(3, 0));
    let joined = dual::join(&dual).expect("halves");
    assert_eq!(joined.nulls(), nulls_at(2, &[0]).as_ref());
    assert_eq!(leaf_of(&joined).nulls(), nulls_at(4, &[2, 3]).as_ref());
    let (fields, columns, _) = dual.into_parts();
    let dual = StructArray::new(fields, columns, nulls_at(2, &[1]));
    assert_eq!(dual::join(&dual).expect("halves").null_count(), 2);
    assert_eq!(dual::widen_high(&dual).expect("halves").null_count(), 2);
}

/// Arrow allows nulls in items that are never null if a null list hides them, but not in those of other lists.
#[test]
fn items_that_are_never_null_stay_so() {
    let items = |nulls: &[usize]| -> ArrayRef {
        Arc::new(Float32Array::new(vec![0.1; 6].into(), nulls_at(6, nulls)))
    };
    let field = Arc::new(Field::new("item", DataType::Float32, false));
    let vectors = FixedSizeListArray::new(field.clone(), 2, items(&[2]), nulls_at(3, &[1]));
    let offsets = OffsetBuffer::from_lengths([1, 0, 5]);
    let lists = ListArray::new(field, offsets, items(&[]), nulls_at(3, &[1]));
    let arrays: [ArrayRef; 2] = [Arc::new(vectors), Arc::new(lists)];
    for array in arrays {
        let dual = dual::split(&array).expect("floats");
        assert_eq!(&dual::join(&dual).expect("halves"), &array);
        let wide = dual::widen_high(&dual).expect("halves");
        assert_eq!(wide.data_type(), array.data_type());
    }
}

#[test]
fn other_arrays_have_no_halves() {
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let others: [(ArrayRef, &str); 3] = [
        (Arc::new(Int32Array::from(vec![1])), "Int32"),
        (strings.clone(), "Utf8"),
        (Arc::new(struct_of(&[("a", floats_32(1))])), "Struct"),
    ];
    for (array, name) in others {
        let error = dual::split(&array).expect_err(name).to_string();
        assert!(
            error.starts_with(&format!("Invalid argument error: {name}")),
            "{error}"
        );
        assert!(error.ends_with("has no halves: only Float32, Float64 and lists of them do"));
        let error = dual::widen_high(&array).expect_err(name).to_string();
        let expect = match name {
            "Struct" => "the struct has no field `high`",
            _ => "is no half: only UInt16, UInt32 and lists of them are",
        };
        assert!(error.ends_with(expect), "{error}");
    }
    let error = dual::split(&lists::<i32>(&strings, &[1], &[])).expect_err("strings");
    assert!(error.to_string().contains("List("), "{error}");
}

#[test]
fn other_structs_are_not_joined() {
    let half = || halves(&[1, 2, 3]);
    let wide: ArrayRef = Arc::new(UInt32Array::from(vec![1, 2, 3]));
    let check = |columns: &[(&str, ArrayRef)], expect: &str| {
        let error = dual::join(&struct_of(columns)).expect_err(expect);
        assert_eq!(
            error.to_string(),
            format!("Invalid argument error: {expect}")
        );
    };
    check(&[("low", half())], "the struct has no field `high`");
    check(
        &[("High", half()), ("low", half())],
        "the struct has no field `high`",
    );
    let expect = "the struct has no field `low`; `widen_high` makes rounded floats of `high` alone";
    check(&[("high", half())], expect);
    let expect = "the struct has fields other than one `high` and one `low`";
    check(&[("high", half()), ("high", half())], expect);
    check(&[("high", half()), ("low", half()), ("x", half())], expect);
    check(
        &[("high", half()), ("low", wide)],
        "`high` is UInt16, but `low` is UInt32",
    );
    let expect = "Float32 is no half: only UInt16, UInt32 and lists of them are";
    check(&[("high", floats_32(3)), ("low", floats_32(3))], expect);
    let (small, large) = (
        lists::<i32>(&half(), &[3], &[]),
        lists::<i64>(&half(), &[3], &[]),
    );
    let error = dual::join(&pair(small, large)).expect_err("lists of other kinds");
    assert!(
        error.to_string().contains("but `low` is LargeList"),
        "{error}"
    );
    let empty = StructArray::new_empty_fields(3, None);
    let error = dual::widen_high(&empty).expect_err("no fields");
    assert!(error.to_string().ends_with("no field `high`"), "{error}");
}

#[test]
fn halves_of_different_lists_are_not_joined() {
    let items = halves(&[1, 2, 3, 4]);
    let inner = |lens: &[usize]| lists::<i64>(&items, lens, &[]);
    let check = |high: ArrayRef, low: ArrayRef, depth: usize, what: &str| {
        let error = dual::join(&pair(high, low)).expect_err(what).to_string();
        let expect = format!("the halves have different lists at depth {depth}: {what}");
        assert_eq!(error, format!("Invalid argument error: {expect}"));
    };
    let what = "list 1 has 1 items in `high`, 2 items in `low`";
    check(inner(&[2, 1, 1]), inner(&[2, 2, 0]), 0, what);
    let outer = |lists: &ArrayRef| fixed(lists, 3, 1, &[]);
    check(
        outer(&inner(&[2, 1, 1])),
        outer(&inner(&[2, 2, 0])),
        1,
        what,
    );
    let outer = |lens: &[usize]| lists::<i32>(&inner(&[2, 1, 1]), lens, &[]);
    check(
        outer(&[1, 2]),
        outer(&[2, 1]),
        0,
        "list 0 has 1 items in `high`, 2 items in `low`",
    );
    // A slice whose lists are at another place is no difference.
    let dual = pair(inner(&[1, 1, 2]).slice(1, 2), inner(&[1, 2]));
    let error = dual::join(&pair(inner(&[1, 1, 2]).slice(1, 2), inner(&[2, 2])));
    assert!(error.is_err());
    let joined = dual::join(&dual).expect("lists of the same lengths");
    assert_eq!(joined.as_list::<i64>().value(1).len(), 2);
}
