//! Contents of tasks: files, or data files of a table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use tarsia::Scan;

use crate::files::{OpenFiles, SharedFile};
use crate::store::error_of;
use crate::tasks::{LaterTasks, TableTask, TableTasks};

/// Contents of all tasks of a scan.
#[derive(Clone)]
pub(crate) enum Contents {
    /// Files of a store of the engine.
    Files(Arc<OpenFiles>),
    /// Data files of a state of a table, with what was changed of their rows.
    Table(Arc<TableTasks>),
    /// Data files of a table, where another process has planned the scan.
    Later(Arc<LaterTasks>),
}

/// Rows of a task, and how they are read.
pub(crate) enum Reader {
    File(SharedFile),
    /// With what was changed of its rows since.
    Table(TableTask),
}

impl Reader {
    /// The columns that there are.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        match self {
            Self::File(file) => file.file.schema().map_err(error_of),
            Self::Table(table) => Ok(table.snapshot.arrow_schema()),
        }
    }

    /// Rows, deleted ones counted.
    pub(crate) fn n_rows(&self) -> u64 {
        match self {
            Self::File(file) => file.file.num_rows(),
            Self::Table(table) => table.task.rows(),
        }
    }

    /// The names of columns as a scan takes them.
    pub(crate) fn columns(&self, names: Vec<String>) -> Vec<String> {
        match self {
            Self::File(_) => names,
            Self::Table(table) => table.columns(names),
        }
    }

    /// The schema of these columns.
    pub(crate) fn schema_of(&self, columns: &[String]) -> Result<SchemaRef> {
        match self {
            Self::File(file) => {
                let scan = file.file.scan().columns(columns).build();
                Ok(scan.map_err(error_of)?.schema())
            }
            Self::Table(table) => {
                let scan = table.snapshot.scan().columns(columns);
                let scan = scan.task(&table.task, 0..0).build();
                Ok(scan.map_err(of_table)?.schema())
            }
        }
    }
}

/// A scan that is read.
pub(crate) enum Window {
    File {
        scan: Box<Scan>,
        /// Rows that zones left.
        n_rows: u64,
    },
    Table(Box<tarsia_table::Scan>),
}

impl Window {
    pub(crate) fn next(&mut self) -> Option<Result<RecordBatch>> {
        match self {
            Self::File { scan, .. } => {
                let batch = scan.next()?;
                Some(batch.map_err(|error| error_of(error.into())))
            }
            Self::Table(scan) => {
                let batch = scan.next()?;
                Some(batch.map_err(|error| of_table(error.into())))
            }
        }
    }
}

/// An error of a scan, which names its object.
pub(crate) fn of_table(error: tarsia_table::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
