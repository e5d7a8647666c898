//! Arrow arrays without nulls to one buffer and back.

use alloc::format;
use alloc::vec::Vec;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use tarsia_codec::{
    BitSlice, BytesSlice, Error, FixedSlice, Output, Registry, Result, Selection, Tree, ValueType,
    Values, limits,
};

use crate::decode::Encoded;
use crate::encode::encode;

#[cfg(target_endian = "big")]
compile_error!(
    "Arrow arrays are in the machine's byte order; the feature `arrow` needs a little-endian machine"
);

/// Encodes an Arrow array under `tree`: a primitive array of any width (decimals, dates, times, intervals), `Boolean`,
/// `FixedSizeBinary`, `Utf8`, `LargeUtf8`, `Binary` or `LargeBinary`. The buffer does not hold the Arrow type; who
/// decodes it names a type of the same physical type.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an array with nulls,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for other Arrow types, else as [`encode`].
pub fn encode_array(registry: &Registry, tree: &Tree, array: &dyn Array) -> Result<Vec<u8>> {
    if array.null_count() > 0 {
        return Err(Error::invalid(
            "the array has nulls, which encodings do not hold: encode its validity as an array of its own",
        ));
    }
    let values = |values| encode(registry, tree, values);
    match array.data_type() {
        DataType::Boolean => {
            let bits = array.as_boolean().values();
            let bits = BitSlice::new(bits.values(), bits.offset(), bits.len())?;
            values(Values::Bits(bits))
        }
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            values(strings(array.value_offsets(), array.value_data())?)
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            values(strings(array.value_offsets(), array.value_data())?)
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            let (offsets, data) = narrow(array.value_offsets(), array.value_data())?;
            values(Values::Bytes(BytesSlice::new(&offsets, data)?))
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            let (offsets, data) = narrow(array.value_offsets(), array.value_data())?;
            values(Values::Bytes(BytesSlice::new(&offsets, data)?))
        }
        other => {
            let ValueType::Fixed(width) = value_type_of(other)? else {
                return Err(unsupported(other));
            };
            let (data, width) = (array.to_data(), width as usize);
            let bytes = data.buffers().first().map_or(&[][..], Buffer::as_slice);
            let start = data.offset() * width;
            let bytes = bytes.get(start..start + data.len() * width);
            let bytes = bytes.ok_or_else(|| Error::invalid("the array's buffer is too short"))?;
            values(Values::Fixed(FixedSlice::new(bytes, width, data.len())?))
        }
    }
}

/// The physical type of the values of an Arrow type.
fn value_type_of(data_type: &DataType) -> Result<ValueType> {
    match data_type {
        DataType::Boolean => Ok(ValueType::Bits),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
            Ok(ValueType::Bytes)
        }
        DataType::FixedSizeBinary(width) => {
            let width = u32::try_from(*width).map_err(|_| unsupported(data_type))?;
            ValueType::Fixed(width).validate()
        }
        other => match other.primitive_width() {
            Some(width) => Ok(ValueType::Fixed(width as u32)),
            None => Err(unsupported(other)),
        },
    }
}

fn unsupported(data_type: &DataType) -> Error {
    Error::unsupported(&format!(
        "arrays of the Arrow type {data_type} in one encoding"
    ))
}

/// Offsets of 32 bits are used in place: Arrow's are not negative.
fn strings<'a>(offsets: &'a [i32], data: &'a [u8]) -> Result<Values<'a>> {
    let offsets = bytemuck::cast_slice(offsets);
    Ok(Values::Bytes(BytesSlice::new(offsets, data)?))
}

/// Offsets of 64 bits from 0 on as 32 bits, and the data they point into.
fn narrow<'a>(offsets: &[i64], data: &'a [u8]) -> Result<(Vec<u32>, &'a [u8])> {
    let first = offsets.first().copied().unwrap_or_default();
    let last = offsets.last().copied().unwrap_or_default();
    let too_long = |bytes: i64| {
        let max = limits::UNIT_DECODED_BYTES_MAX;
        Error::limit("UNIT_DECODED_BYTES_MAX", bytes.unsigned_abs(), max)
    };
    let from_first =
        |offset: &i64| u32::try_from(offset - first).map_err(|_| too_long(offset - first));
    let narrow = offsets.iter().map(from_first).collect::<Result<_>>()?;
    let data = data.get(first as usize..last as usize);
    Ok((
        narrow,
        data.ok_or_else(|| Error::invalid("offsets reach beyond the data"))?,
    ))
}

impl Encoded<'_> {
    /// The selected values as an Arrow array without nulls. It owns the memory that was decoded into; there is no copy.
    /// `data_type` is any type that [`encode_array`](crate::encode_array) takes whose physical type is that of the
    /// values: 8-byte values may become `Int64`, `Float64` or a timestamp.
    ///
    /// ```
    /// use tarsia_plain::PLAIN;
    /// use tarsia_standalone::arrow_array::{Array, Int32Array};
    /// use tarsia_standalone::{Encoded, Selection, encode_array, registry};
    ///
    /// let registry = registry(&[&PLAIN]);
    /// let array = Int32Array::from(vec![7, -1, 5]);
    /// let bytes = encode_array(&registry, &tarsia_plain::tree(), &array)?;
    /// let mut encoded = Encoded::open(&registry, &bytes)?;
    /// let decoded = encoded.array(array.data_type(), Selection::Range { start: 1, len: 2 })?;
    /// assert_eq!(decoded.as_ref(), &array.slice(1, 2) as &dyn Array);
    /// # Ok::<(), tarsia_standalone::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an Arrow type that has no encoding of its own,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for one of another physical type or a selection
    /// beyond the values, [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded) for strings that need 64-bit
    /// offsets, [`ErrorKind::Truncated`](crate::ErrorKind::Truncated) and
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) for bad bytes, also for text that is not UTF-8.
    pub fn array(&mut self, data_type: &DataType, selection: Selection<'_>) -> Result<ArrayRef> {
        let value_type = value_type_of(data_type)?;
        self.check_type(value_type)?;
        let n = selection.check(self.len() as u32)?;
        let mut array = ArrayData::builder(data_type.clone()).len(n);
        match value_type {
            ValueType::Bits => {
                let mut bytes = MutableBuffer::from_len_zeroed(n.div_ceil(8));
                let out = Output::Bits {
                    bytes: &mut bytes,
                    offset: 0,
                };
                self.decode(selection, out)?;
                array = array.add_buffer(bytes.into());
            }
            ValueType::Fixed(width) => {
                let bytes = (width as usize).checked_mul(n);
                let bytes =
                    bytes.ok_or_else(|| Error::invalid("the values do not fit the memory"))?;
                let mut bytes = MutableBuffer::from_len_zeroed(bytes);
                self.decode(selection, Output::Fixed(&mut bytes))?;
                array = array.add_buffer(bytes.into());
            }
            ValueType::Bytes => {
                // The first offset stays 0.
                let mut offsets = MutableBuffer::from_len_zeroed((n + 1) * 4);
                let ends = offsets.typed_data_mut::<u32>().get_mut(1..);
                let make = MutableBuffer::from_len_zeroed;
                let (mut data, written) =
                    self.decode_strings(selection, ends.unwrap_or_default(), make)?;
                data.truncate(written);
                let offsets = match data_type {
                    DataType::LargeUtf8 | DataType::LargeBinary => {
                        let wide = offsets.typed_data::<u32>().iter();
                        wide.map(|offset| i64::from(*offset)).collect()
                    }
                    _ if written > limits::ARROW_OFFSET_MAX as usize => {
                        let (found, max) = (written as u64, limits::ARROW_OFFSET_MAX.into());
                        return Err(Error::limit("Arrow's 32-bit offsets", found, max));
                    }
                    _ => Buffer::from(offsets),
                };
                array = array.add_buffer(offsets).add_buffer(data.into());
            }
        }
        // Checks lengths, and text for UTF-8.
        let array = array.build().map_err(|_| {
            let allowed = "values of the Arrow type, such as UTF-8";
            Error::corrupt("standalone.unit", 0, n, allowed)
        })?;
        Ok(make_array(array))
    }
}
