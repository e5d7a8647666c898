//! How much memory the nested columns of a batch may take.

use tarsia_structure::Budget;

use super::batch_size::bytes_max;
use super::fields::FieldsRead;

/// Most bytes of the levels and items of a batch's nested columns, with the slots that Arrow wants below nulls, unless
/// it has many columns. A batch that needs more is cut.
const NESTED_BYTES_MAX: u64 = 128 << 20;

/// Levels and items take at most so many times the bytes that a batch of many columns decodes to: cut for less, batches
/// of 20,000 lists were decoded in part, halved twice, and each block decoded four times.
const NESTED_PER_DECODED: u64 = 2;

/// The memory that the nested columns of a batch of so many columns may take. A batch that needs more is halved; a
/// batch of one row may take as much as that row needs.
pub(crate) fn batch_budget(
    n_rows: u64,
    n_columns: usize,
    of_row: impl FnOnce() -> Budget,
) -> Budget {
    let of_many = NESTED_PER_DECODED.saturating_mul(bytes_max(n_columns));
    match n_rows {
        0 | 1 => of_row(),
        _ => Budget::new(NESTED_BYTES_MAX.max(of_many)),
    }
}

/// The memory that nested rows may take if they cannot be cut into batches.
pub(crate) fn rows_budget<B: AsRef<[u8]>>(read: &FieldsRead<'_, B>) -> Budget {
    let nested = (0..read.columns.len()).filter(|index| !read.columns[*index].is_flat());
    let bytes = nested.map(|index| read.column(index).nested_bytes_max());
    Budget::new(bytes.fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_columns_get_more_where_there_are_many() {
        let budget = |n_rows, n_columns| batch_budget(n_rows, n_columns, || Budget::new(7)).left();
        assert_eq!(budget(1, 20_000), 7);
        assert_eq!(budget(2, 1), NESTED_BYTES_MAX);
        // What may be decoded for a batch fits the budget, or it would be decoded for nothing.
        for n_columns in [1, 5_000, 20_000, usize::MAX] {
            assert!(
                budget(1000, n_columns) >= bytes_max(n_columns),
                "{n_columns}"
            );
        }
    }
}
