//! Finds the steps of values: which are new, and which are copies of earlier ones.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_bits::equal_bytes;
use tarsia_codec::{AlignedBuf, FixedSlice, OwnedValues};

use crate::layout::{Before, Reference, zigzag};

/// Copies of fewer values are used only where they start in the row before, whose distances are cheap.
const FAR_VALUES_MIN: usize = 8;

/// A copy saves at least so many bytes of values, since a step takes some itself.
const COPIED_BYTES_MIN: usize = 8;

/// Bits of a hash. Short units have places to spare, so that few pairs hide another.
const HASH_BITS: core::ops::RangeInclusive<u32> = 10..=16;

/// The steps of a unit, or of several units one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// New values of each step.
    pub(crate) new: Vec<u32>,
    /// New and copied values of each step.
    pub(crate) values: Vec<u32>,
    /// How far back the copied values lie, 0 where there are none.
    pub(crate) distances: Vec<u32>,
    /// Where new values lie in the page.
    new_at: Vec<Range<usize>>,
}

/// Where the rows of values begin: for each row the values before it, then the number of all values. Without any, all
/// values are one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    starts: &'a [u32],
}

impl<'a> Rows<'a> {
    pub(crate) fn new(starts: &'a [u32]) -> Self {
        Self { starts }
    }

    /// The parts of `range` that are rows with values.
    fn of(self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + 'a {
        let last = range.end;
        let first = self
            .starts
            .partition_point(|at| *at as usize <= range.start);
        let later = self.starts.get(first..).unwrap_or_default();
        let ends = later
            .iter()
            .take_while(move |at| (**at as usize) < last)
            .copied();
        let mut start = range.start;
        let ends = ends.map(|at| at as usize).chain([last]);
        ends.filter_map(move |end| {
            let row = start..end;
            start = end;
            (!row.is_empty()).then_some(row)
        })
    }

    /// At most how many rows `range` has.
    fn count(self, range: &Range<usize>) -> usize {
        let before = |place: usize| self.starts.partition_point(|at| (*at as usize) < place);
        before(range.end) - before(range.start) + 1
    }

    /// For each row that ends inside `range` the end, and the end of `range`.
    pub(crate) fn ends(self, range: Range<usize>) -> impl Iterator<Item = usize> + 'a {
        self.of(range).map(|row| row.end)
    }
}

/// Finds steps; its table is used again for each unit.
pub(crate) struct Finder {
    /// For each hash of two neighbours the place of the last of them, plus 1.
    table: Vec<u32>,
    shift: u32,
}

impl Finder {
    /// For units of at most `n_values`.
    pub(crate) fn new(n_values: usize) -> Self {
        let bits = usize::BITS - n_values.leading_zeros() + 1;
        let bits = bits.clamp(*HASH_BITS.start(), *HASH_BITS.end());
        Self {
            table: vec![0; 1 << bits],
            shift: 64 - bits,
        }
    }

    /// Appends the steps of a unit, whose first value is number `unit_at` of the page that has the rows.
    pub(crate) fn find(
        &mut self,
        unit: &FixedSlice<'_>,
        unit_at: usize,
        rows: Rows<'_>,
        steps: &mut Steps,
    ) {
        match unit.width() {
            4 => self.find_in::<4>(unit, unit_at, rows, steps),
            8 => self.find_in::<8>(unit, unit_at, rows, steps),
            _ => self.find_in::<0>(unit, unit_at, rows, steps),
        }
    }

    /// `W` is the width of values, or 0 for any.
    fn find_in<const W: usize>(
        &mut self,
        unit: &FixedSlice<'_>,
        unit_at: usize,
        rows: Rows<'_>,
        steps: &mut Steps,
    ) {
        self.table.fill(0);
        // Each row has a step, but for rows of copies.
        steps.reserve(rows.count(&(unit_at..unit_at + unit.len())));
        let width = if W > 0 { W } else { unit.width() };
        let near_values_min = COPIED_BYTES_MIN.div_ceil(width.max(1)).max(2);
        let bytes = unit.bytes();
        // The row before starts here.
        let mut row_before = 0;
        // New values that no step has yet start here.
        let mut open = 0;
        for row in rows.of(unit_at..unit_at + unit.len()) {
            let row = row.start - unit_at..row.end - unit_at;
            let mut has_copy = false;
            let mut at = row.start;
            while at < row.end {
                let Some(hash) = self.hash::<W>(bytes, width, at, row.end) else {
                    break;
                };
                let place = self.table.get(hash).copied().unwrap_or(0) as usize;
                self.put(hash, at);
                let n = match place.checked_sub(1) {
                    None => 0,
                    Some(from) => {
                        // No further than the copy's own start: decoders copy without looking.
                        let most = (row.end - at).min(at - from);
                        equal_values(bytes, width, from, at, most)
                    }
                };
                let is_near = place > row_before;
                if n < near_values_min || !is_near && n < FAR_VALUES_MIN {
                    at += 1;
                    continue;
                }
                steps.push(open, at, at + n, Some(at + 1 - place), unit_at);
                for later in at + 1..at + n {
                    if let Some(hash) = self.hash::<W>(bytes, width, later, row.end) {
                        self.put(hash, later);
                    }
                }
                at += n;
                open = at;
                has_copy = true;
            }
            // New values behind a copy go to the step of the next row, whose lists may get theirs at the tail. A row
            // of new values alone is a step.
            if !has_copy {
                steps.push(open, row.end, row.end, None, unit_at);
                open = row.end;
            }
            row_before = row.start;
        }
        if open < unit.len() {
            steps.push(open, unit.len(), unit.len(), None, unit_at);
        }
    }

    /// The hash of the value at `at` and the next, which must end before `end`.
    #[inline]
    fn hash<const W: usize>(
        &self,
        bytes: &[u8],
        width: usize,
        at: usize,
        end: usize,
    ) -> Option<usize> {
        if at + 2 > end {
            return None;
        }
        let word = |at: usize| -> Option<u64> {
            match W {
                4 => {
                    let (value, _) = bytes.get(at * 4..)?.split_first_chunk::<4>()?;
                    Some(u32::from_le_bytes(*value).into())
                }
                8 => {
                    let (value, _) = bytes.get(at * 8..)?.split_first_chunk::<8>()?;
                    Some(u64::from_le_bytes(*value))
                }
                _ => {
                    let value = bytes.get(at * width..(at + 1) * width)?;
                    let fold = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(FOLD);
                    Some(value.iter().fold(0, fold))
                }
            }
        };
        let mixed = word(at)?
            .wrapping_mul(MIX)
            .rotate_left(29)
            .wrapping_add(word(at + 1)?)
            .wrapping_mul(MIX);
        Some((mixed >> self.shift) as usize)
    }

    #[inline]
    fn put(&mut self, hash: usize, at: usize) {
        if let Some(to) = self.table.get_mut(hash) {
            *to = at as u32 + 1;
        }
    }
}

/// The golden ratio in 64 bits, as Knuth multiplies by it (The Art of Computer Programming, volume 3, 6.4).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
/// The prime of FNV-1a.
const FOLD: u64 = 0x0000_0100_0000_01B3;

/// The number of values from `from` on that equal those from `at` on, `most` at most.
fn equal_values(bytes: &[u8], width: usize, from: usize, at: usize, most: usize) -> usize {
    let of = |start: usize| {
        let part = bytes.get(start * width..(start + most) * width);
        part.unwrap_or_default()
    };
    equal_bytes(of(from), of(at)) / width.max(1)
}

impl Steps {
    /// Makes room for `n` more steps.
    fn reserve(&mut self, n: usize) {
        self.new.reserve(n);
        self.values.reserve(n);
        self.distances.reserve(n);
        self.new_at.reserve(n);
    }

    /// A step whose new values start at `open` and end at `copy_at`, where its copy starts, in a unit that starts at
    /// `unit_at`.
    fn push(
        &mut self,
        open: usize,
        copy_at: usize,
        end: usize,
        distance: Option<usize>,
        unit_at: usize,
    ) {
        self.new.push((copy_at - open) as u32);
        self.values.push((end - open) as u32);
        self.distances.push(distance.unwrap_or(0) as u32);
        if copy_at > open {
            self.new_at.push(unit_at + open..unit_at + copy_at);
        }
    }

    /// Adds the steps of the next unit.
    pub(crate) fn append(&mut self, mut next: Self) {
        self.new.append(&mut next.new);
        self.values.append(&mut next.values);
        self.distances.append(&mut next.distances);
        self.new_at.append(&mut next.new_at);
    }

    /// The number of steps.
    pub(crate) fn len(&self) -> usize {
        self.new.len()
    }

    /// The number of new values.
    pub(crate) fn n_new(&self) -> usize {
        self.new_at.iter().map(Range::len).sum()
    }

    /// The new values. The first of `values` is number `first` of the page.
    pub(crate) fn new_values(&self, values: &FixedSlice<'_>, first: usize) -> OwnedValues {
        let (width, len) = (values.width(), self.n_new());
        let mut bytes = AlignedBuf::zeroed(len * width);
        let mut to: &mut [u8] = &mut bytes;
        for range in &self.new_at {
            let from = values.slice(range.start - first..range.end - first).bytes();
            let (here, later) = to.split_at_mut(from.len().min(to.len()));
            here.copy_from_slice(from.get(..here.len()).unwrap_or_default());
            to = later;
        }
        OwnedValues::Fixed { bytes, width, len }
    }

    /// The distances as they are stored; the first of each unit in `unit_starts` has no step before it.
    pub(crate) fn differences(&self, reference: Reference, unit_starts: &[usize]) -> Vec<u32> {
        let mut before = Before::default();
        let mut unit_starts = unit_starts.iter().copied().peekable();
        let numbers = self.new.iter().zip(&self.values).zip(&self.distances);
        let stored = numbers.enumerate().map(|(i, ((new, values), distance))| {
            if unit_starts.next_if_eq(&i).is_some() {
                before = Before::default();
            }
            let stored = match *distance {
                0 => 0,
                distance => {
                    let expected = before.expected(reference, *new, values - new);
                    before.distance = distance;
                    // Units are so short that differences have 32 bits.
                    zigzag((i64::from(distance) - expected) as i32)
                }
            };
            before.values = *values;
            stored
        });
        stored.collect()
    }
}
