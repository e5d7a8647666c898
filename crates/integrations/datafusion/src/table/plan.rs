//! The plan of a scan: tasks as files of the engine's own source.

use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;

use crate::engine::Engine;
use crate::source::TarsiaSource;
use crate::tasks::TableTasks;

/// The plan of a scan of tasks.
pub(super) fn plan(
    tasks: TableTasks,
    projection: Option<&Vec<usize>>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    limit: Option<usize>,
    n_partitions: usize,
    engine: Engine,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = tasks.schema();
    let mut all = Statistics::new_unknown(&schema);
    all.num_rows = Precision::Exact(0);
    all.total_byte_size = Precision::Inexact(0);
    let files = tasks.listed.iter().map(|listed| {
        let mut of_file = Statistics::new_unknown(&schema);
        of_file.num_rows = Precision::Exact(size(listed.n_rows));
        of_file.total_byte_size = Precision::Inexact(size(listed.n_bytes));
        all.num_rows = all.num_rows.add(&of_file.num_rows);
        all.total_byte_size = all.total_byte_size.add(&of_file.total_byte_size);
        let file = PartitionedFile::new(listed.path.to_string(), listed.n_bytes);
        file.with_statistics(Arc::new(of_file))
    });
    let mut groups = FileGroup::new(files.collect()).split_files(n_partitions.max(1));
    if groups.is_empty() {
        groups.push(FileGroup::new(Vec::new()));
    }
    let source = TarsiaSource::of_table(Arc::new(tasks), filters).with_engine(engine);
    // No object of this store is asked for: the table has its own. It is the one that each session has.
    let store = ObjectStoreUrl::local_filesystem();
    let config = FileScanConfigBuilder::new(store, Arc::new(source))
        .with_file_groups(groups)
        .with_statistics(all)
        .with_limit(limit)
        .with_projection_indices(projection.cloned())?;
    Ok(DataSourceExec::from_data_source(config.build()))
}

fn size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
