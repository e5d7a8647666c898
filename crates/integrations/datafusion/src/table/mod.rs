//! Tables of `tarsia-table`: states of them as tables of the engine.

mod insert;
mod plan;
mod urls;

use std::fmt;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, SchemaExt, not_impl_err, plan_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::execution_props::ExecutionProps;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use datafusion::physical_plan::ExecutionPlan;
use tarsia_table::{CommitInfo, Snapshot, Table};

use crate::engine::Engine;
use crate::failure::failed;
use crate::files::step;
use crate::filter::translate;
use crate::tasks::{TablePlace, TableTasks};

pub use urls::enable_tables;

/// A state of a table of `tarsia-table`, as a table of the engine. The state stays the same, whatever others commit.
///
/// `INSERT INTO` adds rows to the branch whose name the state is: in one commit, which this state does not show.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use datafusion::prelude::SessionContext;
/// use tarsia_datafusion::TarsiaTable;
/// use tarsia_table::{CommitInfo, Table, TableSpec};
/// # use arrow_schema::{DataType, Field, Schema};
/// # use tarsia_io::MemoryStore;
///
/// # let store = Arc::new(MemoryStore::new());
/// # let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true)]));
/// let table = Table::create(store, &TableSpec::new(schema), &CommitInfo::new("ada", "made"))?;
/// let ctx = SessionContext::new();
/// ctx.register_table("ads", Arc::new(TarsiaTable::new(&table, "main")?))?;
/// ctx.sql("INSERT INTO ads VALUES (1), (2)").await?.collect().await?;
///
/// ctx.register_table("now", Arc::new(TarsiaTable::new(&table, "main")?))?;
/// let batches = ctx.sql("SELECT id FROM now WHERE id > 1").await?.collect().await?;
/// assert_eq!(batches[0].num_rows(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TarsiaTable {
    table: Table,
    /// Where it is, for people.
    name: String,
    state: String,
    snapshot: Snapshot,
    schema: SchemaRef,
    info: CommitInfo,
}

impl TarsiaTable {
    /// A state by its name, as [`Table::at`] takes it: a branch, `main~2`, `main@2026-05-01T00:00:00Z`, `tag:v1`, or
    /// the first digits of a commit. Reads and waits: call it on a thread that may block.
    ///
    /// # Errors
    /// A state that there is not, and errors of the store.
    pub fn new(table: &Table, state: &str) -> Result<Self> {
        let url = table.store().url("");
        Self::of(table, url.strip_suffix('/').unwrap_or(&url), state)
    }

    fn of(table: &Table, name: &str, state: &str) -> Result<Self> {
        let snapshot = table.at(state).map_err(|error| failed(name, error))?;
        Ok(Self {
            schema: snapshot.arrow_schema(),
            table: table.clone(),
            name: name.to_owned(),
            state: state.to_owned(),
            info: CommitInfo::new("", "INSERT INTO").tool(TOOL),
            snapshot,
        })
    }

    /// As [`TarsiaTable::new`], of the table at a place: a local folder, or a URL of a store that `tarsia-store` was
    /// built with.
    ///
    /// # Errors
    /// A place without a table, a state that there is not, and errors of the store.
    pub fn open(place: &str, state: &str) -> Result<Self> {
        Self::of(&crate::place::open(place)?, place, state)
    }

    /// Author, message and more of the commits of `INSERT INTO`.
    #[must_use]
    pub fn with_commit_info(self, info: CommitInfo) -> Self {
        Self { info, ..self }
    }

    /// Where the table is, and the commit of the state.
    pub fn place(&self) -> TablePlace {
        TablePlace::new(&self.name, self.snapshot.id().to_string())
    }

    /// The state.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Conditions as the engine's scans have them.
    fn physical(&self, filters: &[Expr]) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let conjuncts = filters.iter().flat_map(split_conjunction);
        conjuncts.map(|it| physical(it, &schema)).collect()
    }
}

/// Name and version, as commits have them.
const TOOL: &str = concat!("tarsia-datafusion ", env!("CARGO_PKG_VERSION"));

impl fmt::Debug for TarsiaTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TarsiaTable")
            .field("name", &self.name)
            .field("state", &self.state)
            .field("commit", &self.snapshot.id())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for TarsiaTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let answers = filters.iter().map(|filter| {
            let filter =
                datafusion::logical_expr::expr_rewriter::unnormalize_col((*filter).clone());
            // Whatever has no physical form yet, such as a query inside, is none that a scan knows.
            let known = physical(&filter, &schema).ok();
            match known.and_then(|it| translate(&it, &self.schema)) {
                Some(_) => TableProviderFilterPushDown::Exact,
                // The scan may still take it, and evaluate it by the engine's expressions.
                None => TableProviderFilterPushDown::Unsupported,
            }
        });
        Ok(answers.collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filters = self.physical(filters)?;
        let (name, snapshot) = (self.name.clone(), self.snapshot.clone());
        let of_scan = filters.clone();
        let tasks = step(move || TableTasks::new(name, snapshot, &of_scan)).await?;
        let n_partitions = state.config().target_partitions();
        let engine = Engine::of(state);
        plan::plan(tasks, projection, filters, limit, n_partitions, engine)
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if insert_op != InsertOp::Append {
            return not_impl_err!("rows are added to a Tarsia table, not written over others");
        }
        let is_branch = !self.state.contains(['~', '@']) && !self.state.starts_with("tag:");
        if !is_branch {
            return plan_err!(
                "{}: rows are added to a branch, and `{}` is none",
                self.name,
                self.state
            );
        }
        self.schema
            .logically_equivalent_names_and_types(&input.schema())?;
        let sink = insert::TableSink {
            table: self.table.clone(),
            name: self.name.clone(),
            branch: self.state.clone(),
            info: self.info.clone(),
            columns: Arc::clone(&self.schema),
            schema: nullable(&self.schema),
        };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// A condition on columns of the table.
fn physical(filter: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    create_physical_expr(filter, schema, &props, &context)
}

/// The schema of rows whose nulls are not checked yet.
fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
