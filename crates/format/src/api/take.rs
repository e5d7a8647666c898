//! Takes: single rows, or elements of them, in any order.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::deleted;
use super::element;
use super::path::ElementPath;
use super::rows::{self, Counting, Taken};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::OpenFile;
use crate::options::DeletedRows;

/// A take being described. Without more it yields the rows of all columns, in the order in which they are asked for; a
/// row may be asked for more than once.
#[must_use = "a take does nothing before it is read"]
#[derive(Clone)]
pub struct TakeBuilder<'r> {
    file: Arc<OpenFile>,
    rows: &'r [u64],
    columns: Option<Vec<String>>,
    element: Option<ElementPath>,
    deleted: DeletedRows,
}

impl<'r> TakeBuilder<'r> {
    pub(crate) fn new(file: Arc<OpenFile>, rows: &'r [u64]) -> Self {
        Self {
            file,
            rows,
            columns: None,
            element: None,
            deleted: DeletedRows::default(),
        }
    }

    /// Only these columns, in this order; names as in [`ScanBuilder::columns`](crate::ScanBuilder::columns).
    pub fn columns<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.columns = Some(names.iter().map(|name| name.as_ref().to_owned()).collect());
        self
    }

    /// One element of each nested row, or a range of a list's items, as the only column, named like the path; null
    /// where a row has none. Only the columns it lies in are read, and of their blocks the levels and the element's
    /// items decoded.
    ///
    /// ```no_run
    /// let file = tarsia::File::open("videos.tarsia")?;
    /// let frames = file.take(&[5, 2]).element(&"frames[3]".parse()?).read()?;
    /// assert_eq!(frames.num_rows(), 2);
    /// # Ok::<(), tarsia::Error>(())
    /// ```
    pub fn element(mut self, path: &ElementPath) -> Self {
        self.element = Some(path.clone());
        self
    }

    /// Says what becomes of rows that were deleted. Default: [`DeletedRows::Refuse`].
    pub fn deleted(mut self, deleted: DeletedRows) -> Self {
        self.deleted = deleted;
        self
    }

    /// Reads the rows.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] for a row that the file does not have; [`ErrorKind::RowDeleted`] for one that was
    /// deleted, unless nulls are to stand for it; [`ErrorKind::NoSuchColumn`], also for a path
    /// that the column's type does not have; [`ErrorKind::InvalidInput`] for columns and an element at once;
    /// [`ErrorKind::LimitExceeded`] where a dictionary column's key type cannot number the values of the rows, or
    /// strings pass 2 GiB; what reading may meet.
    pub fn read(self) -> Result<RecordBatch> {
        self.run(Counting::No).map(|taken| taken.batch)
    }

    /// As [`TakeBuilder::read`], and says what was read for it.
    ///
    /// # Errors
    /// As [`TakeBuilder::read`].
    pub fn read_counted(self) -> Result<Taken> {
        self.run(Counting::Yes)
    }

    fn run(self, counting: Counting) -> Result<Taken> {
        let file = &self.file;
        let take = |rows: &[u64]| match (&self.element, &self.columns) {
            (None, columns) => rows::take(file, rows, columns.as_deref(), counting),
            (Some(path), None) => element::take(file, rows, path),
            (Some(_), Some(_)) => Err(Error::new(
                ErrorKind::InvalidInput,
                "a take is of columns or of an element, not of both",
            )),
        };
        let taken = match file.deleted().is_empty() {
            true => take(self.rows),
            false => deleted::take(file.deleted(), self.rows, self.deleted, take),
        };
        taken.map_err(|error| file.explain(error))
    }
}

impl std::fmt::Debug for TakeBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TakeBuilder")
            .field("file", &self.file.source.name())
            .field("rows", &self.rows.len())
            .field("columns", &self.columns)
            .field("element", &self.element)
            .finish()
    }
}
