//! Fields of dual columns.

use std::collections::HashMap;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};
use tarsia_features::dual::{EXTENSION_NAME, dual_field, is_dual, whole_field};

fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

fn vectors(leaf: DataType) -> DataType {
    let item = Field::new("element", leaf, false).with_metadata(metadata(&[("unit", "metre")]));
    DataType::new_large_list(DataType::FixedSizeList(item.into(), 3), true)
}

#[test]
fn fields_come_back() {
    let types = [DataType::Float32, DataType::Float64];
    let types = types
        .into_iter()
        .flat_map(|leaf| [leaf.clone(), vectors(leaf)]);
    let extension = [
        (EXTENSION_TYPE_NAME_KEY, "arrow.fixed_shape_tensor"),
        (EXTENSION_TYPE_METADATA_KEY, "{\"shape\":[3]}"),
    ];
    for data_type in types {
        for pairs in [&[][..], &[("a", "b")], &extension] {
            for nullable in [false, true] {
                let field = Field::new("x", data_type.clone(), nullable);
                let field = field.with_metadata(metadata(pairs));
                let dual = dual_field(&field).expect("floats");
                assert!(is_dual(&dual) && !is_dual(&field));
                assert_eq!((dual.name(), dual.is_nullable()), (field.name(), nullable));
                assert_eq!(whole_field(&dual).expect("dual"), field);
            }
        }
    }
}

#[test]
fn dual_fields_are_structs_of_halves() {
    let field = Field::new("x", vectors(DataType::Float32), false);
    let dual = dual_field(&field).expect("floats");
    let half = vectors(DataType::UInt16);
    let halves = [
        Field::new("high", half.clone(), true),
        Field::new("low", half, true),
    ];
    let expect = Field::new_struct("x", halves.to_vec(), false);
    let expect = expect.with_metadata(metadata(&[(EXTENSION_TYPE_NAME_KEY, EXTENSION_NAME)]));
    assert_eq!(dual, expect);
}

#[test]
fn high_alone_tells_the_whole_field() {
    let field = Field::new("x", vectors(DataType::Float64), true);
    let dual = dual_field(&field).expect("floats");
    let DataType::Struct(halves) = dual.data_type() else {
        panic!("{dual}");
    };
    let projected = dual
        .clone()
        .with_data_type(DataType::Struct(vec![halves[0].clone()].into()));
    assert_eq!(whole_field(&projected).expect("high"), field);
    let projected = dual
        .clone()
        .with_data_type(DataType::Struct(vec![halves[1].clone()].into()));
    let error = whole_field(&projected).expect_err("low").to_string();
    assert!(error.ends_with("the struct has no field `high`"), "{error}");
}

#[test]
fn other_fields_are_refused() {
    let check = |result: Result<Field, arrow_schema::ArrowError>, expect: &str| {
        let error = result.expect_err(expect).to_string();
        assert_eq!(error, format!("Invalid argument error: {expect}"));
    };
    let ints = Field::new("x", DataType::Int64, true);
    let expect = "Int64 has no halves: only Float32, Float64 and lists of them do";
    check(dual_field(&ints), expect);
    check(
        whole_field(&ints),
        "field \"x\" is no tarsia.dual: its type is no struct",
    );
    let floats = Field::new("x", DataType::Float32, true);
    let dual = dual_field(&floats).expect("floats");
    assert!(dual_field(&dual).is_err());
    let unmarked = dual.clone().with_metadata(HashMap::new());
    check(
        whole_field(&unmarked),
        "field \"x\" is no tarsia.dual: it has no such extension type",
    );
    let expect = "Float32 is no half: only UInt16, UInt32 and lists of them are";
    let halves = vec![Field::new("high", DataType::Float32, true)];
    check(
        whole_field(&dual.with_data_type(DataType::Struct(halves.into()))),
        expect,
    );
    let kept = "tarsia.dual:extension:name";
    let floats = floats.with_metadata(metadata(&[(kept, "y")]));
    check(
        dual_field(&floats),
        &format!("field \"x\" has metadata named {kept:?}, which dual fields need"),
    );
}
