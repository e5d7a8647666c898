//! Random rows: planned once for all columns, each touched block decoded once, output in the caller's order.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};

use tarsia_arrow::{Emitted, reorder};

use crate::error::{Error, ErrorKind, Result};
use crate::file::{Inner, Reads};
use crate::options::{Kernels, Threads};
use crate::plan::Plan;
use crate::projection::Projection;
use crate::scan::{batch, decode_fields, rows_budget, too_many_values};

/// Fewer blocks are decoded before other threads would have begun: each takes a quarter of a microsecond.
const PARALLEL_BLOCKS_MIN: usize = 256;

/// Rows in rising order, and where the caller wants them.
pub(crate) struct Order {
    pub(crate) sorted: Vec<u64>,
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

impl Order {
    /// The order of rows that the file has.
    pub(crate) fn of(inner: &Inner, rows: &[u64]) -> Result<Self> {
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
        Ok(Self::new(rows))
    }

    /// Sorted rows in the order asked for.
    pub(crate) fn restore(&self, array: ArrayRef) -> Result<ArrayRef> {
        let array = match &self.places {
            None => array,
            Some(places) => reorder(array.as_ref(), places)
                .map_err(|error| Error::new(ErrorKind::LimitExceeded, error.to_string()))?,
        };
        debug_assert_eq!(array.len(), self.sorted.len());
        Ok(array)
    }
}

pub(crate) fn take(
    inner: &Arc<Inner>,
    rows: &[u64],
    columns: Option<&[String]>,
) -> Result<RecordBatch> {
    take_planned(inner, rows, columns, &mut |_| {})
}

/// The same, and what was read.
pub(crate) fn take_counted(
    inner: &Arc<Inner>,
    rows: &[u64],
    columns: Option<&[String]>,
) -> Result<(RecordBatch, Reads)> {
    let before = inner.reads(&[]);
    let mut reads = Reads::default();
    let batch = take_planned(inner, rows, columns, &mut |plans| {
        reads = inner.reads(plans)
    })?;
    let after = inner.reads(&[]);
    reads.metadata_requests = after.metadata_requests - before.metadata_requests;
    reads.metadata_bytes = after.metadata_bytes - before.metadata_bytes;
    Ok((batch, reads))
}

fn take_planned(
    inner: &Arc<Inner>,
    rows: &[u64],
    columns: Option<&[String]>,
    planned: &mut dyn FnMut(&[Plan]),
) -> Result<RecordBatch> {
    let order = Order::of(inner, rows)?;
    let projection = Projection::new(inner, columns)?;
    inner.prefetch_tables(&projection.columns, &order.sorted);
    // Long rows had better not be copied once more to be in order. To a kernel each run of rows would be a request.
    let may_be_in_order = order.places.is_some() && inner.kernels != Kernels::Forced;
    let mut in_order = Vec::with_capacity(projection.fields.len());
    let mut plans = Vec::with_capacity(projection.columns.len());
    for field in &projection.fields {
        let is_in_order = may_be_in_order && field.is_long();
        in_order.push(is_in_order);
        for column in &field.columns {
            plans.push(match is_in_order {
                true => column.plan_in_order(inner, rows)?,
                false => column.plan_indices(inner, &order.sorted)?,
            });
        }
    }
    planned(&plans);
    let fetched = inner.fetch_all(&plans)?;
    let n_blocks: usize = plans.iter().map(|plan| plan.parts.len()).sum();
    let parallel = inner.threads == Threads::All
        && projection.columns.len() > 1
        && n_blocks >= PARALLEL_BLOCKS_MIN;
    let budget = rows_budget(&projection.columns, &plans, &fetched);
    let decoded = decode_fields(
        inner,
        &projection,
        &plans,
        &fetched,
        rows.len(),
        parallel,
        &budget,
    )?;
    let restored = |emitted: Emitted, is_in_order: bool| -> Result<ArrayRef> {
        let [array] = emitted.parts.as_slice() else {
            return Err(too_many_values());
        };
        match is_in_order {
            true => Ok(array.clone()),
            false => order.restore(array.clone()),
        }
    };
    let arrays = decoded
        .ok_or_else(too_many_values)?
        .into_iter()
        .zip(projection.fields.iter().zip(in_order))
        .map(|(emitted, (field, is_in_order))| {
            restored(emitted, is_in_order).map_err(|error| error.in_column(field.field.name()))
        })
        .collect::<Result<Vec<_>>>()?;
    inner.check_unchanged()?;
    batch(&projection.schema, arrays, rows.len())
}
