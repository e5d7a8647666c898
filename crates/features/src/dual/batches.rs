//! Record batches with dual columns.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::ArrowError;

use super::arrays::{join, split, widen_high};
use super::fields::{dual_field, is_dual, whole_field};
use crate::columns::map_columns;
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
    map_columns(batch, |field, array| {
        if !names.contains(field.name().as_str()) {
            return Ok(None);
        }
        Ok(Some((dual_field(field)?, Arc::new(split(array)?))))
    })
}

/// The batch with all columns that are marked as dual joined: [`join`] and [`whole_field`]. The others stay.
///
/// # Errors
/// Those of [`join`] and [`whole_field`]: a dual column whose `low` was not read is one.
pub fn join_columns(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    map_dual(batch, |array| {
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
    map_dual(batch, widen_high)
}

/// The batch with another array for each column that is marked as dual.
fn map_dual(
    batch: &RecordBatch,
    map: impl Fn(&dyn Array) -> Result<ArrayRef, ArrowError>,
) -> Result<RecordBatch, ArrowError> {
    map_columns(batch, |field, array| {
        if !is_dual(field) {
            return Ok(None);
        }
        Ok(Some((whole_field(field)?, map(array)?)))
    })
}
