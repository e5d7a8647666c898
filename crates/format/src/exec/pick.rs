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

/// Time that it takes to pick rows of a column, and to decode all: nanoseconds, of which only the ratio counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PickCost {
    /// Time of decoding a row when all are decoded, and of filtering it.
    whole: f64,
    /// Time to find the first row of each run of picked rows. Its rows are decoded as when all are.
    run: f64,
    /// Time of each run for its block.
    block: f64,
    /// Most time for all blocks, for each row of the column: runs share them.
    blocks_most: f64,
}

impl PickCost {
    // Measured with columns of `lineitem` at shares of 1 of 250 to 1 of 6, in no order. Numbers are picked faster below
    // one row of 290, 165 and 50 (of 4, 8 and 16 bytes), text of few values below one of 7, other text below one of 5.
    const NUMBERS: Self = Self {
        whole: 0.06,
        run: 12.0,
        block: 46.0,
        blocks_most: 0.42,
    };
    const CODES: Self = Self {
        whole: 2.0,
        run: 13.0,
        ..Self::NUMBERS
    };
    const TEXT: Self = Self {
        whole: 6.7,
        run: 14.0,
        block: 200.0,
        blocks_most: 2.8,
    };
    /// An estimate, since rows differ in how much they hold.
    const NESTED: Self = Self {
        whole: 4.0,
        run: 36.0,
        ..Self::TEXT
    };

    pub(super) fn of(column: &Column) -> Self {
        /// Text whose rows take fewer bytes in the file is numbers of entries.
        const CODES_BYTES_MAX: u64 = 2;
        match column.value_type {
            _ if !column.is_flat() => Self::NESTED,
            Some(ValueType::Bytes) if column.encoded_row_bytes() > CODES_BYTES_MAX => Self::TEXT,
            Some(ValueType::Bytes) => Self::CODES,
            Some(ValueType::Fixed(width)) => Self::numbers(width),
            Some(ValueType::Bits) | None => Self::numbers(1),
        }
    }

    /// Times of numbers of so many bytes.
    pub(super) fn numbers(width: u32) -> Self {
        Self {
            whole: Self::NUMBERS.whole * f64::from(width),
            ..Self::NUMBERS
        }
    }

    /// Whether picking the rows that pass takes less time than decoding all.
    pub(super) fn pays(self, rows: FoundRows) -> bool {
        let [passed, runs, all] = [rows.passed, rows.runs, rows.all].map(|n| n as f64);
        let blocks = (self.block * runs).min(self.blocks_most * all);
        self.whole * passed + self.run * runs + blocks < self.whole * all
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
    fn rows_are_picked_where_they_are_few() {
        let share = |n: u64| FoundRows {
            passed: 1_000_000 / n,
            runs: 1_000_000 / n,
            all: 1_000_000,
        };
        for (cost, picked, whole) in [
            (PickCost::numbers(4), 250, 200),
            (PickCost::numbers(8), 130, 110),
            (PickCost::numbers(16), 50, 20),
            (PickCost::CODES, 10, 9),
            (PickCost::TEXT, 6, 5),
        ] {
            assert!(cost.pays(share(picked)), "{cost:?}");
            assert!(!cost.pays(share(whole)), "{cost:?}");
        }
        let runs = FoundRows {
            runs: 1_000,
            ..share(25)
        };
        assert!(PickCost::numbers(4).pays(runs));
        let one = FoundRows {
            runs: 1,
            ..share(2)
        };
        assert!(PickCost::numbers(1).pays(one));
    }
}
