//! Counts of a scan, for `EXPLAIN ANALYZE`.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};

/// Counts of a partition.
#[derive(Debug, Clone)]
pub(crate) struct ScanMetrics {
    /// Tasks that the statistics of their file ruled out before it was opened.
    pub(crate) files_pruned: Count,
    /// Rows that zones ruled out: no block of theirs was read.
    pub(crate) rows_pruned: Count,
    /// Rows that zones let pass: no condition was evaluated for them.
    pub(crate) rows_proved: Count,
    /// Rows for which the file evaluated a condition.
    pub(crate) rows_evaluated: Count,
    /// Rows for which the engine evaluated a condition that the file could not.
    pub(crate) rows_evaluated_by_engine: Count,
    /// Rows that the scan gave.
    pub(crate) rows_scanned: Count,
    /// Conditions that could not be understood when files were to be ruled out.
    pub(crate) predicate_errors: Count,
    /// Time of reading, decoding and evaluating, on threads that may block.
    pub(crate) scan_time: Time,
}

impl ScanMetrics {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            files_pruned: count("files_pruned"),
            rows_pruned: count("rows_pruned"),
            rows_proved: count("rows_proved"),
            rows_evaluated: count("rows_evaluated"),
            rows_evaluated_by_engine: count("rows_evaluated_by_engine"),
            rows_scanned: count("rows_scanned"),
            predicate_errors: count("predicate_errors"),
            scan_time: MetricBuilder::new(metrics).subset_time("scan_time", partition),
        }
    }
}
