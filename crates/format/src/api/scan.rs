//! Scans: record batches in row order.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use tarsia_filter::Expr;

use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Cancel, ConjunctCounts, OpenFile, RowFilter, Schedule, Wish};
use crate::plan::RowSelection;

/// A scan being described. Without more it yields all rows of all columns.
#[must_use = "a scan does nothing before it is built"]
#[derive(Clone)]
pub struct ScanBuilder {
    file: Arc<OpenFile>,
    columns: Option<Vec<String>>,
    rows: Option<Range<u64>>,
    selection: Option<RowSelection>,
    filter: Option<(Expr, Rules)>,
    limit: Option<u64>,
    batch_rows: Option<usize>,
    hidden: bool,
    row_numbers: bool,
}

/// How a filter's literals are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// As engines do.
    Usual,
    /// As values of the column's type alone.
    Strict,
}

impl ScanBuilder {
    pub(crate) fn new(file: Arc<OpenFile>) -> Self {
        Self {
            file,
            columns: None,
            rows: None,
            selection: None,
            filter: None,
            limit: None,
            batch_rows: None,
            hidden: false,
            row_numbers: false,
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

    /// Only these rows, and of them those in the range of [`ScanBuilder::rows`], if that is given.
    pub fn selection(mut self, rows: RowSelection) -> Self {
        self.selection = Some(rows);
        self
    }

    /// Only rows that pass a filter: for which it is true, not false or null. It may name columns that are not read.
    /// Numbers are compared as they are written, with all their digits; floating-point numbers by IEEE 754's
    /// `totalOrder`, in which NaN is above all others. Rows that do not pass are decoded as far as that is faster than
    /// to pass over them, or the filter looks at them.
    ///
    /// ```no_run
    /// use tarsia::filter::col;
    ///
    /// let file = tarsia::File::open("ads.tarsia")?;
    /// let filter = col("label").eq(1).and(col("country").is_in(["NL", "BE"]));
    /// for batch in file.scan().columns(&["user_id"]).filter(filter).build()? {
    ///     println!("{} rows", batch?.num_rows());
    /// }
    /// # Ok::<(), tarsia::Error>(())
    /// ```
    pub fn filter(mut self, filter: Expr) -> Self {
        self.filter = Some((filter, Rules::Usual));
        self
    }

    /// As [`ScanBuilder::filter`], for filters that must not be misunderstood since they choose what is erased: each
    /// literal must be a value of its column's type, both zeros are equal, and NaN passes nothing but `IS NOT NULL`.
    pub fn strict_filter(mut self, filter: Expr) -> Self {
        self.filter = Some((filter, Rules::Strict));
        self
    }

    /// At most so many rows: the first.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Adds a last column, [`ROW_NUMBER`](crate::ROW_NUMBER), of type UInt64: the number of each row in the file, from
    /// 0, as [`File::take`](crate::File::take) takes it. Deleted rows are counted, too.
    pub fn with_row_numbers(mut self) -> Self {
        self.row_numbers = true;
        self
    }

    /// Rows of a batch. A batch may hold fewer: where its bytes or its dictionaries' keys would be too many, and where
    /// zero-copy byte strings do not lie in the file in one piece. By default a batch aims at 3 MiB, by what the file
    /// says of its rows: a multiple of 8,192 rows up to 65,536, or a power of two below where rows are long. With a
    /// filter it has the rows that are left of these; batches of few rows are joined, to at most 8,192 rows.
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
    /// [`ErrorKind::NoSuchColumn`], [`ErrorKind::OutOfRange`], [`ErrorKind::InvalidInput`] for batches of no rows,
    /// [`ErrorKind::InvalidFilter`], and what reading metadata may meet.
    pub fn build(self) -> Result<Scan> {
        let file = self.file.clone();
        let scan = self.schedule();
        scan.map(|batches| Scan {
            batches,
            has_ended: false,
        })
        .map_err(|error| file.explain(error))
    }

    /// How many rows the scan has. Columns that the filter does not look at are not read.
    ///
    /// # Errors
    /// As [`ScanBuilder::build`] and a [`Scan`].
    pub fn count(mut self) -> Result<u64> {
        self.columns = Some(Vec::new());
        self.row_numbers = false;
        let mut scan = self.build()?;
        let n_rows = scan.try_fold(0, |n_rows, batch| {
            batch.map(|batch| n_rows + batch.num_rows() as u64)
        });
        Ok(n_rows?)
    }

    /// The rows of the scan. Columns that the filter does not look at are not read.
    ///
    /// # Errors
    /// As [`ScanBuilder::build`] and a [`Scan`].
    pub fn matching_rows(mut self) -> Result<RowSelection> {
        self.columns = Some(Vec::new());
        self.row_numbers = true;
        let of_batch = |batch: Result<RecordBatch, ArrowError>| -> Result<RowSelection> {
            let batch = batch?;
            let numbers = batch
                .columns()
                .last()
                .and_then(|column| column.as_primitive_opt::<UInt64Type>());
            let numbers = numbers.map_or(&[][..], |numbers| numbers.values());
            RowSelection::from_rows(numbers.iter().copied())
        };
        let found = self.build()?.map(of_batch).collect::<Result<Vec<_>>>()?;
        Ok(RowSelection::concat(&found))
    }

    /// The rows of the scan that zones do not rule out, before any block is read: for engines that filter again.
    /// Without a filter these are all rows of the scan. A limit does not count.
    ///
    /// # Errors
    /// As [`ScanBuilder::build`].
    pub fn prune_only(self) -> Result<RowSelection> {
        let file = self.file.clone();
        let wish = self.wish().map_err(|error| file.explain(error))?;
        Ok(wish.rows.without(&wish.without))
    }

    fn schedule(self) -> Result<Schedule> {
        Ok(Schedule::new(self.wish()?))
    }

    fn wish(self) -> Result<Wish> {
        let file = self.file;
        let n_rows = file.rows();
        let rows = self.rows.unwrap_or(0..n_rows);
        if rows.start > rows.end || rows.end > n_rows {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("rows {}..{} of {n_rows}", rows.start, rows.end),
            ));
        }
        let rows = match self.selection {
            Some(selection) if selection.end() > n_rows => {
                let what = format!("row {} of {n_rows}", selection.end() - 1);
                return Err(Error::new(ErrorKind::OutOfRange, what));
            }
            Some(selection) => selection.within(rows),
            None => RowSelection::from(rows),
        };
        let batch_rows = match self.batch_rows {
            Some(0) => {
                return Err(Error::new(ErrorKind::InvalidInput, "batches of no rows"));
            }
            Some(rows) => Some(rows.min(1 << 30)),
            None => None,
        };
        let filter = self
            .filter
            .map(|(filter, rules)| RowFilter::new(&file, &filter, rules == Rules::Strict))
            .transpose()?;
        let rows = match &filter {
            Some(filter) => filter.that_may_pass(rows),
            None => rows,
        };
        Ok(Wish {
            projection: file.projection(self.columns.as_deref())?,
            rows,
            without: match self.hidden {
                true => file.erased().clone(),
                false => file.deleted().clone(),
            },
            filter,
            limit: self.limit,
            batch_rows,
            row_numbers: self.row_numbers,
            file,
        })
    }
}

impl std::fmt::Debug for ScanBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScanBuilder")
            .field("file", &self.file.source.name())
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .field("filter", &self.filter)
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
    /// Whether the last batch or an error was returned.
    has_ended: bool,
}

impl Scan {
    /// At the end, whether another program wrote over a mapped file meanwhile. Batches do not ask, since that would
    /// take a quarter of a take of one row; who follows the locks does not write to it at all.
    fn check_end(&self) -> Result<()> {
        let source = &self.batches.file().source;
        match source.is_mapped() {
            true => source.check_unchanged(),
            false => Ok(()),
        }
    }
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

    /// How many rows each conjunct of the filter (its parts joined by AND) looked at so far, and let pass. They are
    /// evaluated in the order that took least time before, each for the rows that those before it left open.
    pub fn filter_counts(&self) -> Vec<ConjunctCounts> {
        self.batches.filter_counts()
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
        if self.has_ended {
            return None;
        }
        let batch = match self.batches.next() {
            Some(batch) => batch.map_err(|error| self.batches.file().explain(error)),
            None => {
                self.has_ended = true;
                Err(self.check_end().err()?)
            }
        };
        self.has_ended |= batch.is_err();
        Some(batch.map_err(ArrowError::from))
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        Scan::schema(self)
    }
}
