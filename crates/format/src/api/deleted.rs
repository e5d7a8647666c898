//! Takes from files of which rows were deleted.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{Field, Schema};
use tarsia_arrow::reorder;
use tarsia_compliance::RowSet;

use super::rows::Taken;
use crate::error::{Error, ErrorKind, Result};
use crate::options::DeletedRows;

/// Takes `rows`, some of which may be deleted, by `take`, which takes others.
pub(crate) fn take(
    deleted: &RowSet,
    rows: &[u64],
    on_deleted: DeletedRows,
    take: impl Fn(&[u64]) -> Result<Taken>,
) -> Result<Taken> {
    let found = rows.iter().find(|row| deleted.contains(**row));
    match (found, on_deleted) {
        (None, _) => take(rows),
        (Some(row), DeletedRows::Refuse) => Err(Error::new(
            ErrorKind::RowDeleted,
            format!("row {row} was deleted"),
        )),
        (Some(_), DeletedRows::Null) => {
            let live: Vec<u64> = rows
                .iter()
                .copied()
                .filter(|row| !deleted.contains(*row))
                .collect();
            let taken = take(&live)?;
            let mut next = 0..live.len() as u64;
            let places: UInt64Array = rows
                .iter()
                .map(|row| match deleted.contains(*row) {
                    true => None,
                    false => next.next(),
                })
                .collect();
            Ok(Taken {
                batch: with_nulls(&taken.batch, &places)?,
                ..taken
            })
        }
    }
}

/// The rows of a batch at these places, and nulls where there is no place.
fn with_nulls(batch: &RecordBatch, places: &UInt64Array) -> Result<RecordBatch> {
    let columns = batch.columns().iter();
    let columns = columns.zip(batch.schema_ref().fields());
    let columns = columns.map(|(column, field)| {
        let array = reorder(column.as_ref(), places).map_err(|error| {
            let what = format!("nulls of type {}: {error}", field.data_type());
            Error::new(ErrorKind::Unsupported, what).in_column(field.name())
        })?;
        let field = Field::clone(field).with_nullable(true);
        Ok((Arc::new(field), array))
    });
    let (fields, arrays): (Vec<Arc<Field>>, Vec<ArrayRef>) =
        columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let metadata = batch.schema_ref().metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(schema, arrays, &options)
        .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))
}
