//! Whether a column is decoded for some rows alone, or whole and then filtered.

use arrow_buffer::BooleanBuffer;
use tarsia_codec::ValueType;

use crate::table::Column;

/// Rows that were found among others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FoundRows {
    /// Rows that pass.
    pub(super) passed: u64,
    /// Runs of such rows, without one that does not pass between them.
    pub(super) runs: u64,
    /// Rows that pass, and rows that do not.
    pub(super) all: u64,
}

impl FoundRows {
    /// Rows that pass where the bit is set.
    pub(super) fn of(bits: &BooleanBuffer) -> Self {
        let counted = tarsia_bits::count_runs(bits.values(), bits.offset(), bits.len());
        let [passed, runs] = counted.unwrap_or_default();
        Self {
            passed: passed as u64,
            runs: runs as u64,
            all: bits.len() as u64,
        }
    }
}

/// Time that it takes to pick rows, in the time that decoding one row takes when all are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PickCost {
    /// Time of each row.
    row: u64,
    /// Time of each run of rows, beside its rows.
    run: u64,
}

impl PickCost {
    // Measured with a million rows in runs of 1, 5 and 40: numbers are picked faster up to one row of 100, 30 and 10,
    // text of few values up to one of 16, 5 and 2, other text up to one of 4, 4 and 2.
    pub(super) const NUMBERS: Self = Self { row: 12, run: 88 };
    const CODES: Self = Self { row: 2, run: 14 };
    const TEXT: Self = Self { row: 2, run: 2 };
    /// An estimate, since rows differ in how much they hold.
    const NESTED: Self = Self { row: 4, run: 28 };

    pub(super) fn of(column: &Column) -> Self {
        /// Text whose rows take fewer bytes in the file is numbers of entries.
        const CODES_BYTES_MAX: u64 = 2;
        match column.value_type {
            _ if !column.is_flat() => Self::NESTED,
            Some(ValueType::Bytes) if column.encoded_row_bytes() > CODES_BYTES_MAX => Self::TEXT,
            Some(ValueType::Bytes) => Self::CODES,
            _ => Self::NUMBERS,
        }
    }

    /// Whether picking the rows that pass takes less time than decoding all.
    pub(super) fn pays(self, rows: FoundRows) -> bool {
        let row = self.row.saturating_mul(rows.passed);
        let run = self.run.saturating_mul(rows.runs);
        row.saturating_add(run) < rows.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_runs_are_counted() {
        for (offset, len) in [(0, 0), (0, 64), (3, 64), (1, 200), (7, 130)] {
            let whole = BooleanBuffer::collect_bool(offset + len, |i| i % 7 < 3 || i % 64 > 60);
            let bits = whole.slice(offset, len);
            let found = FoundRows::of(&bits);
            assert_eq!(found.passed, bits.count_set_bits() as u64);
            assert_eq!(found.runs, bits.set_slices().count() as u64);
            assert_eq!(found.all, len as u64);
        }
    }

    #[test]
    fn scattered_rows_are_picked_later_than_runs() {
        let rows = |passed, runs| FoundRows {
            passed,
            runs,
            all: 10_000,
        };
        assert!(PickCost::NUMBERS.pays(rows(90, 90)));
        assert!(!PickCost::NUMBERS.pays(rows(110, 110)));
        assert!(PickCost::NUMBERS.pays(rows(600, 15)));
        assert!(PickCost::TEXT.pays(rows(2_000, 2_000)));
        assert!(!PickCost::TEXT.pays(rows(4_900, 400)));
    }
}
