//! Which part of a statement runs where.
//!
//! Statements go to the cluster, with two exceptions. Those that read no file and no table of Tarsia's run on the
//! client, which alone has what they read, such as the session's settings. And what is written to Tarsia's files and
//! tables is written by the client, of rows that the cluster finds: tasks of a cluster may run twice.

use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::config::BallistaConfig;
use ballista_core::planner::BallistaQueryPlanner;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::ListingTable;
use datafusion::datasource::{ViewTable, provider_as_source, source_as_provider};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableType, WriteOp};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion_proto::protobuf::LogicalPlanNode;
use tarsia_datafusion::{EXTENSION, TarsiaTable};

use crate::listing::{Files, sendable};
use crate::logical::LogicalCodec;

/// The planner of clients.
#[derive(Debug, Clone)]
pub(crate) struct ClientPlanner {
    cluster: Arc<BallistaQueryPlanner<LogicalPlanNode>>,
}

impl ClientPlanner {
    pub(crate) fn new(scheduler_url: String, config: BallistaConfig) -> Self {
        let codec = Arc::new(LogicalCodec::default());
        let cluster = BallistaQueryPlanner::with_extension(scheduler_url, config, codec);
        Self {
            cluster: Arc::new(cluster),
        }
    }

    async fn in_cluster(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = sendable(plan.clone())?;
        self.cluster.create_physical_plan(&plan, session).await
    }

    /// The plan, in which the cluster finds the rows that the client writes.
    fn with_rows_of_cluster(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let rows = plan.inputs().into_iter().map(|input| {
            let rows = Rows {
                schema: Arc::clone(input.schema().inner()),
                plan: input.clone(),
                planner: self.clone(),
            };
            LogicalPlanBuilder::scan("rows", provider_as_source(Arc::new(rows)), None)?.build()
        });
        plan.with_new_exprs(plan.expressions(), rows.collect::<Result<_>>()?)
    }
}

#[async_trait]
impl QueryPlanner for ClientPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let here = DefaultPhysicalPlanner::default();
        if !reads_files(plan)? {
            return here.create_physical_plan(plan, session).await;
        }
        if writes_tarsia(plan)? {
            let plan = self.with_rows_of_cluster(plan)?;
            return here.create_physical_plan(&plan, session).await;
        }
        self.in_cluster(plan, session).await
    }
}

/// Whether a plan reads files or tables, which every machine of the cluster can.
fn reads_files(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(table) = source_as_provider(&scan.source)
        {
            found |=
                table.is::<ListingTable>() || table.is::<TarsiaTable>() || table.is::<ViewTable>();
        }
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// Whether a plan writes files or a table of Tarsia's.
fn writes_tarsia(plan: &LogicalPlan) -> Result<bool> {
    match plan {
        LogicalPlan::Copy(copy) => Ok(copy.file_type.get_ext() == EXTENSION),
        LogicalPlan::Dml(dml) if matches!(dml.op, WriteOp::Insert(_)) => {
            let target = source_as_provider(&dml.target)?;
            Ok(target.is::<TarsiaTable>() || Files::of(&target)?.is_some())
        }
        _ => Ok(false),
    }
}

/// Rows that the cluster finds, as a table of the client.
#[derive(Debug)]
struct Rows {
    plan: LogicalPlan,
    schema: SchemaRef,
    planner: ClientPlanner,
}

#[async_trait]
impl TableProvider for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    /// All columns, whatever is asked for: what is written is all of them.
    async fn scan(
        &self,
        session: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.planner.in_cluster(&self.plan, session).await
    }
}
