//! The values that the operations read and write. Seeds are fixed: the same on every machine.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};

use crate::Result;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014). Not the generator of
/// `tarsia-testkit`: that crate brings an allocator which counts, and its instructions would be counted too.
struct Rng(u64);

impl Rng {
    fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// Random numbers of 20 bits above a base.
pub(crate) fn i64s(rows: usize) -> ArrayRef {
    let mut rng = Rng(1);
    let values = (0..rows).map(|_| 1_700_000_000_000 + rng.below(1 << 20) as i64);
    Arc::new(Int64Array::from_iter_values(values))
}

/// Random numbers of 12 bits; one row in ten is null.
pub(crate) fn i32s_with_nulls(rows: usize) -> ArrayRef {
    let mut rng = Rng(2);
    let mut value = || (rng.below(10) > 0).then(|| rng.below(1 << 12) as i32);
    let values: Vec<Option<i32>> = (0..rows).map(|_| value()).collect();
    Arc::new(Int32Array::from(values))
}

/// Random bits: nothing that any encoding could save.
pub(crate) fn f64s(rows: usize) -> ArrayRef {
    let mut rng = Rng(3);
    let values = (0..rows).map(|_| f64::from_bits(rng.u64()));
    Arc::new(Float64Array::from_iter_values(values))
}

/// Strings of 4 to 23 random characters, one in ten of them beyond ASCII.
pub(crate) fn strings(rows: usize) -> ArrayRef {
    let mut rng = Rng(4);
    let values = (0..rows).map(|_| string(&mut rng));
    Arc::new(StringArray::from_iter_values(values))
}

/// Different sentences of 500 words, of which some are far more frequent than others.
pub(crate) fn sentences(rows: usize) -> ArrayRef {
    let mut rng = Rng(6);
    let words: Vec<String> = (0..500).map(|_| string(&mut rng)).collect();
    let values = (0..rows).map(|_| {
        let mut sentence = String::new();
        for _ in 0..2 + rng.below(5) {
            let bound = 1 + rng.below(words.len() as u64);
            sentence.push_str(&words[rng.below(bound) as usize]);
            sentence.push(' ');
        }
        sentence
    });
    Arc::new(StringArray::from_iter_values(values))
}

/// 200 different strings at random, some of them far more often than others.
pub(crate) fn few_strings(rows: usize) -> ArrayRef {
    let mut rng = Rng(5);
    let words: Vec<String> = (0..200).map(|_| string(&mut rng)).collect();
    let values = (0..rows).map(|_| {
        let bound = 1 + rng.below(words.len() as u64);
        &words[rng.below(bound) as usize]
    });
    Arc::new(StringArray::from_iter_values(values))
}

fn string(rng: &mut Rng) -> String {
    let len = 4 + rng.below(20);
    let mut character = || match rng.below(10) {
        0 => char::from_u32(0xe0 + rng.below(0x40) as u32).unwrap_or('ß'),
        _ => (b'!' + rng.below(90) as u8) as char,
    };
    (0..len).map(|_| character()).collect()
}

/// Random bits.
pub(crate) fn booleans(rows: usize) -> ArrayRef {
    let mut rng = Rng(6);
    let values: Vec<bool> = (0..rows).map(|_| rng.below(2) == 1).collect();
    Arc::new(BooleanArray::from(values))
}

/// One number throughout.
pub(crate) fn constants(rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_value(42, rows))
}

/// Rows at random, in no order.
pub(crate) fn row_numbers(n: usize, rows: usize) -> Vec<u64> {
    let mut rng = Rng(7);
    (0..n).map(|_| rng.below(rows as u64)).collect()
}

/// A batch of columns; those with nulls are nullable.
pub(crate) fn batch(columns: &[(&str, ArrayRef)]) -> Result<RecordBatch> {
    let columns = columns
        .iter()
        .map(|(name, values)| (*name, values.clone(), values.null_count() > 0));
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

/// Columns `column_0`, `column_1`, … of 100 rows, in turn of integers and of numbers with nulls.
pub(crate) fn wide(n_columns: usize) -> Result<RecordBatch> {
    let rows = 100;
    let (i64s, i32s) = (i64s(rows), i32s_with_nulls(rows));
    let field = |i: usize| match i % 2 {
        0 => Field::new(format!("column_{i}"), DataType::Int64, false),
        _ => Field::new(format!("column_{i}"), DataType::Int32, true),
    };
    let values = |i: usize| match i % 2 {
        0 => i64s.clone(),
        _ => i32s.clone(),
    };
    let schema = Schema::new((0..n_columns).map(field).collect::<Vec<_>>());
    let columns = (0..n_columns).map(values).collect();
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}
