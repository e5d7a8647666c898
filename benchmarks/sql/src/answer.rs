//! Answers that are the same: the same rows, in any order, with numbers that differ by rounding at most.

use anyhow::{Result, ensure};
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};

/// Numbers that differ by no more than this, or this share of them, are the same: systems give an average more or
/// fewer digits.
const DIFFERENCE_MAX: f64 = 1e-6;

/// The rows as texts, sorted.
fn rows_of(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in batches {
        let options = FormatOptions::default();
        let columns = batch.columns().iter();
        let columns = columns
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| column.value(row).to_string());
            rows.push(cells.collect::<Vec<_>>());
        }
    }
    rows.sort();
    Ok(rows)
}

fn is_same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => {
            (one - other).abs() <= DIFFERENCE_MAX * one.abs().max(other.abs()).max(1.0)
        }
        _ => false,
    }
}

/// Fails where two answers differ.
pub(crate) fn compare(found: &[RecordBatch], expected: &[RecordBatch]) -> Result<()> {
    let (found, expected) = (rows_of(found)?, rows_of(expected)?);
    let (n_found, n_expected) = (found.len(), expected.len());
    ensure!(n_found == n_expected, "{n_found} rows, not {n_expected}");
    for (one, other) in found.iter().zip(&expected) {
        let is_equal = one.len() == other.len()
            && one
                .iter()
                .zip(other)
                .all(|(one, other)| is_same(one, other));
        ensure!(is_equal, "{one:?}, not {other:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};

    use super::*;

    fn batch(name: &str, numbers: ArrayRef) -> RecordBatch {
        let names: ArrayRef = Arc::new(StringArray::from(vec![name; numbers.len()]));
        RecordBatch::try_from_iter([("name", names), ("number", numbers)]).unwrap()
    }

    #[test]
    fn rounding_and_order_do_not_matter() {
        let one = batch("a", Arc::new(Int64Array::from(vec![1, 2_000_000_000])));
        let other = batch(
            "a",
            Arc::new(Float64Array::from(vec![2_000_000_001.0, 1.0])),
        );
        compare(&[one.clone()], &[other]).unwrap();
        let more = batch("a", Arc::new(Int64Array::from(vec![1, 2_000_009_000])));
        assert!(compare(&[one.clone()], &[more]).is_err());
        assert!(compare(&[one.clone()], &[batch("b", one.column(1).clone())]).is_err());
        assert!(compare(&[one.clone()], &[one.clone(), one]).is_err());
    }
}
