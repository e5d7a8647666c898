//! Scans of snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tarsia::{RowSelection, RowSet};
use tarsia_filter::Expr;
use tarsia_table_meta::FileId;

use crate::deletes::deleted_rows;
use crate::error::{Error, Result};
use crate::origins::{origin_at, own_rows, set_of};
use crate::plan::PlannedFile;
use crate::project::Projection;
use crate::snapshot::Snapshot;
use crate::table_file::{Condition, FileScan, ReadOptions, Rows, TableFile};
use crate::task::Task;

/// Column of [`ScanBuilder::with_origins`]: the id of the file that a row was first written to, of type
/// FixedSizeBinary(16).
pub const FILE_COLUMN: &str = "_file";
/// Column of [`ScanBuilder::with_origins`]: the position of a row in that file, of type UInt64.
pub const POSITION_COLUMN: &str = "_pos";

/// Name of a row: it stays the same while the row is in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file that the row was first written to.
    pub file: FileId,
    /// Its position there.
    pub position: u64,
}

impl Snapshot {
    /// A scan of the rows. Files come in the order of their partitions, then in the order in which they were added.
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self.clone())
    }

    /// Reads rows by their names, in this order, of these columns or of all.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a row that is not in this state, and for a column that
    /// there is not; errors of the store.
    pub fn take(&self, origins: &[Origin], columns: Option<&[&str]>) -> Result<RecordBatch> {
        let columns = columns.map(|names| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        });
        take(self, origins, columns.as_deref())
    }
}

/// A scan being described. Without more it yields all rows of all columns.
#[must_use = "a scan does nothing before it is built"]
#[derive(Clone)]
pub struct ScanBuilder {
    snapshot: Snapshot,
    columns: Option<Vec<String>>,
    filter: Option<Expr>,
    rows: Option<Range<u64>>,
    task: Option<(Task, Range<u64>)>,
    limit: Option<u64>,
    batch_rows: Option<usize>,
    has_origins: bool,
}

impl ScanBuilder {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            columns: None,
            filter: None,
            rows: None,
            task: None,
            limit: None,
            batch_rows: None,
            has_origins: false,
        }
    }

    /// Only these columns, in this order. A name may lead into a field, as in a scan of a file. Parts of a field are
    /// one column, where the first of them is.
    pub fn columns<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.columns = Some(names.iter().map(|name| name.as_ref().to_owned()).collect());
        self
    }

    /// Only rows that pass a filter. Files whose partition rules it out are not opened.
    pub fn filter(mut self, filter: Expr) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Only these rows, half-open, counted over all rows of the snapshot that are not deleted; before the filter.
    pub fn rows(mut self, rows: Range<u64>) -> Self {
        self.rows = Some(rows);
        self
    }

    /// Only rows of one data file of this snapshot: those at these places of it, deleted ones counted. Takes the place
    /// of [`ScanBuilder::rows`].
    pub fn task(mut self, task: &Task, rows: Range<u64>) -> Self {
        self.task = Some((task.clone(), rows));
        self
    }

    /// At most so many rows: the first.
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Most rows of a batch.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = Some(rows);
        self
    }

    /// Adds two last columns, [`FILE_COLUMN`] and [`POSITION_COLUMN`]: the [`Origin`] of each row.
    pub fn with_origins(mut self) -> Self {
        self.has_origins = true;
        self
    }

    /// Plans the scan. Reads metadata of the table, and no data file.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a column that there is not,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a filter that does not fit, rows beyond the end
    /// and batches of no rows, and errors of the store.
    pub fn build(self) -> Result<Scan> {
        if self.batch_rows == Some(0) {
            return Err(Error::invalid("batches of no rows"));
        }
        let table = self.snapshot.schema();
        let projection = Projection::new(table, self.columns.as_deref())?;
        if self.has_origins
            && let Some(name) = [FILE_COLUMN, POSITION_COLUMN]
                .iter()
                .find(|it| table.by_name(it).is_some())
        {
            let what =
                format!("the table has a field `{name}`, which is the name of a column of origins");
            return Err(Error::invalid(what));
        }
        let filter = self
            .filter
            .as_ref()
            .map(|filter| Condition::new(filter, table))
            .transpose()?;
        // Positions count rows that the filter rules out.
        let pruned_by = self.filter.as_ref().filter(|_| self.rows.is_none());
        let planned = |filter| self.snapshot.plan(filter);
        let files = match (&self.task, &self.rows) {
            (Some((task, _)), _) => vec![((*task.planned).clone(), None)],
            (None, None) => (planned(pruned_by)?.into_iter())
                .map(|file| (file, None))
                .collect(),
            (None, Some(rows)) => in_range(&self.snapshot, planned(pruned_by)?, rows)?,
        };
        let schema = match self.has_origins {
            true => with_origins(projection.schema()),
            false => projection.schema().clone(),
        };
        Ok(Scan {
            shared: Shared {
                projection,
                filter,
                batch_rows: self.batch_rows,
                has_origins: self.has_origins,
                schema,
                task: self.task,
                snapshot: self.snapshot,
            },
            files: files.into(),
            current: None,
            left: self.limit.unwrap_or(u64::MAX),
            has_failed: false,
        })
    }

    /// How many rows the scan has. Without a filter no data file is read.
    ///
    /// # Errors
    /// As [`ScanBuilder::build`] and a [`Scan`].
    pub fn count(mut self) -> Result<u64> {
        let limit = self.limit.take().unwrap_or(u64::MAX);
        if self.rows.is_none() && self.task.is_none() {
            let mut n_rows = 0_u64;
            let files = self.snapshot.plan(self.filter.as_ref())?;
            let (sure, open): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.all_pass);
            for file in sure {
                let deleted = deleted_rows(self.snapshot.store(), &file)?;
                n_rows = n_rows.saturating_add(file.entry.rows - deleted.len());
            }
            self.columns = Some(Vec::new());
            self.has_origins = false;
            let mut scan = self.build()?;
            scan.files = open.into_iter().map(|file| (file, None)).collect();
            return Ok(limit.min(n_rows.saturating_add(rows_of(scan)?)));
        }
        self.columns = Some(Vec::new());
        self.has_origins = false;
        Ok(limit.min(rows_of(self.build()?)?))
    }
}

fn rows_of(mut scan: Scan) -> Result<u64> {
    let n_rows = scan.try_fold(0, |n_rows, batch| {
        batch.map(|batch| n_rows + batch.num_rows() as u64)
    });
    Ok(n_rows?)
}

fn with_origins(schema: &SchemaRef) -> SchemaRef {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(
        FILE_COLUMN,
        DataType::FixedSizeBinary(16),
        false,
    )));
    fields.push(Arc::new(Field::new(
        POSITION_COLUMN,
        DataType::UInt64,
        false,
    )));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Files with rows in a range, and which rows of each, counted over those that are not deleted.
fn in_range(
    snapshot: &Snapshot,
    files: Vec<PlannedFile>,
    rows: &Range<u64>,
) -> Result<Vec<(PlannedFile, Option<Range<u64>>)>> {
    let mut at = 0_u64;
    let mut found = Vec::new();
    for file in files {
        let deleted = deleted_rows(snapshot.store(), &file)?;
        let n_rows = file.entry.rows - deleted.len();
        let (start, end) = (rows.start.max(at), rows.end.min(at + n_rows));
        if start < end {
            found.push((file, Some(start - at..end - at)));
        }
        at += n_rows;
    }
    match rows.start > rows.end || rows.end > at {
        true => Err(Error::invalid(format!(
            "rows {}..{} of {at}",
            rows.start, rows.end
        ))),
        false => Ok(found),
    }
}

/// The batches of a scan, in the order of the table's rows: a [`RecordBatchReader`]. Its errors carry an [`Error`] of
/// this crate. After an error there are no more batches.
pub struct Scan {
    shared: Shared,
    files: VecDeque<(PlannedFile, Option<Range<u64>>)>,
    current: Option<FileScan>,
    left: u64,
    has_failed: bool,
}

struct Shared {
    snapshot: Snapshot,
    projection: Projection,
    filter: Option<Condition>,
    batch_rows: Option<usize>,
    has_origins: bool,
    schema: SchemaRef,
    task: Option<(Task, Range<u64>)>,
}

/// Finds the rows of a file that are not deleted and pass a filter, and those that are not deleted.
pub(crate) fn matching_rows(
    snapshot: &Snapshot,
    planned: &PlannedFile,
    filter: &Expr,
) -> Result<(RowSet, RowSet)> {
    let live = TableFile::live(snapshot, planned)?;
    let rows = match planned.all_pass {
        true => live.clone(),
        false => {
            let condition = Condition::new(filter, snapshot.schema())?;
            TableFile::open(snapshot, planned)?.matching(&condition, live.clone())?
        }
    };
    Ok((set_of(&rows), set_of(&live)))
}

impl Shared {
    fn open(&self, planned: &PlannedFile, rows: Option<Range<u64>>) -> Result<FileScan> {
        let (file, selection) = match &self.task {
            Some((task, rows)) => {
                let selection = task.live(&self.snapshot, rows)?;
                let file = TableFile::of(&self.snapshot, planned, task.open(&self.snapshot)?)?;
                (file, selection)
            }
            None => {
                let mut selection = TableFile::live(&self.snapshot, planned)?;
                if let Some(rows) = rows {
                    selection = selection.offset(rows.start).limit(rows.end - rows.start);
                }
                (TableFile::open(&self.snapshot, planned)?, selection)
            }
        };
        let filter = self.filter.as_ref().filter(|_| !planned.all_pass);
        let options = ReadOptions {
            batch_rows: self.batch_rows,
            has_names: self.has_origins,
            has_numbers: false,
        };
        file.read(&self.projection, filter, selection, options)
    }

    fn finish(&self, file: &FileScan, rows: Rows) -> Result<RecordBatch> {
        let Some(names) = rows.names.filter(|_| self.has_origins) else {
            return Ok(rows.batch);
        };
        let mut ids = Vec::with_capacity(rows.batch.num_rows());
        for segment in &names.segments {
            let origin = file.origins.get(segment.origin);
            let origin = origin.ok_or_else(|| Error::corrupt("a row of an unknown origin"))?;
            ids.extend(std::iter::repeat_n(Some(origin.0), segment.rows.len()));
        }
        let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids.into_iter(), 16)?;
        let mut columns: Vec<ArrayRef> = rows.batch.columns().to_vec();
        columns.push(Arc::new(ids));
        columns.push(Arc::new(names.positions));
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

impl Scan {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.shared.schema.clone()
    }

    /// Data files that are not read yet.
    pub fn files_left(&self) -> usize {
        self.files.len()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            if self.current.is_none() {
                let Some((file, rows)) = self.files.pop_front() else {
                    return Ok(None);
                };
                self.current = Some(self.shared.open(&file, rows)?);
            }
            let Some(current) = &mut self.current else {
                continue;
            };
            match current.next_rows(&self.shared.projection)? {
                Some(rows) => {
                    let batch = self.shared.finish(current, rows)?;
                    let n_rows = usize::try_from(self.left).unwrap_or(usize::MAX);
                    let batch = batch.slice(0, n_rows.min(batch.num_rows()));
                    self.left -= batch.num_rows() as u64;
                    if batch.num_rows() > 0 {
                        return Ok(Some(batch));
                    }
                }
                None => self.current = None,
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let snapshot = &self.shared.snapshot;
        f.debug_struct("Scan")
            .field("snapshot", snapshot)
            .field("files_left", &self.files.len())
            .finish()
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let batch = self.next_batch();
        self.has_failed = batch.is_err();
        batch.map_err(ArrowError::from).transpose()
    }
}

impl RecordBatchReader for Scan {
    fn schema(&self) -> SchemaRef {
        Scan::schema(self)
    }
}

/// Reads rows by their names, in the order asked for.
pub(crate) fn take(
    snapshot: &Snapshot,
    origins: &[Origin],
    columns: Option<&[String]>,
) -> Result<RecordBatch> {
    let projection = Projection::new(snapshot.schema(), columns)?;
    let mut wanted: BTreeMap<FileId, RowSet> = BTreeMap::new();
    for origin in origins {
        let end = origin
            .position
            .checked_add(1)
            .ok_or_else(|| missing(origin))?;
        let rows = wanted.entry(origin.file).or_default();
        rows.insert_range(origin.position..end);
    }
    let files = by_origin(snapshot.plan(None)?);
    let mut read = BTreeSet::new();
    let mut parts = vec![RecordBatch::new_empty(projection.schema().clone())];
    let mut places: HashMap<Origin, u64> = HashMap::new();
    for origin in origins {
        let planned = files.get(&origin.file).ok_or_else(|| missing(origin))?;
        if read.insert(planned.entry.file) {
            parts.extend(take_of(
                snapshot,
                planned,
                &projection,
                &wanted,
                &mut places,
            )?);
        }
    }
    let rows = origins.iter().map(|origin| {
        let place = places.get(origin).copied();
        place.ok_or_else(|| missing(origin))
    });
    let rows = UInt64Array::from(rows.collect::<Result<Vec<_>>>()?);
    let all = arrow_select::concat::concat_batches(projection.schema(), &parts)?;
    Ok(arrow_select::take::take_record_batch(&all, &rows)?)
}

fn missing(origin: &Origin) -> Error {
    let what = format!(
        "row {} of file {} is not in this state",
        origin.position, origin.file
    );
    Error::not_found(what)
}

/// The wanted rows of one file. Adds their places behind those that `places` has.
fn take_of(
    snapshot: &Snapshot,
    planned: &PlannedFile,
    projection: &Projection,
    wanted: &BTreeMap<FileId, RowSet>,
    places: &mut HashMap<Origin, u64>,
) -> Result<Vec<RecordBatch>> {
    let own = own_rows(snapshot.store(), planned, wanted)?;
    let ranges = own.ranges(0..planned.entry.rows);
    let rows = RowSelection::from_ranges(ranges)?;
    let rows = rows.without(&deleted_rows(snapshot.store(), planned)?);
    let file = TableFile::open(snapshot, planned)?;
    let options = ReadOptions {
        has_names: true,
        ..ReadOptions::default()
    };
    let mut scan = file.scan(projection, rows, options)?;
    let mut parts = Vec::new();
    while let Some(rows) = scan.next_rows(projection)? {
        let names = rows.names.iter();
        let segments = names.flat_map(|names| names.segments.iter().map(move |it| (names, it)));
        for (names, segment) in segments {
            let file = origin_at(planned, segment.origin)?;
            for position in names.positions_of(&segment.rows) {
                let place = places.len() as u64;
                let position = *position;
                places.insert(Origin { file, position }, place);
            }
        }
        parts.push(rows.batch);
    }
    Ok(parts)
}

/// Files by the files that their rows were first written to.
pub(crate) fn by_origin(files: Vec<PlannedFile>) -> HashMap<FileId, Arc<PlannedFile>> {
    let files = files.into_iter().map(Arc::new);
    let pairs = files.flat_map(|file| {
        let origins = file.origins().to_vec();
        origins
            .into_iter()
            .map(move |origin| (origin, file.clone()))
    });
    pairs.collect()
}
