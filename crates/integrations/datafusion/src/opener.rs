//! Opening the tasks of a scan.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::conjunction_opt;
use datafusion::physical_expr_adapter::{
    PhysicalExprAdapterFactory, replace_columns_with_literals,
};
use datafusion::physical_optimizer::pruning::FilePruner;
use futures_util::StreamExt;

use crate::files::{OpenFiles, step};
use crate::metrics::ScanMetrics;
use crate::store::Objects;
use crate::stream::ahead;
use crate::task::Task;

/// What all tasks of a scan are asked for.
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

/// Opens the tasks of a partition.
pub(crate) struct Opener {
    pub(crate) objects: Objects,
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) metrics: ScanMetrics,
    pub(crate) wish: Arc<Wish>,
}

impl Opener {
    /// Whether the statistics of the file show that no row of it passes.
    fn is_ruled_out(&self, file: &PartitionedFile) -> Result<bool> {
        let Some(filter) = conjunction_opt(self.wish.filters.iter().cloned()) else {
            return Ok(false);
        };
        let filter = replace_columns_with_literals(filter, &self.wish.partition_values(file))?;
        let schema = self.wish.table_schema.file_schema();
        let errors = self.metrics.predicate_errors.clone();
        match FilePruner::try_new(filter, schema, file, errors) {
            Some(mut pruner) => pruner.should_prune(),
            None => Ok(false),
        }
    }
}

impl FileOpener for Opener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        if self.is_ruled_out(&file)? {
            self.metrics.files_pruned.add(1);
            return Ok(Box::pin(async {
                Ok(futures_util::stream::empty().boxed())
            }));
        }
        let (objects, files) = (self.objects.clone(), Arc::clone(&self.files));
        let (wish, metrics) = (Arc::clone(&self.wish), self.metrics.clone());
        Ok(Box::pin(async move {
            let opened = files.open(objects, &file.object_meta).await?;
            let task = step(move || Task::new(opened, &file, wish, metrics)).await?;
            Ok(ahead(task).boxed())
        }))
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
