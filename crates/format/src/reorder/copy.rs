//! Pages copied from one file to another. Every block is compared with its checksums and its digest.

use std::ops::Range;

use tarsia_compliance as compliance;
use tarsia_io::{ReadBytes, Sink};
use tarsia_metadata::{BlockTable, PageDescriptor, page_align};

use super::leaves::{Leaf, PageOf};
use crate::error::{Error, Result};
use crate::exec::OpenFile;
use crate::table::{check_block, check_digest, check_listed};
use crate::threads::in_order;
use crate::write::Output;

/// Pages whose side data is read together, at most.
const GROUP_PAGES_MAX: usize = 1024;

/// Bytes of blocks, or of side data, that are read together, at most; a longer block is read alone.
const WINDOW_BYTES: u64 = 8 << 20;

/// Bytes that are held with the gaps that are read over, at most.
const HELD_BYTES_MAX: u64 = 4 * WINDOW_BYTES;

/// The epoch of a new file, and of its pages.
const FIRST_EPOCH: u64 = 1;

/// Side data of a page.
struct Side {
    /// Block table and digests, as they are stored; empty for one block.
    bytes: Vec<u8>,
    /// The digests of the blocks; `None` for one block, whose digest is the page's.
    digests: Option<Vec<[u8; 16]>>,
}

/// A block that is copied.
struct BlockOf {
    /// Its page, in the group.
    page: usize,
    number: u32,
    place: Range<u64>,
}

/// Copies these pages in their order. Their new places, block tables and digests are put into `leaves`.
pub(super) fn pages<S: Sink>(
    file: &OpenFile,
    leaves: &mut [Leaf],
    pages: &[PageOf],
    output: &mut Output<S>,
) -> Result<()> {
    let mut rest = pages;
    while !rest.is_empty() {
        let side_bytes = |page: &PageOf| page.descriptor.side().map_or(0, |side| length(&side));
        let n = fitting(rest.iter().map(side_bytes)).min(GROUP_PAGES_MAX);
        let (group, behind) = rest.split_at(n.min(rest.len()));
        copy_group(file, leaves, group, output)?;
        rest = behind;
    }
    Ok(())
}

/// How many of these lengths are at most [`WINDOW_BYTES`] together; one at least.
fn fitting(lengths: impl Iterator<Item = u64>) -> usize {
    let mut bytes: u64 = 0;
    let fit = lengths.take_while(|length| {
        bytes = bytes.saturating_add(*length);
        bytes <= WINDOW_BYTES
    });
    fit.count().max(1)
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

fn copy_group<S: Sink>(
    file: &OpenFile,
    leaves: &mut [Leaf],
    group: &[PageOf],
    output: &mut Output<S>,
) -> Result<()> {
    let sides = sides(file, leaves, group)?;
    let mut blocks = Vec::new();
    for (page, (of, side)) in group.iter().zip(&sides).enumerate() {
        let found = blocks_of(page, &of.descriptor, side, &mut blocks);
        found.map_err(|error| leaves[of.leaf].at(error, of.number))?;
    }
    let mut rest = blocks.as_slice();
    while !rest.is_empty() {
        let places: Vec<_> = window(file, rest);
        let (window, behind) = rest.split_at(places.len());
        let bytes = checked(file, leaves, group, &sides, window, &places)?;
        for (block, bytes) in window.iter().zip(bytes) {
            if block.number == 0 {
                let page = &group[block.page];
                output.pad_to(page_align(page.bytes))?;
                if let Some(descriptor) = leaves[page.leaf].page_mut(page.number) {
                    descriptor.place = output.position();
                    descriptor.epoch = FIRST_EPOCH;
                }
            }
            output.append(&bytes)?;
        }
        rest = behind;
    }
    for (page, side) in group.iter().zip(sides) {
        leaves[page.leaf].sides[page.number] = side.bytes;
    }
    Ok(())
}

/// Reads the side data of pages: all that lies in the metadata region and belongs to a page.
fn sides(file: &OpenFile, leaves: &[Leaf], group: &[PageOf]) -> Result<Vec<Side>> {
    let ranges: Vec<_> = group
        .iter()
        .filter_map(|page| page.descriptor.side())
        .collect();
    let mut read = file.source.fetch_all(&[ranges])?.into_iter().flatten();
    let mut sides = Vec::with_capacity(group.len());
    for page in group {
        let descriptor = &page.descriptor;
        let (Some(table), Some(_)) = (descriptor.table_range(), descriptor.digests_range()) else {
            sides.push(Side {
                bytes: Vec::new(),
                digests: None,
            });
            continue;
        };
        let bytes = read.next().map_or(Vec::new(), |bytes| bytes.to_vec());
        // The table is a part of the side data, which was read.
        let (_, digests) = bytes
            .split_at_checked(length(&table) as usize)
            .unwrap_or_default();
        let digests = digests.as_chunks::<16>().0.to_vec();
        let column = &leaves[page.leaf];
        let bound = column.bound(page.number);
        check_listed(column.number, bound, &digests, &descriptor.digest)
            .map_err(|error| column.at(error, page.number))?;
        sides.push(Side {
            bytes,
            digests: Some(digests),
        });
    }
    Ok(sides)
}

/// Adds the blocks of a page.
fn blocks_of(
    page: usize,
    descriptor: &PageDescriptor,
    side: &Side,
    blocks: &mut Vec<BlockOf>,
) -> Result<()> {
    let table = descriptor.table_range().map_or(0, |range| length(&range));
    let table = side.bytes.get(..table as usize).unwrap_or_default();
    let table = BlockTable::parse(table, descriptor)?;
    for number in 0..descriptor.n_blocks {
        let range = table.block_range(number)?;
        let start = descriptor.place;
        blocks.push(BlockOf {
            page,
            number,
            place: start + range.start..start + range.end,
        });
    }
    Ok(())
}

/// The places of the first of these blocks: those that are read together.
fn window(file: &OpenFile, blocks: &[BlockOf]) -> Vec<Range<u64>> {
    let n = fitting(blocks.iter().map(|block| length(&block.place)));
    let first = blocks.iter().take(n);
    let mut places: Vec<_> = first.map(|block| block.place.clone()).collect();
    // Pages that lie far apart share requests where the source asks for that.
    while places.len() > 1 && file.source.held_bytes(&places) > HELD_BYTES_MAX {
        places.truncate(places.len() / 2);
    }
    places
}

/// Reads blocks, and checks them.
fn checked<'f>(
    file: &'f OpenFile,
    leaves: &[Leaf],
    group: &[PageOf],
    sides: &[Side],
    blocks: &[BlockOf],
    places: &[Range<u64>],
) -> Result<Vec<ReadBytes<'f>>> {
    let fetched = file.source.read_window(places);
    let numbers: Vec<usize> = (0..blocks.len()).collect();
    let one = |at: &usize| {
        let block = &blocks[*at];
        let page = &group[block.page];
        let column = &leaves[page.leaf];
        let check = || {
            let bytes = match fetched.as_ref().and_then(|fetched| fetched.get(*at)) {
                Some(bytes) => bytes.clone(),
                None => file.source.read(block.place.clone())?,
            };
            check_block(&bytes)?;
            let bound = column.bound(page.number);
            let digest = compliance::block_digest(column.number, bound, block.number, &bytes);
            let listed = sides[block.page].digests.as_deref();
            check_digest(&digest, block.number, listed, &page.descriptor.digest)?;
            Ok(bytes)
        };
        check().map_err(|error: Error| column.at(error.in_block(block.number.into()), page.number))
    };
    in_order(&file.session.threads, &numbers, one)
}
