//! Tables and rows for tests.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
};
use arrow_schema::ArrowError;
use tarsia_io::MemoryStore;
use tarsia_table::{CommitInfo, Scan, Table, TableSpec};

/// A commit at a fixed time.
pub(crate) fn info(message: &str) -> CommitInfo {
    CommitInfo::new("ada", message).time(1_777_593_600_000)
}

/// Rows of a number and a text.
pub(crate) fn batch(rows: &[(i64, &str)]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("t", texts, true)]).unwrap()
}

/// A reader of one batch.
pub(crate) fn reader(batch: &RecordBatch) -> impl RecordBatchReader + use<> {
    let batches: [Result<_, ArrowError>; 1] = [Ok(batch.clone())];
    RecordBatchIterator::new(batches, batch.schema())
}

/// A table of numbers and texts.
pub(crate) fn table(partition_by: &[&str]) -> Table {
    let spec = TableSpec::new(batch(&[]).schema()).partition_by(partition_by.iter().copied());
    Table::create(Arc::new(MemoryStore::new()), &spec, &info("made")).unwrap()
}

/// Appends rows to a branch.
pub(crate) fn append(table: &Table, branch: &str, rows: &[(i64, &str)]) {
    let mut txn = table.begin(branch, info("append")).unwrap();
    txn.append(reader(&batch(rows))).unwrap();
    txn.commit().unwrap();
}

/// Numbers of a scan's first column, in its order.
pub(crate) fn numbers(scan: Scan) -> Vec<i64> {
    let mut numbers = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        let column = batch.column(0).as_primitive::<Int64Type>();
        assert_eq!(column.null_count(), 0);
        numbers.extend_from_slice(column.values());
    }
    numbers
}

/// Sorted numbers of a state.
pub(crate) fn numbers_at(table: &Table, state: &str) -> Vec<i64> {
    let mut numbers = numbers(
        table
            .at(state)
            .unwrap()
            .scan()
            .columns(&["n"])
            .build()
            .unwrap(),
    );
    numbers.sort_unstable();
    numbers
}
