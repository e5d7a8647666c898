//! Makes plans, of what is known of a column's pages.

use std::ops::Range;

use tarsia_codec::ValueType;
use tarsia_compliance::RowSet;
use tarsia_metadata::ErasureLevel;
use tarsia_structure::block::header_bytes;
use tarsia_structure::full_zip::IndexFront;
use tarsia_structure::{FullZipForm, SHARED_DEPTH_MAX};

use super::{BlockPart, LoneRows, Plan, RowSelection, Selected};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::options::{Checksums, Kernels};
use crate::session::Session;
use crate::source::slice_of;
use crate::table::{Blocks, Column, IndexOfRows, IndexedRows, Page, Present};

/// Rows of byte strings that are handed to a kernel together.
const KERNEL_PIECE_BYTES: u32 = 64 << 10;

/// A shared page of more bytes is not read ahead: a file may say that it has one of 4 GiB.
const SHARED_AHEAD_BYTES_MAX: u32 = 16 << 20;

/// Result of planning.
#[derive(Debug)]
pub(crate) enum Planned {
    /// All that was asked for.
    Ready(Plan),
    /// The planner has to be supplied with these, and asked again.
    Needs(Vec<Need>),
}

/// A range of the file that a planner wants to know, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The bytes to read.
    pub(crate) range: Range<u64>,
    page: PageNumber,
    what: NeedKind,
}

impl Need {
    /// Adds it once: several runs of rows may lie in the same page and block.
    fn push_to(self, needs: &mut Vec<Need>) {
        if !needs.contains(&self) {
            needs.push(self);
        }
    }
}

/// A page of a column: of its rows, or shared by those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageNumber {
    Data(usize),
    Shared(usize),
}

impl PageNumber {
    /// The page itself.
    pub(crate) fn of(self, column: &Column) -> Result<&Page> {
        match self {
            Self::Data(index) => column.page(index),
            Self::Shared(number) => column.shared_page(number),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NeedKind {
    /// The block table of the page.
    BlockTable,
    /// The index of the rows of a block.
    IndexOfRows(u32),
}

/// Plans reads of columns, of what is in memory alone.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    /// All bytes of a file in memory.
    pub(crate) mapped: Option<&'a [u8]>,
    pub(crate) session: &'a Session,
}

/// A plan being made, or a list of what it needs.
#[derive(Default)]
struct Draft {
    plan: Plan,
    needs: Vec<Need>,
}

impl Draft {
    fn finish(self) -> Planned {
        match self.needs.is_empty() {
            true => Planned::Ready(self.plan),
            false => Planned::Needs(self.needs),
        }
    }
}

/// A page of a column, as it is planned.
#[derive(Clone, Copy)]
struct PlannedPage<'a> {
    page: &'a Page,
    number: PageNumber,
    /// The form of its rows, if they are read without their blocks.
    rows: Option<FullZipForm>,
    /// Whether its blocks have salts, as all blocks of a column at level 2.
    salted: bool,
    /// The rows of the table that it does not hold any more.
    erased: Option<&'a RowSet>,
}

impl<'a> PlannedPage<'a> {
    /// A page of which no rows were erased, and that is read by blocks.
    fn whole(column: &'a Column, number: PageNumber) -> Result<Self> {
        Ok(Self {
            page: number.of(column)?,
            number,
            rows: None,
            salted: column.level == ErasureLevel::Erase,
            erased: None,
        })
    }

    /// Which rows of a block are left.
    fn present(&self, held: &Range<u32>) -> Present<'a> {
        let first = self.page.descriptor.first_row;
        let rows = first + u64::from(held.start)..first + u64::from(held.end);
        Present::of(self.erased, rows)
    }

    fn index(&self) -> u32 {
        match self.number {
            PageNumber::Data(index) => index as u32,
            PageNumber::Shared(_) => 0,
        }
    }

    /// Its block table, or the note that it is needed.
    fn blocks(&self, needs: &mut Vec<Need>) -> Result<Option<&Blocks>> {
        let blocks = self.page.blocks()?;
        if blocks.is_none() {
            let need = Need {
                // A page whose table is not known has one.
                range: self.page.descriptor.table_range().unwrap_or(0..0),
                page: self.number,
                what: NeedKind::BlockTable,
            };
            need.push_to(needs);
        }
        Ok(blocks)
    }
}

impl<'a> Planner<'a> {
    /// The blocks that hold `rows` of the table; rows that the column does not hold any more are passed over.
    pub(crate) fn rows(&self, column: &Column, rows: Range<u64>) -> Result<Planned> {
        let mut draft = Draft::default();
        draft.plan.may_be_cut = true;
        if rows.is_empty() || column.value_type.is_none() {
            draft.plan.rows = column.n_present(rows) as usize;
            return Ok(draft.finish());
        }
        self.add_run(column, rows, &mut draft)?;
        Ok(draft.finish())
    }

    /// The blocks that hold selected rows, all of which the column still holds. Blocks of which all are selected, or a
    /// run, are read as ranges.
    pub(crate) fn selected(&self, column: &Column, rows: &RowSelection) -> Result<Planned> {
        if let Some(run) = rows.as_run() {
            return self.rows(column, run);
        }
        let mut draft = Draft::default();
        draft.plan.may_be_cut = true;
        draft.plan.rows = rows.len() as usize;
        if column.value_type.is_none() {
            return Ok(draft.finish());
        }
        let mut next = rows.first_from(0);
        while let Some(row) = next {
            let index = column.page_of(row)?;
            self.planned_page(column, index)
                .and_then(|page| self.add_selected(page, rows, &mut draft))
                .map_err(|error| column.at(error, index))?;
            next = rows.first_from(column.page(index)?.rows().end);
        }
        Ok(draft.finish())
    }

    /// The blocks that hold the rows `sorted` (rising, repeats allowed). Blocks of which every row is asked for once
    /// are read as ranges.
    pub(crate) fn indices(&self, column: &Column, sorted: &[u64]) -> Result<Planned> {
        let mut draft = Draft::default();
        draft.plan.rows = sorted.len();
        if column.value_type.is_none() {
            return Ok(draft.finish());
        }
        let mut at = 0;
        while let Some(row) = sorted.get(at) {
            let index = column.page_of(*row)?;
            let page = column.page(index)?;
            let page_end = at + sorted[at..].partition_point(|row| *row < page.rows().end);
            self.planned_page(column, index)
                .and_then(|page| self.add_indices(page, &sorted[at..page_end], &mut draft))
                .map_err(|error| column.at(error, index))?;
            at = page_end;
        }
        Ok(draft.finish())
    }

    /// The blocks that hold `rows`, in their order: a block for each run of them that follow each other. As
    /// [`Planner::indices`] where rows are about as long as a block, which is then read for one of them.
    pub(crate) fn in_order(&self, column: &Column, rows: &[u64]) -> Result<Planned> {
        let mut draft = Draft::default();
        draft.plan.is_of_long_rows = true;
        if column.value_type.is_none() {
            draft.plan.rows = rows.len();
            return Ok(draft.finish());
        }
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            self.add_run(column, run[0]..run[0] + run.len() as u64, &mut draft)?;
        }
        Ok(draft.finish())
    }

    /// All blocks of a shared page.
    pub(crate) fn shared(&self, column: &Column, number: usize) -> Result<Planned> {
        let mut draft = Draft::default();
        let page = PlannedPage::whole(column, PageNumber::Shared(number))?;
        self.add_range(page, 0..page.page.descriptor.rows, &mut draft)?;
        Ok(draft.finish())
    }

    /// Returns what has to be supplied before the block table of a page is known.
    pub(crate) fn block_table(&self, column: &Column, page: PageNumber) -> Result<Vec<Need>> {
        let mut needs = Vec::new();
        PlannedPage::whole(column, page)?.blocks(&mut needs)?;
        Ok(needs)
    }

    /// Keeps what a planner needed, with the column it planned for.
    pub(crate) fn supply(&self, column: &Column, need: &Need, bytes: &[u8]) -> Result<()> {
        let page = need.page.of(column)?;
        let supply = || match need.what {
            NeedKind::BlockTable => page.keep_blocks(bytes.to_vec()).map(drop),
            NeedKind::IndexOfRows(block) => {
                let keep = || {
                    let meta = page.description.meta()?;
                    let form = FullZipForm::of(meta).map_err(while_reading)?;
                    let (Some(form), Some(blocks)) = (form, page.blocks()?) else {
                        let what = "an index of rows where there is none";
                        return Err(Error::new(ErrorKind::InvalidInput, what));
                    };
                    let rows = blocks.rows_of(block)?;
                    let rows = IndexedRows {
                        logical: rows.end - rows.start,
                        present: column.n_present_of(page, &rows),
                    };
                    let index = self.parse_index(bytes, form, rows)?;
                    let _ = page.index_of_rows(block)?.set(index);
                    Ok(())
                };
                keep().map_err(|error| error.in_block(block.into()))
            }
        };
        supply().map_err(|error| match need.page {
            PageNumber::Data(index) => column.at(error, index),
            PageNumber::Shared(_) => error.in_column(column.name()),
        })
    }

    /// Adds what plans for some pages of a column are going to need and read beside their blocks, as far as it is not
    /// known: block tables, indexes of rows, and shared pages, of pages that were not touched before.
    pub(crate) fn push_tables(
        &self,
        column: &Column,
        pages: impl Iterator<Item = usize>,
        ranges: &mut Vec<Range<u64>>,
    ) {
        for page in pages.filter_map(|index| column.pages.get(index)) {
            if page.has_blocks() {
                continue;
            }
            let table = page.descriptor.table_range();
            if table.is_none() && page.is_indexed() {
                let Range { start, end } = page.descriptor.range();
                let front = IndexFront::bytes_max(page.descriptor.rows);
                ranges.push(start..end.min(start + front));
            }
            ranges.extend(table);
            self.push_shared(column, page, SHARED_DEPTH_MAX, ranges);
        }
    }

    /// Adds the shared pages that a page is decoded with, and those that these are decoded with, up to a depth.
    fn push_shared(&self, column: &Column, page: &Page, depth: u32, ranges: &mut Vec<Range<u64>>) {
        for number in page.shared() {
            let shared = column.shared_pages.get(*number as usize);
            let Some(shared) = shared.filter(|page| !page.kept.is_set()) else {
                continue;
            };
            ranges.extend(shared.descriptor.table_range());
            if shared.descriptor.length <= SHARED_AHEAD_BYTES_MAX {
                ranges.push(shared.descriptor.range());
            }
            if depth > 0 {
                self.push_shared(column, shared, depth - 1, ranges);
            }
        }
    }

    fn planned_page<'c>(&self, column: &'c Column, index: usize) -> Result<PlannedPage<'c>> {
        let page = PlannedPage::whole(column, PageNumber::Data(index))?;
        Ok(PlannedPage {
            rows: self.form_of_rows(column, page.page)?,
            erased: column.erased.as_deref(),
            ..page
        })
    }

    /// Returns the form of the rows of a full-zip page, if they are read without their blocks; `None` for mini-blocks.
    fn form_of_rows(&self, column: &Column, page: &Page) -> Result<Option<FullZipForm>> {
        if column.is_flat() && column.value_type != Some(ValueType::Bytes) {
            return Ok(None);
        }
        let meta = page.description.meta()?;
        let form = FullZipForm::of(meta).map_err(while_reading)?;
        let names_kernel = page.description.kernel().is_some();
        // A kernel is given whole blocks of rows of a fixed width.
        Ok(form
            .filter(|form| form.is_indexed() || self.session.decodes_natively(meta, names_kernel)))
    }

    /// Adds the blocks that hold a run of rows.
    fn add_run(&self, column: &Column, rows: Range<u64>, draft: &mut Draft) -> Result<()> {
        let mut row = rows.start;
        let mut index = column.page_of(row)?;
        while row < rows.end {
            let held = column.page(index)?.rows();
            if !held.contains(&row) {
                let error = Error::new(ErrorKind::Corrupt, format!("no page holds row {row}"));
                return Err(column.at(error, index));
            }
            let upto = held.end.min(rows.end);
            // Inside a page, whose rows are counted in 32 bits.
            let of_page = (row - held.start) as u32..(upto - held.start) as u32;
            self.planned_page(column, index)
                .and_then(|page| self.add_range(page, of_page, draft))
                .map_err(|error| column.at(error, index))?;
            row = upto;
            index += 1;
        }
        Ok(())
    }

    /// Adds the blocks of a page that hold `rows` of it.
    fn add_range(&self, page: PlannedPage<'_>, rows: Range<u32>, draft: &mut Draft) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let Some(blocks) = page.blocks(&mut draft.needs)? else {
            return Ok(());
        };
        let mut block = blocks.block_of_row(rows.start)?;
        let mut row = rows.start;
        while row < rows.end {
            let held = blocks.rows_of(block)?;
            if !held.contains(&row) {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    "block rows do not follow each other",
                ));
            }
            let upto = rows.end.min(held.end);
            // Rows that were erased are passed over.
            let mut present = page.present(&held);
            let first_row = page.page.descriptor.first_row;
            let start = present.index_of(first_row + u64::from(row));
            let end = present.index_of(first_row + u64::from(upto));
            let whole = end - start == present.n_rows;
            match page.rows.filter(|form| !whole || form.is_indexed()) {
                _ if start == end => {}
                Some(form) => self.add_lone_rows(page, block, form, start..end, draft)?,
                None => draft.plan.parts.push(BlockPart {
                    page: page.index(),
                    block,
                    place: page.page.place_of(blocks, block)?,
                    rows: present.n_rows,
                    logical_rows: held.end - held.start,
                    selected: Selected::from(start..end),
                    lone_rows: None,
                }),
            }
            draft.plan.rows += (end - start) as usize;
            row = upto;
            block += 1;
        }
        Ok(())
    }

    /// Adds the blocks of a page that hold selected rows of the table.
    fn add_selected(
        &self,
        page: PlannedPage<'_>,
        rows: &RowSelection,
        draft: &mut Draft,
    ) -> Result<()> {
        let Range { start, end } = page.page.rows();
        let Some(blocks) = page.blocks(&mut draft.needs)? else {
            return Ok(());
        };
        let mut next = rows.first_from(start);
        while let Some(row) = next.filter(|row| *row < end) {
            // Inside a page, whose rows are counted in 32 bits.
            let block = blocks.block_of_row((row - start) as u32)?;
            let held = blocks.rows_of(block)?;
            let of_block = start + u64::from(held.start)..start + u64::from(held.end);
            if !of_block.contains(&row) {
                let what = "block rows do not follow each other";
                return Err(Error::new(ErrorKind::Corrupt, what));
            }
            next = rows.first_from(of_block.end);
            let mut present = page.present(&held);
            let selected = if page.rows.is_none() && present.is_whole() {
                selected_places(rows, of_block, &mut draft.plan.indices)
            } else {
                let runs = present_runs(&mut present, rows.runs_within(of_block));
                let whole = runs.as_slice() == std::slice::from_ref(&(0..present.n_rows));
                if let Some(form) = page.rows.filter(|form| !whole || form.is_indexed()) {
                    for run in runs {
                        self.add_lone_rows(page, block, form, run, draft)?;
                    }
                    continue;
                }
                selected_runs(&runs, &mut draft.plan.indices)
            };
            let plan = &mut draft.plan;
            plan.parts.push(BlockPart {
                page: page.index(),
                block,
                place: page.page.place_of(blocks, block)?,
                rows: present.n_rows,
                logical_rows: held.end - held.start,
                selected,
                lone_rows: None,
            });
        }
        Ok(())
    }

    /// Adds the blocks of a page that hold the rows `sorted` of the table.
    fn add_indices(&self, page: PlannedPage<'_>, sorted: &[u64], draft: &mut Draft) -> Result<()> {
        let first_row = page.page.descriptor.first_row;
        let Some(blocks) = page.blocks(&mut draft.needs)? else {
            return Ok(());
        };
        let mut at = 0;
        while let Some(row) = sorted.get(at) {
            // Inside a page, whose rows are counted in 32 bits.
            let block = blocks.block_of_row((row - first_row) as u32)?;
            let held = blocks.rows_of(block)?;
            let end = first_row + u64::from(held.end);
            let mut present = page.present(&held);
            let block_end = at + sorted[at..].partition_point(|row| *row < end);
            let rows = &sorted[at..block_end];
            at = block_end;
            if let Some(form) = page.rows {
                // Each run of rows by itself: what lies close together is read together all the same.
                for run in rows.chunk_by(|a, b| a + 1 == *b) {
                    let first = present.index_of(run[0]);
                    let run = first..first + run.len() as u32;
                    self.add_lone_rows(page, block, form, run, draft)?;
                }
                continue;
            }
            let plan = &mut draft.plan;
            let from = plan.indices.len();
            let in_block = rows.iter().map(|row| present.index_of(*row));
            plan.indices.extend(in_block);
            let in_block = plan.indices.get(from..).unwrap_or_default();
            let contiguous = in_block.windows(2).all(|pair| pair[0] + 1 == pair[1]);
            let selected = match in_block.first() {
                Some(start) if contiguous => {
                    let (start, len) = (*start, in_block.len() as u32);
                    plan.indices.truncate(from);
                    Selected::Range { start, len }
                }
                _ => Selected::Indices(from..plan.indices.len()),
            };
            plan.parts.push(BlockPart {
                page: page.index(),
                block,
                place: page.page.place_of(blocks, block)?,
                rows: present.n_rows,
                logical_rows: held.end - held.start,
                selected,
                lone_rows: None,
            });
        }
        Ok(())
    }

    /// Adds rows of a block of a full-zip page, which are read without their block; `in_block` counts those that are
    /// left.
    fn add_lone_rows(
        &self,
        page: PlannedPage<'_>,
        block: u32,
        form: FullZipForm,
        in_block: Range<u32>,
        draft: &mut Draft,
    ) -> Result<()> {
        let Some(blocks) = page.blocks(&mut draft.needs)? else {
            return Ok(());
        };
        let held = blocks.rows_of(block)?;
        let place = page.page.place_of(blocks, block)?;
        let part = |rows: Range<u32>, of_rows: Range<u64>, entries: Range<usize>| {
            if of_rows.end > place.end || of_rows.start > of_rows.end {
                let what = "a block is shorter than its rows";
                return Err(Error::new(ErrorKind::Corrupt, what).in_block(block.into()));
            }
            let n_rows = rows.end - rows.start;
            Ok(BlockPart {
                page: page.index(),
                block,
                place: of_rows,
                rows: n_rows,
                logical_rows: n_rows,
                selected: Selected::from(0..n_rows),
                lone_rows: Some(LoneRows {
                    first: held.start + rows.start,
                    entries,
                }),
            })
        };
        if let Some(stride) = form.stride() {
            let values_at = place.start + header_bytes(page.salted) as u64;
            let at = |row: u32| values_at + u64::from(row) * stride as u64;
            let of_rows = at(in_block.start)..at(in_block.end);
            draft.plan.parts.push(part(in_block, of_rows, 0..0)?);
            return Ok(());
        }
        let rows = IndexedRows {
            logical: held.end - held.start,
            present: page.present(&held).n_rows,
        };
        let index = self.index_of_rows(page.page, block, form, rows, &place);
        let Some(index) = index.map_err(|error| error.in_block(block.into()))? else {
            let need = Need {
                range: IndexOfRows::range(&place, held.end - held.start),
                page: page.number,
                what: NeedKind::IndexOfRows(block),
            };
            need.push_to(&mut draft.needs);
            return Ok(());
        };
        let front = index
            .front(self.mapped, &place)
            .map_err(|error| error.in_block(block.into()))?;
        let values_at = place.start + front.values_at as u64;
        // A kernel decodes blocks that are made of the rows: not too large ones, which stay in the cache.
        let piece_bytes_max = match self.session.kernels {
            Kernels::Forced => KERNEL_PIECE_BYTES,
            Kernels::Never | Kernels::Trusted => u32::MAX,
        };
        let mut first = in_block.start;
        while first < in_block.end {
            let start = front.index.place(first).start;
            let fits =
                |row: &u32| front.index.place(*row).end.saturating_sub(start) <= piece_bytes_max;
            let n_rows = (first..in_block.end).take_while(fits).count().max(1) as u32;
            let rows = front.index.slice(first..first + n_rows);
            let entries = &mut draft.plan.row_entries;
            let first_entry = entries.len();
            rows.copy_to(entries);
            let entries = first_entry..entries.len();
            let extent = rows.extent();
            let of_rows = values_at + u64::from(extent.start)..values_at + u64::from(extent.end);
            let part = part(first..first + n_rows, of_rows, entries)?;
            draft.plan.parts.push(part);
            first += n_rows;
        }
        Ok(())
    }

    /// The index of a block's rows, if it was read before or lies in memory.
    fn index_of_rows<'p>(
        &self,
        page: &'p Page,
        block: u32,
        form: FullZipForm,
        rows: IndexedRows,
        place: &Range<u64>,
    ) -> Result<Option<&'p IndexOfRows>> {
        let cell = page.index_of_rows(block)?;
        let parse = || -> Result<Option<IndexOfRows>> {
            let bytes = slice_of(self.mapped, IndexOfRows::range(place, rows.logical));
            bytes
                .map(|bytes| self.parse_index(bytes, form, rows))
                .transpose()
        };
        if cell.get().is_some() {
            if self.session.checksums == Checksums::Always {
                parse()?;
            }
        } else if let Some(index) = parse()? {
            let _ = cell.set(index);
        }
        Ok(cell.get())
    }

    fn parse_index(
        &self,
        bytes: &[u8],
        form: FullZipForm,
        rows: IndexedRows,
    ) -> Result<IndexOfRows> {
        let checksums = self.session.checksums;
        IndexOfRows::parse(bytes, form, rows, checksums, self.mapped.is_some())
    }
}

/// The selected rows of a block of which none is missing.
fn selected_places(rows: &RowSelection, of_block: Range<u64>, indices: &mut Vec<u32>) -> Selected {
    let mut runs = rows.runs_within(of_block.clone());
    if let (Some(run), None) = (runs.next(), runs.next()) {
        let place = |row: u64| (row - of_block.start) as u32;
        return Selected::from(place(run.start)..place(run.end));
    }
    let from = indices.len();
    rows.push_indices_within(of_block, indices);
    Selected::Indices(from..indices.len())
}

/// The runs of a block's rows that are left, of which rows between them were erased.
fn present_runs(
    present: &mut Present<'_>,
    rows: impl Iterator<Item = Range<u64>>,
) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for run in rows {
        let first = present.index_of(run.start);
        let end = first + (run.end - run.start) as u32;
        match runs.last_mut() {
            // Between them are rows that were erased.
            Some(last) if last.end == first => last.end = end,
            _ => runs.push(first..end),
        }
    }
    runs
}

fn selected_runs(runs: &[Range<u32>], indices: &mut Vec<u32>) -> Selected {
    if let [run] = runs {
        return Selected::from(run.clone());
    }
    let from = indices.len();
    indices.extend(runs.iter().cloned().flatten());
    Selected::Indices(from..indices.len())
}
