//! How much memory a writer holds: its budget, and little more.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tarsia::{Threads, WriteOptions, Writer};
use tarsia_testkit::memory::measure;
use tarsia_testkit::rng::Rng;

use crate::common::deterministic;

/// Random numbers, which stay as long as they are.
fn batch(columns: usize, rows: usize, seed: u64) -> RecordBatch {
    let mut rng = Rng::new(seed);
    let columns = (0..columns).map(|i| {
        let values = Int64Array::from_iter_values((0..rows).map(|_| rng.u64() as i64));
        (format!("c{i}"), Arc::new(values) as ArrayRef)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The most bytes that a writer of these batches holds at a time, and how many bytes of values all of them have.
fn peak(options: WriteOptions, columns: usize, rows: usize, n_batches: u64) -> (u64, u64) {
    let batches: Vec<_> = (0..n_batches).map(|i| batch(columns, rows, i)).collect();
    let options = options.with_threads(Threads::One);
    let (_, allocated) = measure(|| {
        let mut writer = Writer::new(io::sink(), batches[0].schema(), options).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
    });
    (
        allocated.peak_bytes,
        (columns * rows * 8) as u64 * n_batches,
    )
}

#[test]
fn many_columns_take_the_budget_and_an_eighth() {
    let budget = 16 << 20;
    let options = deterministic().with_memory_budget_bytes(budget);
    let (peak, bytes) = peak(options, 1_000, 512, 12);
    assert!(bytes > 2 * budget);
    // The rows' buffers, rows up to the next look at the budget, and pages that are encoded. Buffers that double would
    // take 32 MiB.
    let most = budget + budget / 8 + (4 << 20);
    assert!(peak < most, "{peak} bytes for a budget of {budget}");
}

#[test]
fn encoded_pages_that_wait_are_few() {
    // All columns fill a page with the same row.
    let options = deterministic().with_page_bytes(1 << 20);
    let (peak, bytes) = peak(options, 64, 1 << 17, 1);
    assert_eq!(bytes, 64 << 20);
    // The rows, a half of the pages, and a page that is encoded. All pages would wait beside the rows.
    assert!(peak < 112 << 20, "{} MiB", peak >> 20);
}

#[test]
fn columns_that_are_written_give_their_memory_back() {
    // Of columns that become long one after the other, none holds what it held before.
    let budget = 1 << 20;
    let options = deterministic()
        .with_memory_budget_bytes(budget)
        .with_threads(Threads::One);
    let columns = 256;
    let empty = || {
        Arc::new(arrow_array::BinaryArray::from_iter_values(
            ["".as_bytes(); 64],
        ))
    };
    let batches = (0..columns).map(|long| {
        let mut rng = Rng::new(long as u64);
        let text: Vec<u8> = (0..2 << 10).map(|_| rng.u64() as u8).collect();
        let columns = (0..columns).map(|i| {
            let array = match i == long {
                true => Arc::new(arrow_array::BinaryArray::from_iter_values([&text; 64])),
                false => empty(),
            };
            (format!("c{i}"), array as ArrayRef)
        });
        RecordBatch::try_from_iter(columns).unwrap()
    });
    let batches: Vec<_> = batches.collect();
    let (_, allocated) = measure(|| {
        let mut writer = Writer::new(io::sink(), batches[0].schema(), options).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
    });
    let peak = allocated.peak_bytes;
    // All that they held are 32 MiB.
    assert!(peak < 10 << 20, "{} MiB", peak >> 20);
}
