//! Record batches with dual columns.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, FieldRef, Schema};

use super::arrays::{join, split, widen_high};
use super::fields::{dual_field, is_dual, whole_field};
use crate::error::invalid;

/// The batch with the columns `names` as dual columns: [`split`] and [`dual_field`]. The others stay.
///
/// # Errors
/// A name that no column or several columns have, and those of [`split`] and [`dual_field`].
pub fn split_columns(batch: &RecordBatch, names: &[&str]) -> Result<RecordBatch, ArrowError> {
    let names: HashSet<&str> = names.iter().copied().collect();
    let schema = batch.schema_ref();
    let mut left = names.clone();
    for field in schema.fields() {
        if names.contains(field.name().as_str()) && !left.remove(field.name().as_str()) {
            return Err(invalid(format!(
                "several columns are named {:?}",
                field.name()
            )));
        }
    }
    if let Some(name) = left.iter().min() {
        return Err(invalid(format!("no column is named {name:?}")));
    }
    map_columns(
        batch,
        |field| names.contains(field.name().as_str()),
        dual_field,
        |array| Ok(Arc::new(split(array)?)),
    )
}

/// The batch with all columns that are marked as dual joined: [`join`] and [`whole_field`]. The others stay.
///
/// # Errors
/// Those of [`join`] and [`whole_field`]: a dual column whose `low` was not read is one.
pub fn join_columns(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    map_columns(batch, is_dual, whole_field, |array| {
        let dual = array.as_struct_opt();
        join(dual.ok_or_else(|| invalid("a dual column is no struct"))?)
    })
}

/// The batch with all columns that are marked as dual as the rounded floats of their `high`: [`widen_high`] and
/// [`whole_field`]. The others stay. Their `low` need not have been read. Readers that give a part of a column without
/// its mark, as those of Tarsia do, need [`widen_high`].
///
/// # Errors
/// Those of [`widen_high`] and [`whole_field`].
pub fn widen_columns(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    map_columns(batch, is_dual, whole_field, widen_high)
}

fn map_columns(
    batch: &RecordBatch,
    is_mapped: impl Fn(&Field) -> bool,
    map_field: fn(&Field) -> Result<Field, ArrowError>,
    map_array: impl Fn(&dyn Array) -> Result<ArrayRef, ArrowError>,
) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema_ref();
    let mut fields: Vec<FieldRef> = Vec::with_capacity(schema.fields().len());
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        if is_mapped(field) {
            fields.push(Arc::new(map_field(field)?));
            columns.push(map_array(column)?);
        } else {
            fields.push(field.clone());
            columns.push(column.clone());
        }
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    // Tells the number of rows where there are no columns.
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
}
