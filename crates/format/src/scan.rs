//! Scans: batches in row order, decoded in parallel ahead of the caller.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use rayon::prelude::*;
use tarsia_arrow::{
    self as structure, Emitted, LeafParts, array_from_raw, array_of_lent, array_of_views,
};
#[cfg(feature = "kernels")]
use tarsia_arrow::{ColumnBuffers, array_from_buffers};
use tarsia_codec::{Scratch, ValueType};
use tarsia_structure::Budget;

use crate::column::{Column, Decoded, TableField};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::file::{File, Inner};
use crate::options::Threads;
use crate::plan::Plan;
use crate::projection::{self, Projection};

/// A batch that would decode to more is cut.
pub(crate) const BATCH_BYTES_MAX: u64 = 64 << 20;

/// The levels and items of a batch's nested columns, and what is filled in below their nulls, take at most this; else it is cut.
const NESTED_BYTES_MAX: u64 = 128 << 20;

/// A scan being described. Without more it yields all rows of all columns.
#[must_use = "a scan does nothing before it is built"]
pub struct ScanBuilder<'f> {
    file: &'f File,
    columns: Option<Vec<String>>,
    rows: Option<Range<u64>>,
    batch_rows: Option<usize>,
}

impl<'f> ScanBuilder<'f> {
    pub(crate) fn new(file: &'f File) -> Self {
        Self {
            file,
            columns: None,
            rows: None,
            batch_rows: None,
        }
    }

    /// These columns only, in this order. A name may lead to a field inside a structure, in lists too (`user.address.city`, `events.time`):
    /// then the column has only the fields that are named, in the schema's order, and nothing else of it is read.
    pub fn columns<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.columns = Some(names.iter().map(|name| name.as_ref().to_owned()).collect());
        self
    }

    /// These rows only, half-open.
    pub fn rows(mut self, range: Range<u64>) -> Self {
        self.rows = Some(range);
        self
    }

    /// Rows of a batch. A batch may hold fewer where its bytes or its dictionaries' keys would be too many, or where long byte strings that
    /// are not copied out of the file do not lie there in one piece. By default
    /// about 3 MiB of them: a multiple of 8,192 up to 65,536, or a power of two below where rows are long.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = Some(rows);
        self
    }

    /// Resolves the columns and checks the rows; reads no data yet.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchColumn`], [`ErrorKind::OutOfRange`], [`ErrorKind::InvalidInput`] for batches of no rows, and what
    /// reading metadata may meet.
    pub fn build(self) -> Result<Scan> {
        let inner = self.file.inner();
        self.build_inner()
            .map_err(|error| error.in_file(inner.name()))
    }

    fn build_inner(self) -> Result<Scan> {
        let inner = self.file.inner().clone();
        let n_rows = inner.rows();
        let rows = self.rows.unwrap_or(0..n_rows);
        if rows.start > rows.end || rows.end > n_rows {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                format!("rows {}..{} of {n_rows}", rows.start, rows.end),
            ));
        }
        let projection = Projection::new(&inner, self.columns.as_deref())?;
        let batch_rows = match self.batch_rows {
            Some(0) => {
                return Err(Error::new(ErrorKind::InvalidInput, "batches of no rows"));
            }
            Some(rows) => rows.min(1 << 30),
            None => projection.batch_rows(),
        };
        Ok(Scan::start(inner, projection, rows, batch_rows))
    }
}

/// The batches of a scan, in row order. Several are decoded at once, ahead of the caller.
pub struct Scan {
    job: Arc<Job>,
    pending: VecDeque<Arc<Task>>,
    ready: VecDeque<RecordBatch>,
    next_row: u64,
    rows: Range<u64>,
    batch_rows: usize,
    ahead: usize,
    failed: bool,
}

/// What all tasks of a scan share.
struct Job {
    inner: Arc<Inner>,
    projection: Projection,
    /// Few batches: their columns are decoded in parallel too.
    split_columns: bool,
}

enum State {
    Waiting,
    Running,
    /// With a panic, if there was one: it goes on in the thread that takes the result.
    Done(std::thread::Result<Result<Vec<RecordBatch>>>),
    Taken,
}

struct Task {
    rows: Range<u64>,
    state: Mutex<State>,
    done: Condvar,
}

impl Task {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere must not hide behind a second one; the state itself is always whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs unless somebody else does.
    fn run(&self, job: &Job) {
        {
            let mut state = self.lock();
            if !matches!(*state, State::Waiting) {
                return;
            }
            *state = State::Running;
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            job.decode(self.rows.clone())
        }));
        *self.lock() = State::Done(result);
        self.done.notify_all();
    }

    /// The result; runs the task here if nobody has begun, so that a scan never waits for a pool that is busy with its caller.
    ///
    /// # Panics
    /// Where decoding did: a bug of the reader must not pass for a damaged file.
    fn take(&self, job: &Job) -> Result<Vec<RecordBatch>> {
        self.run(job);
        let mut state = self.lock();
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Done(Ok(result)) => return result,
                State::Done(Err(panic)) => {
                    drop(state);
                    std::panic::resume_unwind(panic)
                }
                other => *state = other,
            }
            state = self
                .done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Scan {
    pub(crate) fn start(
        inner: Arc<Inner>,
        projection: Projection,
        rows: Range<u64>,
        batch_rows: usize,
    ) -> Self {
        let n_batches = (rows.end - rows.start).div_ceil(batch_rows as u64);
        let threads = match inner.threads {
            Threads::All => rayon::current_num_threads(),
            Threads::One => 1,
        };
        let split_columns = n_batches < 2 * threads as u64 && projection.columns.len() > 1;
        let by = (n_batches, split_columns);
        let threads = match threads > 1 && projection.takes_threads(&inner, &rows, by) {
            true => threads,
            false => 1,
        };
        let split_columns = split_columns && threads > 1;
        Self {
            job: Arc::new(Job {
                inner,
                projection,
                split_columns,
            }),
            pending: VecDeque::new(),
            ready: VecDeque::new(),
            next_row: rows.start,
            rows,
            batch_rows,
            // One more than threads, so that none is idle while the caller looks at a batch.
            ahead: if threads > 1 && !split_columns {
                threads + 1
            } else {
                1
            },
            failed: false,
        }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.job.projection.schema.clone()
    }

    fn fill(&mut self) {
        while self.pending.len() < self.ahead && self.next_row < self.rows.end {
            let end = (self.next_row + self.batch_rows as u64).min(self.rows.end);
            let task = Arc::new(Task {
                rows: self.next_row..end,
                state: Mutex::new(State::Waiting),
                done: Condvar::new(),
            });
            self.next_row = end;
            if self.ahead > 1 {
                let (job, task) = (self.job.clone(), task.clone());
                rayon::spawn(move || task.run(&job));
            }
            self.pending.push_back(task);
        }
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            if self.failed {
                return None;
            }
            self.fill();
            let task = self.pending.pop_front()?;
            // Unless it comes back with rows; not even a caller that catches a panic gets those behind a gap.
            self.failed = true;
            match task.take(&self.job) {
                Ok(batches) => self.ready.extend(batches),
                Err(error) => return Some(Err(error.in_file(self.job.inner.name()))),
            }
            self.failed = false;
            // Keep the pool busy while the caller looks at this batch.
            self.fill();
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        // Tasks that nobody has begun are not worth beginning.
        for task in &self.pending {
            let mut state = task.lock();
            if matches!(*state, State::Waiting) {
                *state = State::Taken;
            }
        }
    }
}

impl Job {
    fn decode(&self, rows: Range<u64>) -> Result<Vec<RecordBatch>> {
        let columns = &self.projection.columns;
        let plans = columns
            .iter()
            .map(|column| column.plan_rows(&self.inner, rows.clone()))
            .collect::<Result<Vec<_>>>()?;
        let fetched = self.inner.fetch_once(&plans)?;
        let mut decoded_bytes = 0;
        for ((column, plan), fetched) in columns.iter().zip(&plans).zip(&fetched) {
            decoded_bytes += match column.value_type {
                Some(ValueType::Fixed(width)) if column.is_flat() => {
                    u64::from(width) * plan.rows as u64
                }
                Some(ValueType::Bits) | None if column.is_flat() => plan.rows as u64 / 8,
                _ => column.expected_bytes(plan, fetched)?,
            };
        }
        let n_rows = rows.end - rows.start;
        let halves = |fetched| -> Result<Vec<RecordBatch>> {
            drop::<Vec<_>>(fetched);
            let middle = rows.start + n_rows / 2;
            let mut batches = self.decode(rows.start..middle)?;
            batches.extend(self.decode(middle..rows.end)?);
            Ok(batches)
        };
        if decoded_bytes > BATCH_BYTES_MAX && n_rows > 1 {
            return halves(fetched);
        }
        let budget = batch_budget(n_rows, || rows_budget(columns, &plans, &fetched));
        let decoded = decode_fields(
            &self.inner,
            &self.projection,
            &plans,
            &fetched,
            n_rows as usize,
            self.split_columns,
            &budget,
        );
        let decoded = match decoded {
            // More items than the offsets of one batch can number, or more bytes than its budget: fewer rows have fewer.
            Err(error) if error.kind() == ErrorKind::LimitExceeded && n_rows > 1 => None,
            decoded => decoded?,
        };
        let Some(emitted) = decoded else {
            if n_rows > 1 {
                return halves(fetched);
            }
            return Err(too_many_values());
        };
        self.inner.check_unchanged()?;
        assemble(&self.projection.schema, emitted, n_rows as usize)
    }
}

/// What the nested columns of a batch may take, which can be halved down to one row: that takes what it must.
pub(crate) fn batch_budget(n_rows: u64, of_row: impl FnOnce() -> Budget) -> Budget {
    match n_rows {
        0 | 1 => of_row(),
        _ => Budget::new(NESTED_BYTES_MAX),
    }
}

/// What nested rows may take that somebody wants all at once.
pub(crate) fn rows_budget<B: AsRef<[u8]>>(
    columns: &[Arc<Column>],
    plans: &[Plan],
    fetched: &[Vec<B>],
) -> Budget {
    let nested = columns.iter().zip(plans.iter().zip(fetched));
    let nested = nested.filter(|(column, _)| !column.is_flat());
    let bytes = nested.map(|(column, (plan, fetched))| column.nested_bytes_max(plan, fetched));
    Budget::new(bytes.fold(0, u64::saturating_add))
}

/// What a dictionary's keys or the ends of runs cannot number.
pub(crate) fn too_many_values() -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "the rows hold more distinct values or runs than the type's keys or ends can number; read fewer rows at once",
    )
}

/// Decodes the plans of all columns into the arrays of their fields. `None` where a nested field's dictionary keys or run ends cannot
/// number so many rows.
pub(crate) fn decode_fields<B: AsRef<[u8]> + Sync>(
    inner: &Inner,
    projection: &Projection,
    plans: &[Plan],
    fetched: &[Vec<B>],
    rows: usize,
    parallel: bool,
    budget: &Budget,
) -> Result<Option<Vec<Emitted>>> {
    let leaf = |index: usize| -> Result<LeafParts> {
        let (plan, fetched) = (&plans[index], &fetched[index]);
        decode_leaf(inner, &projection.columns[index], plan, fetched, budget)
    };
    // The columns of a field follow those of the fields before it.
    let one = |(field, first): (&Arc<TableField>, usize)| -> Result<Option<Emitted>> {
        if let [column] = field.columns.as_slice()
            && column.is_flat()
        {
            let flat = emit(inner, column, &plans[first], &fetched[first])?;
            return match column.packing {
                None => Ok(Some(flat)),
                Some(_) => projection::narrowed(flat, field.field.data_type()).map(Some),
            };
        }
        let columns = first..first + field.columns.len();
        let nested: Vec<LeafParts> = match parallel && columns.len() > 1 {
            true => columns.into_par_iter().map(leaf).collect::<Result<_>>()?,
            false => columns.map(leaf).collect::<Result<_>>()?,
        };
        let array = structure::assemble(&field.field, nested, rows, &inner.pool, budget)
            .map_err(|error| while_reading(error).in_column(field.field.name()))?;
        Ok(array.map(|array| Emitted { parts: vec![array] }))
    };
    let mut first = 0;
    let fields = projection.fields.iter().map(|field| {
        let before = first;
        first += field.columns.len();
        (field, before)
    });
    match parallel {
        true => {
            let fields: Vec<_> = fields.collect();
            fields.into_par_iter().map(one).collect()
        }
        false => fields.map(one).collect(),
    }
}

/// Decodes one column's plan into levels and items.
pub(crate) fn decode_leaf(
    inner: &Inner,
    column: &Column,
    plan: &Plan,
    fetched: &[impl AsRef<[u8]>],
    budget: &Budget,
) -> Result<LeafParts> {
    with_scratch(|scratch| column.decode_nested(inner, plan, fetched, budget, scratch))
}

thread_local! {
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::new(Scratch::new());
}

/// Lends the thread's scratch memory. It is taken out meanwhile: a kernel is compiled on the pool's threads, and one that waits for that
/// may begin another batch before this one is done.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = SCRATCH.replace(Scratch::new());
    let done = work(&mut scratch);
    SCRATCH.set(scratch);
    done
}

/// Decodes one column's plan into Arrow arrays.
pub(crate) fn emit(
    inner: &Inner,
    column: &Column,
    plan: &Plan,
    fetched: &[impl AsRef<[u8]>],
) -> Result<Emitted> {
    if column.value_type.is_none() {
        return Ok(Emitted::nulls(plan.rows));
    }
    let pool = &inner.pool;
    let decoded = with_scratch(|scratch| {
        column.decode(inner, plan, fetched, scratch, &mut |len| pool.take(len))
    })?;
    let data_type = &column.data_type;
    let (has_nulls, emitted) = match decoded {
        Decoded::Raw(raw) => {
            let has_nulls = raw.null_count() > 0;
            (has_nulls, array_from_raw(data_type, raw.finish(), pool))
        }
        Decoded::Views(rows, lent) => {
            let array = array_of_views(rows, lent, pool);
            let has_nulls = array.as_ref().is_ok_and(|array| array.null_count() > 0);
            (has_nulls, array.map(|array| Emitted { parts: vec![array] }))
        }
        Decoded::InPlace(pieces) => {
            let mut has_nulls = false;
            let mut parts = Vec::with_capacity(pieces.len());
            for (rows, values) in pieces {
                has_nulls |= rows.null_count > 0;
                let piece = array_of_lent(data_type, rows, values, pool);
                parts.push(piece.map_err(|error| while_reading(error).in_column(column.name()))?);
            }
            (has_nulls, Ok(Emitted { parts }))
        }
        #[cfg(feature = "kernels")]
        Decoded::Lent(lent) => {
            let (validity, offsets, values) = (lent.validity(), lent.offsets(), lent.values());
            let buffers = ColumnBuffers::from_owners(lent.rows(), validity, offsets, values)
                .map_err(|error| while_reading(error).in_column(column.name()))?;
            let has_nulls = buffers.nulls.is_some();
            (has_nulls, array_from_buffers(data_type, buffers))
        }
    };
    if has_nulls && !column.path.nullable() {
        return Err(
            Error::new(ErrorKind::Corrupt, "nulls in a column that allows none")
                .in_column(column.name()),
        );
    }
    let unpacked = |emitted: Emitted| match &column.packing {
        None => Ok(emitted),
        Some(packing) => {
            let parts = emitted.parts.iter();
            let parts = parts.map(|rows| packing.unpack(rows.as_ref(), pool));
            Ok(Emitted {
                parts: parts.collect::<tarsia_codec::Result<_>>()?,
            })
        }
    };
    emitted
        .and_then(unpacked)
        .map_err(|error| while_reading(error).in_column(column.name()))
}

/// Batches of columns of which some may come in several parts: cut wherever any is.
fn assemble(schema: &SchemaRef, emitted: Vec<Emitted>, rows: usize) -> Result<Vec<RecordBatch>> {
    let mut cuts: Vec<usize> = vec![rows];
    for column in &emitted {
        let mut at = 0;
        for part in &column.parts {
            at += part.len();
            cuts.push(at);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut start = 0;
    let mut batches = Vec::with_capacity(cuts.len());
    for end in cuts {
        if end == start && rows > 0 {
            continue;
        }
        let columns = emitted
            .iter()
            .map(|column| slice_parts(&column.parts, start, end))
            .collect::<Result<Vec<_>>>()?;
        batches.push(batch(schema, columns, end - start)?);
        start = end;
    }
    Ok(batches)
}

/// Rows `start..end` of parts laid end to end; they lie inside one part.
fn slice_parts(parts: &[ArrayRef], start: usize, end: usize) -> Result<ArrayRef> {
    let mut first = 0;
    for part in parts {
        if start >= first && end <= first + part.len() {
            return Ok(match (start - first, end - start) {
                (0, len) if len == part.len() => part.clone(),
                (offset, len) => part.slice(offset, len),
            });
        }
        first += part.len();
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        "columns decoded to different numbers of rows",
    ))
}

pub(crate) fn batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|error| Error::new(ErrorKind::Corrupt, error.to_string()))
}
