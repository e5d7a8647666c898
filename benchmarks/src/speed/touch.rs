//! The consumer of every format: reads each cache line of a batch once, and drops it.

use arrow_array::cast::AsArray;
use arrow_array::{Array, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::{ArrowNativeType, ToByteSlice};
use arrow_data::ArrayData;
use arrow_schema::DataType;

/// Bytes that a processor fetches at once.
const LINE_BYTES: usize = 64;

/// Bytes of a view of a string, and the longest string that lies in the view itself.
const VIEW_BYTES: usize = 16;
const VIEW_INLINE_BYTES_MAX: usize = 12;

/// A sum that depends on every line of every buffer of the batch, so that nothing can stay undecoded.
pub(crate) fn batch(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| array(column)).sum()
}

fn array(array: &dyn Array) -> u64 {
    let data = array.to_data();
    let mut sum = data.nulls().map_or(0, |nulls| {
        lines(
            nulls.validity(),
            nulls.offset() / 8,
            (nulls.offset() + nulls.len()).div_ceil(8),
        )
    });
    let (start, end) = (data.offset(), data.offset() + data.len());
    sum += match data.data_type() {
        DataType::Null => 0,
        DataType::Dictionary(key, _) => {
            let width = key.primitive_width().unwrap_or(0);
            let keys = lines(data.buffers()[0].as_slice(), start * width, end * width);
            keys + self::array(array.as_any_dictionary().values())
        }
        DataType::Struct(_) => array
            .as_struct()
            .columns()
            .iter()
            .map(|c| self::array(c))
            .sum(),
        DataType::List(_) => list::<i32>(array.as_list()),
        DataType::LargeList(_) => list::<i64>(array.as_list()),
        DataType::FixedSizeList(..) => self::array(array.as_fixed_size_list().values()),
        DataType::Boolean => lines(data.buffers()[0].as_slice(), start / 8, end.div_ceil(8)),
        DataType::Utf8 | DataType::Binary => strings::<i32>(&data),
        DataType::LargeUtf8 | DataType::LargeBinary => strings::<i64>(&data),
        DataType::Utf8View | DataType::BinaryView => views(&data),
        DataType::FixedSizeBinary(width) => {
            let width = usize::try_from(*width).unwrap_or(0);
            lines(data.buffers()[0].as_slice(), start * width, end * width)
        }
        data_type => match data_type.primitive_width() {
            Some(width) => lines(data.buffers()[0].as_slice(), start * width, end * width),
            None => unreachable!("{data_type} is not measured"),
        },
    };
    sum
}

/// Offsets, and the items between the first and the last.
fn list<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> u64 {
    let offsets = list.value_offsets();
    let bytes = offsets.to_byte_slice();
    let (start, end) = (offsets[0].as_usize(), offsets[list.len()].as_usize());
    let items = list.values().slice(start, end - start);
    lines(bytes, 0, bytes.len()) + array(&items)
}

fn lines(bytes: &[u8], start: usize, end: usize) -> u64 {
    let bytes = &bytes[start..end];
    let mut sum = bytes.last().copied().map_or(0, u64::from);
    for byte in bytes.iter().step_by(LINE_BYTES) {
        sum += u64::from(*byte);
    }
    sum
}

fn strings<O: ArrowNativeType>(data: &ArrayData) -> u64 {
    if data.is_empty() {
        return 0;
    }
    let (start, end) = (data.offset(), data.offset() + data.len());
    let width = size_of::<O>();
    let offsets = data.buffer::<O>(0);
    let sum = lines(
        data.buffers()[0].as_slice(),
        start * width,
        (end + 1) * width,
    );
    // `buffer` begins at the array's first row.
    let values = (offsets[0].as_usize(), offsets[data.len()].as_usize());
    sum + lines(data.buffers()[1].as_slice(), values.0, values.1)
}

fn views(data: &ArrayData) -> u64 {
    let (start, end) = (data.offset() * VIEW_BYTES, data.offset() + data.len());
    let views = data.buffers()[0].as_slice();
    let mut sum = lines(views, start, end * VIEW_BYTES);
    for view in views[start..end * VIEW_BYTES].chunks_exact(VIEW_BYTES) {
        let word = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&view[at..at + 4]);
            u32::from_le_bytes(bytes) as usize
        };
        let len = word(0);
        if len > VIEW_INLINE_BYTES_MAX {
            let (buffer, offset) = (word(8), word(12));
            sum += lines(data.buffers()[buffer + 1].as_slice(), offset, offset + len);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::UInt8Type;
    use arrow_array::{
        ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, ListArray, StringArray,
        StringViewArray,
    };

    use super::*;

    fn sum(column: impl Array + 'static) -> u64 {
        array(&(Arc::new(column) as ArrayRef))
    }

    #[test]
    fn every_line_counts() {
        // 16 lines: the first byte of each and the last byte of all.
        let values = |at: usize, value: i64| {
            let mut values = vec![0; 128];
            values[at] = value;
            Int64Array::from(values)
        };
        assert_eq!(sum(values(0, 0)), 0);
        for line in 0..16 {
            assert_eq!(sum(values(line * 8, 7)), 7);
        }
        assert_eq!(sum(values(8, 7).slice(9, 20)), 0);
        assert_eq!(sum(values(8, 7).slice(8, 20)), 7);
    }

    #[test]
    fn lists_count_offsets_and_the_items_they_refer_to() {
        let rows = [vec![Some(1), Some(2)], vec![], vec![Some(3)]].map(Some);
        let lists = ListArray::from_iter_primitive::<UInt8Type, _, _>(rows);
        // Offsets 2, 2, 3: the first byte of the line and the last byte, which is zero. The item counts twice, as the
        // first and as the last.
        assert_eq!(sum(lists.slice(1, 2)), 2 + 2 * 3);
    }

    #[test]
    fn dictionaries_count_keys_and_values() {
        let keys = Int32Array::from(vec![0, 2]);
        let values = Arc::new(StringArray::from(vec!["a", "bc", "d"]));
        let array = DictionaryArray::new(keys, values.clone());
        // The keys' line begins with 0, and its last byte is 0.
        assert_eq!(sum(array), sum(values.as_ref().clone()));
        assert_eq!(
            sum(DictionaryArray::new(
                Int32Array::from(vec![1]),
                values.clone()
            )),
            1 + sum(values.as_ref().clone())
        );
    }

    #[test]
    fn strings_of_a_slice() {
        let strings = StringArray::from(vec!["a", "bc", "d"]);
        // Offsets 3..=4, first and last byte, then the value twice: it is first and last.
        assert_eq!(sum(strings.slice(2, 1)), 3 + 2 * u64::from(b'd'));
        let view = StringViewArray::from(vec!["x".repeat(100)]);
        assert!(sum(view) >= 2 * u64::from(b'x'));
        assert_eq!(sum(BooleanArray::from(vec![true; 8])), 2 * 255);
    }
}
