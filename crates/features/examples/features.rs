//! Embeddings in halves, floats in 16 bits and ids as numbers: `cargo run -p tarsia-features --example features`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Int64Array, ListArray, RecordBatch,
};
use arrow_schema::{ArrowError, DataType};
use tarsia_features::{IdMap, dual, stored};

fn main() -> Result<(), ArrowError> {
    embeddings()?;
    rounded_floats()?;
    ids()
}

/// Vectors whose upper halves can be read alone.
fn embeddings() -> Result<(), ArrowError> {
    let vector = |row: u32| Some((0..4).map(move |i| Some((row * 4 + i) as f32 / 7.0)));
    let vectors =
        FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>((0..1000).map(vector), 4);
    let batch = RecordBatch::try_from_iter([("embedding", Arc::new(vectors) as ArrayRef)])?;

    // Write this batch.
    let split = dual::split_columns(&batch, &["embedding"])?;
    println!("{}", split.schema().field(0));

    // Read all of it …
    assert_eq!(dual::join_columns(&split)?, batch);

    // … or `embedding.high` alone: half of the bytes.
    let rounded = dual::widen_high(split.column(0).as_struct().column(0))?;
    let values = |array: &dyn Array| {
        let items = array.as_fixed_size_list().values().clone();
        items.as_primitive::<Float32Type>().values().clone()
    };
    let (exact, rounded) = (values(batch.column(0)), values(&rounded));
    let errors = exact
        .iter()
        .zip(&rounded)
        .map(|(exact, rounded)| (rounded / exact - 1.0).abs());
    let largest = errors.fold(0.0, f32::max);
    println!("largest relative error of `high` alone: {largest:.5}");
    assert!(largest <= 1.0 / 256.0);
    Ok(())
}

/// Floats that a writer rounded to bfloat16, in the 16 bits that each of them has.
fn rounded_floats() -> Result<(), ArrowError> {
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.5, 0.25, -3.0]));
    let batch = RecordBatch::try_from_iter([("weight", floats)])?;
    // What the reader of a Tarsia file has in its schema.
    let rounded = [(
        "rounded.weight".to_owned(),
        "bf16, largest error 0e0, relative 0e0".to_owned(),
    )];
    let schema = batch
        .schema()
        .as_ref()
        .clone()
        .with_metadata(rounded.into());
    let batch = batch.with_schema(Arc::new(schema))?;

    let narrowed = stored::narrow_columns(&batch)?;
    println!("{}", narrowed.schema().field(0));
    assert_eq!(stored::widen_columns(&narrowed)?, batch);
    Ok(())
}

/// Lists of sparse ids, whose numbers need one byte instead of eight.
fn ids() -> Result<(), ArrowError> {
    let clicks = |first: i64| {
        let row =
            move |row: i64| Some((0..row % 4).map(move |i| Some((first + row * i) * 982_451_653)));
        ListArray::from_iter_primitive::<Int64Type, _, _>((0..50).map(row))
    };
    let batches = [clicks(0), clicks(5)];
    let mut map = IdMap::new(&DataType::Int64)?;
    for batch in &batches {
        map.add(batch)?;
    }
    map.set_number_type(&map.narrowest())?;

    // Write these arrays, and the ids as a table of their own.
    let numbers = [map.encode(&batches[0])?, map.encode(&batches[1])?];
    let table: ArrayRef = map.ids();
    println!(
        "{} ids as {}: {}",
        map.len(),
        map.number_type(),
        numbers[0].data_type()
    );

    // Read the ids, then the numbers.
    let mut map = IdMap::from_ids(&table)?;
    for (numbers, batch) in numbers.iter().zip(&batches) {
        assert_eq!(map.decode(numbers)?.as_ref(), batch as &dyn Array);
    }

    // Another day brings other ids; the numbers that were given stay.
    let n_ids = map.len();
    map.add(&Int64Array::from(vec![-1, 0, -1]))?;
    assert_eq!(map.len(), n_ids + 1);
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("the example runs");
}
