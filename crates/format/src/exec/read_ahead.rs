//! Blocks that a scan reads ahead of decoding, from a source where each read waits.
//!
//! A task of a scan decodes about 3 MiB, which may be 20 KiB of each column. Read task by task, a scan would wait once
//! for each of them, with few bytes on their way, and requests that read over small gaps would read most of a small
//! table each time. So the blocks of several tasks, a *window*, are read in one wave, and windows are read while those
//! before them are decoded.
//!
//! With a filter, the columns that it looks at are read ahead, all in one wave. The other columns follow once the rows
//! so far tell that so many pass, or so far apart, that reading those alone would save nothing.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use tarsia_compliance::RowSet;
use tarsia_io::ReadBytes;

use super::cancel::Cancel;
use super::open_file::OpenFile;
use super::pick::FoundRows;
use super::prepare::{Wanted, plan_and_fetch};
use crate::error::Result;
use crate::plan::{Plan, RowSelection};
use crate::source::Ranges;
use crate::table::Column;

/// The encoded bytes of a window, unless a single task has more: as many as a request has at most.
const WINDOW_BYTES: u64 = 8 << 20;

/// Windows that are on their way while the tasks of another one are decoded. Together they have what a store sends at
/// 1 GB/s in the 30 ms that it takes to answer.
const WINDOWS_AHEAD: usize = 3;

/// Blocks by their first byte. No two overlap.
pub(super) type Blocks = BTreeMap<u64, ReadBytes<'static>>;

/// The file and rows that a scan reads.
#[derive(Clone)]
struct Wish {
    file: Arc<OpenFile>,
    /// Rows that no batch has.
    without: Arc<RowSet>,
    cancel: Cancel,
}

/// The windows of a scan.
pub(super) struct ReadAhead {
    /// Windows of the columns that the filter looks at.
    filter: Option<Lane>,
    /// Windows of the other columns.
    output: Option<Lane>,
}

/// The windows of a task.
#[derive(Clone, Default)]
pub(super) struct Windows {
    /// Columns that the filter looks at.
    pub(super) filter: Option<Arc<Window>>,
    /// The other columns.
    pub(super) output: Option<Arc<Window>>,
}

/// Windows of the same columns, one behind the other.
struct Lane {
    wish: Wish,
    columns: Vec<Arc<Column>>,
    /// Windows that are read; the first is that of the next task.
    windows: VecDeque<Arc<Window>>,
    /// Tasks that the first one is still for.
    tasks_left: usize,
    /// The first row behind all windows.
    next_row: u64,
    /// Windows so far.
    n_windows: usize,
}

/// Rows of consecutive tasks, whose blocks are read together.
pub(super) struct Window {
    wish: Wish,
    columns: Vec<Arc<Column>>,
    rows: RowSelection,
    n_tasks: usize,
    /// Encoded bytes, about.
    n_bytes: u64,
    has_begun: AtomicBool,
    blocks: OnceLock<Blocks>,
}

impl ReadAhead {
    /// Windows of a scan of a file, without some rows. `filter` are the columns of its filter, if it has one, `output`
    /// the others. `None` where reading task by task costs no more: of a source that answers at once.
    pub(super) fn new(
        file: &Arc<OpenFile>,
        [filter, output]: [Vec<Arc<Column>>; 2],
        without: &Arc<RowSet>,
        cancel: &Cancel,
    ) -> Option<Self> {
        let wish = Wish {
            file: Arc::clone(file),
            without: Arc::clone(without),
            cancel: cancel.clone(),
        };
        let lane = |columns: Vec<Arc<Column>>| {
            (!columns.is_empty()).then(|| Lane {
                wish: wish.clone(),
                columns,
                windows: VecDeque::new(),
                tasks_left: 0,
                next_row: 0,
                n_windows: 0,
            })
        };
        file.source.is_far().then(|| Self {
            filter: lane(filter),
            output: lane(output),
        })
    }

    /// Returns the windows of the next task of a scan of `rows`. Windows behind them begin to be read, if there may be
    /// other threads than the caller's. With a filter, `found` are the rows that passed so far.
    ///
    /// `looks_at` says whether the filter has to look at a column for some rows.
    pub(super) fn next(
        &mut self,
        rows: &RowSelection,
        task_rows: u64,
        found: Option<FoundRows>,
        looks_at: impl Fn(&Arc<Column>, &RowSelection) -> bool,
    ) -> Windows {
        let filter = self.filter.as_mut();
        let output = self.output.as_mut();
        Windows {
            filter: filter.and_then(|lane| lane.next(rows, task_rows, |_| true, looks_at)),
            output: output.and_then(|lane| {
                let pays = |window: &Window| found.is_none_or(|found| window.pays(found));
                lane.next(rows, task_rows, pays, |_, _| true)
            }),
        }
    }
}

impl Lane {
    /// Returns the window of the next task. It and those behind it begin to be read, as far as they should.
    fn next(
        &mut self,
        rows: &RowSelection,
        task_rows: u64,
        begins: impl Fn(&Window) -> bool,
        looks_at: impl Fn(&Arc<Column>, &RowSelection) -> bool,
    ) -> Option<Arc<Window>> {
        if self.tasks_left == 0 {
            self.windows.pop_front();
        }
        while self.windows.len() <= WINDOWS_AHEAD
            && let Some(window) = self.cut(rows, task_rows, &looks_at)
        {
            self.windows.push_back(window);
        }
        if self.wish.file.session.threads.are_several() {
            let windows = self.windows.iter();
            windows.filter(|it| begins(it)).for_each(Window::begin);
        }
        let first = self.windows.front()?;
        if self.tasks_left == 0 {
            self.tasks_left = first.n_tasks;
        }
        self.tasks_left -= 1;
        Some(Arc::clone(first))
    }

    /// Cuts the next window of `rows`: as many tasks as have about the bytes of a window, at least one.
    fn cut(
        &mut self,
        rows: &RowSelection,
        task_rows: u64,
        looks_at: impl Fn(&Arc<Column>, &RowSelection) -> bool,
    ) -> Option<Arc<Window>> {
        let bytes_max = self.bytes_max();
        let (mut n_tasks, mut n_bytes, mut end) = (0, 0_u64, self.next_row);
        while let Some((task, task_end)) = rows.piece(end, task_rows) {
            let with_task = n_bytes.saturating_add(bytes_about(&self.columns, &task));
            if n_tasks > 0 && with_task > bytes_max {
                break;
            }
            n_bytes = with_task;
            n_tasks += 1;
            end = task_end;
        }
        let all_rows = task_rows.saturating_mul(n_tasks as u64);
        let (rows, end) = rows.piece(self.next_row, all_rows)?;
        self.next_row = end;
        self.n_windows += 1;
        let rows = rows.without(&self.wish.without);
        let columns = self.columns.iter().filter(|it| looks_at(it, &rows));
        Some(Arc::new(Window {
            columns: columns.cloned().collect(),
            n_tasks,
            n_bytes,
            ..Window::new(&self.wish, rows)
        }))
    }

    /// Bytes of the next window. The first ones are smaller, so that they do not all end at the same time: then no byte
    /// would be on its way until those that follow are answered. The first rows come sooner, too.
    fn bytes_max(&self) -> u64 {
        let step = WINDOW_BYTES / (WINDOWS_AHEAD as u64 + 1);
        WINDOW_BYTES.min(step.saturating_mul(self.n_windows as u64 + 1))
    }
}

/// Encoded bytes of columns for some rows, about.
fn bytes_about(columns: &[Arc<Column>], rows: &RowSelection) -> u64 {
    let bounds = rows.first_from(0).unwrap_or(0)..rows.end();
    let bytes = columns.iter().map(|it| it.encoded_bytes_about(&bounds));
    bytes.fold(0, u64::saturating_add)
}

impl Window {
    /// A window of no columns.
    fn new(wish: &Wish, rows: RowSelection) -> Self {
        Self {
            wish: wish.clone(),
            columns: Vec::new(),
            rows,
            n_tasks: 1,
            n_bytes: 0,
            has_begun: AtomicBool::new(false),
            blocks: OnceLock::new(),
        }
    }

    /// Blocks of these columns for some rows, which are read once, when the first of them is wanted.
    pub(super) fn of(
        file: &Arc<OpenFile>,
        columns: Vec<Arc<Column>>,
        rows: RowSelection,
        cancel: &Cancel,
    ) -> Arc<Self> {
        let wish = Wish {
            file: Arc::clone(file),
            without: Arc::default(),
            cancel: cancel.clone(),
        };
        Arc::new(Self {
            columns,
            ..Self::new(&wish, rows)
        })
    }

    /// Whether it has a column.
    pub(super) fn has(&self, column: &Arc<Column>) -> bool {
        self.columns.iter().any(|it| Arc::ptr_eq(it, column))
    }

    /// Whether reading all of it costs no more than reading the rows that pass once they are known: those, the gaps
    /// that are read over to save requests, and as many bytes as the source sends while it is waited for. As many pass
    /// as did so far.
    pub(super) fn pays(&self, so_far: FoundRows) -> bool {
        let gap_bytes = self.wish.file.source.scan_gap_bytes() as f64;
        let [passed, runs, all] = [so_far.passed, so_far.runs, so_far.all].map(|n| n as f64);
        let share = 1.0 / all.max(1.0);
        let of_rows = self.n_bytes as f64 * passed * share;
        let runs_here = runs * share * self.rows.len() as f64;
        let of_gaps = gap_bytes * runs_here * self.columns.len() as f64;
        of_rows + of_gaps + gap_bytes >= self.n_bytes as f64
    }

    /// Begins to read it, unless that has begun: on a thread of its own, since it waits more than it works: a thread of
    /// the pool would not decode in that time. Where the system gives no thread, the first task of the window reads it.
    fn begin(self: &Arc<Self>) {
        if self.columns.is_empty() || self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let window = Arc::clone(self);
        let thread = thread::Builder::new().name("tarsia-read-ahead".to_owned());
        // A panic ends this thread alone. The first task of the window runs into it, too, and the caller is told.
        drop(thread.spawn(move || {
            window.read();
        }));
    }

    /// Reads the blocks, or waits for the thread that does.
    pub(super) fn read(&self) -> &Blocks {
        // Without blocks each task reads its own, and says which of them cannot be read.
        let read = || self.read_blocks().unwrap_or_default();
        self.blocks.get_or_init(read)
    }

    fn read_blocks(&self) -> Result<Blocks> {
        self.wish.cancel.check()?;
        let columns = self.columns.iter();
        let wanted = columns.map(|column| (&**column, Wanted::Selected(&self.rows)));
        let (plans, blocks) = plan_and_fetch(&self.wish.file, wanted)?;
        let starts = plans.iter().flat_map(Ranges::ranges);
        let starts = starts.map(|range| range.start);
        let blocks = blocks.into_iter().flatten().map(ReadBytes::into_owned);
        Ok(starts.zip(blocks).collect())
    }
}

/// The blocks of plans, which are parts of what windows have; `None` if one of them was not read.
pub(super) fn blocks_of(
    windows: &[Arc<Window>],
    plans: &[Plan],
) -> Option<Vec<Vec<ReadBytes<'static>>>> {
    if windows.is_empty() {
        return None;
    }
    let windows: Vec<&Blocks> = windows.iter().map(|window| window.read()).collect();
    let find = |range: Range<u64>| {
        let mut windows = windows.iter();
        windows.find_map(|blocks| part(blocks, range.clone()))
    };
    let of_plan = |plan: &Plan| plan.ranges().map(find).collect();
    plans.iter().map(of_plan).collect()
}

/// The bytes of a range inside a block.
fn part(blocks: &Blocks, range: Range<u64>) -> Option<ReadBytes<'static>> {
    let (start, bytes) = blocks.range(..=range.start).next_back()?;
    let at = usize::try_from(range.start - start).ok()?;
    let n_bytes = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
    bytes.slice(at..at.checked_add(n_bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_blocks() {
        let block = |bytes: &[u8]| ReadBytes::shared(Arc::new(bytes.to_vec()), 0..bytes.len());
        let blocks: Blocks = [
            (10, block(&[1, 2, 3]).unwrap()),
            (20, block(&[4, 5]).unwrap()),
        ]
        .into();
        let part = |range| part(&blocks, range).map(|bytes| bytes.to_vec());
        assert_eq!(part(10..13), Some(vec![1, 2, 3]));
        assert_eq!(part(11..12), Some(vec![2]));
        assert_eq!(part(20..22), Some(vec![4, 5]));
        assert_eq!(part(13..13), Some(Vec::new()));
        // Before the first block, over its end, between blocks, and behind the last.
        for missing in [9..11, 12..14, 14..15, 21..23, 30..31] {
            assert_eq!(part(missing.clone()), None, "{missing:?}");
        }
    }
}
