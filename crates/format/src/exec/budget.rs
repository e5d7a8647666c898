//! How much memory the nested columns of a batch may take.

use tarsia_structure::Budget;

use super::fields::FieldsRead;

/// The levels and items of a batch's nested columns, and what is filled in below their nulls, take at most this; else
/// the batch is cut.
const NESTED_BYTES_MAX: u64 = 128 << 20;

/// What the nested columns of a batch may take, which can be halved down to one row: that takes what it must.
pub(crate) fn batch_budget(n_rows: u64, of_row: impl FnOnce() -> Budget) -> Budget {
    match n_rows {
        0 | 1 => of_row(),
        _ => Budget::new(NESTED_BYTES_MAX),
    }
}

/// What nested rows may take that somebody wants all at once.
pub(crate) fn rows_budget<B: AsRef<[u8]>>(read: &FieldsRead<'_, B>) -> Budget {
    let nested = (0..read.columns.len()).filter(|index| !read.columns[*index].is_flat());
    let bytes = nested.map(|index| read.column(index).nested_bytes_max());
    Budget::new(bytes.fold(0, u64::saturating_add))
}
