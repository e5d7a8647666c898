//! Random rows: planned once for all columns, each touched block decoded once, output in the caller's order.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};

use tarsia_structure::arrow::reorder;

use crate::error::{Error, ErrorKind, Result};
use crate::file::Inner;
use crate::scan::{Projection, batch, emit};

/// Rows in rising order, and where the caller wants them.
struct Order {
    sorted: Vec<u64>,
    /// For each output row the place in `sorted`; `None` where the rows rise already.
    places: Option<UInt64Array>,
}

impl Order {
    fn new(rows: &[u64]) -> Self {
        if rows.is_sorted() {
            return Self {
                sorted: rows.to_vec(),
                places: None,
            };
        }
        let mut order: Vec<(u64, u32)> = rows.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let mut places = vec![0; rows.len()];
        for (place, (_, output)) in order.iter().enumerate() {
            places[*output as usize] = place as u64;
        }
        Self {
            sorted: order.into_iter().map(|(row, _)| row).collect(),
            places: Some(places.into()),
        }
    }
}

pub(crate) fn take(
    inner: &Arc<Inner>,
    rows: &[u64],
    columns: Option<&[String]>,
) -> Result<RecordBatch> {
    let n_rows = inner.rows();
    if let Some(row) = rows.iter().find(|row| **row >= n_rows) {
        return Err(Error::new(
            ErrorKind::OutOfRange,
            format!("row {row} of {n_rows}"),
        ));
    }
    if rows.len() > i32::MAX as usize {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            "more than 2^31 rows in one take",
        ));
    }
    inner.check_unchanged()?;
    let projection = Projection::new(inner, columns)?;
    let order = Order::new(rows);
    let plans = projection
        .columns
        .iter()
        .map(|column| column.plan_indices(inner, &order.sorted))
        .collect::<Result<Vec<_>>>()?;
    let fetched = inner.fetch_all(&plans)?;
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(plans.len());
    for ((column, plan), fetched) in projection.columns.iter().zip(&plans).zip(&fetched) {
        let emitted = emit(inner, column, plan, fetched)?;
        let [array] = emitted.parts.as_slice() else {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "the rows hold more distinct values than the dictionary's keys can number; take fewer rows at once",
            )
            .in_column(column.name()));
        };
        arrays.push(match &order.places {
            None => array.clone(),
            Some(places) => reorder(array, places)
                .map_err(|error| Error::new(ErrorKind::LimitExceeded, error.to_string()))?,
        });
        debug_assert_eq!(arrays.last().map(|array| array.len()), Some(rows.len()));
    }
    inner.check_unchanged()?;
    batch(&projection.schema, arrays, rows.len())
}
