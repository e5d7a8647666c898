//! Compares what was read with what was written: types, values and order.

use anyhow::{Context, Result, ensure};
use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use crate::operation::Read;
use crate::tables;

/// Compares `found` with what `read` asks of the table in the Arrow IPC file `expected`.
pub(crate) fn compare(expected: &str, read: &Read, found: &[RecordBatch]) -> Result<()> {
    let reader = tables::read(expected)?;
    let schema = reader.schema();
    let places = match &read.columns {
        Some(names) => names.iter().map(|name| schema.index_of(name)).collect(),
        None => Ok((0..schema.fields().len()).collect::<Vec<_>>()),
    }?;
    let batches = reader
        .map(|batch| batch?.project(&places))
        .collect::<Result<Vec<_>, _>>()?;
    let expected = match &read.rows {
        Some(rows) => {
            let all = concat_batches(&batches.first().context("no batches")?.schema(), &batches)?;
            vec![take_record_batch(&all, &UInt64Array::from(rows.clone()))?]
        }
        None => batches,
    };
    same(&expected, found)
}

/// Compares tables that may be cut into other batches.
fn same(expected: &[RecordBatch], found: &[RecordBatch]) -> Result<()> {
    let n_rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let (wanted, got) = (n_rows(expected), n_rows(found));
    ensure!(wanted == got, "{got} rows were read, {wanted} are there");
    let mut expected = expected.iter();
    let mut rest = RecordBatch::new_empty(std::sync::Arc::new(arrow_schema::Schema::empty()));
    let mut row = 0;
    for batch in found {
        let mut batch = batch.clone();
        while batch.num_rows() > 0 {
            if rest.num_rows() == 0 {
                rest = expected.next().context("too many rows")?.clone();
                continue;
            }
            let n_rows = rest.num_rows().min(batch.num_rows());
            same_rows(&rest.slice(0, n_rows), &batch.slice(0, n_rows))
                .with_context(|| format!("rows {row}..{}", row + n_rows))?;
            rest = rest.slice(n_rows, rest.num_rows() - n_rows);
            batch = batch.slice(n_rows, batch.num_rows() - n_rows);
            row += n_rows;
        }
    }
    Ok(())
}

fn same_rows(expected: &RecordBatch, found: &RecordBatch) -> Result<()> {
    let (wanted, got) = (expected.num_columns(), found.num_columns());
    ensure!(wanted == got, "{got} columns were read, not {wanted}");
    let schema = expected.schema();
    for (place, field) in schema.fields().iter().enumerate() {
        let name = field.name();
        let other = found.schema_ref().field(place).name().clone();
        ensure!(*name == other, "column {name} is {other}");
        let (expected, found) = (expected.column(place), found.column(place));
        let (wanted, got) = (expected.data_type(), found.data_type());
        ensure!(wanted == got, "{name} is {got}, not {wanted}");
        ensure!(expected == found, "{name} has other values than written");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use std::sync::Arc;

    fn batch(values: impl IntoIterator<Item = i64>) -> RecordBatch {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        RecordBatch::try_from_iter([("a", values)]).unwrap()
    }

    #[test]
    fn batches_may_be_cut_otherwise() {
        let written = [batch(0..5), batch(5..9)];
        same(&written, &[batch(0..2), batch(2..8), batch(8..9)]).unwrap();
        same(&[], &[]).unwrap();
    }

    #[test]
    fn other_values_rows_names_and_types_are_found() {
        let written = [batch(0..5)];
        for found in [
            batch(0..4),
            batch([0, 1, 2, 3, 5]),
            RecordBatch::try_from_iter([("b", batch(0..5).column(0).clone())]).unwrap(),
            RecordBatch::try_from_iter([(
                "a",
                Arc::new(UInt64Array::from_iter_values(0..5)) as ArrayRef,
            )])
            .unwrap(),
        ] {
            same(&written, &[found]).unwrap_err();
        }
    }
}
