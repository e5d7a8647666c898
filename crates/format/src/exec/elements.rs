//! Reading single elements of nested rows: of long rows only the levels and the chunks that hold the items.

use std::ops::Range;
use std::sync::Arc;

use tarsia_arrow::LeafParts;
use tarsia_structure::{Budget, Cut, PageDecoder, RawLevels};

use super::fields::with_memory;
use super::open_file::OpenFile;
use super::prepare::prepare;
use crate::decode::{BlockBytes, Front, ItemsBelow, Partial, decoder_of};
use crate::error::Result;
use crate::plan::{BlockPart, Plan};
use crate::source::{Ranges, Reads};
use crate::table::Column;

/// Reads the blocks of plans. Of long rows it reads only the front, which says where their items lie.
pub(crate) fn fetch_elements<'f>(
    file: &'f OpenFile,
    columns: &[Arc<Column>],
    plans: &[Plan],
) -> Result<Vec<Vec<BlockBytes<'f>>>> {
    let is_long = |part: &BlockPart| Partial::front_place(part).is_some();
    let parts = || plans.iter().flat_map(|plan| &plan.parts);
    let fronts: Vec<_> = parts().filter_map(Partial::front_place).collect();
    file.source.prefetch(&fronts);
    let others: Vec<Vec<_>> = plans
        .iter()
        .map(|plan| {
            let others = plan.parts.iter().filter(|part| !is_long(part));
            others.map(|part| part.place.clone()).collect()
        })
        .collect();
    let others = file.source.fetch_all(&others)?;
    let fetched = columns.iter().zip(plans.iter().zip(others));
    let fetched = fetched.map(|(column, (plan, others))| {
        prepare(file, column, plan)?;
        let mut others = others.into_iter();
        let parts = plan.parts.iter().filter_map(|part| match is_long(part) {
            true => Some(fetch_front(file, column, part)),
            false => others.next().map(|bytes| Ok(BlockBytes::Whole(bytes))),
        });
        parts.collect()
    });
    fetched.collect()
}

/// Reads the front of a long row's block, or the whole block if it cannot be read in parts.
fn fetch_front<'f>(
    file: &'f OpenFile,
    column: &Column,
    part: &BlockPart,
) -> Result<BlockBytes<'f>> {
    let open = || -> Result<BlockBytes<'f>> {
        let whole = || file.source.read(part.place.clone()).map(BlockBytes::Whole);
        let page = column.page(part.page as usize)?;
        let Some(decoder) = decoder_of(page)?.native() else {
            return whole();
        };
        let in_memory = match file.source.mapped() {
            Some(_) => Some(file.source.slice(part.place.clone())?),
            None => None,
        };
        let Some(mut partial) = Partial::of(part, in_memory, file.decoding().checks())? else {
            return whole();
        };
        loop {
            match partial.front(decoder)? {
                Front::Ready => return Ok(BlockBytes::Partial(partial)),
                Front::NotChunked => return whole(),
                Front::Needs(ranges) => supply(file, &mut partial, ranges)?,
            }
        }
    };
    let opened = open().map_err(|error| error.in_block(part.block.into()));
    opened.map_err(|error| column.at(error, part.page as usize))
}

fn supply(file: &OpenFile, partial: &mut Partial<'_>, ranges: Vec<Range<usize>>) -> Result<()> {
    for range in ranges {
        let bytes = file.source.read(partial.place(&range))?;
        partial.supply(range, &bytes)?;
    }
    Ok(())
}

/// Decodes levels and items. `cuts` are by the number of the level with the lists' lengths: of those lists only the
/// items of the cut are decoded, and of long rows only the bytes of these items are read.
pub(crate) fn decode_elements<'f>(
    file: &'f OpenFile,
    column: &Column,
    plan: &Plan,
    blocks: &mut [BlockBytes<'f>],
    cuts: &[(usize, Cut)],
    budget: &Budget,
) -> Result<LeafParts> {
    let forms = column.path.forms().iter().copied();
    let mut levels = RawLevels::with_cuts(forms, cuts.iter().copied(), budget);
    #[cfg(feature = "kernels")]
    if !file.column_read(column, plan, blocks).is_native()? {
        for (part, block) in plan.parts.iter().zip(blocks.iter_mut()) {
            if block.is_partial() {
                *block = BlockBytes::Whole(file.source.read(part.place.clone())?);
            }
        }
        let read = file.column_read(column, plan, blocks);
        let expected = read.expected_bytes()?;
        return with_memory(file, |memory| {
            read.decode_once(levels, cuts, expected, budget, memory)
        });
    }
    let read = file.column_read(column, plan, blocks);
    let check = |number: usize| blocks.get(number).is_some_and(|block| !block.is_partial());
    let items = with_memory(file, |memory| {
        read.decode_levels(&mut levels, check, memory)
    })?;
    let decoder = |part: &BlockPart| -> Result<Option<&PageDecoder>> {
        let page = column.page(part.page as usize)?;
        Ok(decoder_of(page)?.native())
    };
    if file.source.is_mapped() {
        // The byte ranges that are known by now are fetched at once.
        let mut places = Vec::new();
        for ((part, block), ranges) in plan.parts.iter().zip(&*blocks).zip(&items) {
            if let (BlockBytes::Partial(partial), Some(decoder)) = (block, decoder(part)?) {
                with_memory(file, |memory| {
                    places.extend(partial.item_places(decoder, ranges, memory.scratch));
                });
            }
        }
        file.source.prefetch(&places);
    }
    for ((part, block), ranges) in plan.parts.iter().zip(blocks.iter_mut()).zip(&items) {
        let (BlockBytes::Partial(partial), Some(decoder)) = (block, decoder(part)?) else {
            continue;
        };
        let mut read = || -> Result<()> {
            loop {
                let needs = with_memory(file, |memory| {
                    partial.items(decoder, ranges, memory.scratch)
                })?;
                if needs.is_empty() {
                    return Ok(());
                }
                supply(file, partial, needs)?;
            }
        };
        let read = read().map_err(|error| error.in_block(part.block.into()));
        read.map_err(|error| column.at(error, part.page as usize))?;
    }
    let read = file.column_read(column, plan, blocks);
    with_memory(file, |memory| {
        let below = ItemsBelow {
            levels,
            items: &items,
            data_bytes: read.element_bytes_max(&items, memory)?,
        };
        read.decode_items(below, memory)
    })
}

/// Blocks that were read whole.
struct WholeBlocks<'a> {
    plan: &'a Plan,
    blocks: &'a [BlockBytes<'a>],
}

impl Ranges for WholeBlocks<'_> {
    fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let parts = self.plan.parts.iter().zip(self.blocks);
        let whole = parts.filter(|(_, block)| !block.is_partial());
        whole.map(|(part, _)| part.place.clone())
    }
}

/// Counts what was read of the file: whole blocks, of which neighbours were coalesced, and parts of other blocks.
pub(crate) fn reads_of_elements(
    file: &OpenFile,
    plans: &[Plan],
    fetched: &[Vec<BlockBytes<'_>>],
) -> Reads {
    let whole = plans.iter().zip(fetched);
    let whole = whole.map(|(plan, blocks)| WholeBlocks { plan, blocks });
    let mut reads = file.source.reads(&whole.collect::<Vec<_>>());
    for block in fetched.iter().flatten() {
        if let BlockBytes::Partial(partial) = block {
            reads.requests += partial.requests;
            reads.bytes += partial.read_bytes;
        }
    }
    reads
}
