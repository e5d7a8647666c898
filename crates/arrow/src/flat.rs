//! The arrays of flat columns, made of decoded or borrowed memory.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryViewArray, NullArray, StringViewArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::DataType;
use tarsia_codec::toolbox::VIEW_BYTES;
use tarsia_codec::{Error, Result};
use tarsia_structure::RawParts;

use crate::buffers::{ColumnBuffers, cut};
use crate::dictionary;
use crate::kernels::checked_views;
use crate::plain::plain_array;
use crate::pool::Pool;
use crate::runs::run_arrays;

/// An array, or several that hold its rows one after the other: where the keys of a dictionary or the ends of runs
/// cannot number all rows, and where byte strings are borrowed from several byte ranges.
#[derive(Debug)]
pub struct ArrayParts {
    /// In row order; together they hold all rows.
    pub parts: Vec<ArrayRef>,
}

/// The array of `data_type` that decoded memory holds. Text is checked to be UTF-8, since any byte of a file may be
/// hostile.
///
/// # Errors
/// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for text that is not UTF-8,
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where the parts do not fit the type,
/// [`ErrorKind::Unsupported`](tarsia_codec::ErrorKind::Unsupported) for a type that is not stored.
pub fn array_from_raw(data_type: &DataType, raw: RawParts, pool: &Pool) -> Result<ArrayParts> {
    array_from_buffers(data_type, ColumnBuffers::of_raw(raw, pool), pool)
}

/// The array of type `Utf8View` or `BinaryView` whose views are `raw`, values of 16 bytes, and whose buffers are
/// `data`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where views point outside of the buffers and for
/// another type, [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for text that is not UTF-8.
pub fn array_of_views(
    data_type: &DataType,
    raw: RawParts,
    data: Vec<Buffer>,
    pool: &Pool,
) -> Result<ArrayRef> {
    let buffers = ColumnBuffers::of_raw(raw, pool);
    let bytes = buffers.rows.checked_mul(VIEW_BYTES);
    let views = cut(&buffers.values, bytes)?;
    let views = ScalarBuffer::new(views, 0, buffers.rows);
    match data_type {
        DataType::Utf8View => {
            let array: StringViewArray = checked_views(views, data, buffers.nulls, true)?;
            Ok(Arc::new(array))
        }
        DataType::BinaryView => {
            let array: BinaryViewArray = checked_views(views, data, buffers.nulls, false)?;
            Ok(Arc::new(array))
        }
        _ => Err(Error::invalid("views of values that are not strings")),
    }
}

/// The array of byte strings that lie back to back in `values`, which are borrowed; `raw` has their ends and validity.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where they do not fit each other or the type.
pub fn array_of_borrowed(
    data_type: &DataType,
    raw: RawParts,
    values: Buffer,
    pool: &Pool,
) -> Result<ArrayRef> {
    let buffers = ColumnBuffers {
        values,
        ..ColumnBuffers::of_raw(raw, pool)
    };
    plain_array(data_type, buffers, Some(pool))
}

/// As [`array_from_raw`], for memory that need not be the pool's.
///
/// # Errors
/// As [`array_from_raw`]; [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) also for buffers that are
/// shorter than the rows or not aligned.
pub fn array_from_buffers(
    data_type: &DataType,
    buffers: ColumnBuffers,
    pool: &Pool,
) -> Result<ArrayParts> {
    if let DataType::Dictionary(key, value) = data_type {
        let values = array_from_buffers(value, buffers, pool)?;
        let encode = |values: &ArrayRef| dictionary::encode(key, values, values.logical_nulls());
        let parts = values
            .parts
            .iter()
            .map(encode)
            .collect::<Result<Vec<_>>>()?;
        return Ok(ArrayParts {
            parts: parts.into_iter().flatten().collect(),
        });
    }
    if let DataType::RunEndEncoded(ends, values) = data_type {
        let logical = array_from_buffers(values.data_type(), buffers, pool)?;
        let runs = |part| run_arrays(data_type, ends.data_type(), part);
        let parts = logical.parts.iter().map(runs).collect::<Result<Vec<_>>>()?;
        return Ok(ArrayParts {
            parts: parts.into_iter().flatten().collect(),
        });
    }
    Ok(ArrayParts {
        parts: vec![plain_array(data_type, buffers, Some(pool))?],
    })
}

impl ArrayParts {
    /// Nulls of type Null, which has no pages.
    pub fn nulls(rows: usize) -> Self {
        Self {
            parts: vec![Arc::new(NullArray::new(rows))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int32Array;
    use arrow_array::cast::AsArray;

    fn buffers(
        validity: &[u8],
        offsets: &[u8],
        values: &[u8],
        rows: usize,
    ) -> Result<ColumnBuffers> {
        let aligned = |bytes: &[u8]| Buffer::from(bytes).as_slice().to_vec();
        ColumnBuffers::from_owners(rows, aligned(validity), aligned(offsets), aligned(values))
    }

    #[test]
    fn anybodys_memory_becomes_an_array() {
        let pool = Pool::new(0);
        let values: Vec<u8> = (1..=3i32).flat_map(i32::to_le_bytes).collect();
        let parts = buffers(&[0b101], &[], &values, 3).unwrap();
        let array = array_from_buffers(&DataType::Int32, parts, &pool).unwrap();
        let expect = Int32Array::from(vec![Some(1), None, Some(3)]);
        assert_eq!(array.parts[0].as_primitive(), &expect);
        // Validity that says nothing is none.
        assert!(buffers(&[0b111], &[], &values, 3).unwrap().nulls.is_none());
        assert!(buffers(&[], &[], &values, 3).unwrap().nulls.is_none());
    }

    #[test]
    fn memory_that_does_not_fit_its_rows_is_refused_without_a_panic() {
        let pool = Pool::new(0);
        let values = vec![1u8; 12];
        assert!(buffers(&[1], &[], &values, 9).is_err());
        let types = [
            DataType::Int32,
            DataType::Boolean,
            DataType::Utf8,
            DataType::Decimal128(5, 0),
        ];
        for data_type in types {
            for rows in [1000, usize::MAX / 8, usize::MAX] {
                let parts = buffers(&[], &[0; 4], &values, rows).unwrap();
                assert!(
                    array_from_buffers(&data_type, parts, &pool).is_err(),
                    "{data_type} {rows}"
                );
            }
        }
        // Longer memory is cut.
        let parts = buffers(&[], &[], &values, 1).unwrap();
        let array = array_from_buffers(&DataType::FixedSizeBinary(4), parts, &pool).unwrap();
        assert_eq!(array.parts[0].len(), 1);
        let odd = Buffer::from(&values[..]).slice(1);
        let parts = ColumnBuffers {
            rows: 1,
            nulls: None,
            offsets: Buffer::default(),
            values: odd,
        };
        assert!(array_from_buffers(&DataType::Int32, parts, &pool).is_err());
    }
}
