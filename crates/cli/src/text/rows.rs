//! Rows as JSON objects.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::cell::cell;
use super::object::Object;
use super::style::Style;

/// The rows of one batch as JSON objects, one key per column.
pub struct JsonRows<'a>(Object<'a>);

impl<'a> JsonRows<'a> {
    /// # Errors
    /// Names the column whose type has no JSON text.
    pub fn new(batch: &'a RecordBatch) -> Result<JsonRows<'a>, String> {
        let mut object = Object::default();
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let values = cell(Style::Json, array.as_ref())
                .map_err(|what| format!("column `{}`: {what}", field.name()))?;
            object.push(field.name(), values);
        }
        Ok(JsonRows(object))
    }

    /// Appends the row's object, without a line end.
    ///
    /// # Errors
    /// None at present.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
        self.0.write(row, out)
    }
}

/// The first name that a schema has twice: a JSON object holds a name once.
#[must_use]
pub fn repeated_name(schema: &Schema) -> Option<&str> {
    let mut seen = HashSet::new();
    schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .find(|name| !seen.insert(*name))
}
