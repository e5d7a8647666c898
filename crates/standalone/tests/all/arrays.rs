//! Arrow arrays of every type with values of one physical type.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, LargeStringArray, StringArray};
use arrow_schema::DataType;
use tarsia_codec::{ErrorKind, ValueType};
use tarsia_standalone::{Encoded, Selection, arrow_array, arrow_schema, encode_array};
use tarsia_testkit::arrays::{
    DISTRIBUTIONS, Nulls, Profile, array, bit_difference, flat_types, sliced,
};
use tarsia_testkit::mutate::mutate;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::sample_trees;

const ROWS: usize = 300;

/// Types that have no encoding of their own: several children, or values in several buffers.
fn is_refused(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Null | Utf8View | BinaryView | Dictionary(..))
}

fn value_type_of(data_type: &DataType) -> ValueType {
    use DataType::*;
    match data_type {
        Boolean => ValueType::Bits,
        Utf8 | LargeUtf8 | Binary | LargeBinary => ValueType::Bytes,
        FixedSizeBinary(width) => ValueType::Fixed(*width as u32),
        other => ValueType::Fixed(other.primitive_width().unwrap() as u32),
    }
}

fn check(array: &ArrayRef) -> usize {
    let registry = tarsia_encodings::registry();
    let data_type = array.data_type();
    let mut held = 0;
    for (tree, fit) in sample_trees(&registry, value_type_of(data_type)) {
        let bytes = match encode_array(&registry, &tree, array) {
            Ok(bytes) => bytes,
            // An encoding of few values, a constant for instance.
            Err(error) if fit.is_some() || !tree.children.is_empty() => {
                let kind = error.into_kind();
                assert!(
                    matches!(kind, ErrorKind::InvalidInput { .. }),
                    "{tree}: {kind}"
                );
                continue;
            }
            Err(error) => panic!("{tree} of {data_type}: {error}"),
        };
        held += 1;
        let mut encoded = Encoded::open(&registry, &bytes).unwrap();
        let mut compare = |selection: Selection<'_>, expected: &dyn Array| {
            let got = encoded.array(data_type, selection).unwrap();
            let difference = bit_difference(&got, expected);
            difference.unwrap_or_else(|it| panic!("{tree} of {data_type}, {selection:?}: {it}"));
        };
        compare(Selection::All, array);
        compare(
            Selection::Range {
                start: 100,
                len: 150,
            },
            &array.slice(100, 150),
        );
        for i in [0, ROWS / 2, ROWS - 1] {
            compare(Selection::Indices(&[i as u32]), &array.slice(i, 1));
        }
    }
    held
}

#[test]
fn every_type_comes_back() {
    for data_type in flat_types().iter().filter(|it| !is_refused(it)) {
        for distribution in DISTRIBUTIONS {
            let profile = Profile::new(Nulls::None, distribution, 3);
            assert!(check(&array(data_type, ROWS, profile)) > 0, "{data_type}");
        }
        let bitmap_without_nulls = Profile::new(Nulls::EmptyBitmap, DISTRIBUTIONS[1], 4);
        assert!(
            check(&sliced(data_type, ROWS, bitmap_without_nulls)) > 0,
            "{data_type}"
        );
    }
}

#[test]
fn nulls_and_other_types_are_refused() {
    let registry = tarsia_encodings::registry();
    let tree = tarsia_plain::tree();
    let mut with_null = Int64Builder::new();
    with_null.append_value(1);
    with_null.append_null();
    let error = encode_array(&registry, &tree, &with_null.finish()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidInput { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("null"), "{error}");
    for data_type in flat_types().iter().filter(|it| is_refused(it)) {
        let values = array(
            data_type,
            ROWS,
            Profile::new(Nulls::None, DISTRIBUTIONS[0], 1),
        );
        let error = encode_array(&registry, &tree, &values).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "{data_type}: {error}"
        );
    }
}

#[test]
fn an_array_may_be_read_as_another_type_of_equal_width() {
    let registry = tarsia_encodings::registry();
    let floats = arrow_array::Float64Array::from(vec![1.5, -0.0]);
    let bytes = encode_array(&registry, &tarsia_plain::tree(), &floats).unwrap();
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    let as_integers = encoded.array(&DataType::Int64, Selection::All).unwrap();
    let expected = [1.5f64, -0.0].map(|it| it.to_bits() as i64);
    assert_eq!(as_integers.as_primitive::<Int64Type>().values(), &expected);
    let as_floats = encoded.array(&DataType::Float64, Selection::All).unwrap();
    assert_eq!(as_floats.as_primitive::<Float64Type>(), &floats);
    for other in [DataType::Int32, DataType::Utf8, DataType::Boolean] {
        let error = encoded.array(&other, Selection::All).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidInput { .. }),
            "{other}: {error}"
        );
    }
    let list = DataType::List(Arc::new(arrow_schema::Field::new(
        "x",
        DataType::Int64,
        false,
    )));
    let error = encoded.array(&list, Selection::All).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported { .. }),
        "{error}"
    );
}

#[test]
fn text_is_checked() {
    let registry = tarsia_encodings::registry();
    let mut binary = BinaryBuilder::new();
    binary.append_value(b"good");
    binary.append_value([0xff, 0xfe]);
    let binary: BinaryArray = binary.finish();
    let (tree, _) = sample_trees(&registry, ValueType::Bytes).remove(1);
    let bytes = encode_array(&registry, &tree, &binary).unwrap();
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    let error = encoded.array(&DataType::Utf8, Selection::All).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }), "{error}");
    let good = encoded
        .array(&DataType::Utf8, Selection::Indices(&[0]))
        .unwrap();
    assert_eq!(good.as_string::<i32>(), &StringArray::from(vec!["good"]));
}

#[test]
fn arrays_without_values_come_back() {
    let registry = tarsia_encodings::registry();
    let (tree, _) = sample_trees(&registry, ValueType::Bytes).remove(1);
    let none = LargeStringArray::from(Vec::<&str>::new());
    let bytes = encode_array(&registry, &tree, &none).unwrap();
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    assert!(encoded.is_empty());
    let decoded = encoded.array(&DataType::LargeUtf8, Selection::All).unwrap();
    assert_eq!(decoded.as_string::<i64>(), &none);
    let none = Int64Array::from(Vec::<i64>::new());
    let bytes = encode_array(&registry, &tarsia_plain::tree(), &none).unwrap();
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    let decoded = encoded.array(&DataType::Int64, Selection::All).unwrap();
    assert_eq!(decoded.as_primitive::<Int64Type>(), &none);
}

#[test]
fn changed_bytes_become_arrays_or_errors() {
    let registry = tarsia_encodings::registry();
    let mut rng = Rng::new(9);
    for data_type in [
        DataType::Boolean,
        DataType::Int64,
        DataType::Utf8,
        DataType::LargeBinary,
    ] {
        let array = array(
            &data_type,
            40,
            Profile::new(Nulls::None, DISTRIBUTIONS[1], 2),
        );
        for (tree, _) in sample_trees(&registry, value_type_of(&data_type)) {
            let Ok(bytes) = encode_array(&registry, &tree, &array) else {
                continue;
            };
            for _ in 0..200 {
                let mut changed = bytes.clone();
                mutate(&mut rng, &mut changed);
                let Ok(mut encoded) = Encoded::open_with_limit(&registry, &changed, 1 << 20) else {
                    continue;
                };
                let n = encoded.len();
                if let Ok(decoded) = encoded.array(&data_type, Selection::All) {
                    assert_eq!(decoded.len(), n, "{tree}");
                    decoded.to_data().validate_full().unwrap();
                }
            }
        }
    }
}
