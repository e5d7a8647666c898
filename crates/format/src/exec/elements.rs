//! Reading single elements of nested rows: of long rows only the levels and the chunks that hold the items.

use std::ops::Range;
use std::sync::Arc;

use tarsia_arrow::LeafParts;
use tarsia_structure::{Budget, Cut, PageDecoder, RawLevels};

use super::fields::with_memory;
use super::open_file::OpenFile;
use super::prepare::prepare;
use crate::decode::{BlockBytes, Front, ItemsBelow, Partial, decoder_of};
use crate::error::{Error, Result};
use crate::plan::{BlockPart, Plan};
use crate::source::Reads;
use crate::table::Column;

/// A part of a plan that is being read.
enum Reading<'f> {
    /// Its front is not known yet.
    Front(Partial<'f>),
    /// The whole block is read.
    Whole,
    Done(BlockBytes<'f>),
}

/// A part of a plan, and where it stands among all.
#[derive(Clone, Copy)]
struct PartAt<'a> {
    column: &'a Column,
    part: &'a BlockPart,
}

impl<'a> PartAt<'a> {
    fn at(self, error: Error) -> Error {
        let error = error.in_block(self.part.block.into());
        self.column.at(error, self.part.page as usize)
    }

    /// Its decoder, if this build decodes it.
    fn decoder(self) -> Result<Option<&'a PageDecoder>> {
        let page = self.column.page(self.part.page as usize)?;
        Ok(decoder_of(page)?.native())
    }
}

/// Reads the blocks of plans. Of long rows it reads only the front, which says where their items lie. What all of them
/// need next is read in one wave, and counted.
pub(crate) fn fetch_elements<'f>(
    file: &'f OpenFile,
    columns: &[Arc<Column>],
    plans: &[Plan],
    reads: &mut Reads,
) -> Result<Vec<Vec<BlockBytes<'f>>>> {
    let mut parts = Vec::new();
    for (column, plan) in columns.iter().zip(plans) {
        prepare(file, column, plan)?;
        parts.extend(plan.parts.iter().map(|part| PartAt { column, part }));
    }
    let begun = parts
        .iter()
        .map(|at| begin(file, *at).map_err(|error| at.at(error)));
    let mut reading = begun.collect::<Result<Vec<_>>>()?;
    loop {
        let (mut wave, mut wanted) = (Vec::new(), Vec::new());
        for (number, (at, state)) in parts.iter().zip(&mut reading).enumerate() {
            if let Reading::Front(partial) = state {
                let Some(decoder) = at.decoder()? else {
                    continue;
                };
                match partial.front(decoder).map_err(|error| at.at(error))? {
                    Front::Ready => advance(state),
                    Front::NotChunked => *state = Reading::Whole,
                    Front::Needs(ranges) => {
                        for range in ranges {
                            wave.push(partial.place(&range));
                            wanted.push((number, range));
                        }
                    }
                }
            }
            if matches!(state, Reading::Whole) {
                wave.push(at.part.place.clone());
                wanted.push((number, 0..0));
            }
        }
        if wave.is_empty() {
            break;
        }
        let wave = [wave];
        reads.add(file.source.reads(&wave));
        let fetched = file.source.fetch_all(&wave)?.into_iter().flatten();
        for ((number, range), bytes) in wanted.into_iter().zip(fetched) {
            let (Some(state), Some(at)) = (reading.get_mut(number), parts.get(number)) else {
                continue;
            };
            match state {
                Reading::Front(partial) => {
                    let supplied = partial.supply(range, &bytes);
                    supplied.map_err(|error| at.at(error))?;
                }
                _ => *state = Reading::Done(BlockBytes::Whole(bytes)),
            }
        }
    }
    let mut done = reading.into_iter().filter_map(|state| match state {
        Reading::Done(bytes) => Some(bytes),
        Reading::Front(_) | Reading::Whole => None,
    });
    Ok(plans
        .iter()
        .map(|plan| done.by_ref().take(plan.parts.len()).collect())
        .collect())
}

/// A part of which nothing was read.
fn begin<'f>(file: &'f OpenFile, at: PartAt<'_>) -> Result<Reading<'f>> {
    let part = at.part;
    if Partial::front_place(part).is_none() || at.decoder()?.is_none() {
        return Ok(Reading::Whole);
    }
    let in_memory = match file.source.mapped() {
        Some(_) => Some(file.source.slice(part.place.clone())?),
        None => None,
    };
    let partial = Partial::of(part, in_memory, file.decoding().checks())?;
    Ok(partial.map_or(Reading::Whole, Reading::Front))
}

/// The front is known.
fn advance(state: &mut Reading<'_>) {
    *state = match std::mem::replace(state, Reading::Whole) {
        Reading::Front(partial) => Reading::Done(BlockBytes::Partial(partial)),
        other => other,
    };
}

/// Decodes levels and items. `cuts` are by the number of the level with the lists' lengths: of those lists only the
/// items of the cut are decoded, and of long rows only the bytes of these items are read, and counted.
pub(crate) fn decode_elements<'f>(
    file: &'f OpenFile,
    column: &Column,
    plan: &Plan,
    blocks: &mut [BlockBytes<'f>],
    cuts: &[(usize, Cut)],
    budget: &Budget,
    reads: &mut Reads,
) -> Result<LeafParts> {
    let forms = column.path.forms().iter().copied();
    let mut levels = RawLevels::with_cuts(forms, cuts.iter().copied(), budget);
    #[cfg(feature = "kernels")]
    if !file.column_read(column, plan, blocks).is_native()? {
        for (part, block) in plan.parts.iter().zip(blocks.iter_mut()) {
            if block.is_partial() {
                reads.add(file.source.reads(&[vec![part.place.clone()]]));
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
    fetch_items(file, column, plan, blocks, &items, reads)?;
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

/// Reads the chunks of long rows in which wanted items lie; what all of them need next in one wave.
fn fetch_items(
    file: &OpenFile,
    column: &Column,
    plan: &Plan,
    blocks: &mut [BlockBytes<'_>],
    items: &[Vec<Range<u32>>],
    reads: &mut Reads,
) -> Result<()> {
    loop {
        let (mut wave, mut wanted) = (Vec::new(), Vec::new());
        let parts = plan.parts.iter().zip(blocks.iter_mut()).zip(items);
        for (number, ((part, block), ranges)) in parts.enumerate() {
            let at = PartAt { column, part };
            let (BlockBytes::Partial(partial), Some(decoder)) = (block, at.decoder()?) else {
                continue;
            };
            let needs = with_memory(file, |memory| {
                partial.items(decoder, ranges, memory.scratch)
            });
            for range in needs.map_err(|error| at.at(error))? {
                wave.push(partial.place(&range));
                wanted.push((number, range));
            }
        }
        if wave.is_empty() {
            return Ok(());
        }
        let wave = [wave];
        reads.add(file.source.reads(&wave));
        let fetched = file.source.fetch_all(&wave)?.into_iter().flatten();
        for ((number, range), bytes) in wanted.into_iter().zip(fetched) {
            let (Some(BlockBytes::Partial(partial)), Some(part)) =
                (blocks.get_mut(number), plan.parts.get(number))
            else {
                continue;
            };
            let supplied = partial.supply(range, &bytes);
            supplied.map_err(|error| PartAt { column, part }.at(error))?;
        }
    }
}
