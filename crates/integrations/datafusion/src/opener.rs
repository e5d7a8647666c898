//! Opening the tasks of a scan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_expr::utils::conjunction_opt;
use datafusion::physical_expr_adapter::replace_columns_with_literals;
use datafusion::physical_optimizer::pruning::FilePruner;
use futures_util::StreamExt;

use crate::files::step;
use crate::memory::reservation;
use crate::metrics::ScanMetrics;
use crate::reader::{Contents, Reader};
use crate::store::Objects;
use crate::stream::ahead;
use crate::task::Task;
use crate::wish::Wish;

/// Opens the tasks of a partition.
pub(crate) struct Opener {
    pub(crate) objects: Objects,
    pub(crate) contents: Contents,
    /// The memory of all that the engine runs, if it is known.
    pub(crate) memory: Option<Arc<dyn MemoryPool>>,
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
        let (objects, contents) = (self.objects.clone(), self.contents.clone());
        let (wish, metrics) = (Arc::clone(&self.wish), self.metrics.clone());
        let held = self.memory.as_ref().map(reservation);
        Ok(Box::pin(async move {
            let reader = match contents {
                Contents::Files(files) => {
                    Reader::File(files.open(objects, &file.object_meta).await?)
                }
                Contents::Table(tasks) => Reader::Table(tasks.task(&file.object_meta.location)?),
                Contents::Later(tasks) => {
                    let tasks = tasks.open().await?;
                    Reader::Table(tasks.task(&file.object_meta.location)?)
                }
            };
            let task = step(move || Task::new(reader, &file, wish, metrics)).await?;
            Ok(ahead(task, held).boxed())
        }))
    }
}
