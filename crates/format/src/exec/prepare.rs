//! Completes plans by reading what planners need, and makes the decoders of pages.

use std::ops::Range;
use std::sync::Arc;

use tarsia_codec::OwnedValues;
use tarsia_io::ReadBytes;
use tarsia_structure::SHARED_DEPTH_MAX;

use super::open_file::OpenFile;
use crate::decode::{Decoder, SharedRead, decode_shared, decoder_of, values_of};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Need, PageNumber, Plan, Planned, Planner, RowSelection};
use crate::source::{AtHand, Ranges, Step, Stop, all, run, run_all};
use crate::table::{Blocks, Column, Page};

/// The rows that a plan is for.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Rows in rising order. Of one run, those that the column still holds.
    Selected(&'a RowSelection),
    /// Rising rows, repeats allowed.
    Indices(&'a [u64]),
    /// Rows in the given order.
    InOrder(&'a [u64]),
}

impl Wanted<'_> {
    /// The pages of a column that hold some of the rows, in order.
    fn pages(self, column: &Column) -> Vec<usize> {
        let mut pages: Vec<usize> = match self {
            Self::Selected(rows) => {
                let mut next = rows.first_from(0);
                std::iter::from_fn(|| {
                    let index = column.page_of(next?).ok()?;
                    next = rows.first_from(column.pages.get(index)?.rows().end);
                    Some(index)
                })
                .collect()
            }
            Self::Indices(rows) | Self::InOrder(rows) => pages_of_rows(column, rows).collect(),
        };
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    fn plan(self, planner: &Planner<'_>, column: &Column) -> Result<Planned> {
        match self {
            Self::Selected(rows) => planner.selected(column, rows),
            Self::Indices(sorted) => planner.indices(column, sorted),
            Self::InOrder(rows) => planner.in_order(column, rows),
        }
    }
}

/// The pages that hold rows of a column, one for each run of rows in one page.
fn pages_of_rows<'c>(column: &'c Column, rows: &'c [u64]) -> impl Iterator<Item = usize> + 'c {
    let mut held = 0..0;
    rows.iter().filter_map(move |row| {
        if held.contains(row) {
            return None;
        }
        let index = column.page_of(*row).ok()?;
        held = column.pages.get(index).map_or(0..0, Page::rows);
        Some(index)
    })
}

/// Completes a plan. While the planner needs block tables or indexes, they are supplied, and it is asked again.
fn completed(
    file: &OpenFile,
    hand: &AtHand<'_>,
    column: &Column,
    plan: impl Fn(&Planner<'_>) -> Result<Planned>,
) -> Step<Plan> {
    let planner = file.planner();
    loop {
        match plan(&planner)? {
            Planned::Ready(plan) => return Ok(plan),
            Planned::Needs(needs) => supply(file, hand, column, &needs)?,
        }
    }
}

fn supply(file: &OpenFile, hand: &AtHand<'_>, column: &Column, needs: &[Need]) -> Step<()> {
    let supplied = needs.iter().map(|need| {
        let bytes = hand.get(need.range.clone())?;
        Ok(file.planner().supply(column, need, &bytes)?)
    });
    all(supplied).map(drop)
}

/// Plans to read some rows, one for each of these columns. What they need is read in waves for all of them; of files
/// that are not in memory shared pages and kernels, too, so that decoding does not wait for them one by one.
pub(crate) fn plan_all<'c>(
    file: &OpenFile,
    columns: impl IntoIterator<Item = (&'c Column, Wanted<'c>)>,
) -> Result<Vec<Plan>> {
    if file.source.is_mapped() {
        return plan_mapped(file, columns);
    }
    let columns: Vec<_> = columns.into_iter().collect();
    run_all(&file.source, &columns, |hand, (column, wanted)| {
        let plan = planned(file, hand, column, *wanted)?;
        prepared(file, hand, column, &plan)?;
        Ok(plan)
    })
}

/// Plans for a file in memory, where no step waits: one column after the other.
fn plan_mapped<'c>(
    file: &OpenFile,
    columns: impl IntoIterator<Item = (&'c Column, Wanted<'c>)>,
) -> Result<Vec<Plan>> {
    let plans = columns
        .into_iter()
        .map(|(column, wanted)| run(&file.source, |hand| planned(file, hand, column, wanted)));
    plans.collect()
}

/// Plans, and the bytes of the blocks of each.
pub(crate) type Fetched<'f> = (Vec<Plan>, Vec<Vec<ReadBytes<'f>>>);

/// Plans to read some rows of these columns, and the bytes of the blocks of each plan. Of a file that is not in memory
/// they come in one wave with what decoding them needs.
pub(crate) fn plan_and_fetch<'f, 'c>(
    file: &'f OpenFile,
    columns: impl IntoIterator<Item = (&'c Column, Wanted<'c>)>,
) -> Result<Fetched<'f>> {
    if file.source.is_mapped() {
        let plans = plan_mapped(file, columns)?;
        let blocks = file.source.fetch_all(&plans)?;
        return Ok((plans, blocks));
    }
    let columns: Vec<_> = columns.into_iter().collect();
    let fetched = run_all(&file.source, &columns, |hand, (column, wanted)| {
        let plan = planned(file, hand, column, *wanted)?;
        let prepared = prepared(file, hand, column, &plan);
        let blocks = all(plan.ranges().map(|range| hand.get_block(range)));
        prepared?;
        Ok((plan, blocks?))
    })?;
    Ok(fetched.into_iter().unzip())
}

/// A plan; if it is not complete, all that completing and decoding it needs is noted.
fn planned(file: &OpenFile, hand: &AtHand<'_>, column: &Column, wanted: Wanted<'_>) -> Step<Plan> {
    let planned = completed(file, hand, column, |planner| wanted.plan(planner, column));
    if planned.is_err() && !hand.is_all() {
        let mut ranges = Vec::new();
        let pages = wanted.pages(column).into_iter();
        file.planner().push_tables(column, pages, &mut ranges);
        hand.want(ranges);
    }
    planned
}

/// A plan to read the rows `rows` of the table, as far as the column still holds them.
pub(crate) fn plan_rows(file: &OpenFile, column: &Column, rows: Range<u64>) -> Result<Plan> {
    let rows = RowSelection::from(rows);
    run(&file.source, |hand| {
        let plan = planned(file, hand, column, Wanted::Selected(&rows))?;
        prepared(file, hand, column, &plan)?;
        Ok(plan)
    })
}

/// The block table of a page.
pub(crate) fn blocks_of<'c>(
    file: &OpenFile,
    column: &'c Column,
    page: PageNumber,
) -> Result<&'c Blocks> {
    let needs = file.planner().block_table(column, page)?;
    if !needs.is_empty() {
        run(&file.source, |hand| supply(file, hand, column, &needs))?;
    }
    let none = || Error::new(ErrorKind::Corrupt, "a page without its block table");
    page.of(column)?.blocks()?.ok_or_else(none)
}

/// Prefetches the block tables and indexes that plans for these rows (rising) need, of all columns at once.
pub(crate) fn prefetch_tables(file: &OpenFile, columns: &[Arc<Column>], sorted: &[u64]) {
    if !file.source.is_mapped() {
        return;
    }
    let planner = file.planner();
    let mut ranges = Vec::new();
    for column in columns {
        planner.push_tables(column, pages_of_rows(column, sorted), &mut ranges);
    }
    if !ranges.is_empty() {
        file.source.prefetch(&ranges);
    }
}

/// Makes the decoders of all pages of a plan. This reads and decodes the pages' shared pages and loads their kernels.
pub(crate) fn prepare(file: &OpenFile, column: &Column, plan: &Plan) -> Result<()> {
    let is_prepared = |index| column.page(index).is_ok_and(|page| page.kept.is_set());
    if plan.page_indexes().all(is_prepared) {
        return Ok(());
    }
    run(&file.source, |hand| prepared(file, hand, column, plan))
}

fn prepared(file: &OpenFile, hand: &AtHand<'_>, column: &Column, plan: &Plan) -> Step<()> {
    let pages = plan.page_indexes().map(|index| {
        let page = column.page(index)?;
        if page.kept.is_set() {
            return Ok(());
        }
        let done = prepare_page(file, hand, column, page);
        done.map_err(|stop| stop.map(|error| column.at(error, index)))
    });
    all(pages).map(drop)
}

/// Makes the decoders of one data page.
fn prepare_page(file: &OpenFile, hand: &AtHand<'_>, column: &Column, page: &Page) -> Step<()> {
    load_what_it_names(file, hand, column, page, 0)?;
    Ok(file.decoding().prepare(column, page)?)
}

/// The decoders of a data page that this build does not decode by itself.
pub(crate) fn foreign_decoder<'c>(
    file: &OpenFile,
    column: &'c Column,
    page: &'c Page,
) -> Result<Option<&'c Arc<Decoder>>> {
    let names_kernel = page.description.kernel().is_some();
    let meta = page.description.meta()?;
    if file.session.decodes_natively(meta, names_kernel) {
        return Ok(None);
    }
    if !page.kept.is_set() {
        run(&file.source, |hand| prepare_page(file, hand, column, page))?;
    }
    decoder_of(page).map(Some)
}

/// Reads the shared pages and the kernel that the decoders of a page need. `depth` is 0 for a data page, and for a
/// shared page one more than for the page that names it.
fn load_what_it_names(
    file: &OpenFile,
    hand: &AtHand<'_>,
    column: &Column,
    page: &Page,
    depth: u32,
) -> Step<()> {
    let list = page.shared();
    if !list.is_empty() && depth > SHARED_DEPTH_MAX {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("shared buffers of shared buffers more than {SHARED_DEPTH_MAX} deep"),
        )
        .into());
    }
    let numbers = list.iter().map(|number| *number as usize);
    let shared = numbers.map(|number| load_shared(file, hand, column, number, depth));
    let (shared, kernel) = (all(shared), load_kernel(file, hand, page));
    shared?;
    kernel
}

/// The decoded values of a shared page, which are read and decoded once.
pub(crate) fn prepare_shared(
    file: &OpenFile,
    column: &Column,
    number: usize,
) -> Result<Arc<OwnedValues>> {
    run(&file.source, |hand| {
        load_shared(file, hand, column, number, 0)
    })?;
    values_of(column.shared_page(number)?)
}

fn load_shared(
    file: &OpenFile,
    hand: &AtHand<'_>,
    column: &Column,
    number: usize,
    depth: u32,
) -> Step<()> {
    let page = column.shared_page(number)?;
    if page.kept.is_set() {
        return Ok(());
    }
    let load = || {
        load_what_it_names(file, hand, column, page, depth + 1)?;
        let plan = completed(file, hand, column, |planner| planner.shared(column, number))?;
        let blocks = all(plan.ranges().map(|range| hand.get(range)))?;
        let read = SharedRead {
            column,
            page,
            plan: &plan,
            blocks: &blocks,
        };
        Ok(decode_shared(file.decoding(), &read)?)
    };
    load().map_err(|stop: Stop| stop.map(|error| error.prefixed(&format!("shared page {number}"))))
}

/// Loads the kernel that decodes a page, if one does.
#[cfg(feature = "kernels")]
fn load_kernel(file: &OpenFile, hand: &AtHand<'_>, page: &Page) -> Step<()> {
    let (meta, kernel) = (page.description.meta()?, page.description.kernel());
    if file.session.decodes_natively(meta, kernel.is_some()) {
        return Ok(());
    }
    let Some(number) = kernel else {
        let what = "the file carries no kernel for these pages";
        return Err(Error::new(ErrorKind::Unsupported, what).into());
    };
    if file.decoders.kernel(number).is_some() {
        return Ok(());
    }
    let section = file.catalog.kernel_sections().nth(number.into());
    let none = || Error::new(ErrorKind::Corrupt, format!("kernel {number}"));
    let section = hand.get(section.ok_or_else(none)?.range.clone())?;
    let kernel = crate::decode::load_kernel(&section, &file.session.trusted_kernels)?;
    file.decoders.keep_kernel(number, kernel);
    Ok(())
}

#[cfg(not(feature = "kernels"))]
fn load_kernel(_: &OpenFile, _: &AtHand<'_>, _: &Page) -> Step<()> {
    Ok(())
}
