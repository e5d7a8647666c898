//! Tasks: the data files of a scan, each of which may be read by another thread or process.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tarsia::{File, RowSelection};
use tarsia_filter::Expr;
use tarsia_table_meta::FileId;

use crate::deletes::deleted_rows;
use crate::error::{Error, Result};
use crate::plan::PlannedFile;
use crate::snapshot::Snapshot;
use crate::source;

/// A data file of a snapshot, with what was changed of its rows. Clones share the file once it is open.
#[derive(Clone)]
pub struct Task {
    pub(crate) planned: Arc<PlannedFile>,
    opened: Arc<OnceLock<File>>,
}

impl Snapshot {
    /// The data files, in the order of their rows; with a filter those that its partitions do not rule out. Each is
    /// read by [`ScanBuilder::task`](crate::ScanBuilder::task). No data file is opened.
    ///
    /// # Errors
    /// As [`Snapshot::files`].
    pub fn tasks(&self, filter: Option<&Expr>) -> Result<Vec<Task>> {
        let tasks = self.plan(filter)?.into_iter().map(|planned| {
            // The scan of the task may have another filter.
            let all_pass = false;
            Task::new(Arc::new(PlannedFile {
                all_pass,
                ..planned
            }))
        });
        Ok(tasks.collect())
    }

    /// How many rows of a task are not deleted. Reads sets of deleted rows, and not the data file.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn live_rows(&self, task: &Task) -> Result<u64> {
        let deleted = deleted_rows(self.store(), &task.planned)?;
        Ok(task.rows().saturating_sub(deleted.len()))
    }
}

impl Task {
    fn new(planned: Arc<PlannedFile>) -> Self {
        Self {
            planned,
            opened: Arc::default(),
        }
    }

    /// The id of the data file. It names the task among those of a snapshot.
    pub fn file(&self) -> FileId {
        self.planned.entry.file
    }

    /// Rows of the file, deleted ones counted.
    pub fn rows(&self) -> u64 {
        self.planned.entry.rows
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.planned.entry.bytes
    }

    /// The task with a file of its own, which is closed when the clones of this one are gone.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self::new(self.planned.clone())
    }

    pub(crate) fn open(&self, snapshot: &Snapshot) -> Result<File> {
        if let Some(file) = self.opened.get() {
            return Ok(file.clone());
        }
        let file = source::open(snapshot.store(), &self.planned.entry)?;
        Ok(self.opened.get_or_init(|| file).clone())
    }

    /// The rows of a range that are not deleted.
    pub(crate) fn live(&self, snapshot: &Snapshot, rows: &Range<u64>) -> Result<RowSelection> {
        if rows.start > rows.end || rows.end > self.rows() {
            let what = format!("rows {}..{} of {}", rows.start, rows.end, self.rows());
            return Err(Error::invalid(what).of_object(&self.file().to_string()));
        }
        let deleted = deleted_rows(snapshot.store(), &self.planned)?;
        Ok(RowSelection::from(rows.clone()).without(&deleted))
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Task").field(&self.file()).finish()
    }
}
