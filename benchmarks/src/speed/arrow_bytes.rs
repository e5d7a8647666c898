//! How many bytes a table has as Arrow arrays.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// The longest string that lies in its view.
const VIEW_INLINE_BYTES_MAX: u32 = 12;

/// Values, offsets, views with what they refer to, and validity. A dictionary that batches share counts once.
pub(crate) fn of(batches: &[RecordBatch]) -> usize {
    let mut bytes = 0;
    let mut before: Option<&RecordBatch> = None;
    for batch in batches {
        for (i, column) in batch.columns().iter().enumerate() {
            bytes += column_bytes(column, before.map(|batch| batch.column(i)));
        }
        before = Some(batch);
    }
    bytes
}

/// `before` is the same column of the batch before.
fn column_bytes(column: &ArrayRef, before: Option<&ArrayRef>) -> usize {
    match column.data_type() {
        DataType::Dictionary(key, _) => {
            let dictionary = column.as_any_dictionary();
            let values = dictionary.values();
            let is_shared = before.is_some_and(|before| {
                let before = before.as_any_dictionary().values();
                before.to_data().ptr_eq(&values.to_data())
            });
            let validity = column.nulls().map_or(0, |_| column.len().div_ceil(8));
            let keys = column.len() * key.primitive_width().unwrap_or(0);
            keys + validity
                + if is_shared {
                    0
                } else {
                    column_bytes(values, None)
                }
        }
        DataType::Utf8View => {
            let views = column.as_string_view();
            slice_bytes(column) + bytes_of_long(views.views(), |row| views.is_valid(row))
        }
        DataType::BinaryView => {
            let views = column.as_binary_view();
            slice_bytes(column) + bytes_of_long(views.views(), |row| views.is_valid(row))
        }
        _ => slice_bytes(column),
    }
}

/// Arrow counts no bytes that views refer to.
fn slice_bytes(column: &ArrayRef) -> usize {
    column.to_data().get_slice_memory_size().unwrap_or(0)
}

/// Bytes of the strings that do not lie in their view: its first four bytes are the length.
fn bytes_of_long(views: &[u128], is_valid: impl Fn(usize) -> bool) -> usize {
    let long = views.iter().enumerate().filter_map(|(row, view)| {
        let len = *view as u32;
        (is_valid(row) && len > VIEW_INLINE_BYTES_MAX).then_some(len as usize)
    });
    long.sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, Int32Array, Int64Array, StringArray, StringViewArray};

    use super::*;

    fn batch(column: impl Array + 'static) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("a", Arc::new(column) as ArrayRef, true)])
            .unwrap()
    }

    #[test]
    fn numbers_and_their_validity() {
        assert_eq!(of(&[batch(Int64Array::from(vec![1, 2, 3]))]), 24);
        assert_eq!(of(&[batch(Int64Array::from(vec![Some(1), None]))]), 17);
    }

    #[test]
    fn views_count_long_strings() {
        let strings = ["short", "exactly 12 b", "thirteen byte"];
        assert_eq!(
            of(&[batch(StringViewArray::from(strings.to_vec()))]),
            3 * 16 + 13
        );
    }

    #[test]
    fn a_shared_dictionary_counts_once() {
        let values: ArrayRef = Arc::new(StringArray::from(vec!["a", "bc"]));
        let shared = || DictionaryArray::new(Int32Array::from(vec![0, 1, 1]), values.clone());
        let other: ArrayRef = Arc::new(StringArray::from(vec!["a", "bc"]));
        let other = DictionaryArray::new(Int32Array::from(vec![0, 1, 1]), other);
        let values_bytes = 3 * 4 + 3;
        assert_eq!(
            of(&[batch(shared()), batch(shared())]),
            2 * 12 + values_bytes
        );
        assert_eq!(
            of(&[batch(shared()), batch(other)]),
            2 * (12 + values_bytes)
        );
    }
}
