//! Values as bytes that are ordered as the values are (`docs/spec/table/keys.md`).
//!
//! A null is a zero byte. Any other value is a byte 1 and then, by type:
//!
//! | type | bytes |
//! |---|---|
//! | integers, dates, times, timestamps, durations, decimals of up to 128 bits | as many as the type has, big-endian; the highest bit of signed ones is flipped |
//! | booleans | 0 or 1 |
//! | text, bytes | each byte, a zero byte as `00 FF`; then `00 00` |
//! | bytes of a fixed number | as they are |
//!
//! Floating-point numbers, dictionaries, decimals of 256 bits, intervals and nested types have no encoding.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, GenericBinaryArray, OffsetSizeTrait,
    StringViewArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::error::{Error, Result};

const NULL: u8 = 0;
const VALUE: u8 = 1;
const ESCAPE: u8 = 0;
const ESCAPED_ZERO: u8 = 0xff;
const END: u8 = 0;

/// How values of a type are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// A number of so many bytes.
    Integer {
        /// 1, 2, 4, 8 or 16.
        bytes: usize,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// Text or bytes of any length.
    Bytes,
    /// Bytes of this length.
    Fixed(usize),
}

/// A value that can be encoded. Nulls come first in the order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyValue {
    /// Null.
    Null,
    /// A number, a boolean, or a point or length of time in the unit of its type.
    Integer(i128),
    /// Text or bytes.
    Bytes(Vec<u8>),
}

impl KeyType {
    /// The encoding of a type; `None` if it has none.
    pub fn of(data_type: &DataType) -> Option<Self> {
        use DataType as T;
        let integer = |bytes, is_signed| Some(Self::Integer { bytes, is_signed });
        match data_type {
            T::Boolean | T::UInt8 => integer(1, false),
            T::UInt16 => integer(2, false),
            T::UInt32 => integer(4, false),
            T::UInt64 => integer(8, false),
            T::Int8 => integer(1, true),
            T::Int16 => integer(2, true),
            T::Int32 | T::Date32 | T::Time32(_) | T::Decimal32(..) => integer(4, true),
            T::Int64 | T::Date64 | T::Time64(_) | T::Timestamp(..) | T::Duration(_) => {
                integer(8, true)
            }
            T::Decimal64(..) => integer(8, true),
            T::Decimal128(..) => integer(16, true),
            T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => {
                Some(Self::Bytes)
            }
            T::FixedSizeBinary(n) => Some(Self::Fixed(usize::try_from(*n).ok()?)),
            _ => None,
        }
    }

    /// Appends the encoding of a value that this type has.
    pub fn encode(self, value: &KeyValue, out: &mut Vec<u8>) {
        match (self, value) {
            (_, KeyValue::Null) => out.push(NULL),
            (Self::Integer { bytes, is_signed }, KeyValue::Integer(number)) => {
                out.push(VALUE);
                let shifted = match is_signed {
                    true => number.wrapping_add(1 << (8 * bytes - 1)),
                    false => *number,
                };
                let all = shifted.to_be_bytes();
                out.extend_from_slice(all.get(16 - bytes..).unwrap_or(&all));
            }
            (Self::Fixed(_), KeyValue::Bytes(value)) => {
                out.push(VALUE);
                out.extend_from_slice(value);
            }
            (_, KeyValue::Bytes(value)) => {
                out.push(VALUE);
                for byte in value {
                    out.push(*byte);
                    if *byte == ESCAPE {
                        out.push(ESCAPED_ZERO);
                    }
                }
                out.extend_from_slice(&[ESCAPE, END]);
            }
            // Values of numbers are made of numbers alone.
            (_, KeyValue::Integer(_)) => out.push(NULL),
        }
    }

    /// Reads a value from the front of bytes. Returns it and the rest.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for what [`KeyType::encode`] never writes.
    pub fn decode(self, bytes: &[u8]) -> Result<(KeyValue, &[u8])> {
        let bad = || Error::corrupt("key", format!("no value of {self:?}"));
        let (tag, rest) = bytes.split_first().ok_or_else(bad)?;
        match *tag {
            NULL => return Ok((KeyValue::Null, rest)),
            VALUE => {}
            _ => return Err(bad()),
        }
        match self {
            Self::Integer { bytes, is_signed } => {
                let (digits, rest) = rest.split_at_checked(bytes).ok_or_else(bad)?;
                let mut all = [0; 16];
                if let Some(low) = all.get_mut(16 - bytes..) {
                    low.copy_from_slice(digits);
                }
                let number = i128::from_be_bytes(all);
                let number = match is_signed {
                    true if bytes == 16 => number.wrapping_add(i128::MIN),
                    true => number - (1 << (8 * bytes - 1)),
                    false => number,
                };
                Ok((KeyValue::Integer(number), rest))
            }
            Self::Fixed(n) => {
                let (value, rest) = rest.split_at_checked(n).ok_or_else(bad)?;
                Ok((KeyValue::Bytes(value.to_vec()), rest))
            }
            Self::Bytes => {
                let mut value = Vec::new();
                let mut rest = rest;
                loop {
                    let zero = rest
                        .iter()
                        .position(|byte| *byte == ESCAPE)
                        .ok_or_else(bad)?;
                    let (plain, escaped) = rest.split_at_checked(zero).ok_or_else(bad)?;
                    value.extend_from_slice(plain);
                    match escaped {
                        [ESCAPE, ESCAPED_ZERO, more @ ..] => {
                            value.push(0);
                            rest = more;
                        }
                        [ESCAPE, END, more @ ..] => return Ok((KeyValue::Bytes(value), more)),
                        _ => return Err(bad()),
                    }
                }
            }
        }
    }

    /// The values of an array of this type's data type.
    pub fn values(self, array: &ArrayRef) -> Vec<KeyValue> {
        let nulls = array.logical_nulls();
        let is_null = |i: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(i));
        let value = reader(self, array);
        let values = (0..array.len()).map(|i| match is_null(i) {
            true => KeyValue::Null,
            false => value(i),
        });
        values.collect()
    }
}

type ValueAt<'a> = Box<dyn Fn(usize) -> KeyValue + 'a>;

fn reader(key_type: KeyType, array: &ArrayRef) -> ValueAt<'_> {
    let integer = |is_true: bool| KeyValue::Integer(i128::from(is_true));
    match array.data_type() {
        DataType::Boolean => Box::new(move |i| integer(array.as_boolean().value(i))),
        DataType::Utf8 => Box::new(|i| of_bytes(array.as_string::<i32>().value(i))),
        DataType::LargeUtf8 => Box::new(|i| of_bytes(array.as_string::<i64>().value(i))),
        DataType::Utf8View => Box::new(|i| of_bytes(array.as_string_view().value(i))),
        DataType::Binary => Box::new(|i| of_bytes(array.as_binary::<i32>().value(i))),
        DataType::LargeBinary => Box::new(|i| of_bytes(array.as_binary::<i64>().value(i))),
        DataType::BinaryView => Box::new(|i| of_bytes(array.as_binary_view().value(i))),
        DataType::FixedSizeBinary(_) => {
            Box::new(|i| of_bytes(array.as_fixed_size_binary().value(i)))
        }
        _ => {
            let KeyType::Integer { bytes, is_signed } = key_type else {
                return Box::new(|_| KeyValue::Null);
            };
            let data = array.to_data();
            Box::new(move |i| {
                let start = (data.offset() + i) * bytes;
                let buffer = data.buffers().first().map_or(&[][..], Buffer::as_slice);
                let digits = buffer.get(start..start + bytes).unwrap_or(&[]);
                let is_negative = is_signed && digits.last().is_some_and(|byte| *byte >= 0x80);
                let mut all = [if is_negative { 0xff } else { 0 }; 16];
                for (to, from) in all.iter_mut().zip(digits) {
                    *to = *from;
                }
                KeyValue::Integer(i128::from_le_bytes(all))
            })
        }
    }
}

fn of_bytes(value: impl AsRef<[u8]>) -> KeyValue {
    KeyValue::Bytes(value.as_ref().to_vec())
}

/// An array of a data type with these values, which the type has.
///
/// # Errors
/// [`Error::InvalidInput`] for a data type without an encoding and for values of another type.
pub fn array_of(data_type: &DataType, values: &[KeyValue]) -> Result<ArrayRef> {
    let bad = || Error::invalid(format!("values of another type than {data_type}"));
    let n = values.len();
    let nulls = NullBuffer::from_iter(values.iter().map(|value| *value != KeyValue::Null));
    let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
    let integer = |value: &KeyValue| match value {
        KeyValue::Integer(number) => Ok(*number),
        KeyValue::Null => Ok(0),
        KeyValue::Bytes(_) => Err(bad()),
    };
    let bytes = |value: &'_ KeyValue| match value {
        KeyValue::Bytes(bytes) => Ok(Some(bytes.clone())),
        KeyValue::Null => Ok(None),
        KeyValue::Integer(_) => Err(bad()),
    };
    let texts = || values.iter().map(bytes).collect::<Result<Vec<_>>>();
    let data = match (KeyType::of(data_type), data_type) {
        (None, _) => return Err(bad()),
        (_, DataType::Boolean) => {
            let bits = values.iter().map(|value| match value {
                KeyValue::Null => Ok(None),
                other => Ok(Some(integer(other)? != 0)),
            });
            return Ok(Arc::new(bits.collect::<Result<BooleanArray>>()?));
        }
        (Some(KeyType::Integer { bytes: width, .. }), _) => {
            let mut buffer = Vec::with_capacity(n * width);
            for value in values {
                let all = integer(value)?.to_le_bytes();
                buffer.extend_from_slice(all.get(..width).unwrap_or(&all));
            }
            let builder = ArrayData::builder(data_type.clone()).len(n).nulls(nulls);
            builder
                .add_buffer(Buffer::from_vec(buffer))
                .align_buffers(true)
                .build()
        }
        (Some(KeyType::Fixed(width)), _) => {
            let mut buffer = Vec::with_capacity(n * width);
            for value in texts()? {
                let value = value.unwrap_or_else(|| vec![0; width]);
                if value.len() != width {
                    return Err(bad());
                }
                buffer.extend_from_slice(&value);
            }
            let builder = ArrayData::builder(data_type.clone()).len(n).nulls(nulls);
            builder.add_buffer(Buffer::from_vec(buffer)).build()
        }
        (_, DataType::Utf8 | DataType::Binary) => of_offsets::<i32>(data_type, texts()?),
        (_, DataType::LargeUtf8 | DataType::LargeBinary) => of_offsets::<i64>(data_type, texts()?),
        (_, DataType::Utf8View) => {
            let texts = texts()?.into_iter().map(|text| {
                text.map(|bytes| String::from_utf8(bytes).map_err(|_| bad()))
                    .transpose()
            });
            return Ok(Arc::new(texts.collect::<Result<StringViewArray>>()?));
        }
        (_, _) => return Ok(Arc::new(BinaryViewArray::from_iter(texts()?))),
    };
    Ok(make_array(
        data.map_err(|error| Error::invalid(error.to_string()))?,
    ))
}

fn of_offsets<O: OffsetSizeTrait>(
    data_type: &DataType,
    values: Vec<Option<Vec<u8>>>,
) -> Result<ArrayData, arrow_schema::ArrowError> {
    let array = GenericBinaryArray::<O>::from_iter(values);
    // Text is checked by the builder.
    array
        .into_data()
        .into_builder()
        .data_type(data_type.clone())
        .build()
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Date32Array, Decimal128Array, FixedSizeBinaryArray, Int8Array, Int64Array,
        LargeStringArray, StringArray, UInt64Array,
    };
    use proptest::prelude::*;

    use super::*;

    fn encoded(key_type: KeyType, value: &KeyValue) -> Vec<u8> {
        let mut bytes = Vec::new();
        key_type.encode(value, &mut bytes);
        bytes
    }

    #[test]
    fn arrays_have_values_that_make_them_again() {
        let arrays: [ArrayRef; 9] = [
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(127), Some(0)])),
            Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX])),
            Arc::new(UInt64Array::from(vec![0, u64::MAX])),
            Arc::new(Date32Array::from(vec![Some(-1), None])),
            Arc::new(Decimal128Array::from(vec![i128::MIN, -5, i128::MAX])),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Arc::new(StringArray::from(vec![Some("käse"), None, Some("")])),
            Arc::new(LargeStringArray::from(vec!["a\0b", "\0"])),
            Arc::new(FixedSizeBinaryArray::try_from_iter([[0, 1], [255, 0]].iter()).unwrap()),
        ];
        for array in arrays {
            let key_type = KeyType::of(array.data_type()).unwrap();
            let values = key_type.values(&array);
            let back = array_of(array.data_type(), &values).unwrap();
            assert_eq!(&back, &array);
            let part = array.slice(1, array.len() - 1);
            assert_eq!(key_type.values(&part), values[1..]);
            let mut sorted = values.clone();
            sorted.sort();
            let keys: Vec<_> = sorted
                .iter()
                .map(|value| encoded(key_type, value))
                .collect();
            assert!(keys.is_sorted(), "{}", array.data_type());
            for (value, key) in sorted.iter().zip(&keys) {
                assert_eq!(key_type.decode(key).unwrap(), (value.clone(), &[][..]));
            }
        }
        let text = [KeyValue::Bytes(vec![0xff])];
        for other in [
            DataType::Utf8,
            DataType::Utf8View,
            DataType::Int8,
            DataType::Float32,
        ] {
            assert!(array_of(&other, &text).is_err(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn bytes_are_ordered_as_values(a: Option<Vec<u8>>, b: Option<Vec<u8>>, rest: Vec<u8>) {
            let value = |bytes: Option<Vec<u8>>| bytes.map_or(KeyValue::Null, KeyValue::Bytes);
            let (a, b) = (value(a), value(b));
            let (mut of_a, of_b) = (encoded(KeyType::Bytes, &a), encoded(KeyType::Bytes, &b));
            prop_assert_eq!(a.cmp(&b), of_a.cmp(&of_b));
            // No encoding begins with another one, so those of several values may follow each other.
            prop_assert!(a == b || !of_a.starts_with(&of_b));
            of_a.extend_from_slice(&rest);
            prop_assert_eq!(KeyType::Bytes.decode(&of_a).unwrap(), (a, rest.as_slice()));
        }

        #[test]
        fn numbers_are_ordered_as_values(a: i64, b: i64) {
            let key_type = KeyType::of(&DataType::Int64).unwrap();
            let [of_a, of_b] = [a, b].map(|it| encoded(key_type, &KeyValue::Integer(it.into())));
            prop_assert_eq!(a.cmp(&b), of_a.cmp(&of_b));
        }

        #[test]
        fn what_decodes_encodes_to_the_same_bytes(bytes: Vec<u8>, n in 0_usize..4) {
            for key_type in [KeyType::Bytes, KeyType::Fixed(n), KeyType::Integer { bytes: 2, is_signed: true }] {
                if let Ok((value, rest)) = key_type.decode(&bytes) {
                    let mut again = encoded(key_type, &value);
                    again.extend_from_slice(rest);
                    prop_assert_eq!(&again, &bytes);
                }
            }
        }
    }
}
