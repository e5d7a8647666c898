//! Scans of a state: its data files as tasks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use object_store::path::Path;
use tarsia::filter::Expr;
use tarsia_table::{Snapshot, Task};

use crate::filter::{Native, translate};
use crate::source::TarsiaSource;
use crate::table::failed;

/// The tasks of a scan, by the paths that name them to the engine: the digest of the commit, and the id of the data
/// file. Whoever has the table finds a task by its path alone.
#[derive(Debug)]
pub(crate) struct TableTasks {
    name: String,
    snapshot: Snapshot,
    tasks: HashMap<Path, Task>,
    /// What the engine has to know of each.
    listed: Vec<Listed>,
}

#[derive(Debug)]
struct Listed {
    path: Path,
    n_bytes: u64,
    n_rows: u64,
}

/// A task that is read.
pub(crate) struct TableTask {
    pub(crate) snapshot: Snapshot,
    pub(crate) task: Task,
}

impl TableTasks {
    /// Plans a scan: the data files that partitions do not rule out. Reads metadata, and waits for it.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn new(
        name: String,
        snapshot: Snapshot,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Self> {
        let schema = snapshot.arrow_schema();
        let mut known = Vec::new();
        let mut is_never = false;
        for filter in filters {
            match translate(filter, &schema) {
                Some(Native::Filter(filter)) => known.push(filter),
                Some(Native::Never) => is_never = true,
                Some(Native::Always) | None => {}
            }
        }
        let filter = (!known.is_empty()).then_some(Expr::And(known));
        let wanted = match is_never {
            true => Vec::new(),
            false => (snapshot.tasks(filter.as_ref())).map_err(|error| failed(&name, error))?,
        };
        let mut tasks = HashMap::with_capacity(wanted.len());
        let mut listed = Vec::with_capacity(wanted.len());
        for task in wanted {
            let path = Path::from(format!("{}/{}", snapshot.id(), task.file()));
            let n_rows = snapshot.live_rows(&task);
            listed.push(Listed {
                path: path.clone(),
                n_bytes: task.bytes(),
                n_rows: n_rows.map_err(|error| failed(&name, error))?,
            });
            tasks.insert(path, task);
        }
        Ok(Self {
            name,
            snapshot,
            tasks,
            listed,
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.snapshot.arrow_schema()
    }

    /// The plan of the scan.
    pub(crate) fn plan(
        self,
        projection: Option<&Vec<usize>>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        limit: Option<usize>,
        n_partitions: usize,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.schema();
        let mut all = Statistics::new_unknown(&schema);
        all.num_rows = Precision::Exact(0);
        all.total_byte_size = Precision::Inexact(0);
        let files = self.listed.iter().map(|listed| {
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
        let source = TarsiaSource::of_table(Arc::new(self), filters);
        // No object of this store is asked for: the table has its own. It is the one that each session has.
        let store = ObjectStoreUrl::local_filesystem();
        let config = FileScanConfigBuilder::new(store, Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(all)
            .with_limit(limit)
            .with_projection_indices(projection.cloned())?;
        Ok(DataSourceExec::from_data_source(config.build()))
    }

    /// The task that a path names, with a file of its own.
    pub(crate) fn task(&self, path: &Path) -> Result<TableTask> {
        match self.tasks.get(path) {
            Some(task) => Ok(TableTask {
                snapshot: self.snapshot.clone(),
                task: task.apart(),
            }),
            None => internal_err!("{}: {path} is no task of this scan", self.name),
        }
    }

    /// The table, its commit, and how many of its files are read, for people.
    pub(crate) fn describe(&self) -> String {
        let id = self.snapshot.id().to_string();
        let id = id.get(..12).unwrap_or(&id);
        let n_files = self.snapshot.commit().files;
        let n_pruned = n_files.saturating_sub(self.tasks.len() as u64);
        format!(
            "table={}, commit={id}, tasks={}, tasks_pruned={n_pruned}",
            self.name,
            self.tasks.len()
        )
    }
}

impl TableTask {
    /// The columns for a scan. A part of a field that has a default is read with the whole field, which the default is
    /// one of.
    pub(crate) fn columns(&self, names: Vec<String>) -> Vec<String> {
        let schema = self.snapshot.schema();
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let field = match schema.by_name(&name) {
                Some(_) => None,
                None => name.split_once('.').and_then(|(it, _)| schema.by_name(it)),
            };
            let name = match field {
                Some(field) if field.default.is_some() => field.field.name().clone(),
                _ => name,
            };
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        columns
    }
}

fn size(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
