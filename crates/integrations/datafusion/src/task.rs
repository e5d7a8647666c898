//! A task of a scan: rows of one file, filtered and projected.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::{Result, exec_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::error::DataFusionError;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs, Projector};
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::utils::{conjunction_opt, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_adapter::PhysicalExprAdapter;
use datafusion::physical_expr_adapter::replace_columns_with_literals;
use datafusion::physical_expr_adapter::rewrite::rewrite_input_file_name_in_projection;
use datafusion::physical_expr_common::physical_expr::{
    snapshot_generation, snapshot_physical_expr,
};
use datafusion::scalar::ScalarValue;
use tarsia::filter::Expr;
use tarsia::{File, ScanBuilder};

use crate::cancel::Cancel;
use crate::columns::{needed, with_nulls_below};
use crate::filter::{Native, implied, translate};
use crate::metrics::ScanMetrics;
use crate::reader::{Reader, Window, of_table};
use crate::store::error_of;
use crate::tasks::TableTask;
use crate::wish::{Wish, rows_of};

/// Rows of the first window of a scan whose filter may change. Each begins with what the filter is then, and has twice
/// the rows of the one before; eight times, without a limit, where the filter has not changed meanwhile: that of a hash
/// join does not, once it is known.
const WINDOW_ROWS_FIRST: u64 = 1 << 16;

/// Most rows of a window whose filter has changed since the one before, and rows of the first window of a data file of
/// a table whose filter stays.
const WINDOW_ROWS_MAX: u64 = 1 << 20;

/// Rows of one file for one partition. It reads and decodes on the thread that calls it.
pub(crate) struct Task {
    reader: Reader,
    metrics: ScanMetrics,
    /// Schema of the batches.
    output: SchemaRef,
    filters: Filters,
    /// Names of the columns that are read, as a scan takes them.
    columns: Vec<String>,
    /// The condition that the engine evaluates.
    residual: Option<Arc<dyn PhysicalExpr>>,
    projector: Projector,
    batch_rows: Option<usize>,
    is_filtered_here: bool,
    /// Most rows that are left to give.
    limit: Option<u64>,
    /// Rows that no window holds yet.
    rows: Range<u64>,
    window_rows: u64,
    window: Option<Window>,
    /// Windows that were begun.
    n_windows: u64,
    cancel: Arc<Cancel>,
}

/// Conditions that the file evaluates.
struct Filters {
    adapter: FileAdapter,
    fixed: Vec<Expr>,
    /// Conditions that may change while the query runs, each of which only ever leaves out rows that nobody needs.
    changing: Vec<Arc<dyn PhysicalExpr>>,
    /// The state of `changing` that `current` was made of.
    generation: Option<u64>,
    current: Vec<Expr>,
    /// Some condition is true of no row.
    is_never: bool,
}

/// Turns expressions of the table into those of one file.
struct FileAdapter {
    schema: SchemaRef,
    partition_values: HashMap<String, ScalarValue>,
    adapter: Arc<dyn PhysicalExprAdapter>,
}

impl FileAdapter {
    fn adapt(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = match self.partition_values.is_empty() {
            true => expr,
            false => replace_columns_with_literals(expr, &self.partition_values)?,
        };
        let expr = self.adapter.rewrite(expr)?;
        PhysicalExprSimplifier::new(&self.schema).simplify(expr)
    }
}

impl Filters {
    /// Splits conditions into those that the file evaluates and those that are left to the engine.
    fn new(
        adapter: FileAdapter,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<(Self, Vec<Arc<dyn PhysicalExpr>>)> {
        let mut split = Self {
            adapter,
            fixed: Vec::new(),
            changing: Vec::new(),
            generation: None,
            current: Vec::new(),
            is_never: false,
        };
        let mut residual = Vec::new();
        for filter in filters {
            if filter.downcast_ref::<DynamicFilterPhysicalExpr>().is_some() {
                split.changing.push(Arc::clone(filter));
                continue;
            }
            let filter = snapshot_physical_expr(Arc::clone(filter))?;
            let filter = split.adapter.adapt(filter)?;
            for conjunct in split_conjunction(&filter) {
                match translate(conjunct, &split.adapter.schema) {
                    Some(Native::Always) => {}
                    Some(Native::Never) => split.is_never = true,
                    Some(Native::Filter(filter)) => split.fixed.push(filter),
                    None => residual.push(Arc::clone(conjunct)),
                }
            }
        }
        Ok((split, residual))
    }

    /// Whether a condition may change.
    fn may_change(&self) -> bool {
        !self.changing.is_empty()
    }

    /// Takes the conditions that may change as they are now; what the file cannot evaluate of them is left out, since
    /// nobody counts on it. Returns false if no row passes.
    fn refresh(&mut self) -> Result<bool> {
        let generation = self.changing.iter().map(snapshot_generation);
        let generation = generation.fold(0, u64::wrapping_add);
        if self.generation != Some(generation) {
            self.current.clear();
            let mut is_never = false;
            for filter in &self.changing {
                let now = snapshot_physical_expr(Arc::clone(filter))?;
                let now = self.adapter.adapt(now)?;
                for conjunct in split_conjunction(&now) {
                    match implied(conjunct, &self.adapter.schema) {
                        Some(Native::Filter(filter)) => self.current.push(filter),
                        Some(Native::Never) => is_never = true,
                        Some(Native::Always) | None => {}
                    }
                }
            }
            if is_never {
                // It may become true again for other rows.
                self.generation = None;
                return Ok(false);
            }
            self.generation = Some(generation);
        }
        Ok(!self.is_never)
    }

    fn now(&self) -> Option<Expr> {
        let all: Vec<Expr> = self.fixed.iter().chain(&self.current).cloned().collect();
        (!all.is_empty()).then_some(Expr::And(all))
    }
}

impl Task {
    /// Prepares a task: reads the file's schema.
    pub(crate) fn new(
        reader: Reader,
        task: &PartitionedFile,
        wish: Arc<Wish>,
        metrics: ScanMetrics,
    ) -> Result<Self> {
        let schema = reader.schema()?;
        let adapter = FileAdapter {
            partition_values: wish.partition_values(task),
            adapter: wish.adapter.create(
                Arc::clone(wish.table_schema.file_schema()),
                Arc::clone(&schema),
            )?,
            schema: Arc::clone(&schema),
        };
        let location = task.object_meta.location.as_ref();
        let projection = wish.projection.clone();
        let projection = rewrite_input_file_name_in_projection(projection, location)?;
        let projection: Vec<ProjectionExpr> = projection
            .iter()
            .map(|it| {
                Ok(ProjectionExpr::new(
                    adapter.adapt(Arc::clone(&it.expr))?,
                    &*it.alias,
                ))
            })
            .collect::<Result<_>>()?;
        let (filters, residual) = Filters::new(adapter, &wish.filters)?;
        // What is only used to pass over rows is evaluated by the engine later.
        let residual = match wish.is_filtered_here {
            true => residual,
            false => Vec::new(),
        };
        let looked_at = projection.iter().map(|it| &it.expr).chain(&residual);
        let columns = reader.columns(needed(looked_at, &schema)?);
        let read = reader.schema_of(&columns)?;
        let residual = conjunction_opt(residual);
        let residual = residual.map(|it| reassign_expr_columns(it, &read));
        let projection = projection.into_iter().map(|it| {
            let expr = reassign_expr_columns(it.expr, &read)?;
            Ok(ProjectionExpr::new(expr, it.alias))
        });
        let projection = ProjectionExprs::new(projection.collect::<Result<Vec<_>>>()?);
        let meta = &task.object_meta;
        let rows = rows_of(task.range.as_ref(), meta.size, reader.n_rows());
        Ok(Self {
            projector: projection.make_projector(&read)?,
            window_rows: match (&reader, filters.may_change()) {
                (_, true) => WINDOW_ROWS_FIRST,
                // Rows of a table that have newer values are found before the first is given: a query that is given
                // up waits for a window.
                (Reader::Table(_), false) if !filters.fixed.is_empty() => WINDOW_ROWS_MAX,
                (_, false) => u64::MAX,
            },
            limit: wish.limit,
            output: Arc::clone(&wish.output),
            batch_rows: wish.batch_rows,
            is_filtered_here: wish.is_filtered_here,
            residual: residual.transpose()?,
            columns,
            filters,
            rows,
            reader,
            metrics,
            window: None,
            n_windows: 0,
            cancel: Arc::default(),
        })
    }

    pub(crate) fn cancel(&self) -> Arc<Cancel> {
        Arc::clone(&self.cancel)
    }

    /// Number of the window that is read, from 1. The conditions that may change are taken as they are when it begins.
    pub(crate) fn window_number(&self) -> u64 {
        self.n_windows
    }

    /// The next batch that has rows.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let time = self.metrics.scan_time.clone();
        let _timer = time.timer();
        loop {
            // Nobody waits for the batches, or all that are wanted are out.
            if self.cancel.is_dropped() || self.limit == Some(0) {
                return Ok(None);
            }
            let Some(window) = &mut self.window else {
                if self.rows.is_empty() {
                    return Ok(None);
                }
                self.begin_window()?;
                continue;
            };
            let Some(batch) = window.next() else {
                self.end_window();
                continue;
            };
            let batch = batch?;
            self.metrics.rows_scanned.add(batch.num_rows());
            let batch = self.finish(&batch)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    /// Begins to read the next rows, by the filter as it is now.
    fn begin_window(&mut self) -> Result<()> {
        let end = self.rows.start.saturating_add(self.window_rows);
        let rows = self.rows.start..end.min(self.rows.end);
        self.rows.start = rows.end;
        self.n_windows += 1;
        let before = self.filters.generation;
        let may_pass = self.filters.refresh()?;
        let is_as_before = before.is_some() && before == self.filters.generation;
        self.window_rows = match self.filters.may_change() && !is_as_before {
            true => self.window_rows.saturating_mul(2).min(WINDOW_ROWS_MAX),
            false => self.window_rows.saturating_mul(8),
        };
        self.window = match &self.reader {
            Reader::File(file) => self.window_of_file(&file.file, rows, may_pass)?,
            Reader::Table(_) if !may_pass => None,
            Reader::Table(table) => Some(self.window_of_table(table, rows)?),
        };
        Ok(())
    }

    fn window_of_file(
        &self,
        file: &File,
        rows: Range<u64>,
        may_pass: bool,
    ) -> Result<Option<Window>> {
        let live = file.scan().rows(rows.clone());
        let n_live = live.prune_only().map_err(error_of)?.len();
        if !may_pass {
            self.metrics.rows_pruned.add(count_of(n_live));
            return Ok(None);
        }
        let mut scan = file.scan().columns(&self.columns).rows(rows);
        let mut n_rows = n_live;
        if let Some(filter) = self.filters.now() {
            let left = scan.clone().filter(filter.clone());
            let left = left.prune_only().map_err(error_of)?;
            n_rows = left.len();
            self.metrics
                .rows_pruned
                .add(count_of(n_live.saturating_sub(n_rows)));
            if left.is_empty() {
                return Ok(None);
            }
            scan = scan.selection(left);
            if self.is_filtered_here {
                scan = scan.filter(filter);
            }
        }
        self.open_window(scan, n_rows).map(Some)
    }

    fn window_of_table(&self, table: &TableTask, rows: Range<u64>) -> Result<Window> {
        let mut scan = table.snapshot.scan().columns(&self.columns);
        scan = scan.task(&table.task, rows);
        if let Some(filter) = self.filters.now() {
            scan = scan.filter(filter);
        }
        if let Some(rows) = self.batch_rows {
            scan = scan.batch_rows(rows);
        }
        if let (Some(limit), None) = (self.limit, &self.residual) {
            scan = scan.limit(limit);
        }
        let scan = scan.build().map_err(of_table)?;
        Ok(Window::Table(Box::new(scan)))
    }

    fn open_window(&self, mut scan: ScanBuilder, n_rows: u64) -> Result<Window> {
        if let Some(rows) = self.batch_rows {
            scan = scan.batch_rows(rows);
        }
        if let (Some(limit), None) = (self.limit, &self.residual) {
            scan = scan.limit(limit);
        }
        let scan = scan.build().map_err(error_of)?;
        self.cancel.begins(scan.cancel_handle());
        let scan = Box::new(scan);
        Ok(Window::File { scan, n_rows })
    }

    /// Counts what the filter did to the rows of a window that was read to its end.
    fn end_window(&mut self) {
        let Some(Window::File { scan, n_rows }) = self.window.take() else {
            return;
        };
        let counts = scan.filter_counts();
        let Some(evaluated) = counts.iter().map(|it| it.rows).max() else {
            return;
        };
        self.metrics.rows_evaluated.add(count_of(evaluated));
        if self.limit.is_none() {
            let proved = n_rows.saturating_sub(evaluated);
            self.metrics.rows_proved.add(count_of(proved));
        }
    }

    /// Evaluates what the file did not, and makes the columns of the output.
    fn finish(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = &with_nulls_below(batch)?;
        let filtered = match &self.residual {
            Some(filter) => {
                self.metrics.rows_evaluated_by_engine.add(batch.num_rows());
                &passing(batch, filter)?
            }
            None => batch,
        };
        if let Some(limit) = &mut self.limit {
            // It may be less than the batch where the engine filtered.
            *limit = limit.saturating_sub(filtered.num_rows() as u64);
        }
        let made = self.projector.project_batch(filtered)?;
        let options = RecordBatchOptions::new().with_row_count(Some(made.num_rows()));
        let columns = made.columns().to_vec();
        let output = Arc::clone(&self.output);
        Ok(RecordBatch::try_new_with_options(
            output, columns, &options,
        )?)
    }
}

/// The rows of a batch for which a condition is true.
fn passing(batch: &RecordBatch, filter: &Arc<dyn PhysicalExpr>) -> Result<RecordBatch> {
    let truth = filter.evaluate(batch)?.into_array(batch.num_rows())?;
    let Some(truth) = truth.as_boolean_opt() else {
        return exec_err!("the condition {filter} is of type {}", truth.data_type());
    };
    let passing = datafusion::arrow::compute::filter_record_batch(batch, truth);
    passing.map_err(DataFusionError::from)
}

fn count_of(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
