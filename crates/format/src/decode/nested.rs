//! Nested columns: levels first, which say how many items there are, then the items.

use std::ops::Range;

use tarsia_arrow::{BorrowedItems, LeafParts};
use tarsia_codec::ValueType;
use tarsia_structure::{Budget, Cut, RawColumn, RawLevels};

use super::column_read::ColumnRead;
use super::decoder::Decoder;
use super::memory::Memory;
use super::parts::{FetchedPart, PageRun};
use crate::error::{Result, while_reading};

/// The wanted parts of some lists: by the number of the level with their lengths.
pub(crate) type Cuts<'c> = &'c [(usize, Cut)];

/// Levels that were decoded, and what lies below them.
pub(crate) struct ItemsBelow<'i, 'b> {
    pub(crate) levels: RawLevels<'b>,
    /// The items of each part of the plan.
    pub(crate) items: &'i [Vec<Range<u32>>],
    /// The most bytes that they take, if they are byte strings.
    pub(crate) data_bytes: u64,
}

/// Levels and items that grow together.
struct Growing<'b> {
    levels: RawLevels<'b>,
    items: RawColumn,
}

impl<B: AsRef<[u8]>> ColumnRead<'_, B> {
    /// Decodes levels and items of a column that is not flat.
    pub(crate) fn decode_nested(
        &self,
        budget: &Budget,
        memory: &mut Memory<'_>,
    ) -> Result<LeafParts> {
        let mut levels = RawLevels::new(self.column.path.forms().iter().copied(), budget);
        #[cfg(feature = "kernels")]
        if !self.is_native()? {
            let expected = self.expected_bytes()?;
            return self.decode_once(levels, &[], expected, budget, memory);
        }
        if self.plan.is_of_long_rows && !self.has_views() {
            // The blocks' lengths say about what they decode to, and no block has to be looked at for that.
            return self.decode_once(levels, &[], self.plan.bytes(), budget, memory);
        }
        let items = self.decode_levels(&mut levels, |_| true, memory)?;
        let below = ItemsBelow {
            levels,
            items: &items,
            data_bytes: self.string_bytes_max()?,
        };
        self.decode_items(below, memory)
    }

    /// The first half of [`ColumnRead::decode_nested`]: the levels, and the items of each part that are below them. The
    /// checksums of those parts are compared whose number `check` wants.
    pub(crate) fn decode_levels(
        &self,
        levels: &mut RawLevels<'_>,
        check: impl Fn(usize) -> bool,
        memory: &mut Memory<'_>,
    ) -> Result<Vec<Vec<Range<u32>>>> {
        let Memory { scratch, take } = memory;
        let mut items = Vec::with_capacity(self.plan.parts.len());
        self.each_block(check, |part, decoder, block| {
            let mut ranges = Vec::new();
            let selection = self.plan.selection(part);
            levels.push(decoder, block, selection, scratch, take, &mut ranges)?;
            items.push(ranges);
            Ok(())
        })?;
        Ok(items)
    }

    /// The second half: the items. Their number is known before memory is taken for them.
    pub(crate) fn decode_items(
        &self,
        below: ItemsBelow<'_, '_>,
        memory: &mut Memory<'_>,
    ) -> Result<LeafParts> {
        let ItemsBelow {
            levels,
            items,
            data_bytes,
        } = below;
        let ranges = items.iter().map(Vec::as_slice);
        if let Some(views) = self.decode_views(ranges, false, memory)? {
            return Ok(LeafParts {
                levels: levels.into_levels(),
                items: views.views,
                borrowed: Some(BorrowedItems::Views(views.buffers)),
            });
        }
        if let Some(run) = self.decode_items_in_place(items, memory)? {
            return Ok(LeafParts {
                levels: levels.into_levels(),
                items: run.ends,
                borrowed: Some(BorrowedItems::Run(run.bytes)),
            });
        }
        let (value_type, n_items) = (self.value_type(), levels.n_items());
        let mut raw = RawColumn::new(value_type, n_items, data_bytes as usize, memory.take)
            .map_err(|error| while_reading(error).in_column(self.column.name()))?;
        self.push_items(items, &mut raw, memory)?;
        Ok(LeafParts {
            levels: levels.into_levels(),
            items: raw.finish(),
            borrowed: None,
        })
    }

    /// Appends the items of each part, whose checksums were compared when the levels were decoded.
    pub(crate) fn push_items(
        &self,
        items: &[Vec<Range<u32>>],
        raw: &mut RawColumn,
        memory: &mut Memory<'_>,
    ) -> Result<()> {
        let Memory { scratch, take } = memory;
        let mut items = items.iter();
        self.each_block(
            |_| false,
            |_, decoder, block| {
                let ranges = items.next().map(Vec::as_slice).unwrap_or_default();
                raw.push_ranges(decoder, block, ranges, scratch, take)
            },
        )
    }

    /// Levels and items block by block, each behind what is there and looked at once: while one is decoded, the next
    /// ones come from the disk. Pages that a kernel decodes, it does; of lists with a cut it decodes only the cut's
    /// items. Memory is taken for about `expected_bytes`.
    pub(crate) fn decode_once(
        &self,
        levels: RawLevels<'_>,
        cuts: Cuts<'_>,
        expected_bytes: u64,
        budget: &Budget,
        memory: &mut Memory<'_>,
    ) -> Result<LeafParts> {
        let mut into = Growing {
            levels,
            items: self.room_for(expected_bytes, budget, memory)?,
        };
        #[cfg(feature = "kernels")]
        let of_strings = match self.is_native()? {
            true => 0,
            false => self.string_bytes_max()?,
        };
        #[cfg(not(feature = "kernels"))]
        let _ = cuts;
        self.each_page(|decoder, run| {
            #[cfg(feature = "kernels")]
            if let Some(kernel) = decoder.kernel() {
                let most = budget.left().saturating_add(of_strings);
                return self.push_by_kernel(kernel, run, cuts, most, &mut into, memory);
            }
            self.push_run(decoder, run, &mut into, memory)
        })?;
        Ok(LeafParts {
            levels: into.levels.into_levels(),
            items: into.items.finish(),
            borrowed: None,
        })
    }

    /// Room for about as many items as so many bytes hold, which may grow: memory that grows is copied.
    fn room_for(&self, bytes: u64, budget: &Budget, memory: &mut Memory<'_>) -> Result<RawColumn> {
        let value_type = self.value_type();
        let mut raw = RawColumn::new(value_type, 0, 0, memory.take).map_err(while_reading)?;
        let bytes = bytes.min(budget.left()) as usize;
        let n_items = match value_type {
            ValueType::Bits => bytes.saturating_mul(8),
            ValueType::Fixed(width) => bytes / (width as usize).max(1),
            ValueType::Bytes => self.plan.rows,
        };
        raw.reserve(n_items, bytes, memory.take)
            .map_err(while_reading)?;
        Ok(raw)
    }

    #[cfg(feature = "kernels")]
    fn push_by_kernel(
        &self,
        kernel: &super::kernel::KernelDecoder,
        run: &PageRun<'_, B>,
        cuts: Cuts<'_>,
        output_bytes_max: u64,
        into: &mut Growing<'_>,
        memory: &mut Memory<'_>,
    ) -> Result<()> {
        let value_type = self.value_type();
        let take = &mut memory.take;
        kernel.decode_nested(run, cuts, output_bytes_max, &mut |batch| {
            let items = batch.items;
            into.levels
                .push_decoded(batch.rows, batch.levels, value_type, items.rows, take)?;
            into.items.reserve(items.rows, items.values.len(), take)?;
            into.items.push_decoded(&items, take)
        })
    }

    /// Appends levels and items of parts that this build decodes, with room for them.
    fn push_run(
        &self,
        decoder: &Decoder,
        run: &PageRun<'_, B>,
        into: &mut Growing<'_>,
        memory: &mut Memory<'_>,
    ) -> Result<()> {
        for fetched in run.each() {
            let FetchedPart { part, bytes, .. } = fetched;
            let selection = self.plan.selection(part);
            let data_bytes = self.part_bytes(part, bytes)?;
            let data_bytes = data_bytes.saturating_mul(selection.repeats()) as usize;
            let mut ranges = Vec::new();
            let Memory { scratch, take } = &mut *memory;
            fetched.with_block(decoder.native(), Some(run.checks), |decoder, block| {
                into.levels
                    .push(decoder, block, selection, scratch, take, &mut ranges)?;
                let n_items = ranges.iter().map(ExactSizeIterator::len).sum();
                into.items.reserve(n_items, data_bytes, take)?;
                into.items
                    .push_ranges(decoder, block, &ranges, scratch, take)
            })?;
        }
        Ok(())
    }
}
