//! Batches in row order, several decoded at once ahead of the caller.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use tarsia_compliance::RowSet;

use super::batch_size::{batch_rows, far_window_rows, one_at_a_time, task_rows, window_rows};
use super::cancel::Cancel;
use super::filter::{ConjunctCounts, RowFilter};
use super::job::Job;
use super::open_file::OpenFile;
use super::read_ahead::{ReadAhead, Windows};
use crate::error::Result;
use crate::plan::RowSelection;
use crate::table::Projection;

/// Name of the column of row numbers that a scan may add.
pub const ROW_NUMBER: &str = "row_number";

/// Rows that a batch of a filter is joined up to, unless the caller says how many it wants: enough that what a batch
/// costs does not count, few enough that the copy stays in the cache and in memory that was used before.
const JOINED_ROWS: usize = 8192;

/// Columns and rows that a scan reads.
pub(crate) struct Wish {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) projection: Projection,
    pub(crate) rows: RowSelection,
    /// Rows that no batch has.
    pub(crate) without: Arc<RowSet>,
    /// Says which of the others a batch has, if not all.
    pub(crate) filter: Option<RowFilter>,
    /// Most rows of all batches together.
    pub(crate) limit: Option<u64>,
    /// Rows of a batch, if the caller says.
    pub(crate) batch_rows: Option<usize>,
    /// Whether the last column has the numbers of the rows.
    pub(crate) row_numbers: bool,
}

/// The batches of some rows and columns, in row order.
pub(crate) struct Schedule {
    job: Arc<Job>,
    pending: VecDeque<Arc<Task>>,
    ready: VecDeque<RecordBatch>,
    /// Batches of few rows, which wait for others.
    small: Vec<RecordBatch>,
    rows: RowSelection,
    next_row: u64,
    /// Rows that batches may still have.
    left: u64,
    batch_rows: usize,
    /// Batches of at most half as many rows are joined, to at most so many.
    joined_rows: usize,
    /// Rows that are decoded at once.
    task_rows: usize,
    /// Batches that are begun before the caller asks for them.
    ahead: usize,
    /// Windows of blocks that are read before their batches are begun.
    read_ahead: Option<ReadAhead>,
    has_ended: bool,
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
    rows: RowSelection,
    /// Its blocks, as far as they are read ahead.
    windows: Windows,
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
            job.decode(&self.rows, &self.windows)
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
    pub(crate) fn new(wish: Wish) -> Self {
        let Wish {
            file, projection, ..
        } = wish;
        let by_default = batch_rows(&projection);
        let batch_rows = wish.batch_rows.unwrap_or(by_default).max(1);
        let task_rows = match &wish.filter {
            None => task_rows(batch_rows, by_default),
            // Few rows may be wanted, so few are looked at.
            Some(filter) if file.source.is_far() && wish.limit.is_none() => {
                far_window_rows(filter.projection(), &projection)
            }
            Some(filter) => window_rows(filter.projection(), &projection),
        };
        let n_batches = wish.rows.len().div_ceil(task_rows as u64);
        let threads = file.session.threads.count();
        let n_columns =
            projection.columns.len() + wish.filter.iter().flat_map(RowFilter::columns).count();
        // One more than there are threads, so that no thread is idle while the caller looks at a batch.
        let ahead = threads + 1;
        let rows_at_once = wish.rows.len().min(task_rows as u64);
        let bytes_at_once = rows_at_once.saturating_mul(projection.row_bytes() as u64);
        let split_columns =
            n_batches < 2 * threads as u64 || one_at_a_time(bytes_at_once, n_columns, ahead);
        let mut job = Job {
            split_columns: split_columns && n_columns > 1,
            schema: match wish.row_numbers {
                true => with_row_numbers(&projection.schema),
                false => projection.schema.clone(),
            },
            file,
            projection,
            without: wish.without,
            filter: wish.filter,
            row_numbers: wish.row_numbers,
            cancel: Cancel::default(),
        };
        let threads = match threads > 1 && job.takes_threads(&wish.rows, n_batches) {
            true => threads,
            false => 1,
        };
        job.split_columns &= threads > 1;
        // With a limit, fewer blocks may be needed than all.
        let read_ahead = match wish.limit {
            None => ReadAhead::new(&job.file, job.lanes(), &job.without, &job.cancel),
            Some(_) => None,
        };
        Self {
            ahead: match threads > 1 && !job.split_columns {
                true => ahead,
                false => 1,
            },
            read_ahead,
            job: Arc::new(job),
            pending: VecDeque::new(),
            ready: VecDeque::new(),
            small: Vec::new(),
            next_row: 0,
            rows: wish.rows,
            left: wish.limit.unwrap_or(u64::MAX),
            batch_rows,
            joined_rows: wish
                .batch_rows
                .unwrap_or(by_default.min(JOINED_ROWS))
                .max(1),
            task_rows,
            has_ended: false,
        }
    }

    /// The schema of the batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.job.schema
    }

    pub(crate) fn file(&self) -> &OpenFile {
        &self.job.file
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.job.cancel
    }

    /// How many rows each conjunct of the filter has looked at so far.
    pub(crate) fn filter_counts(&self) -> Vec<ConjunctCounts> {
        self.job
            .filter
            .as_ref()
            .map_or(Vec::new(), RowFilter::counts)
    }

    fn fill(&mut self) {
        while self.pending.len() < self.ahead {
            let piece = self.rows.piece(self.next_row, self.task_rows as u64);
            let Some((rows, end)) = piece else {
                return;
            };
            let windows = self.next_windows();
            let task = Arc::new(Task {
                rows,
                windows,
                state: Mutex::new(State::Waiting),
                done: Condvar::new(),
            });
            self.next_row = end;
            if self.ahead > 1 {
                // A task that no thread has begun when the scan is dropped must not keep the file open.
                let (job, waiting) = (Arc::downgrade(&self.job), Arc::downgrade(&task));
                let threads = self.job.file.session.threads.clone();
                threads.spawn(move || {
                    if let (Some(job), Some(task)) = (job.upgrade(), waiting.upgrade()) {
                        task.run(&job);
                    }
                });
            }
            self.pending.push_back(task);
        }
    }

    /// The windows of the next task.
    fn next_windows(&mut self) -> Windows {
        let Some(ahead) = &mut self.read_ahead else {
            return Windows::default();
        };
        let (job, task_rows) = (&self.job, self.task_rows as u64);
        let filter = job.filter.as_ref();
        let found = filter.map(RowFilter::so_far);
        ahead.next(&self.rows, task_rows, found, |column, rows| {
            let mut wanted = job.projection.columns.iter();
            wanted.any(|it| Arc::ptr_eq(it, column))
                || filter.is_some_and(|it| it.looks_at(column, rows))
        })
    }

    /// Takes batches of a task. Those of a filter may have few rows: they are joined.
    fn take(&mut self, batches: Vec<RecordBatch>) {
        for batch in batches {
            if self.job.filter.is_none() || batch.num_rows() * 2 > self.joined_rows {
                self.join();
                self.put(batch);
                continue;
            }
            let n_small = rows_of(&self.small);
            if n_small + batch.num_rows() > self.joined_rows {
                self.join();
            }
            self.small.push(batch);
            let n_small = rows_of(&self.small);
            if n_small * 2 > self.joined_rows || n_small as u64 >= self.left {
                self.join();
            }
        }
    }

    /// Makes a batch of the small ones.
    fn join(&mut self) {
        let small = std::mem::take(&mut self.small);
        let joined = match small.len() {
            0 | 1 => None,
            // Together they may have more distinct values than a dictionary's keys can number.
            _ => concat_batches(&self.job.schema, &small).ok(),
        };
        match joined {
            Some(batch) => self.put(batch),
            None => small.into_iter().for_each(|batch| self.put(batch)),
        }
    }

    fn put(&mut self, batch: RecordBatch) {
        match batch.num_rows() <= self.batch_rows {
            true => self.ready.push_back(batch),
            false => self.ready.extend(cut(&batch, self.batch_rows)),
        }
    }

    /// A batch of which the caller gets as many rows as are left.
    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let n_rows = batch
            .num_rows()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= n_rows as u64;
        match n_rows < batch.num_rows() {
            true => batch.slice(0, n_rows),
            false => batch,
        }
    }
}

impl Iterator for Schedule {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.has_ended || self.left == 0 {
                return None;
            }
            if let Err(cancelled) = self.job.cancel.check() {
                self.has_ended = true;
                return Some(Err(cancelled));
            }
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(self.limited(batch)));
            }
            self.fill();
            let Some(task) = self.pending.pop_front() else {
                self.join();
                if self.ready.is_empty() {
                    return None;
                }
                continue;
            };
            // Reset below on success. A caller that catches a panic must not get later rows, since there would be a
            // gap.
            self.has_ended = true;
            match task.take(&self.job) {
                Ok(batches) => self.take(batches),
                Err(error) => return Some(Err(error)),
            }
            self.has_ended = false;
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

/// The schema of batches with a column of row numbers.
fn with_row_numbers(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().cloned();
    let numbers = Arc::new(Field::new(ROW_NUMBER, DataType::UInt64, false));
    let fields: Vec<_> = fields.chain([numbers]).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn rows_of(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// A batch in pieces of at most `rows` rows.
fn cut(batch: &RecordBatch, rows: usize) -> impl Iterator<Item = RecordBatch> {
    let n_rows = batch.num_rows();
    let starts = (0..n_rows).step_by(rows);
    starts.map(move |start| batch.slice(start, rows.min(n_rows - start)))
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule")
            .field("rows", &self.rows)
            .field("batch_rows", &self.batch_rows)
            .finish_non_exhaustive()
    }
}
