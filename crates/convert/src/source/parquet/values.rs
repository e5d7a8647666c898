//! Values as Parquet stores them, converted to the types that the file says.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, IntervalDayTime, IntervalDayTimeType,
    IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType,
    Time32SecondType, TimestampMillisecondType, TimestampSecondType, UInt8Type, UInt16Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, UInt64Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::merged::Merged;
use crate::nested::{Misfit, each};

const MILLIS: i64 = 1_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// A flat array as another type. Every value is the same, or it is an error.
pub(super) fn leaf(
    array: &ArrayRef,
    to: &DataType,
    valid: Option<&NullBuffer>,
) -> Result<ArrayRef, Misfit> {
    match (array.data_type(), to) {
        (DataType::Int32, DataType::Int8) => narrowed::<Int8Type>(array, to, valid),
        (DataType::Int32, DataType::Int16) => narrowed::<Int16Type>(array, to, valid),
        (DataType::Int32, DataType::UInt8) => narrowed::<UInt8Type>(array, to, valid),
        (DataType::Int32, DataType::UInt16) => narrowed::<UInt16Type>(array, to, valid),
        (DataType::FixedSizeBinary(12), DataType::Interval(unit)) => interval(array, *unit, valid),
        (
            DataType::Timestamp(TimeUnit::Millisecond, _),
            DataType::Timestamp(TimeUnit::Second, zone),
        ) => {
            let values = array.as_primitive::<TimestampMillisecondType>();
            let seconds = each::<_, TimestampSecondType>(values, valid, whole_seconds)?;
            Ok(Arc::new(seconds.with_timezone_opt(zone.clone())))
        }
        (DataType::Time32(TimeUnit::Millisecond), DataType::Time32(TimeUnit::Second)) => {
            let values = array.as_primitive::<Time32MillisecondType>();
            let seconds = each::<_, Time32SecondType>(values, valid, |value| {
                let seconds = whole_seconds(value.into())?;
                i32::try_from(seconds).map_err(|error| error.to_string())
            })?;
            Ok(Arc::new(seconds))
        }
        (_, DataType::Dictionary(_, values)) => {
            let values = match array.data_type() == values.as_ref() {
                true => Arc::clone(array),
                false => leaf(array, values, valid)?,
            };
            packed(&values, to).map_err(Misfit::from)
        }
        (from, to) => Err(Misfit::from(format!("{from} is not read as {to}"))),
    }
}

/// Values as a dictionary of this type.
fn packed(values: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    let text = |error: arrow_schema::ArrowError| error.to_string();
    let DataType::Dictionary(key, _) = to else {
        return Err(format!("{to} is no dictionary"));
    };
    let valid = (0..values.len()).filter(|row| values.is_valid(*row));
    let valid = UInt64Array::from_iter_values(valid.map(|row| row as u64));
    let present = arrow_select::take::take(values, &valid, None).map_err(text)?;
    let mut merged = Merged::new(&present)?;
    let places = merged.places_of(&present)?;
    let mut places = places.iter();
    let keys = (0..values.len()).map(|row| match values.is_valid(row) {
        true => places.next().map(|place| *place as u64),
        false => None,
    });
    let keys: ArrayRef = Arc::new(UInt64Array::from_iter(keys));
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let keys = cast_with_options(&keys, key, &options).map_err(|_| {
        let n = merged.len();
        format!("its {n} distinct values are more than the keys of {to} can count")
    })?;
    let data = keys.to_data().into_builder().data_type(to.clone());
    let data = data.add_child_data(merged.values()?.to_data());
    data.build().map(make_array).map_err(text)
}

fn whole_seconds(millis: i64) -> Result<i64, String> {
    match millis % MILLIS {
        0 => Ok(millis / MILLIS),
        _ => Err(format!("{millis} milliseconds are no whole seconds")),
    }
}

fn narrowed<T: ArrowPrimitiveType<Native: TryFrom<i32>>>(
    array: &ArrayRef,
    to: &DataType,
    valid: Option<&NullBuffer>,
) -> Result<ArrayRef, Misfit> {
    let values = array.as_primitive::<Int32Type>();
    let narrowed = each::<_, T>(values, valid, |value| {
        let narrow = T::Native::try_from(value);
        narrow.map_err(|_| format!("{value} is no {to}, the type that the file says"))
    });
    Ok(Arc::new(narrowed?))
}

/// Months, days and milliseconds, each of 32 bits without a sign. Arrow schemas with one of the shorter units are those
/// of writers that give the numbers a sign.
fn interval(
    array: &ArrayRef,
    unit: IntervalUnit,
    valid: Option<&NullBuffer>,
) -> Result<ArrayRef, Misfit> {
    let bytes = array.as_fixed_size_binary();
    let parts = |row: usize| {
        let bytes = bytes.value(row);
        let part = |i: usize| {
            bytes[4 * i..]
                .first_chunk()
                .copied()
                .map(u32::from_le_bytes)
        };
        [0, 1, 2].map(|i| part(i).unwrap_or_default())
    };
    let counts = |row: usize| valid.is_none_or(|valid| valid.is_valid(row));
    let nulls = bytes.nulls().cloned();
    let lost = |row: usize| {
        let [months, days, millis] = parts(row);
        let what = format!(
            "an interval of {months} months, {days} days and {millis} ms does not fit {}",
            DataType::Interval(unit)
        );
        Misfit::at(row, what)
    };
    Ok(match unit {
        IntervalUnit::MonthDayNano => {
            let value = |row: usize| {
                if !counts(row) {
                    return Ok(IntervalMonthDayNano::default());
                }
                let [months, days, millis] = parts(row);
                let signed = |n: u32| i32::try_from(n).map_err(|_| lost(row));
                let nanos = i64::from(millis) * NANOS_PER_MILLI;
                Ok(IntervalMonthDayNano::new(
                    signed(months)?,
                    signed(days)?,
                    nanos,
                ))
            };
            let values = (0..bytes.len())
                .map(value)
                .collect::<Result<Vec<_>, Misfit>>()?;
            Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(
                values.into(),
                nulls,
            ))
        }
        IntervalUnit::YearMonth => {
            let value = |row: usize| match parts(row) {
                [months, 0, 0] => Ok(months.cast_signed()),
                _ if !counts(row) => Ok(0),
                _ => Err(lost(row)),
            };
            let values = (0..bytes.len())
                .map(value)
                .collect::<Result<Vec<_>, Misfit>>()?;
            Arc::new(PrimitiveArray::<IntervalYearMonthType>::new(
                values.into(),
                nulls,
            ))
        }
        IntervalUnit::DayTime => {
            let value = |row: usize| match parts(row) {
                [0, days, millis] => Ok(IntervalDayTime::new(
                    days.cast_signed(),
                    millis.cast_signed(),
                )),
                _ if !counts(row) => Ok(IntervalDayTime::default()),
                _ => Err(lost(row)),
            };
            let values = (0..bytes.len())
                .map(value)
                .collect::<Result<Vec<_>, Misfit>>()?;
            Arc::new(PrimitiveArray::<IntervalDayTimeType>::new(
                values.into(),
                nulls,
            ))
        }
    })
}
