//! Arrays of flat types, dictionaries and runs apart.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    NullArray, PrimitiveArray, StringArray, StructArray, downcast_primitive, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use tarsia_codec::{Error, ErrorKind, Result, ValueType};

use crate::buffers::{ColumnBuffers, cut};
use crate::kernels::Strings;
use crate::pool::Pool;
use crate::types::{logical_type, value_type};

/// The array of a flat type that a column's parts make. Memory for views is the pool's, where there is one.
///
/// # Errors
/// As [`array_from_buffers`](crate::array_from_buffers).
pub(crate) fn plain_array(
    data_type: &DataType,
    buffers: ColumnBuffers,
    pool: Option<&Pool>,
) -> Result<ArrayRef> {
    let ColumnBuffers {
        rows,
        nulls,
        offsets,
        values,
    } = buffers;
    let stored = value_type(logical_type(data_type)).map_err(|unsupported| {
        Error::from(ErrorKind::Unsupported {
            what: format!("type {unsupported}"),
        })
    })?;
    match stored {
        None => Ok(Arc::new(NullArray::new(rows))),
        Some(ValueType::Bits) => {
            let bits = cut(&values, Some(rows.div_ceil(8)))?;
            let bits = BooleanBuffer::new(bits, 0, rows);
            Ok(Arc::new(BooleanArray::new(bits, nulls)))
        }
        Some(ValueType::Fixed(width)) => {
            let values = cut(&values, rows.checked_mul(width as usize))?;
            fixed_array(data_type, rows, values, nulls)
        }
        Some(ValueType::Bytes) => {
            let bytes = rows.checked_add(1).and_then(|n| n.checked_mul(4));
            let offsets = cut(&offsets, bytes)?;
            bytes_array(data_type, offsets, values, nulls, pool)
        }
    }
}

fn fixed_array(
    data_type: &DataType,
    rows: usize,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if let DataType::Struct(_) = data_type {
        return Ok(Arc::new(StructArray::new_empty_fields(rows, nulls)));
    }
    if let DataType::FixedSizeBinary(width) = data_type {
        if *width == 0 {
            return zero_width(rows, nulls)
                .map_err(|_| Error::invalid("fixed-size binary of width 0"));
        }
        let array = FixedSizeBinaryArray::try_new(*width, values, nulls)
            .map_err(|_| Error::invalid("fixed-size binary values of another size"))?;
        return Ok(Arc::new(array));
    }
    macro_rules! primitive {
        ($t:ty, $data_type:expr, $rows:expr, $values:expr, $nulls:expr) => {{
            let values = ScalarBuffer::new($values, 0, $rows);
            let array = PrimitiveArray::<$t>::try_new(values, $nulls)
                .map_err(|_| Error::invalid("validity and values differ in length"))?
                .with_data_type($data_type.clone());
            Ok(Arc::new(array))
        }};
    }
    downcast_primitive! {
        data_type => (primitive, data_type, rows, values, nulls),
        other => Err(Error::from(ErrorKind::Unsupported { what: format!("type {other}") }))
    }
}

/// `FixedSizeBinaryArray` cannot tell the length of zero-width values from their buffer.
pub(crate) fn zero_width(rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let data = ArrayData::builder(DataType::FixedSizeBinary(0))
        .len(rows)
        .add_buffer(Buffer::default())
        .nulls(nulls)
        .build()?;
    Ok(make_array(data))
}

fn bytes_array(
    data_type: &DataType,
    offsets: Buffer,
    data: Buffer,
    nulls: Option<NullBuffer>,
    pool: Option<&Pool>,
) -> Result<ArrayRef> {
    let is_text = matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    );
    // Decoders promise rising ends inside the data; arrays are built on that, so it is checked once more.
    let strings = Strings::new(offsets.into(), data, is_text)?;
    Ok(match data_type {
        DataType::Utf8 => {
            let array: StringArray = strings.narrow(true, nulls)?;
            Arc::new(array)
        }
        DataType::Binary => {
            let array: BinaryArray = strings.narrow(false, nulls)?;
            Arc::new(array)
        }
        DataType::LargeUtf8 => {
            let array: LargeStringArray = strings.wide(true, nulls)?;
            Arc::new(array)
        }
        DataType::LargeBinary => {
            let array: LargeBinaryArray = strings.wide(false, nulls)?;
            Arc::new(array)
        }
        DataType::Utf8View => Arc::new(strings.text_views(nulls, pool)?),
        DataType::BinaryView => Arc::new(strings.binary_views(nulls, pool)?),
        other => {
            return Err(Error::from(ErrorKind::Unsupported {
                what: format!("type {other}"),
            }));
        }
    })
}
