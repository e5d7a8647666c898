//! Tables of files. The engine has one kind of them for all formats, and sends those whose formats it knows; for
//! Tarsia's a table of this crate takes its place.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Field, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use tarsia_datafusion::{TarsiaFormat, TarsiaOptions};

use crate::message::{FilesNode, PartitionColumn};

/// A table of Tarsia files.
#[derive(Debug)]
pub(crate) struct Files {
    table: Arc<dyn TableProvider>,
    pub(crate) node: FilesNode,
}

impl Files {
    /// The table in another form; `None` for tables of another kind, or of files of another format.
    pub(crate) fn of(table: &Arc<dyn TableProvider>) -> Result<Option<Self>> {
        let Some(listing) = table.downcast_ref::<ListingTable>() else {
            return Ok(None);
        };
        let options = listing.options();
        let Some(format) = options.format.downcast_ref::<TarsiaFormat>() else {
            return Ok(None);
        };
        let columns = options.table_partition_cols.iter();
        let columns = columns.map(|(name, data_type)| PartitionColumn::new(name, data_type));
        let node = FilesNode {
            paths: listing
                .table_paths()
                .iter()
                .map(ToString::to_string)
                .collect(),
            file_extension: options.file_extension.clone(),
            pushdown: format.options().pushdown,
            partition_columns: columns.collect::<Result<_>>()?,
        };
        let table = Arc::clone(table);
        Ok(Some(Self { table, node }))
    }
}

/// The table that a message describes, with this schema, partition columns included.
///
/// # Errors
/// Paths and types that make no sense.
pub(crate) fn table_of(node: &FilesNode, schema: &SchemaRef) -> Result<Arc<dyn TableProvider>> {
    let mut options = TarsiaOptions::default();
    options.pushdown = node.pushdown;
    let columns = node.partition_columns.iter().map(PartitionColumn::field);
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let of_files = schema.fields().iter().enumerate().filter(|(_, field)| {
        let is_partition = |column: &Arc<Field>| column.name() == field.name();
        !columns.iter().any(is_partition)
    });
    let of_files: Vec<usize> = of_files.map(|(i, _)| i).collect();
    let columns = columns.iter();
    let columns = columns.map(|it| (it.name().clone(), it.data_type().clone()));
    let options = ListingOptions::new(Arc::new(TarsiaFormat::new(options)))
        .with_file_extension(&node.file_extension)
        .with_table_partition_cols(columns.collect());
    let paths = node.paths.iter().map(ListingTableUrl::parse);
    let config = ListingTableConfig::new_with_multi_paths(paths.collect::<Result<_>>()?)
        .with_listing_options(options)
        .with_schema(Arc::new(schema.project(&of_files)?));
    Ok(Arc::new(ListingTable::try_new(config)?))
}

/// The plan, in which tables of Tarsia files can be sent.
pub(crate) fn sendable(plan: LogicalPlan) -> Result<LogicalPlan> {
    let changed = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else {
            return Ok(Transformed::no(node));
        };
        // Sources of other kinds are no tables.
        let Ok(table) = source_as_provider(&scan.source) else {
            return Ok(Transformed::no(node));
        };
        let Some(files) = Files::of(&table)? else {
            return Ok(Transformed::no(node));
        };
        let mut scan = scan.clone();
        scan.source = provider_as_source(Arc::new(files));
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(changed.data)
}

#[async_trait]
impl TableProvider for Files {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.table.scan(state, projection, filters, limit).await
    }
}
