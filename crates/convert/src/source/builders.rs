//! Columns of the types that text is read as.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int8Builder,
    Int16Builder, Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
    TimestampMillisecondBuilder, TimestampNanosecondBuilder, TimestampSecondBuilder, UInt8Builder,
    UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, NullArray};
use arrow_schema::{DataType, TimeUnit};

use super::number::{parse_decimal, parse_float32, parse_float64};
use tarsia_arrow::timestamp::{parse_date, parse_timestamp};

/// A column being read. The variants are all the types that [`Column::new`] knows.
#[derive(Debug)]
pub(super) enum Column {
    /// Only counts its rows.
    Null(usize),
    Boolean(BooleanBuilder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt8(UInt8Builder),
    UInt16(UInt16Builder),
    UInt32(UInt32Builder),
    UInt64(UInt64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    /// And its precision and scale.
    Decimal(Decimal128Builder, u8, i8),
    Date32(Date32Builder),
    /// And whether the type has a time zone, here and below.
    Seconds(TimestampSecondBuilder, bool),
    Millis(TimestampMillisecondBuilder, bool),
    Micros(TimestampMicrosecondBuilder, bool),
    Nanos(TimestampNanosecondBuilder, bool),
    Text(StringBuilder),
}

/// Repeats an expression for every builder.
macro_rules! with_builder {
    ($column:expr, $rows:pat => $null:expr, $builder:ident => $each:expr) => {
        match $column {
            Column::Null($rows) => $null,
            Column::Boolean($builder) => $each,
            Column::Int8($builder) => $each,
            Column::Int16($builder) => $each,
            Column::Int32($builder) => $each,
            Column::Int64($builder) => $each,
            Column::UInt8($builder) => $each,
            Column::UInt16($builder) => $each,
            Column::UInt32($builder) => $each,
            Column::UInt64($builder) => $each,
            Column::Float32($builder) => $each,
            Column::Float64($builder) => $each,
            Column::Decimal($builder, _, _) => $each,
            Column::Date32($builder) => $each,
            Column::Seconds($builder, _) => $each,
            Column::Millis($builder, _) => $each,
            Column::Micros($builder, _) => $each,
            Column::Nanos($builder, _) => $each,
            Column::Text($builder) => $each,
        }
    };
}

impl Column {
    /// An empty column. A type that is neither inferred nor asked for is read as text.
    pub(super) fn new(data_type: &DataType) -> Column {
        let of_type = data_type.clone();
        match data_type {
            DataType::Null => Column::Null(0),
            DataType::Boolean => Column::Boolean(BooleanBuilder::new()),
            DataType::Int8 => Column::Int8(Int8Builder::new()),
            DataType::Int16 => Column::Int16(Int16Builder::new()),
            DataType::Int32 => Column::Int32(Int32Builder::new()),
            DataType::Int64 => Column::Int64(Int64Builder::new()),
            DataType::UInt8 => Column::UInt8(UInt8Builder::new()),
            DataType::UInt16 => Column::UInt16(UInt16Builder::new()),
            DataType::UInt32 => Column::UInt32(UInt32Builder::new()),
            DataType::UInt64 => Column::UInt64(UInt64Builder::new()),
            DataType::Float32 => Column::Float32(Float32Builder::new()),
            DataType::Float64 => Column::Float64(Float64Builder::new()),
            DataType::Decimal128(precision, scale) => Column::Decimal(
                Decimal128Builder::new().with_data_type(of_type),
                *precision,
                *scale,
            ),
            DataType::Date32 => Column::Date32(Date32Builder::new()),
            DataType::Timestamp(unit, zone) => {
                let zone = zone.is_some();
                match unit {
                    TimeUnit::Second => {
                        Column::Seconds(TimestampSecondBuilder::new().with_data_type(of_type), zone)
                    }
                    TimeUnit::Millisecond => Column::Millis(
                        TimestampMillisecondBuilder::new().with_data_type(of_type),
                        zone,
                    ),
                    TimeUnit::Microsecond => Column::Micros(
                        TimestampMicrosecondBuilder::new().with_data_type(of_type),
                        zone,
                    ),
                    TimeUnit::Nanosecond => Column::Nanos(
                        TimestampNanosecondBuilder::new().with_data_type(of_type),
                        zone,
                    ),
                }
            }
            _ => Column::Text(StringBuilder::new()),
        }
    }

    /// Whether its values are numbers, dates aside.
    pub(super) fn is_number(&self) -> bool {
        !matches!(
            self,
            Column::Null(_)
                | Column::Boolean(_)
                | Column::Date32(_)
                | Column::Seconds(..)
                | Column::Millis(..)
                | Column::Micros(..)
                | Column::Nanos(..)
                | Column::Text(_)
        )
    }

    pub(super) fn append_null(&mut self) {
        with_builder!(self, rows => *rows += 1, builder => builder.append_null());
    }

    pub(super) fn append_nulls(&mut self, n: usize) {
        with_builder!(self, rows => *rows += n, builder => builder.append_nulls(n));
    }

    /// `Err` when the text is no value of the column's type.
    pub(super) fn append_text(&mut self, text: &str) -> Result<(), ()> {
        /// Whole numbers of all widths.
        macro_rules! parsed {
            ($builder:expr) => {
                $builder.append_value(text.parse().map_err(|_| ())?)
            };
        }
        let timestamp = |unit, has_zone| timestamp(text, unit, has_zone).ok_or(());
        match self {
            Column::Null(_) => return Err(()),
            Column::Boolean(builder) => builder.append_value(parse_bool(text).ok_or(())?),
            Column::Int8(builder) => parsed!(builder),
            Column::Int16(builder) => parsed!(builder),
            Column::Int32(builder) => parsed!(builder),
            Column::Int64(builder) => parsed!(builder),
            Column::UInt8(builder) => parsed!(builder),
            Column::UInt16(builder) => parsed!(builder),
            Column::UInt32(builder) => parsed!(builder),
            Column::UInt64(builder) => parsed!(builder),
            Column::Float32(builder) => builder.append_value(parse_float32(text).ok_or(())?),
            Column::Float64(builder) => builder.append_value(parse_float64(text).ok_or(())?),
            Column::Decimal(builder, precision, scale) => {
                builder.append_value(parse_decimal(text, *precision, *scale).ok_or(())?);
            }
            Column::Date32(builder) => builder.append_value(parse_date(text).ok_or(())?),
            Column::Seconds(builder, zone) => {
                builder.append_value(timestamp(TimeUnit::Second, *zone)?);
            }
            Column::Millis(builder, zone) => {
                builder.append_value(timestamp(TimeUnit::Millisecond, *zone)?);
            }
            Column::Micros(builder, zone) => {
                builder.append_value(timestamp(TimeUnit::Microsecond, *zone)?);
            }
            Column::Nanos(builder, zone) => {
                builder.append_value(timestamp(TimeUnit::Nanosecond, *zone)?);
            }
            Column::Text(builder) => builder.append_value(text),
        }
        Ok(())
    }

    /// The rows appended since the last call, as an array.
    pub(super) fn finish(&mut self) -> ArrayRef {
        with_builder!(
            self,
            rows => Arc::new(NullArray::new(std::mem::take(rows))),
            builder => Arc::new(builder.finish())
        )
    }
}

pub(super) fn parse_bool(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// A timestamp. It must have an offset if the column's type has a time zone, and must have none if not.
fn timestamp(text: &str, unit: TimeUnit, has_zone: bool) -> Option<i64> {
    parse_timestamp(text)
        .filter(|timestamp| timestamp.has_offset == has_zone)?
        .in_unit(unit)
}

/// A value for an error message: short, in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", short(text))
}

/// The first characters of a value for an error message.
pub(super) fn short(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The error for a value that is none of its column's type.
pub(super) fn misfit(
    value: impl Display,
    data_type: impl Display,
    is_asked: bool,
    inference_rows: u64,
) -> String {
    match is_asked {
        true => format!("{value} is no {data_type}, the type that the column is to have"),
        false => {
            format!("{value} is no {data_type}, the type that the first {inference_rows} rows have")
        }
    }
}

/// Says what to do about a value that does not fit the inferred type.
pub(super) fn as_text(path: &str) -> String {
    format!("; with --types {path}=utf8 the column is text")
}
