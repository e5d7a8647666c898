//! Literals among the values of a column's type: one of them, or a place between two.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, BinaryArray, BooleanArray, Float64Array, PrimitiveArray,
    StringArray,
};
use arrow_buffer::i256;
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use half::f16;
use tarsia_arrow::timestamp::{parse_date, parse_timestamp};

use crate::literal::Value;
use crate::number::{Floor, Number};

/// How literals are read, and how floating-point numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As query engines do: every number has a place among the values of a type, and NaN is the largest one.
    Lenient,
    /// A literal must be a value of the type. Zeros are equal, NaN is like null.
    Strict,
}

/// Where a literal lies among the values of a type. Arrays hold one value of the type.
#[derive(Debug)]
pub(crate) enum Placed {
    /// It is this value.
    At(ArrayRef),
    /// It lies between this value and the next.
    Above(ArrayRef),
    BelowAll,
    AboveAll,
    /// It is null.
    Unknown,
}

/// The place of a literal; `None` if the type has nothing like it. `data_type` is flat, and neither a dictionary nor
/// run-end encoded.
///
/// Decimals stand for the nearest floating-point number, as in CSV and JSON lines. In strict mode, whole numbers must
/// be held exactly.
pub(crate) fn place(value: &Value, data_type: &DataType, mode: Mode) -> Option<Placed> {
    match value {
        Value::Null => Some(Placed::Unknown),
        Value::Boolean(value) => (*data_type == DataType::Boolean)
            .then(|| Placed::At(Arc::new(BooleanArray::from(vec![*value])))),
        Value::Number(number) => {
            let placed = number_of(number, data_type)?;
            match (mode, &placed) {
                (Mode::Lenient, _) => Some(placed),
                (Mode::Strict, Placed::At(value)) => {
                    is_strictly(number, value.as_ref()).then_some(placed)
                }
                (Mode::Strict, _) => None,
            }
        }
        Value::Bytes(bytes) => bytes_of(bytes, data_type).map(Placed::At),
        Value::Text(text) => text_of(text, data_type).map(Placed::At),
        Value::Array(array) => array_of(array, data_type, mode),
    }
}

fn number_of(number: &Number, data_type: &DataType) -> Option<Placed> {
    Some(match data_type {
        DataType::Int8 => whole::<Int8Type>(number, 0, data_type),
        DataType::Int16 => whole::<Int16Type>(number, 0, data_type),
        DataType::Int32 => whole::<Int32Type>(number, 0, data_type),
        DataType::Int64 => whole::<Int64Type>(number, 0, data_type),
        DataType::UInt8 => whole::<UInt8Type>(number, 0, data_type),
        DataType::UInt16 => whole::<UInt16Type>(number, 0, data_type),
        DataType::UInt32 => whole::<UInt32Type>(number, 0, data_type),
        DataType::UInt64 => whole::<UInt64Type>(number, 0, data_type),
        DataType::Float16 => {
            let nearest = f16::from_f64(number.to_f64());
            float::<Float16Type>(number, nearest, f16::MAX, f16::NEG_INFINITY)
        }
        DataType::Float32 => {
            float::<Float32Type>(number, number.to_f32(), f32::MAX, f32::NEG_INFINITY)
        }
        DataType::Float64 => {
            float::<Float64Type>(number, number.to_f64(), f64::MAX, f64::NEG_INFINITY)
        }
        DataType::Decimal32(_, scale) => whole::<Decimal32Type>(number, *scale, data_type),
        DataType::Decimal64(_, scale) => whole::<Decimal64Type>(number, *scale, data_type),
        DataType::Decimal128(_, scale) => whole::<Decimal128Type>(number, *scale, data_type),
        DataType::Decimal256(_, scale) => match number.floor(*scale) {
            Floor::Exact(value) => Placed::At(one::<Decimal256Type>(value, data_type)),
            Floor::Inexact(value) => Placed::Above(one::<Decimal256Type>(value, data_type)),
            Floor::Below => Placed::BelowAll,
            Floor::Above => Placed::AboveAll,
        },
        _ => return None,
    })
}

/// The place of a number times `10^scale` among whole numbers.
fn whole<T>(number: &Number, scale: i8, data_type: &DataType) -> Placed
where
    T: ArrowPrimitiveType<Native: TryFrom<i128>>,
{
    let native = |value: i256| {
        let native = value.to_i128().and_then(|it| T::Native::try_from(it).ok());
        native.map(|it| one::<T>(it, data_type))
    };
    let beyond = match number.is_negative() {
        true => Placed::BelowAll,
        false => Placed::AboveAll,
    };
    match number.floor(scale) {
        Floor::Exact(value) => native(value).map_or(beyond, Placed::At),
        Floor::Inexact(value) => native(value).map_or(beyond, Placed::Above),
        Floor::Below | Floor::Above => beyond,
    }
}

/// The place of a number among floating-point numbers, of which one is the nearest, or an infinity.
fn float<T: ArrowPrimitiveType>(
    number: &Number,
    nearest: T::Native,
    max: T::Native,
    negative_infinity: T::Native,
) -> Placed {
    let is_finite = nearest.is_le(max) && nearest.is_gt(negative_infinity);
    match (is_finite, number.is_negative()) {
        (true, _) => Placed::At(one::<T>(nearest, &T::DATA_TYPE)),
        (false, true) => Placed::Above(one::<T>(negative_infinity, &T::DATA_TYPE)),
        (false, false) => Placed::Above(one::<T>(max, &T::DATA_TYPE)),
    }
}

fn one<T: ArrowPrimitiveType>(value: T::Native, data_type: &DataType) -> ArrayRef {
    let array = PrimitiveArray::<T>::from_value(value, 1);
    Arc::new(array.with_data_type(data_type.clone()))
}

/// True if a number is a value of the type, where it is at this one: floats may be nearest to decimals, not to other
/// whole numbers, and decimals must not have more digits than their type.
fn is_strictly(number: &Number, value: &dyn Array) -> bool {
    fn has_precision<T: DecimalType>(value: &dyn Array, precision: u8) -> bool {
        let array = value.as_primitive_opt::<T>();
        array.is_some_and(|it| {
            it.values()
                .iter()
                .all(|it| T::is_valid_decimal_precision(*it, precision))
        })
    }
    match value.data_type() {
        DataType::Float16 => {
            let nearest = first::<Float16Type>(value).map(f64::from);
            nearest.is_some_and(|it| is_meant(number, it, None))
        }
        DataType::Float32 => {
            let nearest = first::<Float32Type>(value);
            nearest.is_some_and(|it| is_meant(number, it.into(), Some(format!("{it:e}"))))
        }
        DataType::Float64 => {
            let nearest = first::<Float64Type>(value);
            nearest.is_some_and(|it| is_meant(number, it, Some(format!("{it:e}"))))
        }
        DataType::Decimal32(precision, _) => has_precision::<Decimal32Type>(value, *precision),
        DataType::Decimal64(precision, _) => has_precision::<Decimal64Type>(value, *precision),
        DataType::Decimal128(precision, _) => has_precision::<Decimal128Type>(value, *precision),
        DataType::Decimal256(precision, _) => has_precision::<Decimal256Type>(value, *precision),
        _ => true,
    }
}

/// True if the nearest floating-point number is the one that is meant: any decimal is rounded, a whole number is not,
/// unless it is how the float is written.
fn is_meant(number: &Number, nearest: f64, written: Option<String>) -> bool {
    let is_exact = || number.to_i128().is_some_and(|it| nearest as i128 == it);
    let is_written = |text: String| Number::parse(&text).as_ref() == Some(number);
    !number.is_whole() || written.is_some_and(is_written) || is_exact()
}

fn first<T: ArrowPrimitiveType>(array: &dyn Array) -> Option<T::Native> {
    array.as_primitive_opt::<T>()?.iter().next()?
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
    let time = |unit| timestamp(&format!("1970-01-01T{text}"), unit);
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            return cast(&StringArray::from(vec![text]), data_type);
        }
        DataType::Date32 => one::<Date32Type>(parse_date(text)?, data_type),
        DataType::Date64 => one::<Date64Type>(timestamp(text, TimeUnit::Millisecond)?, data_type),
        DataType::Time32(TimeUnit::Second) => {
            one::<Time32SecondType>(time(TimeUnit::Second)?.try_into().ok()?, data_type)
        }
        DataType::Time32(TimeUnit::Millisecond) => {
            one::<Time32MillisecondType>(time(TimeUnit::Millisecond)?.try_into().ok()?, data_type)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            one::<Time64MicrosecondType>(time(TimeUnit::Microsecond)?, data_type)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            one::<Time64NanosecondType>(time(TimeUnit::Nanosecond)?, data_type)
        }
        DataType::Timestamp(unit, Some(_)) => return zoned(text, *unit, data_type),
        DataType::Timestamp(TimeUnit::Second, None) => {
            one::<TimestampSecondType>(timestamp(text, TimeUnit::Second)?, data_type)
        }
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            one::<TimestampMillisecondType>(timestamp(text, TimeUnit::Millisecond)?, data_type)
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            one::<TimestampMicrosecondType>(timestamp(text, TimeUnit::Microsecond)?, data_type)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            one::<TimestampNanosecondType>(timestamp(text, TimeUnit::Nanosecond)?, data_type)
        }
        _ => return None,
    })
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

/// The place of a value of Arrow.
fn array_of(array: &ArrayRef, data_type: &DataType, mode: Mode) -> Option<Placed> {
    match array.data_type() {
        DataType::Dictionary(_, values) => {
            return array_of(&cast(array, values)?, data_type, mode);
        }
        DataType::RunEndEncoded(_, values) => {
            return array_of(&cast(array, values.data_type())?, data_type, mode);
        }
        _ => {}
    }
    let is_nan = float_of(array).is_some_and(f64::is_nan);
    if mode == Mode::Strict && is_nan {
        return None;
    }
    if array.data_type() == data_type {
        return Some(Placed::At(array.clone()));
    }
    let shown = || array_value_to_string(array, 0).ok();
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            text_of(&shown()?, data_type).map(Placed::At)
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => {
            let bytes = cast(array, &DataType::Binary)?;
            let bytes = bytes.as_binary_opt::<i32>()?.iter().next()??;
            bytes_of(bytes, data_type).map(Placed::At)
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let value = float_of(array)?;
            match value.is_finite() {
                true => {
                    let number = Number::parse(&format!("{value:e}"))?;
                    place(&Value::Number(number), data_type, mode)
                }
                false => not_finite(value, data_type, mode),
            }
        }
        other if other.is_numeric() => {
            let number = Number::parse(&shown()?)?;
            place(&Value::Number(number), data_type, mode)
        }
        other => temporal(other, array, data_type, mode),
    }
}

fn float_of(array: &ArrayRef) -> Option<f64> {
    match array.data_type() {
        DataType::Float16 => first::<Float16Type>(array).map(f64::from),
        DataType::Float32 => first::<Float32Type>(array).map(f64::from),
        DataType::Float64 => first::<Float64Type>(array),
        _ => None,
    }
}

/// The place of NaN or an infinity: among floating-point numbers it is one of them, of others none is as large.
fn not_finite(value: f64, data_type: &DataType, mode: Mode) -> Option<Placed> {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            cast(&Float64Array::from(vec![value]), data_type).map(Placed::At)
        }
        other if other.is_numeric() && mode == Mode::Lenient => {
            Some(match value.is_sign_negative() {
                true => Placed::BelowAll,
                false => Placed::AboveAll,
            })
        }
        _ => None,
    }
}

/// The place of a point in time, a time of day or a duration among those of another unit or time zone.
fn temporal(of: &DataType, array: &ArrayRef, data_type: &DataType, mode: Mode) -> Option<Placed> {
    let (from, to) = match (of, data_type) {
        (DataType::Timestamp(from, a), DataType::Timestamp(to, b))
            if a.is_some() == b.is_some() =>
        {
            (from, to)
        }
        (
            DataType::Time32(from) | DataType::Time64(from),
            DataType::Time32(to) | DataType::Time64(to),
        )
        | (DataType::Duration(from), DataType::Duration(to)) => (from, to),
        _ => return None,
    };
    let value = match of.primitive_width()? {
        4 => cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(array, &DataType::Int64)?,
    };
    let value = first::<Int64Type>(&value)?;
    let seconds = Number::parse(&format!("{value}e-{}", digits(*from)))?;
    let scale = digits(*to);
    let placed = match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => {
            whole::<TimestampSecondType>(&seconds, scale, data_type)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            whole::<TimestampMillisecondType>(&seconds, scale, data_type)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            whole::<TimestampMicrosecondType>(&seconds, scale, data_type)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            whole::<TimestampNanosecondType>(&seconds, scale, data_type)
        }
        DataType::Time32(TimeUnit::Second) => whole::<Time32SecondType>(&seconds, scale, data_type),
        DataType::Time32(_) => whole::<Time32MillisecondType>(&seconds, scale, data_type),
        DataType::Time64(TimeUnit::Microsecond) => {
            whole::<Time64MicrosecondType>(&seconds, scale, data_type)
        }
        DataType::Time64(_) => whole::<Time64NanosecondType>(&seconds, scale, data_type),
        DataType::Duration(TimeUnit::Second) => {
            whole::<DurationSecondType>(&seconds, scale, data_type)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            whole::<DurationMillisecondType>(&seconds, scale, data_type)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            whole::<DurationMicrosecondType>(&seconds, scale, data_type)
        }
        _ => whole::<DurationNanosecondType>(&seconds, scale, data_type),
    };
    match (mode, &placed) {
        (Mode::Strict, Placed::At(_)) | (Mode::Lenient, _) => Some(placed),
        (Mode::Strict, _) => None,
    }
}

/// Digits of a second's fraction.
fn digits(unit: TimeUnit) -> i8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The smaller and the larger zero, for a floating-point zero.
pub(crate) fn zeros(value: &dyn Array) -> Option<[ArrayRef; 2]> {
    fn pair<T: ArrowPrimitiveType>(
        value: &dyn Array,
        zeros: [T::Native; 2],
    ) -> Option<[ArrayRef; 2]> {
        first::<T>(value)?
            .is_zero()
            .then(|| zeros.map(|it| one::<T>(it, &T::DATA_TYPE)))
    }
    match value.data_type() {
        DataType::Float16 => pair::<Float16Type>(value, [f16::NEG_ZERO, f16::ZERO]),
        DataType::Float32 => pair::<Float32Type>(value, [-0.0, 0.0]),
        DataType::Float64 => pair::<Float64Type>(value, [-0.0, 0.0]),
        _ => None,
    }
}

/// How values of the type are written, where that is not plain.
pub(crate) fn hint(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            "; text stands in single quotes"
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "; bytes are written X'0aff'",
        DataType::Date32 => "; a date is written '2026-01-31'",
        DataType::Time32(_) | DataType::Time64(_) => "; a time is written '23:59:59'",
        DataType::Timestamp(_, None) | DataType::Date64 => {
            "; a timestamp is written '2026-01-31T23:59:59', with no finer fraction than the type has, and without \
             offset"
        }
        DataType::Timestamp(_, Some(_)) => {
            "; a timestamp is written '2026-01-31T23:59:59Z', with no finer fraction than the type has"
        }
        DataType::Duration(_) | DataType::Interval(_) => {
            "; in text, only IS NULL and IS NOT NULL test it"
        }
        _ => "",
    }
}
