//! Record batches of which some columns change.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, FieldRef, Schema};

/// The batch with the columns that `map` gives; where it gives none, a column stays. Its metadata stays, too.
pub(crate) fn map_columns(
    batch: &RecordBatch,
    map: impl Fn(&Field, &dyn Array) -> Result<Option<(Field, ArrayRef)>, ArrowError>,
) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema_ref();
    let mut fields: Vec<FieldRef> = Vec::with_capacity(schema.fields().len());
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        match map(field, column)? {
            Some((field, column)) => {
                fields.push(Arc::new(field));
                columns.push(column);
            }
            None => {
                fields.push(field.clone());
                columns.push(column.clone());
            }
        }
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    // Tells the number of rows where there are no columns.
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
}
