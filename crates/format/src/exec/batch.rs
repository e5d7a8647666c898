//! Arrays to record batches.

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use tarsia_arrow::ArrayParts;

use crate::error::{Error, ErrorKind, Result};

/// The error for rows that a dictionary's keys or the ends of runs cannot number.
pub(crate) fn too_many_values() -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "the rows hold more distinct values or runs than the type's keys or ends can number; read fewer rows at once",
    )
}

/// One batch of columns that are each in one part.
pub(crate) fn batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::new(ErrorKind::Corrupt, error.to_string()))
}

/// Batches of columns that may come in several parts. A batch ends wherever a part of any column ends.
pub(crate) fn batches(
    schema: &SchemaRef,
    columns: Vec<ArrayParts>,
    rows: usize,
) -> Result<Vec<RecordBatch>> {
    let mut cuts: Vec<usize> = vec![rows];
    for column in &columns {
        let mut at = 0;
        for part in &column.parts {
            at += part.len();
            cuts.push(at);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut start = 0;
    let mut batches = Vec::with_capacity(cuts.len());
    for end in cuts {
        if end == start && rows > 0 {
            continue;
        }
        let slices = columns
            .iter()
            .map(|column| slice_parts(&column.parts, start, end))
            .collect::<Result<Vec<_>>>()?;
        batches.push(batch(schema, slices, end - start)?);
        start = end;
    }
    Ok(batches)
}

/// Rows `start..end` of a column in parts. They lie inside one part.
fn slice_parts(parts: &[ArrayRef], start: usize, end: usize) -> Result<ArrayRef> {
    let mut first = 0;
    for part in parts {
        if start >= first && end <= first + part.len() {
            return Ok(match (start - first, end - start) {
                (0, len) if len == part.len() => part.clone(),
                (offset, len) => part.slice(offset, len),
            });
        }
        first += part.len();
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        "columns decoded to different numbers of rows",
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int32Array;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    /// Rows from 0 on, in parts that end there.
    fn parts(ends: &[i32]) -> ArrayParts {
        let mut start = 0;
        let arrays = ends.iter().map(|end| {
            let part = std::mem::replace(&mut start, *end)..*end;
            Arc::new(Int32Array::from_iter_values(part)) as ArrayRef
        });
        ArrayParts {
            parts: arrays.collect(),
        }
    }

    #[test]
    fn batches_are_cut_wherever_a_column_is() {
        let field = |name| Field::new(name, DataType::Int32, false);
        let schema = Arc::new(Schema::new(vec![field("a"), field("b")]));
        let columns = vec![parts(&[4, 10]), parts(&[7, 10])];
        let cut = batches(&schema, columns, 10).unwrap();
        let rows: Vec<usize> = cut.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [4, 3, 3]);
        assert!(cut.iter().all(|batch| batch.column(0) == batch.column(1)));
        let short = vec![parts(&[4]), parts(&[3])];
        assert!(batches(&schema, short, 4).is_err());
        let none = batches(&schema, vec![parts(&[0]), parts(&[0])], 0).unwrap();
        assert_eq!(none.len(), 1);
    }
}
