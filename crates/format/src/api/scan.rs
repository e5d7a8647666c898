//! Scans: record batches in row order.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Cancel, OpenFile, Schedule, batch_rows};

/// A scan being described. Without more it yields all rows of all columns.
#[must_use = "a scan does nothing before it is built"]
#[derive(Clone)]
pub struct ScanBuilder {
    file: Arc<OpenFile>,
    columns: Option<Vec<String>>,
    rows: Option<Range<u64>>,
    batch_rows: Option<usize>,
    hidden: bool,
}

impl ScanBuilder {
    pub(crate) fn new(file: Arc<OpenFile>) -> Self {
        Self {
            file,
            columns: None,
            rows: None,
            batch_rows: None,
            hidden: false,
        }
    }

    /// Only these columns, in this order. A name may lead to a field inside a struct, in lists too
    /// (`user.address.city`, `events.time`), or to the keys or values of a map (`tags.key`): then the column has only
    /// the fields that are named, in the schema's order, and nothing else of it is read. A map without its keys or its
    /// values is a list of entries.
    pub fn columns<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.columns = Some(names.iter().map(|name| name.as_ref().to_owned()).collect());
        self
    }

    /// Only these rows, half-open.
    pub fn rows(mut self, range: Range<u64>) -> Self {
        self.rows = Some(range);
        self
    }

    /// Rows of a batch. A batch may hold fewer: where its bytes or its dictionaries' keys would be too many, and where
    /// zero-copy byte strings do not lie in the file in one piece. By default a batch has about 3 MiB: a multiple of
    /// 8,192 rows up to 65,536, or a power of two below where rows are long.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = Some(rows);
        self
    }

    /// Also rows that were deleted (hidden) at level 1 and not erased: all rows but [`File::erased_rows`]. Whoever
    /// erases by a condition needs them, since their values are in the file.
    ///
    /// [`File::erased_rows`]: crate::File::erased_rows
    pub fn with_hidden_rows(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Resolves the columns and checks the rows. Reads no data yet.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`], [`ErrorKind::OutOfRange`], [`ErrorKind::InvalidInput`] for batches of no rows, and
    /// what reading metadata may meet.
    pub fn build(self) -> Result<Scan> {
        let file = self.file.clone();
        let scan = self.schedule();
        scan.map(|batches| Scan { batches })
            .map_err(|error| file.explain(error))
    }

    fn schedule(self) -> Result<Schedule> {
        let file = self.file;
        let n_rows = file.rows();
        let rows = self.rows.unwrap_or(0..n_rows);
        if rows.start > rows.end || rows.end > n_rows {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("rows {}..{} of {n_rows}", rows.start, rows.end),
            ));
        }
        let columns = self.columns.as_deref();
        let projection = file.projection(columns)?;
        let batch_rows = match self.batch_rows {
            Some(0) => {
                return Err(Error::new(ErrorKind::InvalidInput, "batches of no rows"));
            }
            Some(rows) => rows.min(1 << 30),
            None => batch_rows(&projection),
        };
        let without = match self.hidden {
            true => file.erased().clone(),
            false => file.deleted().clone(),
        };
        Ok(Schedule::new(file, projection, rows, without, batch_rows))
    }
}

impl std::fmt::Debug for ScanBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScanBuilder")
            .field("file", &self.file.source.name())
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .field("batch_rows", &self.batch_rows)
            .field("hidden", &self.hidden)
            .finish()
    }
}

/// The batches of a scan, in row order: a [`RecordBatchReader`]. Several are decoded at once, ahead of the caller.
///
/// Its errors are [`ArrowError`]s that carry an [`Error`] of this crate: [`Error::from`] gives that back, with its kind
/// and place. After an error there are no more batches.
#[derive(Debug)]
pub struct Scan {
    batches: Schedule,
}

impl Scan {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.batches.schema().clone()
    }

    /// A handle by which any thread can cancel the scan: while the caller of this one waits for a batch, for instance.
    pub fn cancel_handle(&self) -> ScanCancel {
        ScanCancel {
            cancel: self.batches.cancel().clone(),
        }
    }

    /// All batches at once, with errors of this crate.
    ///
    /// # Errors
    /// The first that a batch has.
    pub fn read_all(self) -> Result<Vec<RecordBatch>> {
        Ok(self.collect::<Result<_, ArrowError>>()?)
    }
}

/// Cancels a [`Scan`]. Clones cancel the same.
#[derive(Clone, Debug)]
pub struct ScanCancel {
    cancel: Cancel,
}

impl ScanCancel {
    /// The scan decodes no further column, gives [`ErrorKind::Cancelled`] instead of its next batch, and then ends. It
    /// does not wait for that.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(|error| self.batches.file().explain(error).into()))
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        Scan::schema(self)
    }
}
