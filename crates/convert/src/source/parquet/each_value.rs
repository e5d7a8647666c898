//! All values of a column, before its type is known.

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use super::columns::Columns;
use crate::Error;

/// Records read at a time.
const RECORDS: usize = 8_192;

/// Calls `see` with each value of a column that is not null, and its row.
pub(super) fn each_value<T: DataType>(
    columns: &Columns<'_>,
    column: usize,
    mut see: impl FnMut(u64, &T::T) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows_begun = 0_u64;
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..columns.metadata().num_row_groups() {
        let bad = |error: ParquetError| format!("row group {group}: {error}");
        let pages = columns.row_group(group).map_err(bad)?;
        let pages = pages.get_column_reader(column).map_err(bad)?;
        let mut pages = get_typed_column_reader::<T>(pages);
        let descriptor = columns.metadata().row_group(group).column(column);
        let present = descriptor.column_descr().max_def_level();
        loop {
            definitions.clear();
            repetitions.clear();
            values.clear();
            let (definitions, repetitions) = (&mut definitions, &mut repetitions);
            let (_, _, n_levels) = pages
                .read_records(RECORDS, Some(definitions), Some(repetitions), &mut values)
                .map_err(bad)?;
            if n_levels == 0 {
                break;
            }
            let mut values = values.iter();
            for at in 0..n_levels {
                // A column that is not repeated, or allows no nulls, has no such levels.
                if repetitions.get(at).is_none_or(|level: &i16| *level == 0) {
                    rows_begun += 1;
                }
                if definitions
                    .get(at)
                    .is_none_or(|level: &i16| *level == present)
                    && let Some(value) = values.next()
                {
                    see(rows_begun.saturating_sub(1), value)?;
                }
            }
        }
    }
    Ok(())
}
