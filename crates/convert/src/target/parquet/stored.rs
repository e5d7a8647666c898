//! How types are stored in Parquet, where the `parquet` crate stores them as numbers or bytes that other readers take
//! for something else: seconds become milliseconds, dates in milliseconds become days, intervals get their annotation,
//! dictionaries of anything but texts become plain values, and logical types come from the metadata of fields.
//!
//! The Arrow schema in the file says the types as they were, so that Arrow readers can have them again.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, IntervalMonthDayNanoType, Time32MillisecondType, Time32SecondType,
    TimestampMillisecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::ConvertedType;
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::logical;
use crate::nested::{Misfit, converted, each};

const MILLIS: i64 = 1_000;
const NANOS_PER_MILLI: i64 = 1_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Bytes of an interval: months, days and milliseconds of 32 bits each.
const INTERVAL_BYTES: i32 = 12;

/// The schema whose arrays are handed to the `parquet` crate.
pub(super) fn stored_schema(schema: &Schema) -> Schema {
    let fields = stored_fields(schema.fields());
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn stored_fields(fields: &Fields) -> Fields {
    fields.iter().map(stored_field).collect()
}

fn stored_field(field: &FieldRef) -> FieldRef {
    let stored = stored_type(field.data_type());
    match &stored == field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_data_type(stored)),
    }
}

/// The type whose values are handed to the `parquet` crate.
pub(super) fn stored_type(data_type: &DataType) -> DataType {
    use DataType::*;
    match data_type {
        Timestamp(TimeUnit::Second, zone) => Timestamp(TimeUnit::Millisecond, zone.clone()),
        Time32(TimeUnit::Second) => Time32(TimeUnit::Millisecond),
        Date64 => Date32,
        Interval(IntervalUnit::MonthDayNano) => FixedSizeBinary(INTERVAL_BYTES),
        Dictionary(_, values) => match values.as_ref() {
            Utf8 | LargeUtf8 | Binary | LargeBinary | Utf8View | BinaryView => data_type.clone(),
            values => stored_type(values),
        },
        Struct(fields) => Struct(stored_fields(fields)),
        List(item) => List(stored_field(item)),
        LargeList(item) => LargeList(stored_field(item)),
        ListView(item) => ListView(stored_field(item)),
        LargeListView(item) => LargeListView(stored_field(item)),
        FixedSizeList(item, n) => FixedSizeList(stored_field(item), *n),
        Map(entries, sorted) => Map(stored_field(entries), *sorted),
        other => other.clone(),
    }
}

/// The Parquet schema of arrays of the stored schema, with the annotations that the original one asks for.
pub(super) fn parquet_schema(
    stored: &Schema,
    original: &Schema,
) -> Result<SchemaDescriptor, ParquetError> {
    let plain = ArrowSchemaConverter::new().convert(stored)?;
    let root = plain.root_schema();
    let fields = root.get_fields().iter().zip(original.fields());
    let fields = fields.map(|(of, field)| annotated(of, field));
    let root = Type::group_type_builder(root.name())
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

/// The type with what the field says of it, also inside.
fn annotated(of: &TypePtr, field: &Field) -> Result<TypePtr, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let logical = logical::logical_type(field, of);
    match of.as_ref() {
        Type::PrimitiveType {
            physical_type,
            type_length,
            ..
        } => {
            let is_interval = match field.data_type() {
                DataType::Dictionary(_, values) => is_interval(values),
                data_type => is_interval(data_type),
            };
            if logical.is_none() && !is_interval {
                return Ok(Arc::clone(of));
            }
            let annotation = match is_interval {
                true => ConvertedType::INTERVAL,
                false => ConvertedType::NONE,
            };
            let leaf = Type::primitive_type_builder(of.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_length(*type_length)
                .with_converted_type(annotation)
                .with_logical_type(logical)
                .with_id(id);
            Ok(Arc::new(leaf.build()?))
        }
        Type::GroupType { fields, .. } => {
            let inside = |types: &[TypePtr], fields: &Fields| {
                let both = types.iter().zip(fields);
                both.map(|(of, field)| annotated(of, field))
                    .collect::<Result<Vec<_>, _>>()
            };
            let children = match field.data_type() {
                DataType::Struct(of_field) => inside(fields, of_field)?,
                // A list is a group of a repeated group of the item; a map's is its entries.
                DataType::List(item)
                | DataType::LargeList(item)
                | DataType::ListView(item)
                | DataType::LargeListView(item)
                | DataType::FixedSizeList(item, _) => {
                    let item: Fields = vec![Arc::clone(item)].into();
                    repeated(fields, |types| inside(types, &item))?
                }
                DataType::Map(entries, _) => match entries.data_type() {
                    DataType::Struct(pair) => repeated(fields, |types| inside(types, pair))?,
                    _ => fields.clone(),
                },
                _ => fields.clone(),
            };
            if logical.is_none() && children.iter().zip(fields).all(|(a, b)| Arc::ptr_eq(a, b)) {
                return Ok(Arc::clone(of));
            }
            let group = Type::group_type_builder(of.name())
                .with_fields(children)
                .with_repetition(info.repetition())
                .with_converted_type(info.converted_type())
                .with_logical_type(logical.or_else(|| info.logical_type_ref().cloned()))
                .with_id(id);
            Ok(Arc::new(group.build()?))
        }
    }
}

/// The repeated group of a list or a map with other types inside.
fn repeated(
    groups: &[TypePtr],
    inside: impl FnOnce(&[TypePtr]) -> Result<Vec<TypePtr>, ParquetError>,
) -> Result<Vec<TypePtr>, ParquetError> {
    let [group] = groups else {
        return Ok(groups.to_vec());
    };
    if !group.is_group() {
        return Ok(groups.to_vec());
    }
    let children = inside(group.get_fields())?;
    if children
        .iter()
        .zip(group.get_fields())
        .all(|(a, b)| Arc::ptr_eq(a, b))
    {
        return Ok(groups.to_vec());
    }
    let info = group.get_basic_info();
    let group = Type::group_type_builder(group.name())
        .with_fields(children)
        .with_repetition(info.repetition())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()));
    Ok(vec![Arc::new(group.build()?)])
}

fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_))
}

/// A flat array as its stored type. Every value is the same, or it is an error.
pub(super) fn leaf(
    array: &ArrayRef,
    to: &DataType,
    valid: Option<&NullBuffer>,
) -> Result<ArrayRef, Misfit> {
    match (array.data_type(), to) {
        (
            DataType::Timestamp(TimeUnit::Second, _),
            DataType::Timestamp(TimeUnit::Millisecond, zone),
        ) => {
            let values = array.as_primitive::<TimestampSecondType>();
            let millis = each::<_, TimestampMillisecondType>(values, valid, |seconds| {
                let millis = seconds.checked_mul(MILLIS);
                millis.ok_or_else(|| format!("{seconds} seconds are too many for milliseconds"))
            })?;
            Ok(Arc::new(millis.with_timezone_opt(zone.clone())))
        }
        (DataType::Time32(TimeUnit::Second), DataType::Time32(TimeUnit::Millisecond)) => {
            let values = array.as_primitive::<Time32SecondType>();
            let millis = each::<_, Time32MillisecondType>(values, valid, |seconds| {
                let millis = i64::from(seconds) * MILLIS;
                let millis = i32::try_from(millis);
                millis.map_err(|_| format!("{seconds} seconds are too many for milliseconds"))
            })?;
            Ok(Arc::new(millis))
        }
        (DataType::Date64, DataType::Date32) => {
            let values = array.as_primitive::<Date64Type>();
            let days = each::<_, Date32Type>(values, valid, |millis| {
                let days = i32::try_from(millis / MILLIS_PER_DAY).ok();
                let days = days.filter(|_| millis % MILLIS_PER_DAY == 0);
                days.ok_or_else(|| format!("{millis} milliseconds are no whole days, as dates are"))
            })?;
            Ok(Arc::new(days))
        }
        (DataType::Interval(IntervalUnit::MonthDayNano), DataType::FixedSizeBinary(_)) => {
            intervals(array, valid)
        }
        (DataType::Dictionary(_, values), _) => {
            let plain = arrow_cast::cast(array, values).map_err(|error| error.to_string())?;
            match plain.data_type() == to {
                true => Ok(plain),
                false => converted(&plain, to, &leaf),
            }
        }
        (from, to) => Err(Misfit::from(format!("{from} is not written as {to}"))),
    }
}

/// Months, days and milliseconds as the format has them, which knows no sign and nothing below a millisecond.
fn intervals(array: &ArrayRef, valid: Option<&NullBuffer>) -> Result<ArrayRef, Misfit> {
    let values = array.as_primitive::<IntervalMonthDayNanoType>();
    let mut bytes = Vec::with_capacity(values.len() * INTERVAL_BYTES as usize);
    for (i, value) in values.values().iter().enumerate() {
        if valid.is_some_and(|valid| valid.is_null(i)) {
            bytes.extend_from_slice(&[0; INTERVAL_BYTES as usize]);
            continue;
        }
        let millis = value.nanoseconds / NANOS_PER_MILLI;
        let is_whole = value.nanoseconds % NANOS_PER_MILLI == 0;
        let parts = [
            u32::try_from(value.months).ok(),
            u32::try_from(value.days).ok(),
            u32::try_from(millis).ok().filter(|_| is_whole),
        ];
        for part in parts {
            let part = part.ok_or_else(|| {
                let (months, days, nanos) = (value.months, value.days, value.nanoseconds);
                let what = format!(
                    "an interval of {months} months, {days} days and {nanos} ns has a sign or parts of milliseconds"
                );
                Misfit::at(i, what)
            })?;
            bytes.extend_from_slice(&part.to_le_bytes());
        }
    }
    let nulls = values.nulls().cloned();
    let made = FixedSizeBinaryArray::try_new(INTERVAL_BYTES, Buffer::from_vec(bytes), nulls);
    Ok(Arc::new(made.map_err(|error| error.to_string())?))
}
