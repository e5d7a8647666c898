//! Completes plans by reading what planners need, and makes the decoders of pages.

use std::ops::Range;
use std::sync::Arc;

use tarsia_codec::OwnedValues;
use tarsia_structure::SHARED_DEPTH_MAX;

use super::open_file::OpenFile;
use crate::decode::{Decoder, SharedRead, decode_shared, decoder_of, values_of};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Need, PageNumber, Plan, Planned, Planner};
use crate::source::Ranges;
use crate::table::{Blocks, Column, Page};

/// Completes a plan. While the planner needs block tables or indexes, they are read, and it is asked again.
fn drive(
    file: &OpenFile,
    column: &Column,
    plan: impl Fn(&Planner<'_>) -> Result<Planned>,
) -> Result<Plan> {
    let planner = file.planner();
    loop {
        match plan(&planner)? {
            Planned::Ready(plan) => return Ok(plan),
            Planned::Needs(needs) => supply(file, column, &needs)?,
        }
    }
}

fn supply(file: &OpenFile, column: &Column, needs: &[Need]) -> Result<()> {
    for need in needs {
        let bytes = file.source.read_metadata(need.range.clone())?;
        file.planner().supply(column, need, &bytes)?;
    }
    Ok(())
}

/// A plan to read the rows `rows` of the table.
pub(crate) fn plan_rows(file: &OpenFile, column: &Column, rows: Range<u64>) -> Result<Plan> {
    drive(file, column, |planner| planner.rows(column, rows.clone()))
}

/// A plan to read those of `rows` that are not deleted, which `live` lists if it is not all of them.
pub(crate) fn plan_live(
    file: &OpenFile,
    column: &Column,
    rows: &Range<u64>,
    live: Option<&[u64]>,
) -> Result<Plan> {
    match live {
        // What the column still holds is what is wanted.
        Some(live) if column.n_present(rows.clone()) != live.len() as u64 => {
            let plan = plan_indices(file, column, live)?;
            Ok(Plan {
                may_be_cut: true,
                ..plan
            })
        }
        _ => plan_rows(file, column, rows.clone()),
    }
}

/// A plan to read the rows `sorted` (rising, repeats allowed).
pub(crate) fn plan_indices(file: &OpenFile, column: &Column, sorted: &[u64]) -> Result<Plan> {
    drive(file, column, |planner| planner.indices(column, sorted))
}

/// A plan to read `rows` in the given order.
pub(crate) fn plan_in_order(file: &OpenFile, column: &Column, rows: &[u64]) -> Result<Plan> {
    drive(file, column, |planner| planner.in_order(column, rows))
}

/// The block table of a page.
pub(crate) fn blocks_of<'c>(
    file: &OpenFile,
    column: &'c Column,
    page: PageNumber,
) -> Result<&'c Blocks> {
    supply(file, column, &file.planner().block_table(column, page)?)?;
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
        planner.push_tables(column, sorted, &mut ranges);
    }
    if !ranges.is_empty() {
        file.source.prefetch(&ranges);
    }
}

/// Makes the decoders of all pages of a plan. This reads and decodes the pages' shared pages and loads their kernels.
pub(crate) fn prepare(file: &OpenFile, column: &Column, plan: &Plan) -> Result<()> {
    for index in plan.page_indexes() {
        let page = column.page(index)?;
        if page.kept.is_set() {
            continue;
        }
        prepare_page(file, column, page).map_err(|error| column.at(error, index))?;
    }
    Ok(())
}

/// Makes the decoders of one data page.
fn prepare_page(file: &OpenFile, column: &Column, page: &Page) -> Result<()> {
    load_what_it_names(file, column, page, 0)?;
    file.decoding().prepare(column, page)
}

/// The decoders of a data page that this build does not decode by itself.
pub(crate) fn foreign_decoder<'c>(
    file: &OpenFile,
    column: &'c Column,
    page: &'c Page,
) -> Result<Option<&'c Arc<Decoder>>> {
    let (metas, index) = (file.catalog.metas(), page.descriptor.meta);
    let names_kernel = metas.kernel(index).is_some();
    if file
        .session
        .decodes_natively(metas.get(index)?, names_kernel)
    {
        return Ok(None);
    }
    if !page.kept.is_set() {
        prepare_page(file, column, page)?;
    }
    decoder_of(page).map(Some)
}

/// Reads the shared pages and the kernel that the decoders of a page need. `depth` is 0 for a data page, and for a
/// shared page one more than for the page that names it.
fn load_what_it_names(file: &OpenFile, column: &Column, page: &Page, depth: u32) -> Result<()> {
    let list = column.shared_of(page);
    if !list.is_empty() && depth > SHARED_DEPTH_MAX {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("shared buffers of shared buffers more than {SHARED_DEPTH_MAX} deep"),
        ));
    }
    for number in list {
        load_shared(file, column, (*number).into(), depth)?;
    }
    load_kernel(file, page)
}

/// The decoded values of a shared page, which are read and decoded once.
pub(crate) fn prepare_shared(
    file: &OpenFile,
    column: &Column,
    number: usize,
) -> Result<Arc<OwnedValues>> {
    load_shared(file, column, number, 0)?;
    values_of(column.shared_page(number)?)
}

fn load_shared(file: &OpenFile, column: &Column, number: usize, depth: u32) -> Result<()> {
    let page = column.shared_page(number)?;
    if page.kept.is_set() {
        return Ok(());
    }
    let load = || {
        load_what_it_names(file, column, page, depth + 1)?;
        let plan = drive(file, column, |planner| planner.shared(column, number))?;
        let blocks = file.source.fetch(&plan)?;
        file.source.count_metadata(&plan.extent());
        let read = SharedRead {
            column,
            page,
            plan: &plan,
            blocks: &blocks,
        };
        decode_shared(file.decoding(), &read)
    };
    load().map_err(|error: Error| error.prefixed(&format!("shared page {number}")))
}

/// Loads the kernel that decodes a page, if one does.
#[cfg(feature = "kernels")]
fn load_kernel(file: &OpenFile, page: &Page) -> Result<()> {
    let metas = file.catalog.metas();
    let index = page.descriptor.meta;
    let (meta, kernel) = (metas.get(index)?, metas.kernel(index));
    if file.session.decodes_natively(meta, kernel.is_some()) {
        return Ok(());
    }
    let Some(number) = kernel else {
        let what = "the file carries no kernel for these pages";
        return Err(Error::new(ErrorKind::Unsupported, what));
    };
    if file.decoders.kernel(number).is_some() {
        return Ok(());
    }
    let section = file.catalog.kernel_sections().nth(number.into());
    let none = || Error::new(ErrorKind::Corrupt, format!("kernel {number}"));
    let section = file.source.read(section.ok_or_else(none)?.range.clone())?;
    let kernel = crate::decode::load_kernel(&section, &file.session.trusted_kernels)?;
    file.decoders.keep_kernel(number, kernel);
    Ok(())
}

#[cfg(not(feature = "kernels"))]
fn load_kernel(_: &OpenFile, _: &Page) -> Result<()> {
    Ok(())
}
