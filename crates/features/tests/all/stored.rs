//! Floats in the format that they were rounded to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, RecordBatch,
    UInt8Array,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia_features::stored::{
    self, Format, narrow, narrow_columns, narrow_field, rounded_columns, widen, widen_columns,
    widen_field,
};

use crate::lists::{fixed, shapes};

/// Numbers that all formats have: multiples of a quarter.
fn quarters(n: usize) -> ArrayRef {
    let number = |i: usize| (i % 5 != 3).then(|| (i % 13) as f32 / 4.0 - 1.5);
    Arc::new(Float32Array::from_iter((0..n).map(number)))
}

fn doubles(n: usize) -> ArrayRef {
    let floats = quarters(n);
    let floats = floats.as_primitive::<Float32Type>();
    let numbers = floats.iter().map(|number| number.map(f64::from));
    Arc::new(Float64Array::from_iter(numbers))
}

#[test]
fn arrays_come_back_as_float32() {
    let arrays = shapes(quarters);
    let wide = shapes(doubles);
    for (array, wide) in arrays.iter().zip(&wide) {
        for format in Format::ALL {
            let field = Field::new("x", array.data_type().clone(), true);
            let narrowed_field = narrow_field(&field, format).expect("floats");
            let narrowed = narrow(array, format).expect("all formats have these");
            assert_eq!(narrowed.data_type(), narrowed_field.data_type());
            let of_doubles = narrow(wide, format).expect("all formats have these");
            assert_eq!(&of_doubles, &narrowed);
            let widened = widen(&narrowed_field, &narrowed).expect("in the format");
            assert_eq!(widen_field(&narrowed_field).expect("in the format"), field);
            assert_eq!(&widened, array, "{format:?}");
        }
    }
}

#[test]
fn items_inside_of_lists_carry_the_extension_type() {
    let vectors = fixed(&quarters(12), 3, 4, &[]);
    let narrowed = narrow(&vectors, Format::Bf16).expect("bfloat16 has these");
    let DataType::FixedSizeList(items, 3) = narrowed.data_type() else {
        panic!("{}", narrowed.data_type());
    };
    assert_eq!(items.data_type(), &DataType::FixedSizeBinary(2));
    assert_eq!(items.extension_type_name(), Some("lance.bfloat16"));
    assert_eq!(
        items.metadata().get("unit").map(String::as_str),
        Some("metre")
    );
}

#[test]
fn a_number_that_the_format_does_not_have_is_named() {
    let floats = Float32Array::from(vec![Some(1.0), None, Some(1.0 / 3.0)]);
    for format in Format::ALL {
        let error = narrow(&floats, format).expect_err("a third").to_string();
        let expected = format!(
            "float 2 is 0.3333333432674408, which {} does not have",
            format.name()
        );
        assert!(error.ends_with(&expected), "{error}");
    }
    let fine = Float64Array::from(vec![1.0, 1.0 + f64::EPSILON]);
    let error = narrow(&fine, Format::F16).expect_err("a binary64 number");
    assert!(
        error.to_string().contains("float 1 is 1.0000000000000002"),
        "{error}"
    );
    let texts = arrow_array::StringArray::from(vec!["1"]);
    let error = narrow(&texts, Format::F16).expect_err("text").to_string();
    assert!(error.contains("Utf8 has no smaller format here"), "{error}");
}

#[test]
fn what_lies_under_nulls_does_not_matter() {
    let floats = Float32Array::new(vec![0.1, 2.0].into(), Some(vec![false, true].into()));
    let narrowed = narrow(&floats, Format::E5M2).expect("0.1 is null");
    assert_eq!(narrowed.as_primitive::<UInt8Type>().values(), &[0, 0x40]);
    assert!(narrowed.is_null(0));
}

/// The numbers of a format with these bits, as a column in it.
fn column_of(format: Format, bits: &[u16]) -> (Field, ArrayRef) {
    let field = narrow_field(&Field::new("x", DataType::Float32, true), format).expect("floats");
    let bytes = || bits.iter().flat_map(|bits| bits.to_le_bytes());
    let column: ArrayRef = match format {
        Format::F16 => Arc::new(Float16Array::from_iter_values(
            bits.iter().map(|bits| half::f16::from_bits(*bits)),
        )),
        Format::Bf16 => Arc::new(FixedSizeBinaryArray::new(
            2,
            bytes().collect::<Vec<u8>>().into(),
            None,
        )),
        Format::E4M3 | Format::E5M2 => Arc::new(UInt8Array::from_iter_values(bytes().step_by(2))),
    };
    (field, column)
}

fn all_numbers(format: Format) -> Vec<u16> {
    match format {
        Format::F16 | Format::Bf16 => (0..=u16::MAX).collect(),
        Format::E4M3 | Format::E5M2 => (0..=0xFF).collect(),
    }
}

#[test]
fn every_number_comes_back_and_others_are_refused() {
    for format in Format::ALL {
        let (field, column) = column_of(format, &all_numbers(format));
        let widened = widen(&field, &column).expect("in the format");
        assert_eq!(
            &narrow(&widened, format).expect("its numbers"),
            &column,
            "{format:?}"
        );

        let widened = widened.as_primitive::<Float32Type>().values().iter();
        let all: HashSet<u32> = widened.map(|float| float.to_bits()).collect();
        for i in 0..5_000_u32 {
            let bits = i.wrapping_mul(0x9E37_79B9) & (u32::MAX << (i % 25));
            let float = Float32Array::from(vec![f32::from_bits(bits)]);
            let is_one = narrow(&float, format).is_ok();
            assert_eq!(is_one, all.contains(&bits), "{format:?} {bits:#x}");
        }
    }
}

/// Tables 1 and 2 of the OFP8 specification, and IEEE 754.
#[test]
fn numbers_are_those_of_the_standards() {
    let value = |format: Format, bits| {
        let (field, column) = column_of(format, &[bits]);
        let widened = widen(&field, &column).expect("in the format");
        widened.as_primitive::<Float32Type>().value(0)
    };
    assert_eq!(value(Format::E4M3, 0x7E), 448.0);
    assert_eq!(value(Format::E4M3, 0x08), 2_f32.powi(-6));
    assert_eq!(value(Format::E4M3, 0x01), 2_f32.powi(-9));
    assert!(value(Format::E4M3, 0x7F).is_nan());
    assert_eq!(value(Format::E5M2, 0x7B), 57_344.0);
    assert_eq!(value(Format::E5M2, 0x7C), f32::INFINITY);
    assert_eq!(value(Format::E5M2, 0x01), 2_f32.powi(-16));
    assert_eq!(value(Format::Bf16, 0xBF80), -1.0);
    assert_eq!(value(Format::F16, 0x7BFF), 65_504.0);
}

#[test]
fn nan_and_infinity_keep_their_bits() {
    let bits = [
        0x7FC0_0000,
        0xFFC0_0000,
        0x7F80_0000,
        0xFF80_0000,
        0x8000_0000,
        0x7FA0_0000,
    ];
    let floats = Float32Array::from_iter_values(bits.map(f32::from_bits));
    let n_formats = [
        (Format::Bf16, 6),
        (Format::F16, 6),
        (Format::E5M2, 6),
        (Format::E4M3, 2),
    ];
    for (format, n) in n_formats {
        let floats = floats.slice(0, n);
        let field = Field::new("x", DataType::Float32, true);
        let field = narrow_field(&field, format).expect("floats");
        let narrowed = narrow(&floats, format).expect("they are numbers of the format");
        let widened = widen(&field, &narrowed).expect("in the format");
        let widened = widened.as_primitive::<Float32Type>().values();
        let widened: Vec<u32> = widened.iter().map(|float| float.to_bits()).collect();
        assert_eq!(widened, bits[..n], "{format:?}");
    }
    let infinity = Float32Array::from(vec![f32::INFINITY]);
    assert!(narrow(&infinity, Format::E4M3).is_err());
}

/// As a Tarsia file has it whose columns were rounded.
fn batch() -> RecordBatch {
    let vectors = fixed(&quarters(12), 3, 4, &[]);
    let halves = Float16Array::from(vec![half::f16::ONE; 4]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", vectors),
        ("b", quarters(4)),
        ("c", quarters(4)),
        ("d", Arc::new(halves)),
        ("e", quarters(4)),
    ];
    let fields = columns.iter();
    let fields = fields.map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let metadata = [
        (
            "rounded.a.element",
            "bf16, largest error 1e-3, relative 4e-3",
        ),
        ("rounded.c", "f16, largest error 0e0, relative 0e0"),
        ("rounded.e", "int8, largest error 1e-1, relative 1e0"),
        ("written by", "a test"),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), HashMap::from(metadata));
    let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of one length")
}

#[test]
fn rounded_columns_of_a_batch_come_back() {
    let batch = batch();
    let schema = batch.schema();
    let rounded: Vec<_> = rounded_columns(&schema).into_iter().collect();
    let expected = [
        (schema.field(0), Format::Bf16),
        (schema.field(2), Format::F16),
    ];
    assert_eq!(rounded, expected);
    let narrowed = narrow_columns(&batch).expect("rounded numbers");
    assert_eq!(narrowed.column(2).data_type(), &DataType::Float16);
    for same in [1, 3, 4] {
        assert_eq!(narrowed.column(same), batch.column(same));
    }
    assert_eq!(
        narrow_columns(&narrowed).expect("nothing is left"),
        narrowed
    );
    assert_eq!(widen_columns(&narrowed).expect("marked columns"), batch);
}

#[test]
fn a_column_that_was_not_rounded_as_the_schema_says_is_named() {
    let schema = batch().schema();
    let thirds: ArrayRef = Arc::new(Float32Array::from(vec![1.0 / 3.0; 4]));
    let mut columns = batch().columns().to_vec();
    columns[2] = thirds;
    let lying = RecordBatch::try_new(schema, columns).expect("columns of one length");
    let error = narrow_columns(&lying).expect_err("thirds").to_string();
    assert!(error.contains("column \"c\": float 0 is 0.3333"), "{error}");
}

#[test]
fn fields_of_other_types_are_refused() {
    let marked = Field::new("x", DataType::Float32, true);
    let metadata = [("ARROW:extension:name".to_owned(), "other".to_owned())];
    let marked = marked.with_metadata(metadata.into());
    let error = narrow_field(&marked, Format::Bf16).expect_err("another mark");
    assert!(
        error
            .to_string()
            .contains("has the extension type \"other\" already"),
        "{error}"
    );
    let bytes = Field::new("x", DataType::UInt8, true);
    let error = stored::widen_field(&bytes)
        .expect_err("no mark")
        .to_string();
    assert!(
        error.contains("field \"x\" of type UInt8 is in no small format"),
        "{error}"
    );
    let field = narrow_field(&Field::new("x", DataType::Float32, true), Format::E4M3);
    let error = widen(&field.expect("floats"), &quarters(2)).expect_err("floats");
    assert!(
        error
            .to_string()
            .contains("is UInt8, but the array Float32"),
        "{error}"
    );
}
