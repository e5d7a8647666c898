//! How many rows of byte strings fit somewhere.

use core::ops::Range;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ByteArrayType, GenericBinaryType, GenericStringType, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;

/// A run of rows that fits somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// How many.
    pub rows: usize,
    /// At least what they add to [`LeafBuffer::logical_bytes`](crate::LeafBuffer::logical_bytes).
    pub bytes: usize,
}

/// The least number that is enough, of those up to `n`, which is taken to be. More is enough where less is.
pub(crate) fn least(n: usize, is_enough: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_enough(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

/// The longest run of `rows`, from their start, whose strings take at most `bytes_max` (what stands under nulls may
/// count), and what they take.
pub(crate) fn strings_within(array: &dyn Array, rows: Range<usize>, bytes_max: usize) -> Fit {
    match array.data_type() {
        DataType::Utf8 => offsets_within::<GenericStringType<i32>>(array, rows, bytes_max),
        DataType::LargeUtf8 => offsets_within::<GenericStringType<i64>>(array, rows, bytes_max),
        DataType::Binary => offsets_within::<GenericBinaryType<i32>>(array, rows, bytes_max),
        DataType::LargeBinary => offsets_within::<GenericBinaryType<i64>>(array, rows, bytes_max),
        DataType::Utf8View => views_within(array.as_string_view().views(), rows, bytes_max),
        DataType::BinaryView => views_within(array.as_binary_view().views(), rows, bytes_max),
        DataType::Dictionary(key, _) => {
            let keyed = match key.as_ref() {
                DataType::Int8 => keyed_within::<Int8Type>,
                DataType::Int16 => keyed_within::<Int16Type>,
                DataType::Int32 => keyed_within::<Int32Type>,
                DataType::Int64 => keyed_within::<Int64Type>,
                DataType::UInt8 => keyed_within::<UInt8Type>,
                DataType::UInt16 => keyed_within::<UInt16Type>,
                DataType::UInt32 => keyed_within::<UInt32Type>,
                _ => keyed_within::<UInt64Type>,
            };
            keyed(array, rows, bytes_max)
        }
        _ => Fit {
            rows: rows.len(),
            bytes: 0,
        },
    }
}

/// The longest run whose lengths, one after the other, add up to at most `bytes_max`.
fn lengths_within(lengths: impl Iterator<Item = usize>, bytes_max: usize) -> Fit {
    let mut fit = Fit { rows: 0, bytes: 0 };
    for length in lengths {
        let bytes = fit.bytes.saturating_add(length);
        if bytes > bytes_max {
            break;
        }
        fit.rows += 1;
        fit.bytes = bytes;
    }
    fit
}

fn offsets_within<T: ByteArrayType>(
    array: &dyn Array,
    rows: Range<usize>,
    bytes_max: usize,
) -> Fit {
    let offsets = array.as_bytes::<T>().value_offsets();
    let offsets = offsets.get(rows.start..rows.end + 1).unwrap_or_default();
    let first = offsets.first().map_or(0, |first| first.as_usize());
    let within = offsets.partition_point(|end| end.as_usize() - first <= bytes_max);
    let rows = within.saturating_sub(1);
    Fit {
        rows,
        bytes: offsets.get(rows).map_or(0, |end| end.as_usize() - first),
    }
}

fn views_within(views: &[u128], rows: Range<usize>, bytes_max: usize) -> Fit {
    let views = views.get(rows).unwrap_or_default();
    // A view's lowest 32 bits are the length.
    lengths_within(views.iter().map(|view| *view as u32 as usize), bytes_max)
}

fn keyed_within<K: ArrowPrimitiveType>(
    array: &dyn Array,
    rows: Range<usize>,
    bytes_max: usize,
) -> Fit {
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        return Fit { rows: 0, bytes: 0 };
    };
    let values = dictionary.values().as_ref();
    let length: &dyn Fn(usize) -> usize = match values.data_type() {
        DataType::Utf8 => &|i| values.as_string::<i32>().value_length(i) as usize,
        DataType::LargeUtf8 => &|i| values.as_string::<i64>().value_length(i) as usize,
        DataType::Binary => &|i| values.as_binary::<i32>().value_length(i) as usize,
        DataType::LargeBinary => &|i| values.as_binary::<i64>().value_length(i) as usize,
        DataType::Utf8View => &|i| values.as_string_view().views()[i] as u32 as usize,
        DataType::BinaryView => &|i| values.as_binary_view().views()[i] as u32 as usize,
        _ => &|_| 0,
    };
    let keys = dictionary.keys();
    let nulls: Option<&NullBuffer> = keys.nulls();
    let keys = keys.as_primitive::<K>().values();
    let length_of_row = |row: usize| {
        let key = keys.get(row).map_or(usize::MAX, |key| key.as_usize());
        match nulls.is_some_and(|nulls| nulls.is_null(row)) || key >= values.len() {
            true => 0,
            false => length(key),
        }
    };
    lengths_within(rows.map(length_of_row), bytes_max)
}
