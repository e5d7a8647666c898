//! Ids as dense numbers.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Float32Array, Int32Array, Int64Array, PrimitiveArray,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType};
use tarsia_features::IdMap;

use crate::lists::{fixed, leaf_of, lists, nulls_at, shapes};

const NUMBER_TYPES: [DataType; 3] = [DataType::UInt8, DataType::UInt16, DataType::UInt32];

fn ids(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn numbers(values: &[u32]) -> ArrayRef {
    Arc::new(UInt32Array::from(values.to_vec()))
}

fn map_of_i64() -> IdMap {
    IdMap::new(&DataType::Int64).expect("a type of ids")
}

fn check_error<T: std::fmt::Debug>(result: Result<T, ArrowError>, expect: &str) {
    let error = result.expect_err(expect).to_string();
    assert_eq!(error, format!("Invalid argument error: {expect}"));
}

#[test]
fn numbers_follow_first_appearance() {
    let mut map = map_of_i64();
    let encoded = map.encode(&ids(&[70, -5, 70, i64::MIN, -5])).expect("ids");
    assert_eq!(&encoded, &numbers(&[0, 1, 0, 2, 1]));
    map.add(&ids(&[-5, i64::MAX])).expect("ids");
    let encoded = map.encode(&ids(&[0, i64::MAX, 70])).expect("ids");
    assert_eq!(&encoded, &numbers(&[4, 3, 0]));
    assert_eq!(&map.ids(), &ids(&[70, -5, i64::MIN, i64::MAX, 0]));
    assert_eq!((map.len(), map.is_empty()), (5, false));
    let decoded = map.decode(&numbers(&[4, 4, 2, 0])).expect("numbers");
    assert_eq!(&decoded, &ids(&[0, 0, i64::MIN, 70]));
    let debug = format!("{map:?}");
    let expect = "IdMap { id_type: Int64, number_type: UInt32, len: 5, .. }";
    assert_eq!(debug, expect);
}

/// The ids of all shapes in one map, for each type of numbers; `spread` makes ids of small integers.
fn check_shapes<T: ArrowPrimitiveType>(spread: impl Fn(usize) -> T::Native) {
    let leaf = |n: usize| -> ArrayRef {
        let ids = (0..n).map(|i| (i % 5 != 2).then(|| spread(i * 7 % 11)));
        Arc::new(ids.collect::<PrimitiveArray<T>>())
    };
    for number_type in NUMBER_TYPES {
        let mut map = IdMap::new(&T::DATA_TYPE).expect("a type of ids");
        map.set_number_type(&number_type).expect("few ids");
        assert_eq!(
            (map.id_type(), map.number_type()),
            (T::DATA_TYPE, number_type.clone())
        );
        for array in shapes(leaf) {
            let encoded = map.encode(&array).expect("ids");
            assert_eq!(*leaf_of(&encoded).data_type(), number_type);
            assert_eq!(encoded.nulls(), array.nulls());
            encoded.to_data().validate_full().expect("an array");
            let decoded = map.decode(&encoded).expect("numbers");
            assert_eq!(&decoded, &array);
        }
        assert_eq!(map.len(), 11);
        let again = IdMap::from_ids(&map.ids()).expect("distinct ids");
        assert_eq!(&again.ids(), &map.ids());
    }
}

#[test]
fn ids_of_all_types_come_back_from_lists() {
    check_shapes::<Int32Type>(|i| i32::MIN.wrapping_add((i as i32).wrapping_mul(390_451_572)));
    check_shapes::<Int64Type>(|i| {
        i64::MIN.wrapping_add((i as i64).wrapping_mul(1_676_976_733_973_595_601))
    });
    check_shapes::<UInt32Type>(|i| u32::MAX - i as u32);
    check_shapes::<UInt64Type>(|i| u64::MAX - i as u64);
}

#[test]
fn hidden_items_are_no_ids() {
    let items: ArrayRef = Arc::new(Int64Array::new((0..12).collect(), nulls_at(12, &[7])));
    let check = |array: &ArrayRef, expect: &[i64]| {
        let mut map = map_of_i64();
        let encoded = map.encode(array).expect("ids");
        assert_eq!(&map.ids(), &ids(expect), "{}", array.data_type());
        let hidden = leaf_of(&encoded);
        let hidden = hidden
            .as_any()
            .downcast_ref::<UInt32Array>()
            .expect("numbers");
        let n_zeros = hidden
            .values()
            .iter()
            .filter(|number| **number == 0)
            .count();
        assert_eq!(n_zeros, 12 - expect.len() + 1);
        // Their numbers are not looked up.
        let hidden = lists::<i32>(&numbers(&[99; 12]), &[12], &[0]);
        let decoded = map.decode(&hidden).expect("no number is visible");
        assert_eq!(decoded.null_count(), 1);
        assert_eq!(&leaf_of(&decoded), &ids(&[0; 12]));
    };
    check(&items, &[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]);
    check(
        &lists::<i32>(&items, &[3, 4, 0, 5], &[0, 2]),
        &[3, 4, 5, 6, 8, 9, 10, 11],
    );
    check(
        &lists::<i64>(&items, &[3, 4, 0, 5], &[1]),
        &[0, 1, 2, 8, 9, 10, 11],
    );
    let vectors = fixed(&items, 2, 6, &[0, 4]);
    check(&vectors, &[2, 3, 4, 5, 6, 10, 11]);
    check(
        &lists::<i32>(&vectors, &[2, 1, 3], &[1]),
        &[2, 3, 6, 10, 11],
    );
    let lists_of_12 = lists::<i32>(&items, &[3, 4, 0, 5], &[0]);
    check(&fixed(&lists_of_12, 2, 2, &[1]), &[3, 4, 5, 6]);
}

#[test]
fn nulls_alone_add_nothing() {
    let mut map = map_of_i64();
    let array = Int64Array::new_null(9);
    let encoded = map.encode(&array).expect("ids");
    assert_eq!(encoded.null_count(), 9);
    assert!(map.is_empty());
    let decoded = map.decode(&encoded).expect("nulls");
    assert_eq!(decoded.as_ref(), &array as &dyn Array);
}

#[test]
fn the_type_of_numbers_limits_the_ids_and_errors_add_none() {
    let mut map = map_of_i64();
    map.set_number_type(&DataType::UInt8).expect("no ids");
    map.encode(&ids(&(0..200).collect::<Vec<_>>()))
        .expect("200 ids");
    let more: Vec<i64> = (150..250).chain([-1; 9]).chain(-8..0).collect();
    let expect = "no number is left for id -2: UInt8 has 256";
    let with_more = ids(&[&more[..], &[-2]].concat());
    // -1, then -8 to -4: 256 ids, with -3 more.
    let expect_first = expect.replace("-2", "-3");
    check_error(map.encode(&with_more), &expect_first);
    check_error(map.add(&with_more), &expect_first);
    assert_eq!(&map.ids(), &ids(&(0..200).collect::<Vec<_>>()));
    // What was taken back gets other numbers.
    let encoded = map.encode(&ids(&[-4, 199, 249])).expect("ids");
    let encoded = encoded
        .as_any()
        .downcast_ref::<UInt8Array>()
        .expect("numbers")
        .clone();
    assert_eq!(encoded, UInt8Array::from(vec![200, 199, 201]));
    map.encode(&ids(&(300..354).collect::<Vec<_>>()))
        .expect("256 ids");
    check_error(map.encode(&ids(&[-2])), expect);
    assert_eq!(map.len(), 256);
}

#[test]
fn the_type_of_numbers_is_fixed_by_encoding() {
    let mut map = map_of_i64();
    map.add(&ids(&[1, 2])).expect("ids");
    for number_type in NUMBER_TYPES {
        map.set_number_type(&number_type).expect("two ids");
    }
    map.encode(&ids(&[2, 3])).expect("ids");
    map.set_number_type(&DataType::UInt32)
        .expect("the same type");
    let expect = "UInt8 comes too late: ids have been encoded as UInt32";
    check_error(map.set_number_type(&DataType::UInt8), expect);
    assert_eq!(map.number_type(), DataType::UInt32);
    let expect = "Int8 is no type of numbers: only UInt8, UInt16 and UInt32 are";
    check_error(map.set_number_type(&DataType::Int8), expect);
}

#[test]
fn the_narrowest_type_has_numbers_for_all_ids() {
    let map_of = |n: i64| {
        let ids = Int64Array::from_iter_values((0..n).map(|id| id << 32));
        IdMap::from_ids(&ids).expect("distinct ids")
    };
    for (n, expect) in [(0, 0), (256, 0), (257, 1), (65_536, 1), (65_537, 2)] {
        let mut map = map_of(n);
        assert_eq!(map.narrowest(), NUMBER_TYPES[expect], "{n} ids");
        let narrowest = map.narrowest();
        map.set_number_type(&narrowest).expect("enough numbers");
        if let Some(narrower) = expect.checked_sub(1) {
            let narrower = &NUMBER_TYPES[narrower];
            let n_numbers = 1 << (8 << (expect - 1));
            let expect = format!("{narrower} has {n_numbers} numbers, and there are {n} ids");
            check_error(map.set_number_type(narrower), &expect);
        }
        let last = map.encode(&ids(&[(n - 1).max(0) << 32])).expect("ids");
        assert_eq!(*last.data_type(), narrowest);
        assert_eq!(map.len(), n.max(1) as usize);
    }
}

#[test]
fn maps_come_back_from_their_ids_and_grow() {
    let mut first = map_of_i64();
    first.set_number_type(&DataType::UInt16).expect("no ids");
    let day_1 = first.encode(&ids(&[9, 8, 9])).expect("ids");
    let mut later = IdMap::from_ids(&first.ids()).expect("distinct ids");
    assert_eq!(later.number_type(), DataType::UInt32);
    assert_eq!(&later.decode(&day_1).expect("numbers"), &ids(&[9, 8, 9]));
    let day_2 = later.encode(&ids(&[7, 8])).expect("ids");
    assert_eq!(&day_2, &numbers(&[2, 1]));
    // A slice of a longer column is as good.
    let sliced = IdMap::from_ids(&ids(&[0, 9, 8, 7, 0]).slice(1, 3)).expect("distinct ids");
    assert_eq!(&sliced.decode(&day_2).expect("numbers"), &ids(&[7, 8]));
}

#[test]
fn tables_of_ids_are_checked() {
    let error = |ids: &dyn Array, expect: &str| check_error(IdMap::from_ids(ids), expect);
    error(&ids(&[4, -6, 5, -6]), "id -6 has the numbers 1 and 3");
    let unsigned = UInt64Array::from(vec![u64::MAX, u64::MAX]);
    error(&unsigned, "id 18446744073709551615 has the numbers 0 and 1");
    error(&Int32Array::from(vec![Some(1), None]), "an id is null");
    let expect = "UInt16 is no type of ids: only Int32, Int64, UInt32 and UInt64 are";
    error(&UInt16Array::from(vec![1]), expect);
    check_error(IdMap::new(&DataType::UInt16), expect);
    let nested = IdMap::from_ids(&lists::<i32>(&ids(&[1]), &[1], &[]));
    assert!(
        nested
            .expect_err("lists")
            .to_string()
            .contains("is no type of ids")
    );
    let empty = IdMap::from_ids(&ids(&[])).expect("no ids");
    assert!(empty.is_empty());
}

#[test]
fn numbers_without_an_id_are_named() {
    let map = IdMap::from_ids(&ids(&[4, 5])).expect("distinct ids");
    check_error(
        map.decode(&numbers(&[1, 2, 3])),
        "number 2 has no id: there are 2 ids",
    );
    let expect = "number 255 has no id: there are 2 ids";
    check_error(map.decode(&UInt8Array::from(vec![0, 255])), expect);
    let expect = "number 7 has no id: there are 2 ids";
    check_error(
        map.decode(&lists::<i64>(&numbers(&[0, 7]), &[0, 2], &[0])),
        expect,
    );
    let narrow = map.decode(&UInt16Array::from(vec![1, 0])).expect("numbers");
    assert_eq!(&narrow, &ids(&[5, 4]));
}

#[test]
fn arrays_of_other_types_are_refused() {
    let mut map = map_of_i64();
    let others: [ArrayRef; 2] = [
        Arc::new(Int32Array::from(vec![1])),
        Arc::new(Float32Array::from(vec![1.0])),
    ];
    for array in others {
        let data_type = array.data_type().clone();
        let expect = format!("the ids are {data_type}, those of the map Int64");
        check_error(map.encode(&array), &expect);
        check_error(map.add(&lists::<i32>(&array, &[1], &[])), &expect);
        let expect = "is no type of numbers: only UInt8, UInt16 and UInt32 are";
        check_error(map.decode(&array), &format!("{data_type} {expect}"));
    }
    assert!(map.is_empty());
    // Nothing has been encoded, so the type of numbers is free.
    map.set_number_type(&DataType::UInt8).expect("no ids");
}
