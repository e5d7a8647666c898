//! The levels of rows of full-zip pages.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::Result;

use super::rows::FullZipRows;
use crate::levels::budget::Budget;
use crate::levels::level::RawLevel;
use crate::levels::ranges::{Cut, cut_constant, misfit, push_picked, scale};
use crate::memory::Take;
use crate::meta::{Level, LevelForm};

/// Where levels are decoded to.
pub(crate) struct LevelsOut<'a> {
    pub(crate) levels: &'a mut [RawLevel],
    /// For each level of lists, which items are wanted.
    pub(crate) cuts: &'a [Option<Cut>],
    pub(crate) budget: &'a Budget,
}

/// Decodes the levels of the rows `ranges`, which become their items. `stored` are the page's levels.
pub(crate) fn push_levels(
    out: LevelsOut<'_>,
    stored: &[Level],
    rows: FullZipRows<'_>,
    take: Take<'_>,
    ranges: &mut Vec<Range<u32>>,
) -> Result<()> {
    // Of levels that store validity, those above.
    let mut n_above = 0;
    let mut slots_per_row = 1;
    let lengths = out.cuts.iter().zip(stored);
    let lengths: Vec<Option<(u32, Option<Cut>)>> = lengths
        .map(|(cut, stored)| match stored {
            Level::ConstantLength(length) => Some((*length, *cut)),
            _ => None,
        })
        .collect();
    let stored = stored.iter().zip(&lengths);
    for (level, (stored, length)) in out.levels.iter_mut().zip(stored) {
        let left = length.map(|(length, cut)| cut.map_or(length, |cut| cut.length_of(length)));
        let above = n_above;
        let reached = |row: &u32| rows.control(*row) >= above;
        let n_rows = match n_above {
            0 => ranges
                .iter()
                .map(|range| u64::from(range.end - range.start))
                .sum(),
            _ => ranges.iter().cloned().flatten().filter(reached).count() as u64,
        };
        let n_more = n_rows.saturating_mul(slots_per_row);
        level.admit(n_more, out.budget)?;
        let (at, n_more) = (level.n_slots, n_more as usize);
        match (level.form, stored) {
            (LevelForm::Validity, Level::Validity(_)) => {
                let bits = level.validity_mut(n_more, &mut *take)?;
                let slots = ranges.iter().cloned().flatten().filter(reached);
                let mut nulls = 0;
                for (i, row) in slots.enumerate() {
                    let valid = rows.control(row) > above;
                    tarsia_bits::fill_bits(bits, at + i, 1, valid);
                    nulls += usize::from(!valid);
                }
                level.null_count += nulls;
                n_above += 1;
            }
            (LevelForm::Validity, _) => level.push_valid(n_more, &mut *take)?,
            (LevelForm::Lengths, _) => {
                level.push_equal(n_more, left.ok_or_else(misfit)?, &mut *take)?;
            }
            (LevelForm::ConstantLength(_), _) => {}
        }
        slots_per_row *= left.map_or(1, u64::from);
        level.n_slots += n_more;
    }
    let mut items: Vec<Range<u32>> = Vec::new();
    for range in ranges.iter() {
        for row in range.clone().filter(|row| rows.has_items(*row)) {
            push_picked(&mut items, row..row + 1);
        }
    }
    for (length, cut) in lengths.into_iter().flatten() {
        match cut {
            None => scale(&mut items, length)?,
            Some(cut) => items = cut_constant(&items, length, &cut)?,
        }
    }
    *ranges = items;
    Ok(())
}
