//! Rows of arrays as bytes, which are equal where the rows are.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryViewArray, BooleanArray, StringViewArray};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_schema::DataType;
use tarsia_codec::{Error, Result, ValueType, limits};

use crate::types::value_type;

/// Rows of any flat array as comparable bytes.
pub(crate) enum RowBytes<'a> {
    Bits(&'a BooleanArray),
    Fixed(Buffer, Range<usize>, usize),
    Offsets(&'a [i32], &'a [u8]),
    LargeOffsets(&'a [i64], &'a [u8]),
    Text(&'a StringViewArray),
    Binary(&'a BinaryViewArray),
}

impl<'a> RowBytes<'a> {
    pub(crate) fn of(array: &'a dyn Array) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bits(array.as_boolean()),
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Self::Offsets(array.value_offsets(), array.value_data())
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Self::Offsets(array.value_offsets(), array.value_data())
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Self::LargeOffsets(array.value_offsets(), array.value_data())
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Self::LargeOffsets(array.value_offsets(), array.value_data())
            }
            DataType::Utf8View => Self::Text(array.as_string_view()),
            DataType::BinaryView => Self::Binary(array.as_binary_view()),
            DataType::Dictionary(..) | DataType::RunEndEncoded(..) => {
                return Err(Error::invalid("not an array of plain values"));
            }
            _ => {
                let data = array.to_data();
                let width = value_type(array.data_type())
                    .ok()
                    .flatten()
                    .and_then(ValueType::fixed_bytes)
                    .ok_or_else(|| Error::invalid("not a flat array"))?;
                let start = data.offset() * width;
                let buffer = data.buffers().first().cloned().unwrap_or_default();
                Self::Fixed(buffer, start..start + array.len() * width, width)
            }
        })
    }

    pub(crate) fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Bits(array) => match array.value(row) {
                true => &[1],
                false => &[0],
            },
            Self::Fixed(buffer, range, width) => buffer
                .get(range.start + row * width..range.start + (row + 1) * width)
                .unwrap_or_default(),
            Self::Offsets(offsets, data) => offsets
                .get(row)
                .zip(offsets.get(row + 1))
                .and_then(|(start, end)| data.get(*start as usize..*end as usize))
                .unwrap_or_default(),
            Self::LargeOffsets(offsets, data) => offsets
                .get(row)
                .zip(offsets.get(row + 1))
                .and_then(|(start, end)| data.get(*start as usize..*end as usize))
                .unwrap_or_default(),
            Self::Text(array) => array.value(row).as_bytes(),
            Self::Binary(array) => array.value(row),
        }
    }
}

/// Offsets and bytes of all rows.
pub(crate) fn written(array: &dyn Array) -> Result<(Vec<i32>, Vec<u8>)> {
    let (mut offsets, mut bytes) = (vec![0], Vec::new());
    for row in 0..array.len() {
        write(array, row, &mut bytes)?;
        let end = i32::try_from(bytes.len()).map_err(|_| {
            let (found, max) = (bytes.len() as u64, limits::ARROW_OFFSET_MAX.into());
            Error::limit("bytes of a dictionary's entries", found, max)
        });
        offsets.push(end?);
    }
    Ok((offsets, bytes))
}

/// The key of a row that is not null.
fn key_at(keys: &dyn Array, row: usize) -> Result<usize> {
    let key = arrow_array::downcast_integer_array! {
        keys => keys.values().get(row).and_then(|key| key.to_usize()),
        _ => None
    };
    key.ok_or_else(|| Error::invalid("a dictionary key is out of range"))
}

fn write(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut items = |values: &ArrayRef, range: Range<usize>| {
        out.push(2);
        out.extend_from_slice(&(range.len() as u64).to_le_bytes());
        range
            .into_iter()
            .try_for_each(|row| write(values.as_ref(), row, out))
    };
    if array.is_null(row) {
        out.push(0);
        return Ok(());
    }
    match array.data_type() {
        DataType::Struct(fields) if !fields.is_empty() => {
            out.push(1);
            let columns = array.as_struct().columns();
            columns
                .iter()
                .try_for_each(|column| write(column.as_ref(), row, out))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = list.value_offsets();
            items(list.values(), ends[row] as usize..ends[row + 1] as usize)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends = list.value_offsets();
            items(list.values(), ends[row] as usize..ends[row + 1] as usize)
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let start = list.value_offset(row) as usize;
            items(list.values(), start..start + list.value_size(row) as usize)
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let start = list.value_offset(row) as usize;
            items(list.values(), start..start + list.value_size(row) as usize)
        }
        DataType::FixedSizeList(_, length) => {
            let list = array.as_fixed_size_list();
            let length = *length as usize;
            items(list.values(), row * length..(row + 1) * length)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let ends = map.value_offsets();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            items(&entries, ends[row] as usize..ends[row + 1] as usize)
        }
        DataType::Union(..) => {
            let union = array.as_union();
            let type_id = union.type_id(row);
            out.extend_from_slice(&[3, type_id as u8]);
            write(union.child(type_id).as_ref(), union.value_offset(row), out)
        }
        DataType::RunEndEncoded(ends, _) => {
            let (values, row) = match ends.data_type() {
                DataType::Int16 => {
                    let runs = array.as_run::<Int16Type>();
                    (runs.values(), runs.get_physical_index(row))
                }
                DataType::Int32 => {
                    let runs = array.as_run::<Int32Type>();
                    (runs.values(), runs.get_physical_index(row))
                }
                _ => {
                    let runs = array.as_run::<Int64Type>();
                    (runs.values(), runs.get_physical_index(row))
                }
            };
            write(values.as_ref(), row, out)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            write(
                dictionary.values().as_ref(),
                key_at(dictionary.keys(), row)?,
                out,
            )
        }
        DataType::Null => {
            out.push(0);
            Ok(())
        }
        _ => {
            let bytes = RowBytes::of(array)?;
            let value = bytes.get(row);
            out.push(1);
            out.extend_from_slice(&(value.len() as u64).to_le_bytes());
            out.extend_from_slice(value);
            Ok(())
        }
    }
}
