//! Checking a file, a column or a page against its digests, and that all of it decodes.

use std::collections::HashMap;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use tarsia_compliance as compliance;
use tarsia_metadata::PageDescriptor;
use tarsia_structure::Budget;

use crate::error::{Error, ErrorKind, Result};
use crate::exec::{
    OpenFile, Schedule, batch_budget, batch_rows, blocks_of, decode_flat, decode_leaf, plan_rows,
};
use crate::options::Threads;
use crate::plan::PageNumber;
use crate::table::{Blocks, Column, Page, Projection, TableField, check_block};

/// Rows decoded at a time, to see that everything decodes.
const STEP_ROWS: u64 = 65_536;

/// Bytes read at a time when looking for gaps that are not zero.
const GAP_STEP_BYTES: u64 = 1 << 20;

/// What was checked and found good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Columns.
    pub columns: u64,
    /// Pages, shared pages counted.
    pub pages: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of those blocks, and of the metadata where the whole file was checked.
    pub bytes: u64,
}

impl VerifyReport {
    fn add(mut self, other: Self) -> Self {
        self.columns += other.columns;
        self.pages += other.pages;
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self
    }
}

fn corrupt(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}

/// Every byte of the file outside the state slots.
pub(crate) fn all(file: &Arc<OpenFile>) -> Result<VerifyReport> {
    let mut report = metadata(file)?;
    let columns = &file.catalog.all_columns(&file.source)?;
    let reports: Vec<VerifyReport> = match file.session.threads {
        Threads::All => columns
            .par_iter()
            .map(|column| self::column(file, column))
            .collect::<Result<_>>()?,
        Threads::One => columns
            .iter()
            .map(|column| self::column(file, column))
            .collect::<Result<_>>()?,
    };
    report = reports.into_iter().fold(report, VerifyReport::add);
    for field in file.catalog.all_fields(&file.source)? {
        if !field.is_flat() {
            nested(file, field)?;
        }
    }
    gaps(file, columns)?;
    file.check_unchanged()?;
    Ok(report)
}

/// Footer, postscript, header and metadata region, against the root digest.
fn metadata(file: &OpenFile) -> Result<VerifyReport> {
    let region = file.catalog.meta_range();
    let region_bytes = file.source.read(region.clone())?;
    let tree = compliance::DigestTree::build(&region_bytes);
    let stored = file.source.read(file.catalog.tree_range())?;
    if let Err(error) = compliance::verify_region(&region_bytes, &stored) {
        return Err(corrupt(format!(
            "metadata at byte {}: {error}",
            region.start
        )));
    }
    let root = compliance::root_digest(
        file.catalog.header_bytes(),
        &tree.top,
        file.catalog.footer_bytes(),
        &file.catalog.postscript_for_digest()?,
    );
    if root != file.catalog.root_digest() {
        return Err(corrupt(
            "root digest: header, metadata, footer or postscript were changed",
        ));
    }
    for section in file.catalog.sections() {
        let bytes = file.source.read(section.range.clone())?;
        if compliance::section_digest(section.id, &bytes) != section.digest {
            return Err(corrupt(format!(
                "section at byte {}: digest",
                section.range.start
            )));
        }
    }
    Ok(VerifyReport {
        bytes: region_bytes.len() as u64 + stored.len() as u64,
        ..VerifyReport::default()
    })
}

/// Some columns, one after the other.
pub(crate) fn columns(file: &OpenFile, columns: &[Arc<Column>]) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    for column in columns {
        report = report.add(self::column(file, column)?);
    }
    Ok(report)
}

/// That the columns of a nested field agree on what stands above them, and make its arrays.
fn nested(file: &Arc<OpenFile>, field: &Arc<TableField>) -> Result<()> {
    let projection = Projection::of(vec![field.clone()], HashMap::new());
    let batch_rows = batch_rows(&projection);
    let mut scan = Schedule::new(file.clone(), projection, 0..file.rows(), batch_rows);
    scan.try_for_each(|batch| batch.map(drop))
        .map_err(|error| error.in_column(field.field.name()))
}

/// All pages of a column, their digests up to the column's, and that every row decodes.
pub(crate) fn column(file: &OpenFile, column: &Column) -> Result<VerifyReport> {
    let check = || {
        let mut report = VerifyReport {
            columns: 1,
            ..VerifyReport::default()
        };
        for (number, entries) in column.shared_pages.iter().enumerate() {
            let bound = compliance::SHARED_PAGE_FIRST + number as u32;
            let checked = blocks_of(file, column, PageNumber::Shared(number))
                .and_then(|blocks| page_digests(file, column, entries, blocks, bound))
                .map_err(|error| error.prefixed(&format!("shared page {number}")))?;
            report = report.add(checked);
        }
        for number in 0..column.pages.len() {
            report = report.add(page(file, column, number)?);
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

/// One page: checksums and digests of its blocks, and that every row decodes.
pub(crate) fn page(file: &OpenFile, column: &Column, number: usize) -> Result<VerifyReport> {
    let found = column.pages.get(number).ok_or_else(|| {
        Error::new(
            ErrorKind::OutOfRange,
            format!("page {number} of {}", column.pages.len()),
        )
        .in_column(column.name())
    })?;
    let check = || {
        let report = page_digests(
            file,
            column,
            found,
            blocks_of(file, column, PageNumber::Data(number))?,
            number as u32,
        )?;
        let rows = found.descriptor.row_range();
        for start in rows.clone().step_by(STEP_ROWS as usize) {
            decodes(file, column, start..rows.end.min(start + STEP_ROWS))?;
        }
        Ok(report)
    };
    check().map_err(|error: Error| error.in_page(number).in_column(column.name()))
}

/// That rows of a column decode: all at once, or half by half where their items are too many for one batch.
fn decodes(file: &OpenFile, column: &Column, rows: Range<u64>) -> Result<()> {
    let plan = plan_rows(file, column, rows.clone())?;
    let fetched = file.source.fetch(&plan)?;
    let read = file.column_read(column, &plan, &fetched);
    let done = match column.is_flat() {
        true => decode_flat(file, &read).map(drop),
        false => {
            let of_row = || Budget::new(read.nested_bytes_max());
            let budget = batch_budget(rows.end - rows.start, of_row);
            decode_leaf(file, &read, &budget).map(drop)
        }
    };
    match done {
        Err(error) if error.kind() == ErrorKind::LimitExceeded && rows.end - rows.start > 1 => {
            let middle = rows.start + (rows.end - rows.start) / 2;
            decodes(file, column, rows.start..middle)?;
            decodes(file, column, middle..rows.end)
        }
        done => done,
    }
}

fn page_digests(
    file: &OpenFile,
    column: &Column,
    page: &Page,
    blocks: &Blocks,
    bound: u32,
) -> Result<VerifyReport> {
    let descriptor = &page.descriptor;
    let stored = stored_digests(file, descriptor)?;
    for block in 0..descriptor.n_blocks {
        let check = || {
            let range = blocks.block_range(block)?;
            let place = descriptor.place + range.start..descriptor.place + range.end;
            let bytes = file.source.read(place)?;
            check_block(&bytes)?;
            let digest = compliance::block_digest(column.leaf, bound, block, &bytes);
            let equal = match &stored {
                // A page of one block has its block's digest.
                None => digest == descriptor.digest,
                Some(stored) => {
                    stored.get(block as usize) == Some(&compliance::stored_block_digest(&digest))
                }
            };
            match equal {
                true => Ok(()),
                false => Err(corrupt(
                    "block digest: the block is not the one that was written",
                )),
            }
        };
        check().map_err(|error: Error| error.in_block(block.into()))?;
    }
    if let Some(stored) = &stored
        && compliance::page_digest(column.leaf, bound, stored) != descriptor.digest
    {
        return Err(corrupt(
            "page digest: the block digests are not those that were written",
        ));
    }
    Ok(VerifyReport {
        columns: 0,
        pages: 1,
        blocks: descriptor.n_blocks.into(),
        bytes: descriptor.length.into(),
    })
}

fn stored_digests(file: &OpenFile, descriptor: &PageDescriptor) -> Result<Option<Vec<[u8; 16]>>> {
    match descriptor.digests_range() {
        None => Ok(None),
        Some(range) => {
            let bytes = file.source.read(range)?;
            Ok(Some(bytes.as_chunks::<16>().0.to_vec()))
        }
    }
}

/// Between header, pages and metadata there are only zeros.
fn gaps(file: &OpenFile, columns: &[Arc<Column>]) -> Result<()> {
    let mut used: Vec<Range<u64>> = columns
        .iter()
        .flat_map(|column| column.pages.iter().chain(&column.shared_pages))
        .map(|page| page.descriptor.range())
        .collect();
    used.sort_unstable_by_key(|range| (range.start, range.end));
    let meta_start = file.catalog.meta_range().start;
    let mut at = tarsia_metadata::limits::HEADER_BYTES as u64;
    for range in used.into_iter().chain(iter::once(meta_start..meta_start)) {
        if range.start < at && !range.is_empty() {
            return Err(corrupt(format!("pages overlap at byte {}", range.start)));
        }
        while at < range.start {
            let end = range.start.min(at + GAP_STEP_BYTES);
            let bytes = file.source.read(at..end)?;
            if let Some(byte) = bytes.iter().position(|byte| *byte != 0) {
                return Err(corrupt(format!(
                    "byte {} lies between pages and is not zero",
                    at + byte as u64
                )));
            }
            at = end;
        }
        at = at.max(range.end);
    }
    Ok(())
}
