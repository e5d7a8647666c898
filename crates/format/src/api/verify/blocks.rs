//! The blocks of a page: checksums, digests, and what their headers say of nulls.

use tarsia_compliance as compliance;
use tarsia_io::ReadBytes;
use tarsia_metadata::{ErasureLevel, PageDescriptor};
use tarsia_structure::block::{BlockExpectation, checksummed_chunks};
use tarsia_structure::{Block, BlockHeader, FullZipForm};

use super::report::{VerifyReport, corrupt};
use crate::error::{Error, Result, while_reading};
use crate::exec::OpenFile;
use crate::table::{Blocks, Column, Page, check_block, check_covered, check_digest, check_listed};
use crate::threads::in_order;

/// A page's blocks, whose checksums and digests are right.
pub(super) struct CheckedBlocks {
    pub(super) report: VerifyReport,
    /// Null items of each block, as its header says.
    pub(super) nulls: Vec<u32>,
}

/// Checks the blocks of a page, which digests call `bound`.
pub(super) fn check(
    file: &OpenFile,
    column: &Column,
    page: &Page,
    blocks: &Blocks,
    bound: u32,
) -> Result<CheckedBlocks> {
    let descriptor = &page.descriptor;
    let stored = stored_digests(file, descriptor)?;
    let meta = page.description.meta()?;
    let form = FullZipForm::of(meta).map_err(while_reading)?;
    let check = |block: u32, fetched: Option<&ReadBytes<'_>>| {
        let check = || {
            let bytes = match fetched {
                Some(bytes) => bytes.clone(),
                None => file.source.read(page.place_of(blocks, block)?)?,
            };
            check_block(&bytes)?;
            // Readers of single rows do not look at the whole block.
            let rows = blocks.rows_of(block)?;
            let present = match bound < compliance::SHARED_PAGE_FIRST {
                true => column.n_present_of(page, &rows),
                false => rows.end - rows.start,
            };
            let header = BlockExpectation::of(meta, rows.end - rows.start)
                .and_then(|expect| Block::parse_present(&bytes, &expect, present))
                .map_err(while_reading)?
                .header;
            check_form(column, &header, &bytes)?;
            if let Some(form) = form {
                check_rows(&bytes, form)?;
            }
            let digest = compliance::block_digest(column.leaf, bound, block, &bytes);
            check_digest(&digest, block, stored.as_deref(), &descriptor.digest)?;
            Ok(header.null_count)
        };
        check().map_err(|error: Error| error.in_block(block.into()))
    };
    let place = |block: u32| {
        let place = page.place_of(blocks, block);
        place.map_err(|error| error.in_block(block.into()))
    };
    let places: Vec<_> = (0..descriptor.n_blocks).map(place).collect::<Result<_>>()?;
    let mut nulls: Vec<u32> = Vec::with_capacity(places.len());
    for window in file.source.windows(&places) {
        let fetched = file.source.read_window(window);
        let first = nulls.len();
        let one = |at: &usize| {
            let fetched = fetched.as_ref().and_then(|fetched| fetched.get(*at));
            check((first + at) as u32, fetched)
        };
        let numbers: Vec<usize> = (0..window.len()).collect();
        nulls.extend(in_order(&file.session.threads, &numbers, one)?);
    }
    if let Some(stored) = &stored {
        check_listed(column.leaf, bound, stored, &descriptor.digest)?;
    }
    let in_blocks: u64 = nulls.iter().copied().map(u64::from).sum();
    if in_blocks != u64::from(descriptor.null_count) {
        let stated = descriptor.null_count;
        return Err(corrupt(format!(
            "null count: the page states {stated}, its blocks {in_blocks}"
        )));
    }
    Ok(CheckedBlocks {
        report: VerifyReport {
            columns: 0,
            pages: 1,
            blocks: descriptor.n_blocks.into(),
            bytes: descriptor.length.into(),
        },
        nulls,
    })
}

/// Checks that a block has a salt exactly where its column is at level 2, and zeros behind it.
fn check_form(column: &Column, header: &BlockHeader, place: &[u8]) -> Result<()> {
    if header.salted != (column.level == ErasureLevel::Erase) {
        let what = "a salt, which blocks of columns at level 2 have, and no others";
        return Err(corrupt(what));
    }
    let behind = usize::try_from(header.block_bytes()).unwrap_or(usize::MAX);
    let behind = place.get(behind..).unwrap_or_default();
    match behind.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(corrupt("bytes behind the block that are not zero")),
    }
}

/// The checksums of the rows of a full-zip block, by which rows are read without their block. Those of byte strings
/// belong to the block's own.
fn check_rows(block: &[u8], form: FullZipForm) -> Result<()> {
    let Some(stride) = form.stride() else {
        return Ok(());
    };
    let header = BlockHeader::parse(block).map_err(while_reading)?;
    let (_, chunks) = checksummed_chunks(block).map_err(while_reading)?;
    let payload = block.get(chunks.start()..).unwrap_or_default();
    let payload = payload.get(..header.payload_bytes as usize);
    for (row, bytes) in payload.unwrap_or_default().chunks_exact(stride).enumerate() {
        if let Some((covered, stored)) = form.checksummed(bytes) {
            check_covered(covered, stored)
                .map_err(|error| error.prefixed(&format!("row {row} of the block")))?;
        }
    }
    Ok(())
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
