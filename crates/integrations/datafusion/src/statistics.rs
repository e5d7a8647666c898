//! Statistics of a file, as the engine understands them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use tarsia::{File, Precision as TarsiaPrecision, Result};

use crate::filter::keeps_values;

/// Most columns of which statistics are read when a query is planned: each may take a read.
const COLUMNS_MAX: usize = 512;

/// Statistics of a file's rows, for a table of this schema (without partition columns). Whatever the engine takes for
/// a value is one, and whatever it takes for a bound is one.
///
/// # Errors
/// What reading may meet.
pub(crate) fn of_file(file: &File, table: &Schema) -> Result<Statistics> {
    let n_rows = usize::try_from(file.live_rows()).unwrap_or(usize::MAX);
    let mut statistics = Statistics::new_unknown(table);
    statistics.num_rows = Precision::Exact(n_rows);
    if table.fields().len() > COLUMNS_MAX {
        return Ok(statistics);
    }
    let schema = file.schema()?;
    let is_here = |field: &&Arc<Field>| schema.field_with_name(field.name()).is_ok();
    let names = table.fields().iter().filter(is_here);
    let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
    let known = file.statistics(Some(&names))?;
    let mut n_bytes = 0_u64;
    let of_table = table.fields().iter().zip(&mut statistics.column_statistics);
    for (field, column) in of_table {
        match known.columns.iter().find(|it| it.name == *field.name()) {
            Some(known) => {
                n_bytes = n_bytes.saturating_add(known.encoded_bytes);
                *column = of_column(known, field);
            }
            // A column that the file lacks is null.
            None => column.null_count = Precision::Exact(n_rows),
        }
    }
    let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    statistics.total_byte_size = Precision::Inexact(n_bytes);
    Ok(statistics)
}

fn of_column(known: &tarsia::ColumnStatistics, field: &Field) -> ColumnStatistics {
    let mut column = ColumnStatistics::new_unknown();
    // A number that counts deleted rows, too, is none of the rows that are left.
    if let TarsiaPrecision::Exact(nulls) = known.nulls
        && let Ok(nulls) = usize::try_from(nulls)
    {
        column.null_count = Precision::Exact(nulls);
    }
    let bytes = usize::try_from(known.encoded_bytes).unwrap_or(usize::MAX);
    column.byte_size = Precision::Inexact(bytes);
    // NaN, which the file's bounds leave out, is above and below all numbers for the engine.
    let may_hold_nans = match field.data_type() {
        DataType::Dictionary(_, values) => values.is_floating(),
        other => other.is_floating(),
    };
    if !may_hold_nans {
        column.min_value = bound(&known.min, field.data_type());
        column.max_value = bound(&known.max, field.data_type());
    }
    column
}

fn bound(known: &TarsiaPrecision<ArrayRef>, data_type: &DataType) -> Precision<ScalarValue> {
    let value = |array: &ArrayRef| -> Option<ScalarValue> {
        let is_exact = array.data_type() == data_type || keeps_values(array.data_type(), data_type);
        let value = ScalarValue::try_from_array(array, 0)
            .ok()
            .filter(|_| is_exact)?;
        let value = value.cast_to(data_type).ok()?;
        (!value.is_null()).then_some(value)
    };
    match known {
        TarsiaPrecision::Exact(array) => value(array).map_or(Precision::Absent, Precision::Exact),
        TarsiaPrecision::Inexact(array) => {
            value(array).map_or(Precision::Absent, Precision::Inexact)
        }
        TarsiaPrecision::Absent => Precision::Absent,
    }
}
