//! Columns in two halves, and ids as numbers, through files.

use std::sync::Arc;

use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, RecordBatch};
use arrow_schema::DataType;
use tarsia::{EmbedKernels, File};
use tarsia_features::{IdMap, dual};
use tarsia_testkit::rng::Rng;

use crate::common::{deterministic, open, read_all, write};

const ROWS: usize = 4000;
const DIM: i32 = 64;

fn written(batch: &RecordBatch) -> File {
    let options = deterministic().with_embed_kernels(EmbedKernels::Omit);
    open(&write(batch.schema(), std::slice::from_ref(batch), options)).unwrap()
}

fn read(file: &File) -> RecordBatch {
    let mut batches = read_all(file).unwrap();
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

/// Vectors of numbers with random digits.
fn vectors() -> RecordBatch {
    let mut rng = Rng::new(3);
    let mut number = move || Some((rng.u64() >> 32) as f32 / (1u64 << 31) as f32 - 1.0);
    let rows = (0..ROWS).map(|_| Some((0..DIM).map(|_| number()).collect::<Vec<_>>()));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, DIM);
    RecordBatch::try_from_iter([("embedding", Arc::new(vectors) as ArrayRef)]).unwrap()
}

#[test]
fn one_half_of_a_dual_column_is_half_of_the_bytes() {
    let batch = vectors();
    let file = written(&dual::split_columns(&batch, &["embedding"]).unwrap());
    assert_eq!(
        dual::join_columns(&read(&file)).unwrap().columns(),
        batch.columns()
    );

    let rows: Vec<u64> = (0..ROWS as u64).collect();
    let taken = |name: &str| file.take(&rows).columns(&[name]).read_counted().unwrap();
    let (both, high) = (taken("embedding"), taken("embedding.high"));
    let (of, bytes) = (both.reads.bytes, high.reads.bytes);
    assert!(bytes * 2 <= of + of / 20, "{bytes} of {of} bytes are read");

    // As bfloat16, to the nearest.
    let widened = dual::widen_high(high.batch.column(0)).unwrap();
    let exact = batch.column(0).to_data();
    let near = widened.to_data();
    let exact: &[f32] = exact.child_data()[0].buffers()[0].typed_data();
    let near: &[f32] = near.child_data()[0].buffers()[0].typed_data();
    assert_eq!(exact.len(), near.len());
    for (exact, near) in exact.iter().zip(near) {
        assert!(
            (exact - near).abs() <= exact.abs() / 256.0,
            "{exact} {near}"
        );
    }
}

#[test]
fn ids_come_back_from_numbers_and_a_table_of_ids() {
    let mut rng = Rng::new(8);
    let ids: Vec<i64> = (0..900).map(|_| rng.u64() as i64).collect();
    let rows = (0..ROWS).map(|_| {
        let n = rng.below(20);
        Some(
            (0..n)
                .map(|_| Some(ids[rng.below(ids.len())]))
                .collect::<Vec<_>>(),
        )
    });
    let clicks = ListArray::from_iter_primitive::<Int64Type, _, _>(rows);
    let mut map = IdMap::new(&DataType::Int64).unwrap();
    map.add(&clicks).unwrap();
    assert_eq!(map.narrowest(), DataType::UInt16);
    map.set_number_type(&DataType::UInt16).unwrap();
    let table = |name: &str, array: ArrayRef| RecordBatch::try_from_iter([(name, array)]).unwrap();
    let numbers = written(&table("clicks", map.encode(&clicks).unwrap()));
    let ids = written(&table("id", map.ids()));

    let map = IdMap::from_ids(read(&ids).column(0)).unwrap();
    let back = map.decode(read(&numbers).column(0)).unwrap();
    assert_eq!(back.as_ref(), &clicks as &dyn Array);
}
