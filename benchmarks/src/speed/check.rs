//! Checks that a file gives back what was written, by every way that is timed. A fast wrong answer is no result.

use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;

use super::protocol::Goal;
use super::random::Random;
use crate::peers::speed::Opened;

/// Rows of a take that is compared.
const TAKE_ROWS: usize = 64;

/// Tables of more columns are compared in some of their columns only, since most formats need minutes to read all of
/// them. `lance/worker.py` does the same.
const COLUMNS_MAX: usize = 10_000;

/// Every so manieth of them.
const COLUMN_STEP: usize = 100;

/// Compares batch by batch, so that a large table is not held three times.
pub(super) fn same(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    one: &dyn Opened,
    all: &dyn Opened,
    goal: Goal,
) -> Result<()> {
    let n_columns = schema.fields().len();
    if n_columns > COLUMNS_MAX {
        let some: Vec<usize> = (0..n_columns).step_by(COLUMN_STEP).collect();
        let names = names(schema, &some);
        let projected = batches.iter().map(|batch| batch.project(&some));
        let projected = projected.collect::<Result<Vec<_>, _>>()?;
        let schema = SchemaRef::new(schema.project(&some)?);
        return scan(&schema, &projected, one, Some(&names)).context("scan of some columns");
    }
    scan(schema, batches, one, None).context("scan")?;
    scan_on_all_threads(schema, batches, all).context("scan on all threads")?;
    if goal == Goal::Scans {
        return Ok(());
    }
    let n_rows = batches.iter().map(RecordBatch::num_rows).sum();
    let rows = Random::new(2).rows(TAKE_ROWS, n_rows);
    let expected = take_rows(batches, &rows)?;
    let found = collected(|consumer| one.take(&rows, None, consumer))?;
    equal(&expected, &found).context("take")?;
    let columns = [0, n_columns - 1];
    let some = match columns {
        [first, last] if first == last => &columns[..1],
        _ => &columns,
    };
    let names = names(schema, some);
    let found = collected(|consumer| one.take(&rows, Some(&names), consumer))?;
    equal(&expected.project(some)?, &found).context("take of some columns")
}

fn names(schema: &SchemaRef, columns: &[usize]) -> Vec<String> {
    let names = columns.iter().map(|i| schema.field(*i).name().clone());
    names.collect()
}

/// Takes those rows, which rise.
fn take_rows(batches: &[RecordBatch], rows: &[u64]) -> Result<RecordBatch> {
    let mut places = Vec::new();
    let mut rows = rows.iter().copied().peekable();
    let mut start = 0;
    for (i, batch) in batches.iter().enumerate() {
        let end = start + batch.num_rows() as u64;
        while let Some(row) = rows.next_if(|row| *row < end) {
            places.push((i, usize::try_from(row - start)?));
        }
        start = end;
    }
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    Ok(interleave_record_batch(&batches, &places)?)
}

fn collected(
    work: impl FnOnce(crate::peers::speed::Consumer<'_>) -> Result<()>,
) -> Result<RecordBatch> {
    let batches = Mutex::new(Vec::new());
    work(&|batch| {
        if let Ok(mut batches) = batches.lock() {
            batches.push(batch);
        }
    })?;
    let batches = batches.into_inner().ok().context("a consumer panicked")?;
    let first = batches.first().context("no batch")?;
    Ok(concat_batches(&first.schema(), &batches)?)
}

fn equal(expected: &RecordBatch, found: &RecordBatch) -> Result<()> {
    ensure!(
        expected.num_columns() == found.num_columns(),
        "{} columns",
        found.num_columns()
    );
    for (i, (expected, found)) in expected.columns().iter().zip(found.columns()).enumerate() {
        ensure!(
            expected.data_type() == found.data_type(),
            "column {i} is {}, not {}",
            found.data_type(),
            expected.data_type()
        );
        // Arrow compares floats by their bytes, so NaN payloads and −0.0 count too.
        ensure!(
            logical(expected)?.to_data() == logical(found)?.to_data(),
            "column {i} has other values than those written"
        );
    }
    Ok(())
}

/// The values of a dictionary array: a format may choose its entries, and whether null is a key or an entry.
fn logical(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values)?,
        _ => array.clone(),
    })
}

fn scan(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    opened: &dyn Opened,
    columns: Option<&[String]>,
) -> Result<()> {
    let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let state = Mutex::new((0, Ok(())));
    opened.scan(columns, &|found| {
        let Ok(mut state) = state.lock() else { return };
        let (start, result) = &mut *state;
        let begin = *start;
        *start += found.num_rows();
        if result.is_ok() {
            *result = match *start <= n_rows {
                true => slice(schema, batches, begin, found.num_rows())
                    .and_then(|expected| equal(&expected, &found))
                    .with_context(|| format!("rows from {begin}")),
                false => Err(anyhow::anyhow!("more than {n_rows} rows")),
            };
        }
    })?;
    let (rows, result) = state.into_inner().ok().context("a consumer panicked")?;
    result?;
    ensure!(rows == n_rows, "{rows} rows");
    Ok(())
}

/// Compares a scan with strings as views.
pub(super) fn same_views(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    opened: &dyn Opened,
) -> Result<()> {
    let expected = batches
        .iter()
        .map(|batch| {
            let columns = batch.columns().iter().zip(schema.fields());
            let columns = columns.map(|(column, field)| Ok(cast(column, field.data_type())?));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(RecordBatch::try_new(schema.clone(), columns)?)
        })
        .collect::<Result<Vec<_>>>()?;
    scan(schema, &expected, opened, None).context("scan as views")
}

/// Some rows, as one batch.
fn slice(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    start: usize,
    len: usize,
) -> Result<RecordBatch> {
    let end = start + len;
    let mut parts = Vec::new();
    let mut at = 0;
    for batch in batches {
        let (from, to) = (at.max(start), (at + batch.num_rows()).min(end));
        if from < to {
            parts.push(batch.slice(from - at, to - from));
        }
        at += batch.num_rows();
    }
    Ok(match parts.as_slice() {
        [part] => part.clone(),
        _ => concat_batches(schema, &parts)?,
    })
}

/// Columns may come one by one and in any order, so only their types and number of values are looked at.
fn scan_on_all_threads(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    opened: &dyn Opened,
) -> Result<()> {
    let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let state = Mutex::new((0, None));
    opened.scan(None, &|found| {
        let Ok(mut state) = state.lock() else { return };
        state.0 += found.num_rows() * found.num_columns();
        for field in found.schema().fields() {
            let expected = schema.field_with_name(field.name()).map(|f| f.data_type());
            if !expected.is_ok_and(|expected| expected == field.data_type()) {
                state.1 = Some(format!("{} is {}", field.name(), field.data_type()));
            }
        }
    })?;
    let (values, wrong) = state.into_inner().ok().context("a consumer panicked")?;
    if let Some(wrong) = wrong {
        bail!("{wrong}");
    }
    ensure!(values == n_rows * schema.fields().len(), "{values} values");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, Float64Array, Int32Array, StringArray, UInt64Array};
    use arrow_select::take::take_record_batch;

    use super::*;
    use crate::peers::speed::Consumer;

    /// A file that gives these batches, and takes from them.
    struct Given(Vec<RecordBatch>);

    impl Opened for Given {
        fn data_type(&self, column: &str) -> Result<DataType> {
            let schema = self.0[0].schema();
            Ok(schema.field_with_name(column)?.data_type().clone())
        }

        fn scan(&self, columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()> {
            for batch in &self.0 {
                consumer(project(batch, columns)?);
            }
            Ok(())
        }

        fn take(
            &self,
            rows: &[u64],
            columns: Option<&[String]>,
            consumer: Consumer<'_>,
        ) -> Result<()> {
            let all = concat_batches(&self.0[0].schema(), &self.0)?;
            let rows = UInt64Array::from(rows.to_vec());
            consumer(take_record_batch(&project(&all, columns)?, &rows)?);
            Ok(())
        }
    }

    fn project(batch: &RecordBatch, columns: Option<&[String]>) -> Result<RecordBatch> {
        let Some(columns) = columns else {
            return Ok(batch.clone());
        };
        let schema = batch.schema();
        let indices = columns.iter().map(|name| schema.index_of(name));
        Ok(batch.project(&indices.collect::<Result<Vec<_>, _>>()?)?)
    }

    fn batch(values: &[f64]) -> RecordBatch {
        let ids = UInt64Array::from_iter_values(0..values.len() as u64);
        let values = Float64Array::from(values.to_vec());
        RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("value", Arc::new(values) as _)])
            .unwrap()
    }

    fn check(written: &[f64], found: Vec<RecordBatch>) -> Result<()> {
        let written = batch(written);
        // Cut elsewhere than what is found.
        let cut = written.num_rows() / 3;
        let batches = [
            written.slice(0, cut),
            written.slice(cut, written.num_rows() - cut),
        ];
        let given = Given(found);
        same(
            &written.schema(),
            &batches,
            &given,
            &given,
            Goal::Everything,
        )
    }

    #[test]
    fn other_values_and_missing_rows_are_seen() {
        let values: Vec<f64> = (0..1_000).map(f64::from).collect();
        let good = batch(&values);
        check(&values, vec![good.slice(0, 500), good.slice(500, 500)]).unwrap();
        check(&values, vec![good.slice(0, 999)]).unwrap_err();
        check(&values, vec![good.clone(), good.slice(0, 1)]).unwrap_err();
        let mut other = values.clone();
        other[998] = -0.0;
        assert!(check(&other, vec![good.clone()]).is_err());
        other[998] = 0.0;
        let zero = batch(&other);
        other[998] = -0.0;
        assert!(check(&other, vec![zero]).is_err(), "-0.0 is not 0.0");
    }

    #[test]
    fn dictionaries_may_have_other_entries() {
        let array = |keys: [Option<i32>; 3], values: &[Option<&str>]| {
            let values = Arc::new(StringArray::from(values.to_vec()));
            let array = DictionaryArray::new(Int32Array::from(keys.to_vec()), values);
            RecordBatch::try_from_iter_with_nullable([("a", Arc::new(array) as _, true)]).unwrap()
        };
        let written = array([Some(0), None, Some(1)], &[Some("a"), Some("b")]);
        let found = array([Some(1), Some(0), Some(2)], &[None, Some("a"), Some("b")]);
        equal(&written, &found).unwrap();
        let other = array([Some(1), Some(1), Some(2)], &[None, Some("a"), Some("b")]);
        equal(&written, &other).unwrap_err();
    }

    #[test]
    fn rows_are_taken_across_batches() {
        let all = batch(&[0.0, 1.0, 2.0, 3.0, 4.0]);
        let batches = [all.slice(0, 2), all.slice(2, 2), all.slice(4, 1)];
        let taken = take_rows(&batches, &[1, 2, 4]).unwrap();
        let expected = take_record_batch(&all, &UInt64Array::from(vec![1, 2, 4])).unwrap();
        assert_eq!(taken, expected);
    }
}
