//! Tables made from a seed: long ones and wide ones.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray, UInt32Array,
};

use super::random::Random;

/// Rows of the table of about 200 MB as Arrow arrays.
pub(super) const MIXED_ROWS: usize = 2_000_000;

/// Rows of the table of a little more than 1 GiB as Arrow arrays.
pub(super) const LARGE_ROWS: usize = 10_300_000;

/// Rows of a wide table.
pub(super) const WIDE_ROWS: usize = 100;

const BATCH_ROWS: usize = 65_536;

const STATUSES: [&str; 6] = [
    "active",
    "blocked",
    "deleted",
    "new",
    "pending review",
    "suspended",
];

const SYLLABLES: [&str; 16] = [
    "ba", "co", "del", "fi", "gra", "hu", "in", "jo", "ka", "lem", "mo", "ner", "op", "qui", "ra",
    "stu",
];

/// Integers, timestamps, strings of low cardinality, floats and text: about what a log of events holds. Batch by batch;
/// two tables begin with the same batches.
pub(super) fn mixed(n_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut random = Random::new(0x7461_7273_6961);
    let cities: Vec<String> = (0..500).map(|_| word(&mut random, 4)).collect();
    let vocabulary: Vec<String> = (0..4_000)
        .map(|_| {
            let n_syllables = 1 + random.below(3);
            word(&mut random, n_syllables)
        })
        .collect();
    let mut time = 1_700_000_000_000_000;
    (0..n_rows).step_by(BATCH_ROWS).map(move |start| {
        let rows = BATCH_ROWS.min(n_rows - start);
        mixed_batch(&mut random, start, rows, &mut time, &cities, &vocabulary)
    })
}

fn mixed_batch(
    random: &mut Random,
    start: usize,
    rows: usize,
    time: &mut i64,
    cities: &[String],
    vocabulary: &[String],
) -> Result<RecordBatch> {
    let r = random;
    let id = Int64Array::from_iter_values((start..start + rows).map(|row| row as i64));
    let user = UInt32Array::from_iter_values((0..rows).map(|_| skewed(r, 1 << 20) as u32));
    let at = TimestampMicrosecondArray::from_iter_values((0..rows).map(|_| {
        *time += r.below(2_000_000) as i64;
        *time
    }));
    let status =
        StringArray::from_iter_values((0..rows).map(|_| STATUSES[skewed(r, STATUSES.len())]));
    let city = StringArray::from_iter_values((0..rows).map(|_| &cities[skewed(r, cities.len())]));
    let price = Float64Array::from_iter_values((0..rows).map(|_| r.below(100_000) as f64 / 100.0));
    let score = Float32Array::from_iter_values((0..rows).map(|_| r.unit() as f32));
    let clicks = Int32Array::from_iter_values((0..rows).map(|_| skewed(r, 1_000) as i32));
    let age = Int32Array::from_iter(
        (0..rows).map(|_| (r.below(10) > 0).then(|| 18 + r.below(70) as i32)),
    );
    let paid = BooleanArray::from_iter((0..rows).map(|_| Some(r.below(8) == 0)));
    let mut text = StringBuilder::new();
    for _ in 0..rows {
        let mut value = String::new();
        for i in 0..3 + r.below(8) {
            if i > 0 {
                value.push(' ');
            }
            value.push_str(&vocabulary[skewed(r, vocabulary.len())]);
        }
        text.append_value(value);
    }
    let columns: [(&str, ArrayRef); 11] = [
        ("id", Arc::new(id)),
        ("user", Arc::new(user)),
        ("at", Arc::new(at)),
        ("status", Arc::new(status)),
        ("city", Arc::new(city)),
        ("price", Arc::new(price)),
        ("score", Arc::new(score)),
        ("clicks", Arc::new(clicks)),
        ("age", Arc::new(age)),
        ("paid", Arc::new(paid)),
        ("text", Arc::new(text.finish())),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// `WIDE_ROWS` rows of features: integers, floats and strings by turns.
pub(super) fn wide(n_columns: usize) -> Result<RecordBatch> {
    let mut random = Random::new(n_columns as u64);
    let r = &mut random;
    let columns: Vec<(String, ArrayRef)> = (0..n_columns)
        .map(|i| {
            let rows = 0..WIDE_ROWS;
            let column: ArrayRef = match i % 4 {
                0 => Arc::new(Int64Array::from_iter_values(
                    rows.map(|_| skewed(r, 1 << 30) as i64),
                )),
                1 => Arc::new(Float32Array::from_iter_values(
                    rows.map(|_| r.unit() as f32),
                )),
                2 => Arc::new(Int32Array::from_iter_values(
                    rows.map(|_| r.below(100) as i32),
                )),
                _ => Arc::new(StringArray::from_iter_values(
                    rows.map(|_| STATUSES[r.below(STATUSES.len())]),
                )),
            };
            (format!("feature_{i:05}"), column)
        })
        .collect();
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Syllables in a row.
pub(crate) fn word(random: &mut Random, n_syllables: usize) -> String {
    (0..n_syllables)
        .map(|_| SYLLABLES[random.below(SYLLABLES.len())])
        .collect()
}

/// Below `n`; small numbers are frequent.
fn skewed(random: &mut Random, n: usize) -> usize {
    let u = random.unit();
    ((u * u * u) * n as f64) as usize
}
