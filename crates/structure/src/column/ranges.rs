//! Runs of a block's items: decoded one by one, by index, or copied out of the whole block.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{Result, Scratch, Selection};

use super::{RawColumn, no_room};
use crate::block::Block;
use crate::full_zip::rows::FullZipRows;
use crate::memory::Take;
use crate::page::PageDecoder;

/// Up to this many runs of items are decoded one by one.
const RANGES_MAX: usize = 8;

impl RawColumn {
    /// Appends runs of a block's items, as [`RawLevels::push`](crate::RawLevels::push) finds them.
    ///
    /// # Errors
    /// As [`RawColumn::push`].
    pub fn push_ranges(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        ranges: &[Range<u32>],
        scratch: &mut Scratch,
        take: Take<'_>,
    ) -> Result<()> {
        if let (true, Some(form)) = (cfg!(feature = "nested"), page.full_zip()) {
            let rows = FullZipRows::of(form, block.levels, block.unit);
            return ranges
                .iter()
                .try_for_each(|range| self.push_rows(rows, range.clone(), take));
        }
        if let [range] = ranges
            && *range == (0..block.n_items)
        {
            return self.push(page, block, Selection::All, scratch, take);
        }
        // A row that is asked for twice has its items twice, but indices must not fall.
        let rise = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        if ranges.len() <= RANGES_MAX || !rise {
            return ranges.iter().try_for_each(|range| {
                self.push(page, block, Selection::from(range), scratch, take)
            });
        }
        #[cfg(feature = "zero-copy")]
        if self.is_copied_of_whole(block, ranges) {
            return self.push_of_whole(page, block, ranges, scratch, take);
        }
        let indices: Vec<u32> = ranges.iter().cloned().flatten().collect();
        self.push(page, block, Selection::Indices(&indices), scratch, take)
    }
}

/// Blocks that are decoded as a whole, of which runs of items are copied: kernels do without, since they must be small.
#[cfg(feature = "zero-copy")]
mod whole {
    use tarsia_codec::{BitSlice, Error, ValueType};

    use super::*;
    use crate::column::Collects;
    use crate::memory::{words, words_mut};
    use crate::slots;

    /// A block is decoded as a whole if one of so many items is wanted or more. Chosen with a margin, not fitted: where
    /// one of 7 and one of 12 items were wanted (digits, click sequences), this took 0.29 and 0.36 of the time that
    /// decoding by index took.
    const SHARE: usize = 16;

    /// The share for byte strings, whose bytes take the same time either way.
    const STRINGS_SHARE: usize = 3;

    /// Most bytes of a block that is decoded as a whole.
    const BYTES_MAX: usize = 4 << 20;

    impl RawColumn {
        /// Whether copying these runs out of the whole block takes less time than decoding them by index.
        pub(super) fn is_copied_of_whole(&self, block: &Block<'_>, ranges: &[Range<u32>]) -> bool {
            let n_items = block.n_items as usize;
            let n_wanted: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            let (share, bytes) = match self.value_type {
                ValueType::Bits => (SHARE, n_items / 8),
                ValueType::Fixed(width) => (SHARE, n_items.saturating_mul(width as usize)),
                ValueType::Bytes => (STRINGS_SHARE, block.encoded_values().decoded_bytes as usize),
            };
            self.collects == Collects::All
                && n_wanted.saturating_mul(share) >= n_items
                && bytes <= BYTES_MAX
        }

        /// Decodes a block as a whole, and appends copies of runs of its items.
        pub(super) fn push_of_whole(
            &mut self,
            page: &PageDecoder,
            block: &Block<'_>,
            ranges: &[Range<u32>],
            scratch: &mut Scratch,
            take: Take<'_>,
        ) -> Result<()> {
            let n_items = block.n_items as usize;
            let data_bytes = match self.value_type {
                ValueType::Bytes => block.encoded_values().decoded_bytes as usize,
                _ => 0,
            };
            let mut from_scratch = |len| scratch.take(len);
            let mut whole = Self::new(self.value_type, n_items, data_bytes, &mut from_scratch)?;
            let done = whole
                .push(page, block, Selection::All, scratch, take)
                .and_then(|()| {
                    let mut ranges = ranges.iter();
                    ranges.try_for_each(|range| self.push_copies(&whole, range, take))
                });
            if self.value_type == ValueType::Bytes {
                scratch.give(whole.ends);
            }
            scratch.give(whole.values);
            done
        }

        /// Appends copies of a run of items of another column of the same type.
        fn push_copies(&mut self, of: &Self, range: &Range<u32>, take: Take<'_>) -> Result<()> {
            let range = range.start as usize..range.end as usize;
            let (rows, n_rows) = (self.rows, range.len());
            if n_rows > self.rows_max - rows || range.end > of.rows {
                return Err(no_room());
            }
            match self.value_type {
                ValueType::Bits => {
                    let bits = BitSlice::new(&of.values, 0, of.rows)?.slice(range.clone());
                    slots::copy_bits(&mut self.values, rows, bits)?;
                }
                ValueType::Fixed(width) => {
                    let width = width as usize;
                    let from = of.values.get(range.start * width..range.end * width);
                    let to = self.values.get_mut(rows * width..(rows + n_rows) * width);
                    let (Some(from), Some(to)) = (from, to) else {
                        return Err(no_room());
                    };
                    to.copy_from_slice(from);
                }
                ValueType::Bytes => self.push_copied_strings(of, range.clone())?,
            }
            match &of.validity {
                Some(validity) => {
                    let bits = BitSlice::new(validity, 0, of.rows)?.slice(range);
                    self.null_count += n_rows - bits.count_ones();
                    let (validity, at) = self.validity(take);
                    slots::copy_bits(validity, at, bits)?;
                }
                None => {
                    if let Some(validity) = &mut self.validity {
                        tarsia_bits::fill_bits(validity, rows, n_rows, true);
                    }
                }
            }
            self.rows += n_rows;
            Ok(())
        }

        /// Appends copies of byte strings, which are not counted yet.
        fn push_copied_strings(&mut self, of: &Self, range: Range<usize>) -> Result<()> {
            let (rows, n_rows) = (self.rows, range.len());
            let bad_ends = || Error::invalid("a decoder returned bad ends");
            let ends = words(&of.ends).get(range.start..range.end + 1);
            let (first, ends) = ends.and_then(<[u32]>::split_first).ok_or_else(bad_ends)?;
            let last = *ends.last().unwrap_or(first);
            let from = of.values.get(*first as usize..last as usize);
            let from = from.ok_or_else(bad_ends)?;
            let end = self.data_len + from.len();
            let to = self.values.get_mut(self.data_len..end);
            to.ok_or_else(no_room)?.copy_from_slice(from);
            // Both are at most 2 GiB, checked when the columns were made.
            let shift = (self.data_len as u32).wrapping_sub(*first);
            let to = words_mut(&mut self.ends).get_mut(rows + 1..rows + 1 + n_rows);
            for (to, end) in to.ok_or_else(no_room)?.iter_mut().zip(ends) {
                *to = end.wrapping_add(shift);
            }
            self.data_len = end;
            Ok(())
        }
    }
}
