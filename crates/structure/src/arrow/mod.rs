//! Arrow arrays in and out.
//!
//! A column's *leaf type* is what its pages hold: the Arrow type of the values with dictionaries resolved. A dictionary column
//! is stored by logical value and comes back as a dictionary (its keys may be numbered differently).

mod collect;
mod emit;
mod kernels;
mod pool;

use arrow_schema::{DataType, IntervalUnit};
use tarsia_codec::ValueType;

pub use collect::{Fit, LeafBuffer};
pub use emit::{Emitted, array_from_raw, reorder};
pub use pool::Pool;

/// The physical type of a flat Arrow type's values; `Ok(None)` for Null, which stores nothing.
///
/// # Errors
/// The type itself, where it is nested or otherwise not stored yet.
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
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => {
            ValueType::Bytes
        }
        T::Dictionary(key, value) if key.is_dictionary_key_type() => match value.as_ref() {
            // A dictionary of dictionaries or of nulls is legal Arrow, but nothing makes one.
            T::Dictionary(..) | T::Null => return Err(data_type.clone()),
            value => return self::value_type(value).map_err(|_| data_type.clone()),
        },
        _ => return Err(data_type.clone()),
    }))
}

/// The type of the values, a dictionary resolved.
pub fn logical_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}
