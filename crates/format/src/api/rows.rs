//! Random rows: planned once for all columns, each touched block decoded once, output in the caller's order.

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use tarsia_arrow::{ArrayParts, reorder};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::{
    FieldsRead, OpenFile, Wanted, batch, plan_and_fetch, prefetch_tables, rows_budget,
    too_many_values,
};
use crate::options::Kernels;
use crate::plan::Plan;
use crate::source::Reads;

/// Fewer blocks are decoded before other threads would have begun: each takes a quarter of a microsecond.
const PARALLEL_BLOCKS_MIN: usize = 256;

/// Rows that were taken, and what was read for them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Taken {
    /// The rows in the order in which they were asked for.
    pub batch: RecordBatch,
    /// Requests and bytes that were read.
    pub reads: Reads,
}

/// Whether a take says what it read. To work that out takes 7 % of a take of one row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    Yes,
    No,
}

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

    /// The order of rows that the file has.
    pub(crate) fn of(file: &OpenFile, rows: &[u64]) -> Result<Self> {
        let n_rows = file.rows();
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

/// Takes rows of some columns, or of all.
pub(crate) fn take(
    file: &OpenFile,
    rows: &[u64],
    columns: Option<&[String]>,
    counting: Counting,
) -> Result<Taken> {
    let reads = |plans: &[Plan]| match counting {
        Counting::Yes => file.source.reads(plans),
        Counting::No => Reads::default(),
    };
    let before = reads(&[]);
    let order = Order::of(file, rows)?;
    let projection = file.projection(columns)?;
    prefetch_tables(file, &projection.columns, &order.sorted);
    // Long rows had better not be copied once more to be in order. To a kernel each run of rows would be a request.
    let may_be_in_order = order.places.is_some() && file.session.kernels != Kernels::Forced;
    let mut in_order = Vec::with_capacity(projection.fields.len());
    let mut wanted = Vec::with_capacity(projection.columns.len());
    for field in &projection.fields {
        let is_in_order = may_be_in_order && field.is_long();
        in_order.push(is_in_order);
        for column in &field.columns {
            let of_column = match is_in_order {
                true => Wanted::InOrder(rows),
                false => Wanted::Indices(&order.sorted),
            };
            wanted.push((&**column, of_column));
        }
    }
    let (plans, blocks) = plan_and_fetch(file, wanted)?;
    let of_blocks = reads(&plans);
    let n_blocks: usize = plans.iter().map(|plan| plan.parts.len()).sum();
    let parallel = file.session.threads.are_several()
        && projection.columns.len() > 1
        && n_blocks >= PARALLEL_BLOCKS_MIN;
    let read = FieldsRead {
        file,
        fields: &projection.fields,
        columns: &projection.columns,
        plans: &plans,
        blocks: &blocks,
        rows: rows.len(),
        as_entries: false,
        cancel: None,
    };
    let budget = rows_budget(&read);
    let decoded = read.decode(parallel, &budget)?;
    let restored = |array: ArrayParts, is_in_order: bool| -> Result<ArrayRef> {
        let [part] = array.parts.as_slice() else {
            return Err(too_many_values());
        };
        match is_in_order {
            true => Ok(part.clone()),
            false => order.restore(part.clone()),
        }
    };
    let arrays = decoded
        .ok_or_else(too_many_values)?
        .into_iter()
        .zip(projection.fields.iter().zip(in_order))
        .map(|(array, (field, is_in_order))| {
            restored(array, is_in_order).map_err(|error| error.in_column(field.field.name()))
        })
        .collect::<Result<Vec<_>>>()?;
    file.check_unchanged()?;
    Ok(Taken {
        batch: batch(&projection.schema, arrays, rows.len())?,
        reads: match counting {
            Counting::Yes => file.source.reads_since(before, of_blocks),
            Counting::No => of_blocks,
        },
    })
}
