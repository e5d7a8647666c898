//! Scans of snapshots.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tarsia::{File, RowSelection, RowSet};
use tarsia_filter::Expr;
use tarsia_table_meta::{FileId, TableSchema};

use crate::deletes::deleted_rows;
use crate::error::{Error, Result};
use crate::plan::PlannedFile;
use crate::project::{InFile, Projection, are_same, fields_of};
use crate::snapshot::Snapshot;
use crate::source;

/// Column of [`ScanBuilder::with_origins`]: the id of the file that a row is in, of type FixedSizeBinary(16).
pub const FILE_COLUMN: &str = "_file";
/// Column of [`ScanBuilder::with_origins`]: the position of a row in its file, of type UInt64.
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
        let files = self.snapshot.plan(pruned_by)?;
        let files = match &self.rows {
            None => files.into_iter().map(|file| (file, None)).collect(),
            Some(rows) => in_range(&self.snapshot, files, rows)?,
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
        if self.rows.is_none() {
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

/// A filter, and the fields that it looks at.
struct Condition {
    expr: Expr,
    fields: Vec<tarsia_table_meta::FieldId>,
    /// These fields, whole: for files that have them in another form.
    projection: Projection,
}

impl Condition {
    fn new(expr: &Expr, schema: &TableSchema) -> Result<Self> {
        let fields = fields_of(expr, schema)?;
        let names = fields.iter().filter_map(|id| schema.by_id(*id));
        let names: Vec<String> = names.map(|field| field.field.name().clone()).collect();
        let projection = Projection::new(schema, Some(&names))?;
        expr.bind(projection.schema())?;
        Ok(Self {
            expr: expr.clone(),
            fields,
            projection,
        })
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
}

/// The scan of one file.
struct FileScan {
    scan: tarsia::Scan,
    file: FileId,
    columns: InFile,
}

impl Condition {
    /// The rows of a selection of a file that pass.
    fn matching(
        &self,
        file: &File,
        of_file: &TableSchema,
        rows: RowSelection,
    ) -> Result<RowSelection> {
        let columns = self.projection.in_file(of_file);
        let scan = file
            .scan()
            .columns(&columns.names)
            .selection(rows)
            .with_row_numbers();
        let bound = self.expr.bind(self.projection.schema())?;
        let mut passing = Vec::new();
        for batch in scan.build()? {
            let batch = batch?;
            let numbers = batch
                .columns()
                .last()
                .and_then(|it| it.as_primitive_opt::<UInt64Type>());
            let numbers = numbers.ok_or_else(|| Error::corrupt("a scan without row numbers"))?;
            let passes = bound.matches(&self.projection.apply(&columns, &batch)?)?;
            let found = passes
                .set_indices()
                .filter_map(|i| numbers.values().get(i).copied());
            passing.extend(found);
        }
        Ok(RowSelection::from_rows(passing)?)
    }
}

/// Reads the rows of a file that are not deleted and pass a filter.
pub(crate) fn matching_rows(
    snapshot: &Snapshot,
    planned: &PlannedFile,
    filter: &Expr,
) -> Result<(RowSet, RowSet)> {
    let deleted = deleted_rows(snapshot.store(), planned)?;
    let live = RowSelection::from(0..planned.entry.rows).without(&deleted);
    let rows = match planned.all_pass {
        true => live.clone(),
        false => {
            let condition = Condition::new(filter, snapshot.schema())?;
            let of_file = snapshot.schema_of(&planned.entry)?;
            let file = source::open(snapshot.store(), &planned.entry)?;
            match are_same(&condition.fields, snapshot.schema(), &of_file) {
                true => {
                    let scan = file.scan().selection(live.clone());
                    scan.filter(filter.clone()).matching_rows()?
                }
                false => condition.matching(&file, &of_file, live.clone())?,
            }
        }
    };
    let set = |rows: &RowSelection| {
        let mut set = RowSet::new();
        rows.runs().for_each(|run| set.insert_range(run));
        set
    };
    Ok((set(&rows), set(&live)))
}

impl Shared {
    fn open(&self, planned: &PlannedFile, rows: Option<Range<u64>>) -> Result<FileScan> {
        let store = self.snapshot.store();
        let of_file = self.snapshot.schema_of(&planned.entry)?;
        let deleted = deleted_rows(store, planned)?;
        let file = source::open(store, &planned.entry)?;
        let mut selection = RowSelection::from(0..planned.entry.rows).without(&deleted);
        if let Some(rows) = rows {
            selection = selection.offset(rows.start).limit(rows.end - rows.start);
        }
        let columns = self.projection.in_file(&of_file);
        let mut scan = file.scan().columns(&columns.names);
        if let Some(filter) = self.filter.as_ref().filter(|_| !planned.all_pass) {
            match are_same(&filter.fields, self.snapshot.schema(), &of_file) {
                true => scan = scan.filter(filter.expr.clone()),
                false => selection = filter.matching(&file, &of_file, selection)?,
            }
        }
        scan = scan.selection(selection);
        if self.has_origins {
            scan = scan.with_row_numbers();
        }
        if let Some(rows) = self.batch_rows {
            scan = scan.batch_rows(rows);
        }
        Ok(FileScan {
            scan: scan.build()?,
            file: planned.entry.file,
            columns,
        })
    }

    fn finish(&self, file: &FileScan, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = self.projection.apply(&file.columns, batch)?;
        if !self.has_origins {
            return Ok(rows);
        }
        let numbers = batch
            .columns()
            .last()
            .and_then(|it| it.as_primitive_opt::<UInt64Type>());
        let numbers = numbers.ok_or_else(|| Error::corrupt("a scan without row numbers"))?;
        let ids = std::iter::repeat_n(Some(file.file.0), batch.num_rows());
        let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids, 16)?;
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.push(Arc::new(ids));
        columns.push(Arc::new(UInt64Array::from(numbers.values().to_vec())));
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
            match current.scan.next() {
                Some(batch) => {
                    let batch = self.shared.finish(current, &batch?)?;
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
    let mut wanted: Vec<(Origin, u64)> = origins.iter().copied().zip(0..).collect();
    wanted.sort_unstable();
    let mut parts = Vec::new();
    let files = snapshot.plan(None)?;
    let files = crate::objects::by(files, |file| file.entry.file);
    for of_file in wanted.chunk_by(|(one, _), (other, _)| one.file == other.file) {
        let Some((first, _)) = of_file.first() else {
            continue;
        };
        let missing = |origin: &Origin| {
            let what = format!(
                "row {} of file {} is not in this state",
                origin.position, origin.file
            );
            Error::not_found(what)
        };
        let planned = files.get(&first.file).ok_or_else(|| missing(first))?;
        let deleted = deleted_rows(snapshot.store(), planned)?;
        let is_there = |origin: &Origin| {
            origin.position < planned.entry.rows && !deleted.contains(origin.position)
        };
        if let Some((origin, _)) = of_file.iter().find(|(origin, _)| !is_there(origin)) {
            return Err(missing(origin));
        }
        let in_file = projection.in_file(&*snapshot.schema_of(&planned.entry)?);
        let rows: Vec<u64> = of_file.iter().map(|(origin, _)| origin.position).collect();
        let file = source::open(snapshot.store(), &planned.entry)?;
        let batch = file.take(&rows).columns(&in_file.names).read()?;
        parts.push(projection.apply(&in_file, &batch)?);
    }
    let sorted = arrow_select::concat::concat_batches(projection.schema(), &parts)?;
    let mut places = vec![0_u64; origins.len()];
    for ((_, wanted), place) in wanted.iter().zip(0..) {
        if let Some(slot) = places.get_mut(*wanted as usize) {
            *slot = place;
        }
    }
    Ok(arrow_select::take::take_record_batch(
        &sorted,
        &UInt64Array::from(places),
    )?)
}
