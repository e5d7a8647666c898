//! Columns of the types that text is read as.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, NullArray};
use arrow_schema::{DataType, TimeUnit};

/// A column being read. The variants are all the types that [`Column::new`] knows.
#[derive(Debug)]
pub(super) enum Column {
    /// Only counts its rows.
    Null(usize),
    Boolean(BooleanBuilder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Date32(Date32Builder),
    /// And whether the type has a time zone.
    Micros(TimestampMicrosecondBuilder, bool),
    /// And whether the type has a time zone.
    Nanos(TimestampNanosecondBuilder, bool),
    Text(StringBuilder),
}

impl Column {
    /// An empty column. A type that is never inferred is read as text.
    pub(super) fn new(data_type: &DataType) -> Column {
        match data_type {
            DataType::Null => Column::Null(0),
            DataType::Boolean => Column::Boolean(BooleanBuilder::new()),
            DataType::Int64 => Column::Int64(Int64Builder::new()),
            DataType::UInt64 => Column::UInt64(UInt64Builder::new()),
            DataType::Float64 => Column::Float64(Float64Builder::new()),
            DataType::Date32 => Column::Date32(Date32Builder::new()),
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => Column::Nanos(
                TimestampNanosecondBuilder::new().with_data_type(data_type.clone()),
                zone.is_some(),
            ),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => Column::Micros(
                TimestampMicrosecondBuilder::new().with_data_type(data_type.clone()),
                zone.is_some(),
            ),
            _ => Column::Text(StringBuilder::new()),
        }
    }

    pub(super) fn append_null(&mut self) {
        match self {
            Column::Null(rows) => *rows += 1,
            Column::Boolean(builder) => builder.append_null(),
            Column::Int64(builder) => builder.append_null(),
            Column::UInt64(builder) => builder.append_null(),
            Column::Float64(builder) => builder.append_null(),
            Column::Date32(builder) => builder.append_null(),
            Column::Micros(builder, _) => builder.append_null(),
            Column::Nanos(builder, _) => builder.append_null(),
            Column::Text(builder) => builder.append_null(),
        }
    }

    /// The rows appended since the last call, as an array.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Column::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Column::Boolean(builder) => Arc::new(builder.finish()),
            Column::Int64(builder) => Arc::new(builder.finish()),
            Column::UInt64(builder) => Arc::new(builder.finish()),
            Column::Float64(builder) => Arc::new(builder.finish()),
            Column::Date32(builder) => Arc::new(builder.finish()),
            Column::Micros(builder, _) => Arc::new(builder.finish()),
            Column::Nanos(builder, _) => Arc::new(builder.finish()),
            Column::Text(builder) => Arc::new(builder.finish()),
        }
    }
}

/// A value for an error message: short, in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("\"{short}\"")
}
