//! How Arrow types are stored.

use arrow_schema::{DataType, IntervalUnit};
use tarsia_codec::ValueType;

/// The physical type of a flat Arrow type's values; `Ok(None)` for Null, which stores nothing. A struct without fields
/// is flat, and so are dictionaries and run-end arrays of flat values.
///
/// # Errors
/// The type itself, where it is nested or otherwise not stored as one column.
pub fn value_type(data_type: &DataType) -> Result<Option<ValueType>, DataType> {
    use DataType as T;
    Ok(Some(match data_type {
        T::Null => return Ok(None),
        T::Boolean => ValueType::Bits,
        T::Int8 | T::UInt8 => ValueType::Fixed(1),
        T::Int16 | T::UInt16 | T::Float16 => ValueType::Fixed(2),
        T::Int32
        | T::UInt32
        | T::Float32
        | T::Date32
        | T::Time32(_)
        | T::Interval(IntervalUnit::YearMonth)
        | T::Decimal32(..) => ValueType::Fixed(4),
        T::Int64
        | T::UInt64
        | T::Float64
        | T::Date64
        | T::Time64(_)
        | T::Timestamp(..)
        | T::Duration(_)
        | T::Interval(IntervalUnit::DayTime)
        | T::Decimal64(..) => ValueType::Fixed(8),
        T::Interval(IntervalUnit::MonthDayNano) | T::Decimal128(..) => ValueType::Fixed(16),
        T::Decimal256(..) => ValueType::Fixed(32),
        T::FixedSizeBinary(width) => match u32::try_from(*width) {
            Ok(width) if ValueType::Fixed(width).validate().is_ok() => ValueType::Fixed(width),
            _ => return Err(data_type.clone()),
        },
        T::Struct(fields) if fields.is_empty() => ValueType::Fixed(0),
        T::RunEndEncoded(_, values) => {
            return resolved(values.data_type()).map_err(|_| data_type.clone());
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => {
            ValueType::Bytes
        }
        T::Dictionary(key, value) if key.is_dictionary_key_type() => match value.as_ref() {
            // A dictionary of dictionaries is legal Arrow, but nothing makes one.
            T::Dictionary(..) => return Err(data_type.clone()),
            value => return resolved(value).map_err(|_| data_type.clone()),
        },
        _ => return Err(data_type.clone()),
    }))
}

/// The values of a dictionary or run-end type: nulls of values without bytes where they are of type Null.
fn resolved(values: &DataType) -> Result<Option<ValueType>, DataType> {
    match values {
        DataType::Null => Ok(Some(ValueType::Fixed(0))),
        values => value_type(values),
    }
}

/// The type of the values, dictionaries and runs resolved.
pub fn logical_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, value) => logical_type(value),
        DataType::RunEndEncoded(_, values) => logical_type(values.data_type()),
        other => other,
    }
}
