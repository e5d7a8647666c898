//! Checking a file, a column or a page against its digests, that all of it decodes, and that what is said of it is
//! true: whoever changes a file may compute its checksums and digests again.

mod blocks;
mod report;
mod rows;
mod statements;

use std::collections::HashMap;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use tarsia_compliance as compliance;

use crate::error::{Error, ErrorKind, Result};
use crate::exec::{OpenFile, Schedule, Wish, blocks_of, prepare_shared};
use crate::plan::PageNumber;
use crate::plan::RowSelection;
use crate::table::{Column, Page, Projection, TableField};
use crate::threads::in_order;
use report::corrupt;

pub use report::VerifyReport;

/// Bytes read at a time when looking for gaps that are not zero.
const GAP_STEP_BYTES: u64 = 1 << 20;

/// Depth of a verification.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Bytes: that they are those of which checksums and digests were computed.
    Digests,
    /// Also what they decode to, and whether what the file says of itself is true.
    Values,
}

/// Every byte of the file outside the state slots.
pub(crate) fn all(file: &Arc<OpenFile>, depth: Depth) -> Result<VerifyReport> {
    let mut report = metadata(file)?;
    let columns = &file.all_columns()?;
    if depth == Depth::Values {
        statements::check(file, columns)?;
    }
    report = report.add(of_columns(file, columns, depth)?);
    if depth == Depth::Values {
        for field in file.all_fields()? {
            if !field.is_flat() {
                nested(file, field)?;
            }
        }
    }
    gaps(file, columns)?;
    file.check_unchanged()?;
    Ok(report)
}

/// Footer, postscript, header, sections and metadata region, against the root digest.
fn metadata(file: &OpenFile) -> Result<VerifyReport> {
    Ok(VerifyReport {
        bytes: file.check_metadata()?,
        ..VerifyReport::default()
    })
}

fn of_columns(file: &OpenFile, columns: &[Arc<Column>], depth: Depth) -> Result<VerifyReport> {
    let one = |column: &Arc<Column>| self::column(file, column, depth);
    let reports = in_order(&file.session.threads, columns, one)?;
    Ok(VerifyReport::sum(reports))
}

/// The columns of a name: of a field or of a leaf.
pub(crate) fn named(file: &Arc<OpenFile>, name: &str) -> Result<VerifyReport> {
    let columns = file.columns_of(name)?;
    let report = of_columns(file, &columns, Depth::Values)?;
    match file.field(name) {
        Ok(field) if !field.is_flat() => nested(file, &field)?,
        // What else is wrong with the name has been said.
        _ => {}
    }
    Ok(report)
}

/// Checks that the columns of a nested field agree on what stands above them, and make its arrays.
fn nested(file: &Arc<OpenFile>, field: &Arc<TableField>) -> Result<()> {
    let projection = Projection::of(vec![field.clone()], HashMap::new());
    let mut scan = Schedule::new(Wish {
        file: file.clone(),
        projection,
        rows: RowSelection::from(0..file.rows()),
        without: file.deleted().clone(),
        filter: None,
        limit: None,
        batch_rows: None,
        row_numbers: false,
    });
    scan.try_for_each(|batch| batch?.columns().iter().try_for_each(rows::check_nested))
        .map_err(|error| error.in_column(field.field.name()))
}

/// All pages of a column, their digests up to the column's, and that every row decodes, if `depth` asks for that.
fn column(file: &OpenFile, column: &Column, depth: Depth) -> Result<VerifyReport> {
    let check = || {
        let mut report = VerifyReport {
            columns: 1,
            ..VerifyReport::default()
        };
        for (number, entries) in column.shared_pages.iter().enumerate() {
            let bound = compliance::SHARED_PAGE_FIRST + number as u32;
            let checked = blocks_of(file, column, PageNumber::Shared(number))
                .and_then(|blocks| blocks::check(file, column, entries, blocks, bound))
                .map_err(|error| error.prefixed(&format!("shared page {number}")))?;
            if depth == Depth::Values {
                // Some may be named by no page.
                prepare_shared(file, column, number)?;
            }
            report = report.add(checked.report);
        }
        let numbers: Vec<usize> = (0..column.pages.len()).collect();
        let one = |number: &usize| blocks_of_page(file, column, *number, depth);
        let pages = in_order(&file.session.threads, &numbers, one)?;
        report = report.add(VerifyReport::sum(pages));
        if depth == Depth::Values {
            rows::check_blooms(file, column, None)?;
        }
        let digests = |pages: &[Page]| -> Vec<[u8; 32]> {
            pages.iter().map(|page| page.descriptor.digest).collect()
        };
        let expected = match (column.pages.as_slice(), column.shared_pages.as_slice()) {
            ([], []) => [0; 32],
            (pages, shared) => {
                compliance::column_digest(column.leaf, &digests(pages), &digests(shared))
            }
        };
        if expected != column.digest {
            return Err(corrupt(
                "column digest: the pages are not those that were written",
            ));
        }
        Ok(report)
    };
    check().map_err(|error| error.in_column(column.name()))
}

/// One page, and all that is said of its rows.
pub(crate) fn page(file: &OpenFile, column: &Column, number: usize) -> Result<VerifyReport> {
    let report = blocks_of_page(file, column, number, Depth::Values)?;
    rows::check_blooms(file, column, Some(number))
        .map_err(|error| error.in_column(column.name()))?;
    Ok(report)
}

/// The blocks of a page: checksums and digests, and that every row decodes to what its zones say, if `depth` asks for
/// that.
fn blocks_of_page(
    file: &OpenFile,
    column: &Column,
    number: usize,
    depth: Depth,
) -> Result<VerifyReport> {
    let found = column.pages.get(number).ok_or_else(|| {
        Error::new(
            ErrorKind::OutOfRange,
            format!("page {number} of {}", column.pages.len()),
        )
        .in_column(column.name())
    })?;
    let check = || {
        let blocks = blocks_of(file, column, PageNumber::Data(number))?;
        let checked = blocks::check(file, column, found, blocks, number as u32)?;
        if depth == Depth::Values {
            rows::check(file, column, number, &checked.nulls)?;
        }
        Ok(checked.report)
    };
    check().map_err(|error: Error| error.in_page(number).in_column(column.name()))
}

/// Where no page, block, section or other part of the file lies, there are only zeros.
fn gaps(file: &OpenFile, columns: &[Arc<Column>]) -> Result<()> {
    let catalog = &file.catalog;
    let mut pages = Vec::new();
    for column in columns {
        let data = (0..column.pages.len()).map(PageNumber::Data);
        let shared = (0..column.shared_pages.len()).map(PageNumber::Shared);
        for number in data.chain(shared) {
            let page = number.of(column)?;
            let in_column = |error: Error| error.in_column(column.name());
            if page.moved().is_empty() {
                pages.push(page.descriptor.range());
                continue;
            }
            let blocks = blocks_of(file, column, number)?;
            for block in 0..page.descriptor.n_blocks {
                let place = page.first_place_of(blocks, block).map_err(in_column)?;
                // The place of a block that moved is a gap.
                if page.place_of(blocks, block).map_err(in_column)? == place {
                    pages.push(place);
                }
            }
        }
    }
    let start = tarsia_metadata::limits::HEADER_BYTES as u64;
    zeros_between(file, start..catalog.meta_range().start, pages)?;
    let moved = &catalog.changes().moved;
    for block in moved {
        let column = columns.get(block.leaf as usize);
        let page =
            column.and_then(
                |column| match block.page.checked_sub(compliance::SHARED_PAGE_FIRST) {
                    None => column.pages.get(block.page as usize),
                    Some(number) => column.shared_pages.get(number as usize),
                },
            );
        if page.is_none_or(|page| block.block >= page.descriptor.n_blocks) {
            let (leaf, page, block) = (block.leaf, block.page, block.block);
            return Err(corrupt(format!(
                "a moved block of column {leaf}, page {page}, block {block}, which is not there"
            )));
        }
    }
    let late = catalog.late_range();
    let sections = catalog.sections().iter().map(|section| &section.range);
    let late_start = late.start;
    let in_late = sections.filter(|range| range.start >= late_start);
    let moved = moved.iter().map(|block| &block.range);
    zeros_between(file, late, moved.chain(in_late).cloned().collect())
}

/// Checks that parts of a range of the file do not overlap, and that only zeros lie between them.
fn zeros_between(file: &OpenFile, within: Range<u64>, mut used: Vec<Range<u64>>) -> Result<()> {
    used.sort_unstable_by_key(|range| (range.start, range.end));
    let mut gaps = Vec::new();
    let mut at = within.start;
    for range in used.into_iter().chain(iter::once(within.end..within.end)) {
        if range.start < at && !range.is_empty() {
            return Err(corrupt(format!("pages overlap at byte {}", range.start)));
        }
        while at < range.start {
            let end = range.start.min(at + GAP_STEP_BYTES);
            gaps.push(at..end);
            at = end;
        }
        at = at.max(range.end);
    }
    for window in file.source.windows(&gaps) {
        let fetched = file.source.read_window(window);
        for (number, gap) in window.iter().enumerate() {
            let bytes = match fetched.as_ref().and_then(|fetched| fetched.get(number)) {
                Some(bytes) => bytes.clone(),
                None => file.source.read(gap.clone())?,
            };
            if let Some(byte) = bytes.iter().position(|byte| *byte != 0) {
                let place = gap.start + byte as u64;
                return Err(corrupt(format!(
                    "byte {place} lies between pages and is not zero"
                )));
            }
        }
    }
    Ok(())
}
