//! Answers to what query engines ask of a file before they read it: rows, nulls, bytes, the smallest and the largest
//! value.

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::error::Result;
use crate::exec::{OpenFile, extremes_by_zones, read_zones};
use crate::table::{Column, TableField};

/// A number or a value that is exact, or a bound, or not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precision<T> {
    /// It is this one.
    Exact(T),
    /// Counts and the largest value are at most this, the smallest value is at least this.
    Inexact(T),
    /// It is not known without reading the column.
    Absent,
}

/// Statistics of the rows that a scan yields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Rows.
    pub rows: u64,
    /// The top-level fields that were asked for, in that order.
    pub columns: Vec<ColumnStatistics>,
}

/// Statistics of a top-level field.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// Name of the field.
    pub name: String,
    /// Rows that are null.
    pub nulls: Precision<u64>,
    /// Smallest value that is neither null nor NaN: an array of one value, of the type of the field, or, for
    /// dictionaries and runs, that of their values. Numbers are compared as numbers, floating-point numbers in the
    /// order `totalOrder` of IEEE 754, byte strings byte by byte. An inexact one may be the beginning of a value.
    pub min: Precision<ArrayRef>,
    /// Largest value that is neither null nor NaN. A cut one is not given, since it would be below the value.
    pub max: Precision<ArrayRef>,
    /// Bytes of the field's pages.
    pub encoded_bytes: u64,
}

/// Statistics of some fields, or of all.
pub(crate) fn of_file(file: &OpenFile, columns: Option<&[String]>) -> Result<Statistics> {
    let projection = file.projection(columns)?;
    // Nothing is said of the fields of structs.
    let flat = projection.columns.iter().filter(|column| column.is_flat());
    read_zones(file, flat.map(Arc::as_ref))?;
    let n_deleted = file.deleted().len();
    let columns = projection
        .fields
        .iter()
        .map(|field| of_field(field, n_deleted));
    Ok(Statistics {
        rows: file.rows().saturating_sub(n_deleted),
        columns: columns.collect::<Result<_>>()?,
    })
}

fn of_field(field: &TableField, n_deleted: u64) -> Result<ColumnStatistics> {
    let pages = field.columns.iter().flat_map(|column| column.pages.iter());
    let encoded_bytes = pages.map(|page| u64::from(page.descriptor.length)).sum();
    let mut statistics = ColumnStatistics {
        name: field.field.name().clone(),
        nulls: Precision::Absent,
        min: Precision::Absent,
        max: Precision::Absent,
        encoded_bytes,
    };
    let [column] = field.columns.as_slice() else {
        return Ok(statistics);
    };
    if !column.is_flat() || column.value_type.is_none() {
        return Ok(statistics);
    }
    // Deleted rows whose values are still there count in pages and zones.
    let is_exact = n_deleted == n_gone(column);
    fn precise<T>(is_exact: bool, value: T) -> Precision<T> {
        match is_exact {
            true => Precision::Exact(value),
            false => Precision::Inexact(value),
        }
    }
    let nulls = column
        .pages
        .iter()
        .map(|page| u64::from(page.descriptor.null_count));
    statistics.nulls = precise(is_exact, nulls.sum());
    if let Some([min, max]) = extremes_by_zones(column)? {
        statistics.min = precise(is_exact && !min.is_cut, min.value);
        if !max.is_cut {
            statistics.max = precise(is_exact, max.value);
        }
    }
    Ok(statistics)
}

/// Rows that the column does not hold any more.
fn n_gone(column: &Column) -> u64 {
    column.erased.as_ref().map_or(0, |erased| erased.len())
}
