//! Batches in row order, several decoded at once ahead of the caller.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tarsia_codec::ValueType;
use tarsia_compliance::RowSet;

use super::batch::{batches, too_many_values};
use super::budget::{batch_budget, rows_budget};
use super::cancel::Cancel;
use super::fields::FieldsRead;
use super::open_file::OpenFile;
use super::prepare::{Wanted, plan_all};
use crate::error::{ErrorKind, Result};
use crate::table::Projection;

/// A batch that would decode to more bytes is cut, unless it has many columns.
const BATCH_BYTES_MAX: u64 = 64 << 20;

/// A batch of many columns may have so many bytes per column: what a block decodes to, so that no block is decoded
/// twice.
const BATCH_COLUMN_BYTES_MAX: u64 = 16 << 10;

/// Batches are multiples of this many rows, so that they align with blocks.
const BATCH_ROWS_MULTIPLE: usize = 8192;
const BATCH_ROWS_MAX: usize = 65_536;

/// Batches have about this many decoded bytes, so that they stay in the processor's cache while the caller looks at
/// them. With 16 MiB, and up to 64 MiB for long rows, scans of tables of 5 MB and more took 1.5 to 5 times as long.
const BATCH_BYTES_TARGET: usize = 3 << 20;

/// The columns of a batch have at least about this many bytes in the mean: to plan and fetch a column's part of a batch
/// takes as long as to decode this many bytes.
const BATCH_COLUMN_BYTES_TARGET: usize = 64 << 10;

/// A scan uses other threads only if decoding takes about this many nanoseconds or more. To wake a thread takes 50 µs,
/// and what it decodes is in another core's cache. Tables of the benchmark of 1 to 5 MB took as long with a second
/// thread as without, or up to 1.5 times as long.
const THREADS_NANOS_MIN: u64 = 500_000;

/// Estimates of decoding time: bytes in a nanosecond.
struct Rates {
    /// Decoded bytes, which are written.
    decoded: u64,
    /// Encoded bytes, which are read.
    encoded: u64,
}

/// Rates of byte strings, and of columns with levels.
const RATES: Rates = Rates {
    decoded: 8,
    encoded: 4,
};

/// Rates of flat values of fixed width: between those of plain values, which are read and written at 25 GB/s, and those
/// of decimals stored as floating-point numbers, at 12.
const FLAT_RATES: Rates = Rates {
    decoded: 16,
    encoded: 32,
};

/// Estimate of the time that each column of a batch takes beside decoding.
const COLUMN_NANOS: u64 = 1_000;

/// Rows of a batch of these columns, by default.
pub(crate) fn batch_rows(projection: &Projection) -> usize {
    batch_rows_of(projection.row_bytes(), projection.columns.len())
}

/// Rows of a batch of some columns, of which a row has `row_bytes`.
pub(crate) fn batch_rows_of(row_bytes: usize, n_columns: usize) -> usize {
    let row_bytes = row_bytes.max(1);
    let rows = BATCH_BYTES_TARGET / row_bytes;
    if rows >= BATCH_ROWS_MULTIPLE {
        return (rows / BATCH_ROWS_MULTIPLE * BATCH_ROWS_MULTIPLE).min(BATCH_ROWS_MAX);
    }
    let of_columns = BATCH_COLUMN_BYTES_TARGET.saturating_mul(n_columns) / row_bytes;
    // A batch that turns out too large is planned and fetched again in halves, which takes long in tables of many
    // columns.
    let rows_max = BATCH_ROWS_MULTIPLE.min(bytes_max(n_columns) as usize / row_bytes);
    let rows = rows.max(of_columns).clamp(1, rows_max.max(1));
    1 << rows.ilog2()
}

/// Most bytes that a batch of so many columns decodes to, as far as its rows can be cut.
fn bytes_max(n_columns: usize) -> u64 {
    BATCH_BYTES_MAX.max(BATCH_COLUMN_BYTES_MAX.saturating_mul(n_columns as u64))
}

/// The rows that are decoded at once, for batches of `batch_rows`: as many batches as the default has rows for, so that
/// small batches do not decode a block again and again.
fn task_rows(batch_rows: usize, by_default: usize) -> usize {
    (by_default / batch_rows).max(1).saturating_mul(batch_rows)
}

/// The batches of some rows and columns, in row order.
pub(crate) struct Schedule {
    job: Arc<Job>,
    pending: VecDeque<Arc<Task>>,
    ready: VecDeque<RecordBatch>,
    next_row: u64,
    rows: Range<u64>,
    batch_rows: usize,
    /// Rows that are decoded at once.
    task_rows: usize,
    /// Batches that are begun before the caller asks for them.
    ahead: usize,
    failed: bool,
}

/// State that all tasks share.
struct Job {
    file: Arc<OpenFile>,
    projection: Projection,
    /// Rows that no batch has.
    without: Arc<RowSet>,
    /// Whether the columns of a batch are decoded in parallel: if there are few batches.
    split_columns: bool,
    cancel: Cancel,
}

enum State {
    Waiting,
    Running {
        /// Whether a thread waits for the result. To wake none takes a call of the system too.
        is_awaited: bool,
    },
    /// The result, or the panic of the decoding thread, which is resumed in the thread that takes the result.
    Done(std::thread::Result<Result<Vec<RecordBatch>>>),
    Taken,
}

/// The rows of one batch. They are decoded once, by the first thread that runs the task.
struct Task {
    rows: Range<u64>,
    state: Mutex<State>,
    done: Condvar,
}

impl Task {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A poisoned lock is no reason for a second panic: the state is valid at any time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decodes the rows, unless another thread has begun to.
    fn run(&self, job: &Job) {
        {
            let mut state = self.lock();
            if !matches!(*state, State::Waiting) {
                return;
            }
            *state = State::Running { is_awaited: false };
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            job.decode(self.rows.clone())
        }));
        let before = std::mem::replace(&mut *self.lock(), State::Done(result));
        if matches!(before, State::Running { is_awaited: true }) {
            self.done.notify_all();
        }
    }

    /// The result. If no thread has begun the task, it runs here, so that a scan never waits for its own thread pool.
    ///
    /// # Panics
    /// If decoding panicked: a bug of the reader must not look like a damaged file.
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
                State::Running { .. } => *state = State::Running { is_awaited: true },
                other => *state = other,
            }
            state = self
                .done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Schedule {
    /// Batches of `batch_rows`, at least one.
    pub(crate) fn new(
        file: Arc<OpenFile>,
        projection: Projection,
        rows: Range<u64>,
        without: Arc<RowSet>,
        batch_rows: usize,
    ) -> Self {
        let batch_rows = batch_rows.max(1);
        let task_rows = task_rows(batch_rows, self::batch_rows(&projection));
        let n_batches = (rows.end - rows.start).div_ceil(task_rows as u64);
        let threads = file.session.threads.count();
        let mut job = Job {
            split_columns: n_batches < 2 * threads as u64 && projection.columns.len() > 1,
            file,
            projection,
            without,
            cancel: Cancel::default(),
        };
        let threads = match threads > 1 && job.takes_threads(&rows, n_batches) {
            true => threads,
            false => 1,
        };
        job.split_columns &= threads > 1;
        Self {
            // One more than there are threads, so that no thread is idle while the caller looks at a batch.
            ahead: match threads > 1 && !job.split_columns {
                true => threads + 1,
                false => 1,
            },
            job: Arc::new(job),
            pending: VecDeque::new(),
            ready: VecDeque::new(),
            next_row: rows.start,
            rows,
            batch_rows,
            task_rows,
            failed: false,
        }
    }

    /// The schema of the batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.job.projection.schema
    }

    pub(crate) fn file(&self) -> &OpenFile {
        &self.job.file
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.job.cancel
    }

    fn fill(&mut self) {
        while self.pending.len() < self.ahead && self.next_row < self.rows.end {
            let end = (self.next_row + self.task_rows as u64).min(self.rows.end);
            let task = Arc::new(Task {
                rows: self.next_row..end,
                state: Mutex::new(State::Waiting),
                done: Condvar::new(),
            });
            self.next_row = end;
            if self.ahead > 1 {
                let (job, task) = (self.job.clone(), task.clone());
                let threads = self.job.file.session.threads.clone();
                threads.spawn(move || task.run(&job));
            }
            self.pending.push_back(task);
        }
    }
}

impl Iterator for Schedule {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.failed {
                return None;
            }
            if let Err(cancelled) = self.job.cancel.check() {
                self.failed = true;
                return Some(Err(cancelled));
            }
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            self.fill();
            let task = self.pending.pop_front()?;
            // Reset below on success. A caller that catches a panic must not get later rows, since there would be a
            // gap.
            self.failed = true;
            match task.take(&self.job) {
                Ok(batches) => {
                    for batch in batches {
                        match batch.num_rows() <= self.batch_rows {
                            true => self.ready.push_back(batch),
                            false => self.ready.extend(cut(&batch, self.batch_rows)),
                        }
                    }
                }
                Err(error) => return Some(Err(error)),
            }
            self.failed = false;
            // Keep the pool busy while the caller looks at this batch.
            self.fill();
        }
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        // Tasks that no thread has begun are not needed any more.
        for task in &self.pending {
            let mut state = task.lock();
            if matches!(*state, State::Waiting) {
                *state = State::Taken;
            }
        }
    }
}

impl Job {
    /// Whether there is enough to decode for other threads. Threads share the batches or, with `split_columns`, the
    /// columns; then the largest column is the work of one thread.
    fn takes_threads(&self, rows: &Range<u64>, n_batches: u64) -> bool {
        let n_rows = rows.end - rows.start;
        let estimates = self.file.estimates();
        let (mut all, mut largest) = (0, 0);
        for column in &self.projection.columns {
            let decoded = (column.written_row_bytes(estimates) as u64).saturating_mul(n_rows);
            let encoded = column.encoded_bytes(estimates, rows);
            let rates = match column.is_flat() && column.value_type != Some(ValueType::Bytes) {
                true => FLAT_RATES,
                false => RATES,
            };
            let nanos = decoded / rates.decoded + encoded / rates.encoded;
            let nanos = nanos.saturating_add(COLUMN_NANOS.saturating_mul(n_batches));
            all = nanos.saturating_add(all);
            largest = nanos.max(largest);
            let own = match self.split_columns {
                true => largest,
                false => all / n_batches.max(1),
            };
            if all - own > THREADS_NANOS_MIN {
                return true;
            }
        }
        false
    }

    fn decode(&self, rows: Range<u64>) -> Result<Vec<RecordBatch>> {
        self.cancel.check()?;
        let (file, columns) = (&*self.file, &self.projection.columns);
        let live = left_of(&rows, &self.without);
        let n_rows = match &live {
            Some(live) if live.is_empty() => return Ok(Vec::new()),
            Some(live) => live.len() as u64,
            None => rows.end - rows.start,
        };
        let wanted = Wanted::Live(&rows, live.as_deref());
        let plans = plan_all(file, columns.iter().map(|column| (&**column, wanted)))?;
        self.cancel.check()?;
        let blocks = file.source.fetch_once(&plans)?;
        let read = FieldsRead {
            file,
            fields: &self.projection.fields,
            columns,
            plans: &plans,
            blocks: &blocks,
            rows: n_rows as usize,
            cancel: Some(&self.cancel),
        };
        let mut decoded_bytes = 0;
        for index in 0..columns.len() {
            decoded_bytes += read.column(index).expected_bytes()?;
        }
        let halves = || -> Result<Vec<RecordBatch>> {
            let middle = match &live {
                Some(live) => live.get(live.len() / 2).copied().unwrap_or(rows.end),
                None => rows.start + n_rows / 2,
            };
            let mut batches = self.decode(rows.start..middle)?;
            batches.extend(self.decode(middle..rows.end)?);
            Ok(batches)
        };
        if decoded_bytes > bytes_max(columns.len()) && n_rows > 1 {
            drop(blocks);
            return halves();
        }
        let budget = batch_budget(n_rows, || rows_budget(&read));
        let decoded = match read.decode(self.split_columns, &budget) {
            // More items than the offsets of one batch can number, or more bytes than its budget: fewer rows have
            // fewer.
            Err(error) if error.kind() == ErrorKind::LimitExceeded && n_rows > 1 => None,
            decoded => decoded?,
        };
        let Some(columns) = decoded else {
            if n_rows > 1 {
                drop(blocks);
                return halves();
            }
            return Err(too_many_values());
        };
        file.check_unchanged()?;
        batches(&self.projection.schema, columns, n_rows as usize)
    }
}

/// A batch in pieces of at most `rows` rows.
fn cut(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    let n_rows = batch.num_rows();
    let starts = (0..n_rows).step_by(rows);
    starts.map(move |start| batch.slice(start, rows.min(n_rows - start)))
}

/// The rows without some, if some of those are among them.
fn left_of(rows: &Range<u64>, without: &RowSet) -> Option<Vec<u64>> {
    if without.is_empty() || without.count(rows.clone()) == 0 {
        return None;
    }
    let mut left = Vec::new();
    let mut at = rows.start;
    for run in without.ranges(rows.clone()) {
        left.extend(at..run.start);
        at = run.end;
    }
    left.extend(at..rows.end);
    Some(left)
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule")
            .field("rows", &self.rows)
            .field("batch_rows", &self.batch_rows)
            .finish_non_exhaustive()
    }
}
