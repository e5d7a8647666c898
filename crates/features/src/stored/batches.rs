//! Record batches with columns in small formats.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::arrays::{narrow, widen};
use super::fields::{format_of, narrow_field, widen_field};
use super::format::Format;
use crate::columns::map_columns;
use crate::error::invalid;

/// In the schema's metadata of a Tarsia file: the start of the keys that say how columns were rounded. The rest is the
/// name of the column, then those of the items of lists, joined by dots; the value begins with the name of the format.
const ROUNDED_KEY_PREFIX: &str = "rounded.";

/// The columns of a schema that its metadata says were rounded to one of the formats here, in the schema's order.
#[must_use]
pub fn rounded_columns(schema: &Schema) -> Vec<(&Field, Format)> {
    let rounded = |field| Some((field, rounded_to(schema, field)?));
    let fields = schema.fields().iter().map(AsRef::as_ref);
    fields.filter_map(rounded).collect()
}

/// The batch with all rounded columns ([`rounded_columns`]) in their format: [`narrow`] and [`narrow_field`]. The
/// others stay, as do columns that are in a format already.
///
/// # Errors
/// Those of [`narrow`] and [`narrow_field`], with the column's name.
pub fn narrow_columns(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema_ref();
    map_columns(batch, |field, array| {
        let format = rounded_to(schema, field).filter(|_| format_of(field).is_none());
        let Some(format) = format else {
            return Ok(None);
        };
        let narrowed = narrow(array, format);
        let narrowed = narrowed.map_err(|error| in_column(field, &error))?;
        Ok(Some((narrow_field(field, format)?, narrowed)))
    })
}

/// The batch with all columns of 8-bit floats and of bfloat16, which their extension type tells, as `Float32`:
/// [`widen`] and [`widen_field`]. Of `Float16`, which is a type of its own, only rounded columns are widened.
///
/// # Errors
/// Those of [`widen`] and [`widen_field`], with the column's name.
pub fn widen_columns(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema_ref();
    map_columns(batch, |field, array| {
        let is_widened = match format_of(field) {
            None => false,
            Some(Format::F16) => rounded_to(schema, field) == Some(Format::F16),
            Some(_) => true,
        };
        if !is_widened {
            return Ok(None);
        }
        let widened = widen(field, array).map_err(|error| in_column(field, &error))?;
        Ok(Some((widen_field(field)?, widened)))
    })
}

fn in_column(field: &Field, error: &ArrowError) -> ArrowError {
    match error {
        ArrowError::InvalidArgumentError(what) => {
            invalid(format!("column {:?}: {what}", field.name()))
        }
        other => invalid(format!("column {:?}: {other}", field.name())),
    }
}

fn rounded_to(schema: &Schema, field: &Field) -> Option<Format> {
    let key = format!("{ROUNDED_KEY_PREFIX}{}", leaf_name(field));
    let value = schema.metadata().get(&key)?;
    Format::from_name(
        value
            .split_once(',')
            .map_or(value.as_str(), |(name, _)| name),
    )
}

fn leaf_name(field: &Field) -> String {
    match field.data_type() {
        DataType::List(items) | DataType::LargeList(items) | DataType::FixedSizeList(items, _) => {
            format!("{}.{}", field.name(), leaf_name(items))
        }
        _ => field.name().clone(),
    }
}
