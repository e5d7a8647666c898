//! Wishes of a scan, and the rows of its tasks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;

/// The columns, conditions and limits of a scan, for all of its tasks.
pub(crate) struct Wish {
    pub(crate) table_schema: TableSchema,
    /// Schema of the batches.
    pub(crate) output: SchemaRef,
    pub(crate) projection: ProjectionExprs,
    pub(crate) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The filters are evaluated here, and not only used to pass over rows.
    pub(crate) is_filtered_here: bool,
    pub(crate) adapter: Arc<dyn PhysicalExprAdapterFactory>,
    /// Most rows that are wanted.
    pub(crate) limit: Option<u64>,
    pub(crate) batch_rows: Option<usize>,
}

impl Wish {
    /// The values of the partition columns of a file, by name.
    pub(crate) fn partition_values(&self, file: &PartitionedFile) -> HashMap<String, ScalarValue> {
        let fields = self.table_schema.table_partition_cols().iter();
        let names = fields.map(|field| field.name().clone());
        names.zip(file.partition_values.iter().cloned()).collect()
    }
}

/// The rows of a task: as large a part of the file's rows as its range is of the file's bytes. Ranges that meet give
/// ranges that meet, whoever computes them.
pub(crate) fn rows_of(range: Option<&FileRange>, n_bytes: u64, n_rows: u64) -> Range<u64> {
    let Some(range) = range else {
        return 0..n_rows;
    };
    // Tasks begin where few blocks are cut in two.
    let unit = (n_rows / 256).max(1);
    let unit = 1_u64 << unit.ilog2().min(16);
    let row_at = |byte: i64| {
        let byte = u64::try_from(byte).unwrap_or(0).min(n_bytes);
        if byte == n_bytes {
            return n_rows;
        }
        let row = u128::from(n_rows) * u128::from(byte) / u128::from(n_bytes.max(1));
        // At most the number of rows.
        row as u64 / unit * unit
    };
    let start = row_at(range.start);
    start..row_at(range.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_tile_the_bytes_tile_the_rows() {
        for n_rows in [0, 1, 5, 1_000, 65_536, 10_000_001] {
            for n_bytes in [1_u64, 7, 4_096, 1 << 40] {
                for n_tasks in [1_u64, 2, 7, 64] {
                    let size = n_bytes.div_ceil(n_tasks);
                    let mut next = 0;
                    let mut byte = 0;
                    while byte < n_bytes {
                        let end = (byte + size).min(n_bytes);
                        let range = FileRange {
                            start: byte as i64,
                            end: end as i64,
                        };
                        let rows = rows_of(Some(&range), n_bytes, n_rows);
                        assert_eq!(rows.start, next, "{n_rows} {n_bytes} {n_tasks}");
                        next = rows.end;
                        byte = end;
                    }
                    assert_eq!(next, n_rows);
                }
            }
        }
    }

    #[test]
    fn a_file_without_a_range_is_read_whole() {
        assert_eq!(rows_of(None, 0, 9), 0..9);
    }

    #[test]
    fn large_files_are_cut_at_multiples_of_the_window() {
        let range = FileRange { start: 0, end: 500 };
        assert_eq!(rows_of(Some(&range), 1_000, 100_000_000).end % 65_536, 0);
    }
}
