//! Tasks of a scan of a state of a table: its data files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::physical_expr::PhysicalExpr;
use object_store::path::Path;
use tarsia::filter::Expr;
use tarsia_table::{ErrorKind, Snapshot, Task};

use crate::filter::{Native, translate};

/// The tasks of a scan, by the paths that name them to the engine: the digest of the commit, and the id of the data
/// file. Whoever has the table finds a task by its path alone.
#[derive(Debug)]
pub(crate) struct TableTasks {
    name: String,
    snapshot: Snapshot,
    tasks: HashMap<Path, Task>,
    /// Facts about each that the engine has to know.
    pub(crate) listed: Vec<Listed>,
}

/// Facts about a task.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) path: Path,
    pub(crate) n_bytes: u64,
    pub(crate) n_rows: u64,
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

/// An error about a table: a state or a column that is not there is the caller's mistake.
pub(crate) fn failed(name: &str, error: tarsia_table::Error) -> DataFusionError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::Exists => {
            DataFusionError::Plan(format!("{name}: {error}"))
        }
        _ => DataFusionError::External(Box::new(error)).context(name),
    }
}
