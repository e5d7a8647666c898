//! Columns whose numbers are rounded when they are written.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StructArray,
};
use tarsia::{ColumnOptions, ErrorKind, File, WriteOptions, Writer};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, open, read_all, write};

const DIM: usize = 32;

fn rounded(names: &[(&str, &str)]) -> WriteOptions {
    let with = |options: WriteOptions, (column, rounding): &(&str, &str)| {
        options.with_column(*column, ColumnOptions::new().with_rounding(*rounding))
    };
    names.iter().fold(deterministic(), with)
}

fn written(batch: &RecordBatch, options: WriteOptions) -> File {
    open(&write(batch.schema(), std::slice::from_ref(batch), options)).unwrap()
}

fn refused(batch: &RecordBatch, options: WriteOptions) -> tarsia::Error {
    let mut writer = match Writer::new(Vec::new(), batch.schema(), options) {
        Ok(writer) => writer,
        Err(error) => return error,
    };
    match writer.write(batch) {
        Ok(()) => writer.finish().expect_err("the rounding is refused"),
        Err(error) => error,
    }
}

/// The only batch of a file.
fn read(file: &File) -> RecordBatch {
    let mut batches = read_all(file).unwrap();
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

/// A number in (-1, 1) with random digits.
fn number(rng: &mut Rng) -> f32 {
    (rng.u64() >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// Vectors; some are null, and some of their items.
fn vectors(rows: usize) -> ArrayRef {
    let mut rng = Rng::new(4);
    let mut builder = FixedSizeListBuilder::new(Float32Builder::new(), DIM as i32);
    for _ in 0..rows {
        for _ in 0..DIM {
            let value = (!rng.percent(2)).then(|| number(&mut rng));
            builder.values().append_option(value);
        }
        builder.append(!rng.percent(3));
    }
    Arc::new(builder.finish())
}

fn column(name: &str, array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(name, array, true)]).unwrap()
}

fn encoded_bytes(file: &File) -> u64 {
    file.inspect().unwrap().columns[0].encoded_bytes
}

/// The largest errors that the file states of its first column.
fn stated(file: &File) -> (String, f64, f64) {
    let column = file.inspect().unwrap().columns.remove(0);
    let text = column.rounding.expect("the column was rounded");
    let (name, rest) = text.split_once(", largest error ").unwrap();
    let (absolute, relative) = rest.split_once(", relative ").unwrap();
    let number = |text: &str| text.parse::<f64>().unwrap();
    (name.to_owned(), number(absolute), number(relative))
}

/// The largest difference between numbers of two columns of vectors, nulls compared too.
fn largest_difference(before: &ArrayRef, after: &ArrayRef) -> f64 {
    let (before, after) = (before.as_fixed_size_list(), after.as_fixed_size_list());
    assert_eq!(before.nulls(), after.nulls());
    let mut largest = 0f64;
    for (before, after) in before.iter().zip(after.iter()) {
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        let items = before.as_primitive::<Float32Type>().iter();
        for (before, after) in items.zip(after.as_primitive::<Float32Type>()) {
            assert_eq!(before.is_some(), after.is_some());
            if let (Some(before), Some(after)) = (before, after) {
                largest = largest.max(f64::from((before - after).abs()));
            }
        }
    }
    largest
}

#[test]
fn vectors_take_half_the_bytes_within_the_stated_error() {
    let vectors = vectors(3000);
    let batch = column("v", vectors.clone());
    let whole = written(&batch, deterministic());
    assert_eq!(whole.inspect().unwrap().columns[0].rounding, None);
    // Bits of a number beside those of 32, and the error that the format allows for numbers in (-1, 1).
    for (name, bits, most) in [
        ("bf16", 16, 1.0 / 512.0),
        ("f16", 16, 1.0 / 4096.0),
        ("e4m3", 8, 1.0 / 32.0),
        ("e5m2", 8, 1.0 / 16.0),
        ("int8", 8, 1.0 / 254.0),
        ("int8-row", 8, 1.0 / 254.0),
        ("int4", 4, 1.0 / 14.0),
        ("int4-row", 4, 1.0 / 14.0),
    ] {
        let file = written(&batch, rounded(&[("v", name)]));
        let back = read(&file);
        let largest = largest_difference(&vectors, back.column(0));
        let (stated_name, absolute, _) = stated(&file);
        assert_eq!((stated_name.as_str(), absolute), (name, largest), "{name}");
        assert!(largest > 0.0 && largest <= most, "{name}: {largest}");
        // Null rows hold no vectors, so that int8-row has no vectors of one length to find scales for.
        if !name.ends_with("-row") {
            let n = (vectors.len() * DIM) as u64;
            // Blocks, and which items are null.
            let (bytes, plain) = (encoded_bytes(&file), n * bits / 8);
            let most = plain + plain / 32 + n / 24;
            assert!(bytes < most, "{name}: {bytes} of {plain}");
        }
        // Written again without rounding, it is stored in as few bytes: the encoding finds the format.
        let again = written(&back, deterministic());
        assert_eq!(read(&again), back, "{name}");
        assert_eq!(encoded_bytes(&again), encoded_bytes(&file), "{name}");
    }
}

#[test]
fn rounded_columns_can_be_had_in_their_format() {
    use tarsia_features::stored::{Format, narrow_columns, rounded_columns, widen_columns};
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("v", vectors(500), true),
        ("w", vectors(500), true),
        ("x", vectors(500), true),
    ]);
    let options = rounded(&[("v", "bf16"), ("w", "e4m3"), ("x", "int8")]);
    let file = written(&batch.unwrap(), options);
    let schema = file.schema().unwrap();
    let formats = rounded_columns(&schema).into_iter();
    let formats: Vec<_> = formats
        .map(|(field, format)| (field.name().as_str(), format))
        .collect();
    assert_eq!(formats, [("v", Format::Bf16), ("w", Format::E4M3)]);
    let back = read(&file);
    let narrowed = narrow_columns(&back).unwrap();
    let bytes = |i: usize| {
        narrowed
            .column(i)
            .as_fixed_size_list()
            .values()
            .to_data()
            .buffers()[0]
            .len()
    };
    assert_eq!(
        [bytes(0), bytes(1), bytes(2)],
        [2, 1, 4].map(|n| n * 500 * DIM)
    );
    assert_eq!(widen_columns(&narrowed).unwrap(), back);
}

#[test]
fn rows_have_scales_of_their_own() {
    let mut rng = Rng::new(9);
    let mut builder = FixedSizeListBuilder::new(Float32Builder::new(), DIM as i32);
    // Some vectors are a thousand times as long as others.
    for row in 0..2000 {
        let length = [1.0, 1000.0][row % 2];
        for _ in 0..DIM {
            builder.values().append_value(length * number(&mut rng));
        }
        builder.append(true);
    }
    let vectors: ArrayRef = Arc::new(builder.finish());
    let batch = column("v", vectors.clone());
    let error_of_short = |name: &str| {
        let file = written(&batch, rounded(&[("v", name)]));
        let bytes = encoded_bytes(&file);
        assert!(bytes < 2000 * (DIM as u64 + 8), "{name}: {bytes}");
        let back = read(&file);
        let short = |array: &ArrayRef| array.slice(0, 1);
        largest_difference(&short(&vectors), &short(back.column(0)))
    };
    assert!(error_of_short("int8") > 100.0 * error_of_short("int8-row"));
}

#[test]
fn a_struct_rounds_its_floating_point_numbers() {
    let price = Float64Array::from(vec![Some(0.1), None, Some(-1.0 / 3.0)]);
    let count = Int64Array::from(vec![1 << 40, 2, 3]);
    let fields = StructArray::try_from(vec![
        ("price", Arc::new(price) as ArrayRef),
        ("count", Arc::new(count.clone())),
    ])
    .unwrap();
    let batch = column("item", Arc::new(fields));
    let file = written(&batch, rounded(&[("item", "f32")]));
    let back = read(&file);
    let item = back.column(0).as_struct();
    let prices = item
        .column_by_name("price")
        .unwrap()
        .as_primitive::<Float64Type>();
    let expected = [
        Some(f64::from(0.1f32)),
        None,
        Some(f64::from(-1.0f32 / 3.0)),
    ];
    assert!(prices.iter().eq(expected));
    assert_eq!(
        item.column_by_name("count").unwrap().as_ref(),
        &count as &dyn Array
    );
    let columns = file.inspect().unwrap().columns;
    assert!(columns[0].rounding.as_ref().unwrap().starts_with("f32, "));
    assert_eq!(columns[1].rounding, None);
    let leaf = written(&batch, rounded(&[("item.price", "bf16")]));
    assert!(stated(&leaf).0 == "bf16");
}

#[test]
fn what_cannot_be_rounded_is_refused_by_name() {
    let floats = column("x", Arc::new(Float32Array::from(vec![1.0, f32::INFINITY])));
    let error = refused(&floats, rounded(&[("x", "bfloat")]));
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(
        text.contains("column `x`: no rounding `bfloat`; there are f32, f16, bf16,"),
        "{text}"
    );
    let text = refused(&floats, rounded(&[("x", "int8")])).to_string();
    let because = "a page cannot be rounded to int8: value 1 is not finite";
    assert!(
        text.contains("column `x`") && text.contains(because),
        "{text}"
    );
    let text = refused(&floats, rounded(&[("x", "int8-row")])).to_string();
    assert!(text.contains("rows are no fixed-size lists"), "{text}");
    let text = refused(&floats, rounded(&[("x", "f32")])).to_string();
    assert!(text.contains("not smaller than the values"), "{text}");
    let numbers = column("n", Arc::new(Int64Array::from(vec![1])));
    let text = refused(&numbers, rounded(&[("n", "bf16")])).to_string();
    assert!(
        text.contains("column `n`: only floating-point numbers are rounded"),
        "{text}"
    );
    let nulls = column("x", Arc::new(Float32Array::from(vec![Some(2.5), None])));
    let file = written(&nulls, rounded(&[("x", "int8")]));
    assert_eq!(read(&file).columns(), nulls.columns());
}
