//! Literals as values of a column's type: the same value, or none.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, BinaryArray, BooleanArray, Float64Array, PrimitiveArray,
    StringArray,
};
use arrow_buffer::i256;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use super::number::Number;
use super::parse::{Literal, Value};
use tarsia_convert::source::{parse_date, parse_timestamp};

/// The literal as an array of one value; `None` if no value of the type is that of the literal. Decimals stand for the
/// nearest floating-point number, as in CSV and JSON lines; whole numbers must be held exactly.
///
/// `data_type` is flat, and no dictionary.
pub(super) fn value_of(literal: &Literal, data_type: &DataType) -> Option<ArrayRef> {
    match &literal.value {
        Value::Boolean(value) => (*data_type == DataType::Boolean)
            .then(|| Arc::new(BooleanArray::from(vec![*value])) as ArrayRef),
        Value::Number(number) => number_of(number, data_type),
        Value::Bytes(bytes) => bytes_of(bytes, data_type),
        Value::Text(text) => text_of(text, data_type),
    }
}

fn number_of(number: &Number, data_type: &DataType) -> Option<ArrayRef> {
    Some(match data_type {
        DataType::Int8 => one::<Int8Type>(whole(number)?),
        DataType::Int16 => one::<Int16Type>(whole(number)?),
        DataType::Int32 => one::<Int32Type>(whole(number)?),
        DataType::Int64 => one::<Int64Type>(whole(number)?),
        DataType::UInt8 => one::<UInt8Type>(whole(number)?),
        DataType::UInt16 => one::<UInt16Type>(whole(number)?),
        DataType::UInt32 => one::<UInt32Type>(whole(number)?),
        DataType::UInt64 => one::<UInt64Type>(whole(number)?),
        DataType::Float16 => return float16(number),
        DataType::Float32 => {
            let value = number.to_f32()?;
            is_meant(number, value.into(), &format!("{value:e}"))
                .then(|| one::<Float32Type>(value))?
        }
        DataType::Float64 => {
            let value = number.to_f64()?;
            is_meant(number, value, &format!("{value:e}")).then(|| one::<Float64Type>(value))?
        }
        DataType::Decimal32(precision, scale) => {
            return decimal::<Decimal32Type>(whole_of(number, *scale)?, *precision, *scale);
        }
        DataType::Decimal64(precision, scale) => {
            return decimal::<Decimal64Type>(whole_of(number, *scale)?, *precision, *scale);
        }
        DataType::Decimal128(precision, scale) => {
            return decimal::<Decimal128Type>(whole_of(number, *scale)?, *precision, *scale);
        }
        DataType::Decimal256(precision, scale) => {
            let value = i256::from_string(&number.scaled(*scale)?)?;
            return decimal::<Decimal256Type>(value, *precision, *scale);
        }
        _ => return None,
    })
}

fn whole<T: std::str::FromStr>(number: &Number) -> Option<T> {
    whole_of(number, 0)
}

fn whole_of<T: std::str::FromStr>(number: &Number, scale: i8) -> Option<T> {
    number.scaled(scale)?.parse().ok()
}

fn one<T: ArrowPrimitiveType>(value: T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_value(value, 1))
}

fn decimal<T: DecimalType>(value: T::Native, precision: u8, scale: i8) -> Option<ArrayRef> {
    // `PrimitiveArray::validate_decimal_precision` refuses scales below zero.
    if !T::is_valid_decimal_precision(value, precision) {
        return None;
    }
    let array = PrimitiveArray::<T>::from_value(value, 1);
    let array = array.with_precision_and_scale(precision, scale).ok()?;
    Some(Arc::new(array))
}

/// Whether the nearest floating-point number is the one that is meant: any decimal is rounded, a whole number is not,
/// unless it is how the float is written.
fn is_meant(number: &Number, nearest: f64, written: &str) -> bool {
    !number.is_whole()
        || Number::parse(written).as_ref() == Some(number)
        || is_exact(number, nearest)
}

fn is_exact(number: &Number, nearest: f64) -> bool {
    whole::<i128>(number).is_some_and(|exact| nearest as i128 == exact)
}

fn float16(number: &Number) -> Option<ArrayRef> {
    let near = Float64Array::from(vec![number.to_f64()?]);
    let array = cast(&near, &DataType::Float16)?;
    let value = f64::from(array.as_primitive_opt::<Float16Type>()?.value(0));
    let is_held = value.is_finite() && (!number.is_whole() || is_exact(number, value));
    is_held.then_some(array)
}

fn bytes_of(bytes: &[u8], data_type: &DataType) -> Option<ArrayRef> {
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            cast(&BinaryArray::from(vec![bytes]), data_type)
        }
        DataType::FixedSizeBinary(width) => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(1, *width);
            // It refuses another width.
            builder.append_value(bytes).ok()?;
            Some(Arc::new(builder.finish()))
        }
        _ => None,
    }
}

fn text_of(text: &str, data_type: &DataType) -> Option<ArrayRef> {
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            return cast(&StringArray::from(vec![text]), data_type);
        }
        DataType::Date32 => one::<Date32Type>(parse_date(text)?),
        DataType::Date64 => one::<Date64Type>(timestamp(text, TimeUnit::Millisecond)?),
        DataType::Time32(TimeUnit::Second) => {
            one::<Time32SecondType>(time(text, TimeUnit::Second)?.try_into().ok()?)
        }
        DataType::Time32(TimeUnit::Millisecond) => {
            one::<Time32MillisecondType>(time(text, TimeUnit::Millisecond)?.try_into().ok()?)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            one::<Time64MicrosecondType>(time(text, TimeUnit::Microsecond)?)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            one::<Time64NanosecondType>(time(text, TimeUnit::Nanosecond)?)
        }
        DataType::Timestamp(unit, zone) => {
            let value = match zone {
                None => timestamp(text, *unit)?,
                Some(_) => return zoned(text, *unit, data_type),
            };
            match unit {
                TimeUnit::Second => one::<TimestampSecondType>(value),
                TimeUnit::Millisecond => one::<TimestampMillisecondType>(value),
                TimeUnit::Microsecond => one::<TimestampMicrosecondType>(value),
                TimeUnit::Nanosecond => one::<TimestampNanosecondType>(value),
            }
        }
        _ => return None,
    })
}

/// A time of day.
fn time(text: &str, unit: TimeUnit) -> Option<i64> {
    timestamp(&format!("1970-01-01T{text}"), unit)
}

/// A date and time that is in no time zone, or a date alone for its midnight.
fn timestamp(text: &str, unit: TimeUnit) -> Option<i64> {
    let parsed = parse_timestamp(text)?;
    (!parsed.has_offset).then(|| parsed.in_unit(unit))?
}

/// A point in time. Text without an offset from UTC is in the column's time zone, which Arrow knows.
fn zoned(text: &str, unit: TimeUnit, data_type: &DataType) -> Option<ArrayRef> {
    // Arrow would cut what is finer than the unit.
    parse_timestamp(text)?.in_unit(unit)?;
    cast(&StringArray::from(vec![text]), data_type)
}

/// A cast that fails rather than give null.
fn cast(array: &dyn Array, data_type: &DataType) -> Option<ArrayRef> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let array = cast_with_options(array, data_type, &options).ok()?;
    (array.null_count() == 0).then_some(array)
}

/// Whether the value is a floating-point zero, of either sign.
pub(super) fn is_float_zero(value: &dyn Array) -> bool {
    fn is_zero<T: ArrowPrimitiveType>(value: &dyn Array) -> bool {
        let value = value.as_primitive_opt::<T>();
        value.is_some_and(|it| it.values().iter().all(|it| it.is_zero()))
    }
    match value.data_type() {
        DataType::Float16 => is_zero::<Float16Type>(value),
        DataType::Float32 => is_zero::<Float32Type>(value),
        DataType::Float64 => is_zero::<Float64Type>(value),
        _ => false,
    }
}
