//! Columns of which few rows are valid.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};

use crate::common::{assert_rows, deterministic, open, read_all, write};
use crate::round_trip::cut_at_random;

/// Columns of which few rows are valid are held by these alone, until they are more: where that is has to depend on the
/// rows, and not on batches.
#[test]
fn the_bytes_of_sparse_columns_do_not_depend_on_batches() {
    const ROWS: usize = 20_000;
    let is_valid = |column: usize, row: usize| match column % 4 {
        0 => row % 3000 == column,
        1 => row * 7919 % 100 == column,
        // Dense behind a row, and the other way round.
        2 => row > 9000 + 100 * column && row.is_multiple_of(3),
        _ => row < 4000 + 100 * column && row.is_multiple_of(2),
    };
    let columns = (0..40).map(|column| {
        let valid = |row: usize| is_valid(column, row).then_some(row);
        let array: ArrayRef = match column % 3 {
            0 => Arc::new(
                (0..ROWS)
                    .map(|row| valid(row).map(|row| format!("row {row}")))
                    .collect::<StringArray>(),
            ),
            1 => Arc::new(
                (0..ROWS)
                    .map(|row| valid(row).map(|row| row % 5 == 0))
                    .collect::<BooleanArray>(),
            ),
            _ => Arc::new(
                (0..ROWS)
                    .map(|row| valid(row).map(|row| row as i64))
                    .collect::<Int64Array>(),
            ),
        };
        (format!("c{column}"), array)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    for memory_budget_bytes in [100_000, 700_000, u64::MAX] {
        let options = || deterministic().with_memory_budget_bytes(memory_budget_bytes);
        let whole = write(batch.schema(), std::slice::from_ref(&batch), options());
        let file = open(&whole).unwrap();
        assert_rows(&read_all(&file).unwrap(), &batch);
        for seed in 1..5 {
            let cut = write(batch.schema(), &cut_at_random(&batch, seed), options());
            assert!(cut == whole, "{memory_budget_bytes} bytes, seed {seed}");
        }
        let pages = |column: usize| file.inspect().unwrap().columns[column].pages;
        if memory_budget_bytes == 700_000 {
            // A column of a few valid rows stays whole where others are cut.
            assert!(
                pages(0) == 1 && pages(2) > 1,
                "{} and {}",
                pages(0),
                pages(2)
            );
        }
    }
}
