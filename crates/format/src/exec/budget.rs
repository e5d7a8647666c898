//! How much memory the nested columns of a batch may take.

use tarsia_structure::Budget;

use super::fields::FieldsRead;

/// Most bytes of the levels and items of a batch's nested columns, with the slots that Arrow wants below nulls. A batch
/// that needs more is cut.
const NESTED_BYTES_MAX: u64 = 128 << 20;

/// The memory that the nested columns of a batch may take. A batch that needs more is halved; a batch of one row may
/// take as much as that row needs.
pub(crate) fn batch_budget(n_rows: u64, of_row: impl FnOnce() -> Budget) -> Budget {
    match n_rows {
        0 | 1 => of_row(),
        _ => Budget::new(NESTED_BYTES_MAX),
    }
}

/// The memory that nested rows may take if they cannot be cut into batches.
pub(crate) fn rows_budget<B: AsRef<[u8]>>(read: &FieldsRead<'_, B>) -> Budget {
    let nested = (0..read.columns.len()).filter(|index| !read.columns[*index].is_flat());
    let bytes = nested.map(|index| read.column(index).nested_bytes_max());
    Budget::new(bytes.fold(0, u64::saturating_add))
}
