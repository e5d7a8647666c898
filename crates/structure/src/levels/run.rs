//! One level of one block decoded.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{AlignedBuf, BitSlice, Error, Output, Result, Scratch, Selection, Unit};

use super::level::{RawLevel, SLOTS_MAX};
use super::ranges::{Cut, misfit, push_picked, push_range, scale};
use crate::memory::{bytes_mut, words_mut};
use crate::page::PageDecoder;
use crate::sections::{LevelSection, Slots};
use crate::slots;

/// One level of one block.
pub(crate) struct Run<'a, 'b> {
    pub(crate) section: LevelSection<'a>,
    pub(crate) page: &'a PageDecoder,
    pub(crate) number: usize,
    /// Slots selected.
    pub(crate) n_more: usize,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) take: &'a mut (dyn FnMut(usize) -> AlignedBuf + 'b),
}

impl Run<'_, '_> {
    fn whole(&self, ranges: &[Range<u32>]) -> bool {
        matches!(ranges, [range] if *range == (0..self.section.n_slots))
    }

    fn wrong_count(&self) -> Error {
        let allowed = "as many as the level's slots say";
        Error::corrupt("level.slots_below", 8, self.section.n_below, allowed)
    }

    pub(crate) fn validity(
        &mut self,
        level: &mut RawLevel,
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        let (at, n_more) = (level.n_slots, self.n_more);
        match self.section.slots {
            Slots::AllValid => level.push_valid(n_more, self.take),
            Slots::AllNull => {
                let bits = level.validity_mut(n_more, self.take)?;
                tarsia_bits::fill_bits(bits, at, n_more, false);
                level.null_count += n_more;
                ranges.clear();
                Ok(())
            }
            Slots::ConstantLength(_) => Err(misfit()),
            Slots::Encoded { tree, bytes } => {
                let n_slots = self.section.n_slots;
                let unit = Unit {
                    bytes,
                    len: n_slots,
                    decoded_bytes: n_slots.div_ceil(8),
                };
                if self.whole(ranges) {
                    let bits = level.validity_mut(n_more, self.take)?;
                    let out = Output::Bits {
                        bytes: bits,
                        offset: at,
                    };
                    let decoder = self.page.level_tree(self.number, tree)?;
                    decoder.decode(unit, Selection::All, self.scratch, out)?;
                    let valid = BitSlice::new(bits, at, n_more)?.count_ones();
                    level.null_count += n_more - valid;
                    if valid != self.section.n_below as usize {
                        return Err(self.wrong_count());
                    }
                    ranges.clear();
                    ranges.push(0..self.section.n_below);
                    return Ok(());
                }
                let mut all = self.scratch.take((n_slots as usize).div_ceil(8));
                let out = Output::Bits {
                    bytes: &mut all,
                    offset: 0,
                };
                let decoder = self.page.level_tree(self.number, tree)?;
                let done = decoder.decode(unit, Selection::All, self.scratch, out);
                let done = done.and_then(|_| self.pick_bits(level, &all, ranges));
                self.scratch.give(all);
                done
            }
        }
    }

    /// Selected bits of a block's, and which slots below they lead to.
    fn pick_bits(
        &mut self,
        level: &mut RawLevel,
        all: &[u8],
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        let all = BitSlice::new(all, 0, self.section.n_slots as usize)?;
        if all.count_ones() != self.section.n_below as usize {
            return Err(self.wrong_count());
        }
        let (mut at, n_more) = (level.n_slots, self.n_more);
        let bits = level.validity_mut(n_more, self.take)?;
        let mut below: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
        let (mut last, mut rank, mut n_valid) = (0, 0, 0);
        for range in ranges.iter() {
            let (start, end) = (range.start as usize, range.end as usize);
            rank += all.slice(last..start).count_ones();
            last = start;
            let selected = all.slice(start..end);
            slots::copy_bits(bits, at, selected)?;
            at += selected.len();
            let valid = selected.count_ones();
            n_valid += valid;
            if valid > 0 {
                push_range(&mut below, rank as u32..(rank + valid) as u32);
            }
        }
        level.null_count += n_more - n_valid;
        *ranges = below;
        Ok(())
    }

    pub(crate) fn lengths(
        &mut self,
        level: &mut RawLevel,
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        let n_more = self.n_more;
        let overflow = |sum: u64| Error::limit("items of a batch", sum, SLOTS_MAX);
        match self.section.slots {
            Slots::ConstantLength(length) => {
                level.push_equal(n_more, length, self.take)?;
                scale(ranges, length)
            }
            Slots::AllValid | Slots::AllNull => Err(misfit()),
            Slots::Encoded { tree, bytes } => {
                let n_slots = self.section.n_slots;
                let unit = Unit {
                    bytes,
                    len: n_slots,
                    // At most 2^31 slots, as the level before said.
                    decoded_bytes: n_slots.checked_mul(4).ok_or_else(|| overflow(u64::MAX))?,
                };
                if self.whole(ranges) {
                    let decoder = self.page.level_tree(self.number, tree)?;
                    let (ends, base) = level.ends_mut(n_more, self.take);
                    let out = Output::Fixed(bytes_mut(ends));
                    decoder.decode(unit, Selection::All, self.scratch, out)?;
                    let last = tarsia_bits::prefix_sum(ends, base)
                        .map_err(|_| overflow(u64::from(u32::MAX) + 1))?;
                    if last - base != self.section.n_below {
                        return Err(self.wrong_count());
                    }
                    if u64::from(last) > SLOTS_MAX {
                        return Err(overflow(last.into()));
                    }
                    ranges.clear();
                    ranges.push(0..self.section.n_below);
                    return Ok(());
                }
                let mut all = self.scratch.take(n_slots as usize * 4);
                let out = Output::Fixed(&mut all);
                let decoder = self.page.level_tree(self.number, tree)?;
                let done = decoder.decode(unit, Selection::All, self.scratch, out);
                let done = done.and_then(|_| self.pick_lengths(level, words_mut(&mut all), ranges));
                self.scratch.give(all);
                done
            }
        }
    }

    /// The lengths that cuts leave of the selected lists, and which slots below they lead to.
    pub(crate) fn cut_lengths(
        &mut self,
        level: &mut RawLevel,
        cut: &Cut,
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        let n_slots = self.section.n_slots;
        let mut all = self.scratch.take(n_slots as usize * 4);
        let done = match self.section.slots {
            Slots::ConstantLength(length) => {
                words_mut(&mut all).fill(length);
                Ok(0)
            }
            Slots::Encoded { tree, bytes } => {
                let unit = Unit {
                    bytes,
                    len: n_slots,
                    decoded_bytes: n_slots.saturating_mul(4),
                };
                let decoder = self.page.level_tree(self.number, tree)?;
                decoder.decode(unit, Selection::All, self.scratch, Output::Fixed(&mut all))
            }
            Slots::AllValid | Slots::AllNull => Err(misfit()),
        };
        let done = done.and_then(|_| {
            let lengths: &mut [u32] = words_mut(&mut all);
            if tarsia_bits::prefix_sum(lengths, 0) != Ok(self.section.n_below) {
                return Err(self.wrong_count());
            }
            let (to, mut end) = level.ends_mut(self.n_more, self.take);
            let mut below = Vec::new();
            let slots = ranges.iter().cloned().flatten();
            for (slot, to) in slots.zip(to) {
                let end_of = |slot: u32| lengths.get(slot as usize).copied().unwrap_or_default();
                let start = slot.checked_sub(1).map_or(0, end_of);
                let picked = cut.of(start, end_of(slot) - start);
                end += picked.len() as u32;
                *to = end;
                if u64::from(end) > SLOTS_MAX {
                    return Err(Error::limit("items of a batch", end.into(), SLOTS_MAX));
                }
                push_picked(&mut below, picked);
            }
            *ranges = below;
            Ok(())
        });
        self.scratch.give(all);
        done
    }

    /// Selected lengths of a block's, and which slots below they lead to.
    fn pick_lengths(
        &mut self,
        level: &mut RawLevel,
        all: &mut [u32],
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        let total = tarsia_bits::prefix_sum(all, 0);
        if total != Ok(self.section.n_below) {
            return Err(self.wrong_count());
        }
        // Ends now.
        let end_of = |slot: u32| match slot.checked_sub(1) {
            Some(before) => all.get(before as usize).copied().unwrap_or_default(),
            None => 0,
        };
        let (mut to, base) = level.ends_mut(self.n_more, self.take);
        let mut base = u64::from(base);
        let mut below: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
        for range in ranges.iter() {
            let start = end_of(range.start);
            let ends = all.get(range.start as usize..range.end as usize);
            let ends = ends.unwrap_or_default();
            let (now, later) = to.split_at_mut(ends.len().min(to.len()));
            for (to, end) in now.iter_mut().zip(ends) {
                // Checked as a whole below: ends rise.
                *to = (base + u64::from(end - start)) as u32;
            }
            to = later;
            let end = end_of(range.end);
            base += u64::from(end - start);
            if base > SLOTS_MAX {
                return Err(Error::limit("items of a batch", base, SLOTS_MAX));
            }
            if end > start {
                push_range(&mut below, start..end);
            }
        }
        *ranges = below;
        Ok(())
    }
}
