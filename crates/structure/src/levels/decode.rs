//! The levels of blocks decoded, one after the other.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{Error, Result, Scratch, Selection, ValueType};

use super::budget::Budget;
use super::level::{DecodedForm, DecodedSlots, RawLevel, SLOTS_MAX};
use super::ranges::{Cut, cut_constant, misfit, push_range, scale};
use super::run::Run;
use crate::block::Block;
use crate::full_zip::levels::{LevelsOut, push_levels};
use crate::full_zip::rows::FullZipRows;
use crate::layout::items_bytes;
use crate::memory::Take;
use crate::meta::LevelForm;
use crate::page::PageDecoder;
use crate::sections::LevelSections;

/// The levels of a run of rows of one column, decoded: outermost first.
#[derive(Debug)]
pub struct RawLevels<'a> {
    levels: Vec<RawLevel>,
    n_items: usize,
    /// For each level of lists: which of their items are wanted; all where there is no cut.
    cuts: Vec<Option<Cut>>,
    budget: &'a Budget,
}

impl<'a> RawLevels<'a> {
    /// Levels of a column with these forms.
    pub fn new(forms: impl IntoIterator<Item = LevelForm>, budget: &'a Budget) -> Self {
        let levels: Vec<_> = forms.into_iter().map(RawLevel::new).collect();
        let cuts = levels.iter().map(|_| None).collect();
        Self {
            levels,
            n_items: 0,
            cuts,
            budget,
        }
    }

    /// As [`RawLevels::new`], decoding only some items of some lists. A list's level is that of its lengths. The levels
    /// come out as if the lists had no other items.
    pub fn with_cuts(
        forms: impl IntoIterator<Item = LevelForm>,
        cuts: impl IntoIterator<Item = (usize, Cut)>,
        budget: &'a Budget,
    ) -> Self {
        let mut made = Self::new(forms, budget);
        for (level, cut) in cuts {
            if let Some(known) = made.cuts.get_mut(level) {
                *known = Some(cut);
            }
        }
        made
    }

    /// Items below the last level so far.
    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// The levels.
    pub fn into_levels(self) -> Vec<RawLevel> {
        self.levels
    }

    /// Decodes the levels of the selected rows of a block and appends them. Puts into `ranges` which of the block's
    /// items are below these rows, in the rows' order.
    ///
    /// # Errors
    /// What the decoders refuse, and levels whose slots do not add up; [`tarsia_codec::ErrorKind::LimitExceeded`] for
    /// more slots than 32-bit offsets can say or the budget allows. After an error nothing here must be used.
    pub fn push(
        &mut self,
        page: &PageDecoder,
        block: &Block<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        take: Take<'_>,
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        selection.check(block.header.present_rows)?;
        ranges.clear();
        match selection {
            Selection::All => ranges.push(0..block.header.present_rows),
            Selection::Range { start, len } => ranges.push(start..start + len),
            Selection::Indices(indices) => {
                for index in indices {
                    push_range(ranges, *index..*index + 1);
                }
            }
        }
        if self.levels.len() != page.levels().len() {
            return Err(misfit());
        }
        if let Some(form) = page.full_zip() {
            let rows = FullZipRows::of(form, block.levels, block.unit);
            let out = LevelsOut {
                levels: &mut self.levels,
                cuts: &self.cuts,
                budget: self.budget,
            };
            push_levels(out, page.levels(), rows, take, ranges)?;
            return self.count_items(page, ranges);
        }
        let mut sections = match self.levels.is_empty() {
            true => None,
            false => Some(LevelSections::of(block, page.levels())?),
        };
        for (number, (level, cut)) in self.levels.iter_mut().zip(&self.cuts).enumerate() {
            let section = sections.as_mut().and_then(Iterator::next);
            let section = section.ok_or_else(misfit)??;
            let n_more: u64 = ranges
                .iter()
                .map(|range| u64::from(range.end - range.start))
                .sum();
            level.admit(n_more, self.budget)?;
            let mut run = Run {
                section,
                page,
                number,
                n_more: n_more as usize,
                scratch: &mut *scratch,
                take: &mut *take,
            };
            match (level.form, cut) {
                (LevelForm::Validity, _) => run.validity(level, ranges)?,
                (LevelForm::Lengths, None) => run.lengths(level, ranges)?,
                (LevelForm::Lengths, Some(cut)) => run.cut_lengths(level, cut, ranges)?,
                (LevelForm::ConstantLength(length), None) => scale(ranges, length)?,
                (LevelForm::ConstantLength(length), Some(cut)) => {
                    *ranges = cut_constant(ranges, length, cut)?;
                }
            }
            level.n_slots += n_more as usize;
        }
        self.count_items(page, ranges)
    }

    /// Appends the levels of rows that something else decoded, such as a kernel, outermost first, with `n_items` items
    /// below the last. Everything is checked. Cuts have been applied by whoever decoded.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::InvalidInput`] where the levels do not fit each other, the column's forms or the
    /// items, else as [`RawLevels::push`]. After an error nothing here must be used.
    pub fn push_decoded(
        &mut self,
        n_rows: usize,
        decoded: &[DecodedSlots<'_>],
        value_type: ValueType,
        n_items: usize,
        take: Take<'_>,
    ) -> Result<()> {
        let misfit = || Error::invalid("decoded levels that do not fit the column");
        let first = decoded.first().map_or(n_items, |first| first.n_slots);
        if decoded.len() != self.levels.len() || first != n_rows {
            return Err(misfit());
        }
        let levels = self.levels.iter_mut().zip(&self.cuts);
        for (number, ((level, cut), slots)) in levels.zip(decoded).enumerate() {
            let n_below = decoded
                .get(number + 1)
                .map_or(n_items, |below| below.n_slots);
            level.admit(slots.n_slots as u64, self.budget)?;
            let fits = match (level.form, slots.form) {
                (LevelForm::Validity, DecodedForm::Validity(bits)) => {
                    level.push_bits(slots.n_slots, bits, take)? == n_below
                }
                (LevelForm::Lengths, DecodedForm::Ends(ends)) => {
                    ends.len() == slots.n_slots + 1 && level.push_ends(ends, n_below, take)?
                }
                (LevelForm::Lengths, DecodedForm::ConstantLength) => {
                    let length = n_below.checked_div(slots.n_slots).unwrap_or(0);
                    // What does not fit is beyond any limit.
                    let length = u32::try_from(length).unwrap_or(u32::MAX);
                    level.push_equal(slots.n_slots, length, take)?;
                    slots.n_slots as u64 * u64::from(length) == n_below as u64
                }
                (LevelForm::ConstantLength(length), DecodedForm::ConstantLength) => {
                    let length = cut.map_or(length, |cut| cut.length_of(length));
                    slots.n_slots as u64 * u64::from(length) == n_below as u64
                }
                _ => false,
            };
            if !fits {
                return Err(misfit());
            }
            level.n_slots += slots.n_slots;
        }
        self.spend_items(value_type, n_items as u64)
    }

    fn count_items(&mut self, page: &PageDecoder, ranges: &[Range<u32>]) -> Result<()> {
        let n_items = ranges
            .iter()
            .map(|range| u64::from(range.end - range.start))
            .sum();
        self.spend_items(page.value_type(), n_items)
    }

    fn spend_items(&mut self, value_type: ValueType, n_items: u64) -> Result<()> {
        self.budget.spend(items_bytes(value_type, n_items))?;
        let n_items = self.n_items as u64 + n_items;
        if n_items > SLOTS_MAX {
            return Err(Error::limit("items of a batch", n_items, SLOTS_MAX));
        }
        self.n_items = n_items as usize;
        Ok(())
    }
}
