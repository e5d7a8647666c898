//! Runs of slots: which of those below a level are wanted.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{Error, Result, limits};

/// A selection of items `start .. end` of each list, or as many of them as the list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first item.
    pub start: u32,
    /// The item behind the last.
    pub end: u32,
}

impl Cut {
    /// The selected items of a list of `length` items whose first is item `start` of the block.
    pub(crate) fn of(&self, start: u32, length: u32) -> Range<u32> {
        let from = self.start.min(length);
        start + from..start + self.end.clamp(from, length)
    }

    /// How many items of a list of `length` items are selected.
    pub fn length_of(&self, length: u32) -> u32 {
        self.of(0, length).len() as u32
    }
}

/// Appends a range, to the last one where they touch.
pub(crate) fn push_range(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// As [`push_range`], for selected parts of lists, which may be empty.
pub(crate) fn push_picked(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    if !range.is_empty() {
        push_range(ranges, range);
    }
}

pub(crate) fn scale(ranges: &mut [Range<u32>], length: u32) -> Result<()> {
    let too_many = || Error::limit("items of a block", u64::MAX, limits::UNIT_VALUES_MAX.into());
    for range in ranges {
        let start = range.start.checked_mul(length).ok_or_else(too_many)?;
        let end = range.end.checked_mul(length).ok_or_else(too_many)?;
        *range = start..end;
    }
    Ok(())
}

/// The selected items below slots that all have one length.
pub(crate) fn cut_constant(
    ranges: &[Range<u32>],
    length: u32,
    cut: &Cut,
) -> Result<Vec<Range<u32>>> {
    let mut below = Vec::new();
    for slot in ranges.iter().cloned().flatten() {
        let start = slot.checked_mul(length).ok_or_else(misfit)?;
        push_picked(&mut below, cut.of(start, length));
    }
    Ok(below)
}

pub(crate) fn misfit() -> Error {
    Error::invalid("levels that are not the page's")
}
