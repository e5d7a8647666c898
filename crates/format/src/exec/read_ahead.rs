//! Blocks that a scan reads ahead of decoding, from a source where each read waits.
//!
//! A task of a scan decodes about 3 MiB, which may be 20 KiB of each column. Read task by task, a scan would wait once
//! for each of them, with few bytes on their way, and requests that read over small gaps would read most of a small
//! table each time. So the blocks of several tasks, a *window*, are read in one wave, and windows are read while those
//! before them are decoded.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::thread;

use tarsia_compliance::RowSet;
use tarsia_io::ReadBytes;

use super::cancel::Cancel;
use super::open_file::OpenFile;
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

/// The file and columns that a scan reads.
struct Wish {
    file: Arc<OpenFile>,
    columns: Vec<Arc<Column>>,
    /// Rows that no batch has.
    without: Arc<RowSet>,
    cancel: Cancel,
}

/// The windows of a scan.
pub(super) struct ReadAhead {
    wish: Arc<Wish>,
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
    wish: Arc<Wish>,
    rows: RowSelection,
    n_tasks: usize,
    blocks: OnceLock<Blocks>,
}

impl ReadAhead {
    /// Windows of a scan of these columns, without some rows. `None` where reading task by task costs no more: of a
    /// source that answers at once.
    pub(super) fn new(
        file: &Arc<OpenFile>,
        columns: &[Arc<Column>],
        without: &Arc<RowSet>,
        cancel: &Cancel,
    ) -> Option<Self> {
        let pays = file.source.is_far() && !columns.is_empty();
        let wish = || Wish {
            file: Arc::clone(file),
            columns: columns.to_vec(),
            without: Arc::clone(without),
            cancel: cancel.clone(),
        };
        pays.then(|| Self {
            wish: Arc::new(wish()),
            windows: VecDeque::new(),
            tasks_left: 0,
            next_row: 0,
            n_windows: 0,
        })
    }

    /// Returns the window of the next task of a scan of `rows`. Windows behind it begin to be read, if there may be
    /// other threads than the caller's.
    pub(super) fn next(&mut self, rows: &RowSelection, task_rows: u64) -> Option<Arc<Window>> {
        if self.tasks_left == 0 {
            self.windows.pop_front();
        }
        while self.windows.len() <= WINDOWS_AHEAD
            && let Some(window) = self.cut(rows, task_rows)
        {
            self.windows.push_back(Arc::clone(&window));
            if self.wish.file.session.threads.are_several() {
                begin(window);
            }
        }
        let first = self.windows.front()?;
        if self.tasks_left == 0 {
            self.tasks_left = first.n_tasks;
        }
        self.tasks_left -= 1;
        Some(Arc::clone(first))
    }

    /// Cuts the next window of `rows`: as many tasks as have about the bytes of a window, at least one.
    fn cut(&mut self, rows: &RowSelection, task_rows: u64) -> Option<Arc<Window>> {
        let bytes_max = self.bytes_max();
        let (mut n_tasks, mut n_bytes, mut end) = (0, 0_u64, self.next_row);
        while let Some((task, task_end)) = rows.piece(end, task_rows) {
            let bounds = task.first_from(0).unwrap_or(end)..task_end;
            let columns = self.wish.columns.iter();
            let of_columns = columns.map(|column| column.encoded_bytes_about(&bounds));
            n_bytes = of_columns.fold(n_bytes, u64::saturating_add);
            if n_tasks > 0 && n_bytes > bytes_max {
                break;
            }
            n_tasks += 1;
            end = task_end;
        }
        let all_rows = task_rows.saturating_mul(n_tasks as u64);
        let (rows, end) = rows.piece(self.next_row, all_rows)?;
        self.next_row = end;
        self.n_windows += 1;
        Some(Arc::new(Window {
            rows: rows.without(&self.wish.without),
            wish: Arc::clone(&self.wish),
            n_tasks,
            blocks: OnceLock::new(),
        }))
    }

    /// Bytes of the next window. The first ones are smaller, so that they do not all end at the same time: then no byte
    /// would be on its way until those that follow are answered. The first rows come sooner, too.
    fn bytes_max(&self) -> u64 {
        let step = WINDOW_BYTES / (WINDOWS_AHEAD as u64 + 1);
        WINDOW_BYTES.min(step.saturating_mul(self.n_windows as u64 + 1))
    }
}

/// Reads a window on a thread of its own, since it waits more than it works: a thread of the pool would not decode in
/// that time. Where the system gives no thread, the first task of the window reads it.
fn begin(window: Arc<Window>) {
    let thread = thread::Builder::new().name("tarsia-read-ahead".to_owned());
    // A panic ends this thread alone. The first task of the window runs into it, too, and the caller is told.
    drop(thread.spawn(move || {
        window.read();
    }));
}

impl Window {
    /// Blocks of these columns for some rows, which are read once, when the first of them is wanted.
    pub(super) fn of(
        file: &Arc<OpenFile>,
        columns: Vec<Arc<Column>>,
        rows: RowSelection,
        cancel: &Cancel,
    ) -> Arc<Self> {
        let wish = Wish {
            file: Arc::clone(file),
            columns,
            without: Arc::default(),
            cancel: cancel.clone(),
        };
        Arc::new(Self {
            wish: Arc::new(wish),
            rows,
            n_tasks: 1,
            blocks: OnceLock::new(),
        })
    }

    /// Reads the blocks, or waits for the thread that does.
    pub(super) fn read(&self) -> &Blocks {
        // Without blocks each task reads its own, and says which of them cannot be read.
        let read = || self.read_blocks().unwrap_or_default();
        self.blocks.get_or_init(read)
    }

    fn read_blocks(&self) -> Result<Blocks> {
        self.wish.cancel.check()?;
        let columns = self.wish.columns.iter();
        let wanted = columns.map(|column| (&**column, Wanted::Selected(&self.rows)));
        let (plans, blocks) = plan_and_fetch(&self.wish.file, wanted)?;
        let starts = plans.iter().flat_map(Ranges::ranges);
        let starts = starts.map(|range| range.start);
        let blocks = blocks.into_iter().flatten().map(ReadBytes::into_owned);
        Ok(starts.zip(blocks).collect())
    }
}

/// The blocks of plans; `None` if one of them was not read.
pub(super) fn blocks_of(blocks: &Blocks, plans: &[Plan]) -> Option<Vec<Vec<ReadBytes<'static>>>> {
    let of_plan = |plan: &Plan| plan.ranges().map(|range| part(blocks, range)).collect();
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
