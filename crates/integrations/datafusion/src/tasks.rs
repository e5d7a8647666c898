//! Tasks of a scan of a state of a table: its data files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use object_store::path::Path;
use tarsia::filter::Expr;
use tarsia_table::{Snapshot, Task};
use tokio::sync::OnceCell;

use crate::failure::failed;
use crate::files::step;
use crate::filter::{Native, translate};
use crate::place::open;

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
            let path = path_of(&snapshot, &task);
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

    /// The tasks of a commit, for a process that was given some of their paths. Reads metadata, and waits for it.
    ///
    /// # Errors
    /// A table or a commit that there is not, and errors of the store.
    fn of_commit(place: &TablePlace) -> Result<Self> {
        let name = place.place.clone();
        let failed = |error| failed(&name, error);
        let table = open(&place.place)?;
        let snapshot = table.at(&place.commit).map_err(failed)?;
        let tasks = snapshot.tasks(None).map_err(failed)?;
        let tasks = tasks
            .into_iter()
            .map(|task| (path_of(&snapshot, &task), task));
        Ok(Self {
            tasks: tasks.collect(),
            name: name.clone(),
            snapshot,
            listed: Vec::new(),
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.snapshot.arrow_schema()
    }

    /// Where the table is, and its commit.
    pub(crate) fn place(&self) -> TablePlace {
        TablePlace {
            place: self.name.clone(),
            commit: self.snapshot.id().to_string(),
        }
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
        let n_files = self.snapshot.commit().files;
        let n_tasks = self.tasks.len();
        let n_pruned = n_files.saturating_sub(n_tasks as u64);
        let of_table = self.place().describe();
        format!("{of_table}, tasks={n_tasks}, tasks_pruned={n_pruned}")
    }
}

fn path_of(snapshot: &Snapshot, task: &Task) -> Path {
    Path::from(format!("{}/{}", snapshot.id(), task.file()))
}

/// A state of a table, as a process that has not planned its scan finds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TablePlace {
    /// A folder, or a URL.
    pub place: String,
    /// The digest of the commit.
    pub commit: String,
}

impl TablePlace {
    /// A commit of the table at a folder or a URL.
    pub fn new(place: impl Into<String>, commit: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            commit: commit.into(),
        }
    }

    /// The table and its commit, for people.
    pub(crate) fn describe(&self) -> String {
        let commit = self.commit.get(..12).unwrap_or(&self.commit);
        format!("table={}, commit={commit}", self.place)
    }
}

/// Tasks of a scan that another process has planned. The table is opened with the first of them.
#[derive(Debug)]
pub(crate) struct LaterTasks {
    pub(crate) place: TablePlace,
    tasks: OnceCell<Arc<TableTasks>>,
}

impl LaterTasks {
    pub(crate) fn new(place: TablePlace) -> Self {
        Self {
            place,
            tasks: OnceCell::new(),
        }
    }

    /// # Errors
    /// As [`TableTasks::of_commit`].
    pub(crate) async fn open(&self) -> Result<Arc<TableTasks>> {
        let opened = self.tasks.get_or_try_init(|| {
            let place = self.place.clone();
            step(move || TableTasks::of_commit(&place).map(Arc::new))
        });
        opened.await.cloned()
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
