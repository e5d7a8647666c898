//! Arrow arrays without nulls, for those who use this crate alone.

use alloc::vec;
use arrow_array::PrimitiveArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_buffer::{MutableBuffer, ScalarBuffer};
use tarsia_codec::{Decoder, Error, Output, Result, Scratch, Selection, Unit};

use crate::decode::BitpackDecoder;
use crate::layout::Mode;

#[cfg(target_endian = "big")]
compile_error!(
    "Arrow arrays are in the order of the machine; the feature `arrow` needs a little-endian one"
);

fn decoder<P: ArrowPrimitiveType>() -> Result<BitpackDecoder> {
    match size_of::<P::Native>() {
        value_bytes @ (1 | 2 | 4 | 8) => Ok(BitpackDecoder {
            value_bytes,
            mode: Mode::Free,
        }),
        _ => Err(Error::invalid("bitpack holds values of 1, 2, 4 or 8 bytes")),
    }
}

/// Encodes the values of an array as one unit.
///
/// ```
/// use tarsia_bitpack::arrow_array::{Int32Array, types::Int32Type};
/// let array = Int32Array::from(vec![7, -1, 5]);
/// let bytes = tarsia_bitpack::encode_array(&array).unwrap();
/// assert_eq!(tarsia_bitpack::decode_array::<Int32Type>(&bytes, 3).unwrap(), array);
/// assert_eq!(tarsia_bitpack::decode_array_one::<Int32Type>(&bytes, 3, 1), Ok(-1));
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for an array with nulls, or of values of 16 or more bytes.
#[cfg(feature = "encode")]
pub fn encode_array<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> Result<vec::Vec<u8>> {
    if arrow_array::Array::null_count(array) > 0 {
        return Err(Error::invalid("bitpack holds no nulls"));
    }
    let BitpackDecoder { value_bytes, mode } = decoder::<P>()?;
    let values = array.values().inner().as_slice();
    let mut out = vec::Vec::new();
    crate::encode::encode_unit(values, value_bytes, mode, &mut out)?;
    Ok(out)
}

/// Decodes a unit of `n_values` to an array; it holds the memory decoded into, there is no copy.
///
/// # Errors
/// [`ErrorKind::Truncated`](tarsia_codec::ErrorKind::Truncated) and [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt) for bytes that are no such unit, [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for types whose
/// values are not of 1, 2, 4 or 8 bytes.
pub fn decode_array<P: ArrowPrimitiveType>(
    bytes: &[u8],
    n_values: u32,
) -> Result<PrimitiveArray<P>> {
    let decoder = decoder::<P>()?;
    let len = n_values as usize;
    let mut values = MutableBuffer::from_len_zeroed(len * decoder.value_bytes);
    let unit = Unit {
        bytes,
        len: n_values,
        decoded_bytes: 0,
    };
    let out = Output::Fixed(values.as_slice_mut());
    decoder.decode(unit, Selection::All, &mut Scratch::new(), out)?;
    let values = ScalarBuffer::new(values.into(), 0, len);
    Ok(PrimitiveArray::new(values, None))
}

/// Decodes value `index` of a unit of `n_values`.
///
/// # Errors
/// As [`decode_array`], and [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for an index beyond the unit.
pub fn decode_array_one<P: ArrowPrimitiveType>(
    bytes: &[u8],
    n_values: u32,
    index: u32,
) -> Result<P::Native> {
    let decoder = decoder::<P>()?;
    let mut value = MutableBuffer::from_len_zeroed(decoder.value_bytes);
    let unit = Unit {
        bytes,
        len: n_values,
        decoded_bytes: 0,
    };
    let selection = Selection::Indices(core::slice::from_ref(&index));
    let out = Output::Fixed(value.as_slice_mut());
    decoder.decode(unit, selection, &mut Scratch::new(), out)?;
    let value = ScalarBuffer::<P::Native>::new(value.into(), 0, 1);
    value.first().copied().ok_or(Error::invalid("no value"))
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;
    use arrow_array::types::{Decimal128Type, Float64Type, TimestampMicrosecondType};
    use arrow_array::{Decimal128Array, Float64Array, TimestampMicrosecondArray};

    #[test]
    fn slices_of_arrays_and_all_kinds_of_values() {
        let array = TimestampMicrosecondArray::from_iter_values((0..3000).map(|i| i * 1000 - 7));
        let sliced = array.slice(5, 2000);
        let bytes = encode_array(&sliced).unwrap();
        let decoded = decode_array::<TimestampMicrosecondType>(&bytes, 2000).unwrap();
        assert_eq!(decoded, sliced);
        let floats = Float64Array::from(vec![1.5, -0.0, f64::INFINITY]);
        let bytes = encode_array(&floats).unwrap();
        assert_eq!(decode_array::<Float64Type>(&bytes, 3).unwrap(), floats);
        let empty = Float64Array::from(Vec::<f64>::new());
        let bytes = encode_array(&empty).unwrap();
        assert_eq!(decode_array::<Float64Type>(&bytes, 0).unwrap().len(), 0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let nulls = Float64Array::from(vec![Some(1.0), None]);
        assert!(encode_array(&nulls).is_err());
        let wide = Decimal128Array::from(vec![1]);
        assert!(encode_array(&wide).is_err());
        assert!(decode_array::<Decimal128Type>(&[], 1).is_err());
        assert!(decode_array::<Float64Type>(&[1], 1).is_err());
        assert!(decode_array_one::<Float64Type>(&[0, 0, 0], 1, 1).is_err());
    }
}
