//! Tarsia files as a source of [`DataSourceExec`](datafusion::datasource::source::DataSourceExec).

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::conjunction_opt;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_adapter::DefaultPhysicalExprAdapterFactory;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use object_store::ObjectStore;

use crate::engine::Engine;
use crate::metrics::ScanMetrics;
use crate::opener::Opener;
use crate::options::TarsiaOptions;
use crate::reader::Contents;
use crate::store::Objects;
use crate::tasks::{LaterTasks, TablePlace, TableTasks};
use crate::wish::Wish;

/// A scan, as far as [`FileScanConfig`] does not say it: what another process needs to run a part of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ScanParts {
    /// Conditions that all must be true, in columns of the table.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The conditions are evaluated by the scan, and not only used to pass over rows.
    pub pushdown: bool,
    /// The state of a table whose data files are read; `None` for files of a store of the engine.
    pub table: Option<TablePlace>,
}

impl ScanParts {
    /// A scan of files whose conditions it evaluates itself.
    pub fn new(filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self {
            filters,
            pushdown: true,
            table: None,
        }
    }
}

/// A scan of Tarsia files: columns, expressions and conditions that are evaluated where the rows are read.
///
/// It takes every projection whole, and every condition that gives the same answer each time. What a file cannot
/// evaluate exactly as the engine does, the engine evaluates here. Files are cut into ranges of rows: a
/// [`FileRange`](datafusion::datasource::listing::FileRange) of a task is a part of the file's bytes for the engine,
/// and the same part of its rows here.
#[derive(Clone)]
pub struct TarsiaSource {
    table_schema: TableSchema,
    projection: ProjectionExprs,
    /// Conditions that all must be true, in columns of the table.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The filters are evaluated here, and not only used to pass over rows.
    is_filtered_here: bool,
    batch_size: Option<usize>,
    metrics: ExecutionPlanMetricsSet,
    contents: Contents,
    /// Parts of the engine, in the process that planned the scan.
    engine: Option<Engine>,
}

impl TarsiaSource {
    /// All columns of a table, and all rows.
    pub fn new(table_schema: TableSchema, options: &TarsiaOptions) -> Self {
        let all: Vec<usize> = (0..table_schema.table_schema().fields().len()).collect();
        let projection = ProjectionExprs::from_indices(&all, table_schema.table_schema());
        Self {
            table_schema,
            projection,
            filters: Vec::new(),
            is_filtered_here: options.pushdown,
            batch_size: None,
            metrics: ExecutionPlanMetricsSet::new(),
            contents: Contents::Files(Arc::default()),
            engine: None,
        }
    }

    /// This scan, with parts of the engine that it uses.
    pub(crate) fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// The parts of the scan that [`TarsiaSource::of_parts`] makes it of again, in another process.
    pub fn parts(&self) -> ScanParts {
        ScanParts {
            filters: self.filters.clone(),
            pushdown: self.is_filtered_here,
            table: match &self.contents {
                Contents::Files(_) => None,
                Contents::Table(tasks) => Some(tasks.place()),
                Contents::Later(tasks) => Some(tasks.place.clone()),
            },
        }
    }

    /// All columns of rows that pass the conditions of a scan. Nothing is opened yet.
    pub fn of_parts(table_schema: TableSchema, parts: ScanParts) -> Self {
        let contents = match parts.table {
            None => Contents::Files(Arc::default()),
            Some(place) => Contents::Later(Arc::new(LaterTasks::new(place))),
        };
        Self {
            filters: parts.filters,
            is_filtered_here: parts.pushdown,
            contents,
            ..Self::new(table_schema, &TarsiaOptions::default())
        }
    }

    /// Rows of a table's state that pass conditions.
    pub(crate) fn of_table(tasks: Arc<TableTasks>, filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        let schema = TableSchema::from(tasks.schema());
        Self {
            filters,
            contents: Contents::Table(tasks),
            ..Self::new(schema, &TarsiaOptions::default())
        }
    }
}

impl fmt::Debug for TarsiaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TarsiaSource")
            .field("projection", &self.projection)
            .field("filters", &self.filters)
            .finish_non_exhaustive()
    }
}

impl FileSource for TarsiaSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let adapter = base_config.expr_adapter_factory.clone();
        let adapter = adapter.unwrap_or_else(|| Arc::new(DefaultPhysicalExprAdapterFactory));
        let output = self
            .projection
            .project_schema(self.table_schema.table_schema())?;
        let limit = base_config.limit.filter(|_| {
            // Rows that the engine filters out later do not count.
            self.is_filtered_here || self.filters.is_empty()
        });
        let engine = self.engine.as_ref();
        Ok(Arc::new(Opener {
            objects: Objects::new(object_store).with_cache(engine.map(|it| it.cache.clone())),
            memory: engine.map(|it| Arc::clone(&it.memory)),
            contents: self.contents.clone(),
            metrics: ScanMetrics::new(&self.metrics, partition),
            wish: Arc::new(Wish {
                table_schema: self.table_schema.clone(),
                output: Arc::new(output),
                projection: self.projection.clone(),
                filters: self.filters.clone(),
                is_filtered_here: self.is_filtered_here,
                adapter,
                limit: limit.map(|limit| limit as u64),
                batch_rows: self.batch_size,
            }),
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self {
            batch_size: Some(batch_size),
            ..self.clone()
        })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        // Nothing holds of rows that the engine has yet to filter.
        let filters = self.filters.iter().filter(|_| self.is_filtered_here);
        conjunction_opt(filters.cloned())
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "tarsia"
    }

    fn fmt_extra(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_table = match &self.contents {
            Contents::Files(_) => None,
            Contents::Table(tasks) => Some(tasks.describe()),
            Contents::Later(tasks) => Some(tasks.place.describe()),
        };
        if let Some(text) = of_table {
            match format {
                DisplayFormatType::TreeRender => writeln!(f, "{text}")?,
                _ => write!(f, ", {text}")?,
            }
        }
        let Some(filter) = conjunction_opt(self.filters.iter().cloned()) else {
            return Ok(());
        };
        let name = match self.is_filtered_here {
            true => "predicate",
            false => "pruning_predicate",
        };
        match format {
            DisplayFormatType::TreeRender => writeln!(f, "{name}={filter}"),
            _ => write!(f, ", {name}={filter}"),
        }
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        // A condition that may answer otherwise the next time is evaluated where the statement has it.
        let is_taken = |filter: &Arc<dyn PhysicalExpr>| !is_volatile(filter);
        let answers =
            filters
                .iter()
                .map(|filter| match is_taken(filter) && self.is_filtered_here {
                    true => PushedDown::Yes,
                    false => PushedDown::No,
                });
        let answers: Vec<PushedDown> = answers.collect();
        let taken: Vec<_> = filters.iter().filter(|filter| is_taken(filter)).collect();
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        if taken.is_empty() {
            return Ok(answer);
        }
        let mut source = self.clone();
        for filter in taken {
            let conjuncts = split_conjunction(filter).into_iter().cloned();
            source.filters.extend(conjuncts);
        }
        Ok(answer.with_updated_node(Arc::new(source)))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(Some(Arc::new(Self {
            projection: self.projection.try_merge(projection)?,
            ..self.clone()
        })))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let projected: Vec<_> = self.projection.expr_iter().collect();
        for expr in self.filters.iter().chain(&projected) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}
