//! How many bytes the columns hold together before some of them are written as shorter pages.
//!
//! When that happens is a function of the rows and the options alone: the budget is looked at after certain rows of the
//! table, wherever batches end. So memory is counted by what rows and pages are, not by what an allocator gave.

use std::cmp::Reverse;

/// The budget is looked at after multiples of so many rows of the table, or fewer in wide tables.
const ROWS_MAX: u64 = 1024;
const ROWS_MIN: u64 = 64;

/// Pages of so many bytes of rows are encoded at a time, however small the budget is.
const WAITING_BYTES_MIN: u64 = 8 << 20;

/// Memory of a leaf column without rows, rounded up.
const COLUMN_BYTES: u64 = 1536;

/// Memory of a page that is in the sink: what the metadata will say of it, without its block table.
const PAGE_BYTES: u64 = 192;

/// Memory that a column's first page leaves: its description, and what later pages go by. Rounded up.
const FIRST_PAGE_BYTES: u64 = 2048;

/// How much the columns may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    bytes: u64,
    /// Bytes that are held beside rows: of columns, and of pages that are written.
    beside_rows: u64,
    /// Rows between two looks: a power of two.
    rows: u64,
}

/// Rows that all columns take at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    pub(super) rows: usize,
    /// Bytes that the columns hold already.
    pub(super) held_bytes: u64,
    /// Bytes that the rows add to them at most.
    pub(super) new_bytes: u64,
    /// Whether a page may have all its rows at the end of the step, or before.
    pub(super) may_fill_a_page: bool,
}

impl Budget {
    /// So many bytes for so many leaf columns.
    pub(super) fn new(bytes: u64, n_columns: usize) -> Self {
        let row_bytes = 16 * n_columns.max(1) as u64;
        let rows = (bytes / 8 / row_bytes).max(1);
        Self {
            bytes,
            beside_rows: n_columns as u64 * COLUMN_BYTES,
            rows: (1 << rows.ilog2()).clamp(ROWS_MIN, ROWS_MAX),
        }
    }

    /// Counts what a column's first page leaves.
    pub(super) fn count_first_page(&mut self) {
        self.beside_rows += FIRST_PAGE_BYTES;
    }

    /// Counts a page with a block table of so many bytes, which stays in memory until the metadata are written.
    pub(super) fn count_page(&mut self, block_table_bytes: usize) {
        self.beside_rows += PAGE_BYTES + block_table_bytes as u64;
    }

    /// Bytes that rows may take: what columns and pages leave, but half of the budget at least, so that pages of files
    /// with very many of them do not become ever shorter.
    fn bytes_of_rows(self) -> u64 {
        self.bytes - self.beside_rows.min(self.bytes / 2)
    }

    /// Whether rows of so many bytes may be more than the budget, whatever pages are written meanwhile.
    pub(super) fn may_be_exceeded_by(self, held_bytes: u64) -> bool {
        held_bytes > self.bytes / 2
    }

    /// Bytes of memory that the rows' buffers may take, used or not.
    pub(super) fn capacity_bytes_max(self) -> u64 {
        (self.bytes_of_rows() / 8).saturating_mul(9)
    }

    /// Bytes of rows whose pages may wait to be appended.
    pub(super) fn waiting_bytes_max(self) -> u64 {
        WAITING_BYTES_MIN.max(self.bytes / 8)
    }

    /// Whether the budget is looked at when the table has so many rows.
    pub(super) fn looks_at(self, rows: u64) -> bool {
        rows.is_multiple_of(self.rows)
    }

    /// Rows from row `row` of the table to the next look, at least one.
    pub(super) fn rows_to_next_look(self, row: u64) -> u64 {
        self.rows - row % self.rows
    }

    /// Whether the budget is looked at when single columns have grown by so many bytes.
    pub(super) fn looks_after(self, bytes: u64) -> bool {
        bytes > self.bytes / 32
    }

    /// Rows of a step up to the last look before which the budget is kept, if all rows take about the same; `row` is
    /// the table's first row of the step. Zero if there is no such look.
    pub(super) fn rows_kept(self, step: &Step, row: u64) -> u64 {
        let free = self.bytes_of_rows().saturating_sub(step.held_bytes);
        let share = free as f64 / step.new_bytes.max(1) as f64;
        let end = row + (step.rows as f64 * share.min(1.0)) as u64;
        (end - end % self.rows).saturating_sub(row)
    }

    /// Whether no look until the end of a step finds more than the budget, if no page ends in it.
    pub(super) fn keeps(self, step: &Step) -> bool {
        step.held_bytes + step.new_bytes <= self.bytes_of_rows()
    }

    /// Which columns have to go, the largest first, if they hold so many bytes each; none if the budget is kept.
    pub(super) fn columns_to_flush(self, held_bytes: impl Iterator<Item = u64>) -> Vec<usize> {
        let mut by_size: Vec<(u64, usize)> = held_bytes
            .enumerate()
            .map(|(column, bytes)| (bytes, column))
            .collect();
        let mut held: u64 = by_size.iter().map(|(bytes, _)| bytes).sum();
        let bytes_max = self.bytes_of_rows();
        if held <= bytes_max {
            return Vec::new();
        }
        by_size.sort_by_key(|(bytes, column)| (Reverse(*bytes), *column));
        let mut columns = Vec::new();
        for (bytes, column) in by_size {
            // An eighth at once, so that the next flush is not one column later. To write more makes pages shorter.
            if held <= bytes_max - bytes_max / 8 {
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
    fn the_largest_columns_go_until_an_eighth_of_the_budget_is_free() {
        let check = |bytes_of_rows, held: &[u64], expect: &[usize]| {
            let columns = held.len() as u64 * COLUMN_BYTES;
            let budget = Budget::new(bytes_of_rows + columns, held.len());
            assert_eq!(budget.columns_to_flush(held.iter().copied()), expect);
        };
        check(100 << 10, &[], &[]);
        check(100 << 10, &[40 << 10, 60 << 10], &[]);
        check(100 << 10, &[40 << 10, 61 << 10], &[1]);
        // Of two that hold equally many, the first goes first.
        check(100 << 10, &[30 << 10, 40 << 10, 40 << 10], &[1]);
        check(100 << 10, &[50 << 10, 70 << 10, 80 << 10], &[2, 1]);
        check(100 << 10, &[1, 99 << 10, 1 << 10], &[1]);
        assert_eq!(
            Budget::new(0, 2).columns_to_flush([1, 2].into_iter()),
            [1, 0]
        );
    }

    #[test]
    fn rows_get_what_columns_and_pages_leave_and_at_least_half() {
        let mut budget = Budget::new(10 * COLUMN_BYTES, 2);
        assert_eq!(budget.bytes_of_rows(), 8 * COLUMN_BYTES);
        budget.count_page((COLUMN_BYTES - PAGE_BYTES) as usize);
        assert_eq!(budget.bytes_of_rows(), 7 * COLUMN_BYTES);
        budget.count_page(1 << 20);
        assert_eq!(budget.bytes_of_rows(), 5 * COLUMN_BYTES);
        assert!(!budget.may_be_exceeded_by(5 * COLUMN_BYTES));
        assert!(budget.may_be_exceeded_by(5 * COLUMN_BYTES + 1));
    }
}
