//! Some rows of some columns of a row group.

use std::fs::File;
use std::ops::Range;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelectionPolicy, RowSelector,
};

use crate::Error;

/// A part of a row group.
pub(super) struct Selected {
    pub(super) row_group: usize,
    /// Top-level fields.
    pub(super) fields: Range<usize>,
    /// Rows of the row group; there may be fewer.
    pub(super) rows: Range<u64>,
    /// Rows of a batch.
    pub(super) batch_rows: u64,
}

/// Opens readers of the columns.
///
/// # Errors
/// The file cannot be read, or more than 2^64 rows are wanted on a machine that counts fewer.
pub(super) fn open(
    file: &File,
    metadata: &ArrowReaderMetadata,
    selected: &Selected,
) -> Result<ParquetRecordBatchReader, Error> {
    let count = |rows: u64| usize::try_from(rows).map_err(|error| error.to_string());
    let file = file.try_clone().map_err(|error| error.to_string())?;
    let stored = metadata.metadata().file_metadata().schema_descr();
    let rows = &selected.rows;
    let selection = RowSelection::from(vec![
        RowSelector::skip(count(rows.start)?),
        RowSelector::select(count(rows.end.saturating_sub(rows.start))?),
    ]);
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
        .with_row_groups(vec![selected.row_group])
        .with_projection(ProjectionMask::roots(stored, selected.fields.clone()))
        .with_row_selection(selection)
        .with_row_selection_policy(RowSelectionPolicy::Selectors)
        .with_batch_size(count(selected.batch_rows)?)
        .build();
    reader.map_err(|error| error.to_string().into())
}
