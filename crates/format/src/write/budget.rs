//! How many bytes the columns hold together before some of them are written as shorter pages.
//!
//! When that happens is a function of the rows and the options alone: the budget is looked at after certain rows of the
//! table, wherever batches end.

use std::cmp::Reverse;

/// The budget is looked at after multiples of so many rows of the table, or fewer in wide tables.
const ROWS_MAX: u64 = 1024;
const ROWS_MIN: u64 = 64;

/// How much the columns may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    bytes: u64,
    /// Rows between two looks: a power of two.
    rows: u64,
}

impl Budget {
    /// So many bytes for so many leaf columns.
    pub(super) fn new(bytes: u64, n_columns: usize) -> Self {
        let row_bytes = 16 * n_columns.max(1) as u64;
        let rows = (bytes / 8 / row_bytes).max(1);
        Self {
            bytes,
            rows: (1 << rows.ilog2()).clamp(ROWS_MIN, ROWS_MAX),
        }
    }

    pub(super) fn is_exceeded_by(self, held_bytes: u64) -> bool {
        held_bytes > self.bytes
    }

    /// Whether the budget is looked at when the table has so many rows.
    pub(super) fn looks_at(self, rows: u64) -> bool {
        rows.is_multiple_of(self.rows)
    }

    /// Rows from row `row` of the table to the next look, at least one.
    pub(super) fn rows_to_next_look(self, row: u64) -> u64 {
        self.rows - row % self.rows
    }

    /// Which columns have to go, the largest first, if they hold so many bytes each; none if the budget is kept.
    pub(super) fn columns_to_flush(self, held_bytes: impl Iterator<Item = u64>) -> Vec<usize> {
        let mut by_size: Vec<(u64, usize)> = held_bytes
            .enumerate()
            .map(|(column, bytes)| (bytes, column))
            .collect();
        let mut held: u64 = by_size.iter().map(|(bytes, _)| bytes).sum();
        if !self.is_exceeded_by(held) {
            return Vec::new();
        }
        by_size.sort_by_key(|(bytes, column)| (Reverse(*bytes), *column));
        let mut columns = Vec::new();
        for (bytes, column) in by_size {
            // Half at once, so that the next flush is not one column later.
            if held <= self.bytes / 2 {
                break;
            }
            held -= bytes;
            columns.push(column);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_looked_at_more_often_in_wide_tables() {
        let rows = |columns, bytes| Budget::new(bytes, columns).rows;
        assert_eq!(rows(10, 256 << 20), 1024);
        assert_eq!(rows(10_000, 256 << 20), 128);
        assert_eq!(rows(100, 0), 64);
        assert_eq!(rows(0, u64::MAX), 1024);
        let budget = Budget::new(256 << 20, 10_000);
        assert_eq!(
            [0, 1, 127, 128].map(|row| budget.rows_to_next_look(row)),
            [128, 127, 1, 128]
        );
        assert_eq!(
            [0, 1, 127, 128].map(|row| budget.looks_at(row)),
            [true, false, false, true]
        );
    }

    #[test]
    fn the_largest_columns_go_until_half_the_budget_is_free() {
        let check = |bytes, held: &[u64], expect: &[usize]| {
            let budget = Budget::new(bytes, held.len());
            assert_eq!(budget.columns_to_flush(held.iter().copied()), expect);
        };
        check(100, &[], &[]);
        check(100, &[40, 60], &[]);
        check(100, &[40, 61], &[1]);
        // Of two that hold equally many, the first goes first.
        check(100, &[30, 40, 40], &[1, 2]);
        check(100, &[1, 99, 1], &[1]);
        check(0, &[1, 2], &[1, 0]);
    }
}
