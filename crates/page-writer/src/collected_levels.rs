//! The levels of rows that a writer has collected.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{BitSlice, Error, FixedSlice, Result, Values};
use tarsia_structure::meta::LevelForm;

use crate::bits::{Bits, make_room, ones_of_few};

/// Slots below are counted in front of every so many rows.
const INDEXED_ROWS: usize = 64;

/// The levels above the items of one column, for the rows collected so far: outermost first, level 0 with a slot for
/// each row.
#[derive(Clone, Debug)]
pub struct CollectedLevels {
    rows: usize,
    levels: Vec<CollectedLevel>,
    /// For each level: slots of the next one (at last the items) in front of row 0, 64, 128, ...
    index: Vec<Vec<u64>>,
}

#[derive(Clone, Debug)]
struct CollectedLevel {
    form: LevelForm,
    n_slots: usize,
    /// Bits of validity; empty while all slots are valid.
    validity: Bits,
    null_count: usize,
    lengths: Vec<u32>,
}

impl CollectedLevel {
    /// Bytes of the bits or lengths of so many slots.
    fn bytes_of(&self, n_slots: usize) -> u64 {
        match self.form {
            LevelForm::Validity => n_slots.div_ceil(8) as u64,
            LevelForm::Lengths => 4 * n_slots as u64,
            LevelForm::ConstantLength(_) => 0,
        }
    }

    /// Slots below some slots.
    fn below(&self, slots: Range<usize>) -> u64 {
        match self.form {
            LevelForm::Validity if self.null_count == 0 => slots.len() as u64,
            LevelForm::Validity => match self.validity.slice(slots) {
                Ok(bits) => bits.count_ones() as u64,
                Err(_) => 0,
            },
            LevelForm::Lengths => {
                let lengths = self.lengths.get(slots).unwrap_or_default();
                lengths.iter().map(|length| u64::from(*length)).sum()
            }
            LevelForm::ConstantLength(length) => slots.len() as u64 * u64::from(length),
        }
    }

    /// Replaces slots, which rise, by the slots below in front of each. `first` are a slot in front of all of them, and
    /// the slots below in front of that one.
    fn replace_by_starts_below(&self, slots: &mut [usize], first: [usize; 2]) {
        match (self.form, self.validity.slice(0..self.n_slots)) {
            (LevelForm::Validity, Ok(bits)) if self.null_count > 0 => {
                replace_by_starts(slots, first, |range| ones_of_few(bits, range));
            }
            _ => replace_by_starts(slots, first, |range| self.below(range) as usize),
        }
    }
}

fn replace_by_starts(
    slots: &mut [usize],
    first: [usize; 2],
    below_of: impl Fn(Range<usize>) -> usize,
) {
    let [mut at, mut below] = first;
    for slot in slots {
        below += below_of(at..*slot);
        at = core::mem::replace(slot, below);
    }
}

impl CollectedLevels {
    /// No rows of a column with these levels.
    pub fn new(forms: impl IntoIterator<Item = LevelForm>) -> Self {
        let levels: Vec<_> = forms
            .into_iter()
            .map(|form| CollectedLevel {
                form,
                n_slots: 0,
                validity: Bits::default(),
                null_count: 0,
                lengths: Vec::new(),
            })
            .collect();
        let index = vec![vec![0]; levels.len()];
        Self {
            rows: 0,
            levels,
            index,
        }
    }

    /// Rows held.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The levels' forms.
    pub fn forms(&self) -> impl Iterator<Item = LevelForm> {
        self.levels.iter().map(|level| level.form)
    }

    /// Slots of a level so far, also of rows that [`CollectedLevels::end_rows`] has not counted yet.
    pub fn n_slots(&self, level: usize) -> usize {
        self.levels.get(level).map_or(0, |level| level.n_slots)
    }

    /// Appends slots of a validity level; `None` for `n` valid ones.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for another level.
    pub fn push_validity(
        &mut self,
        level: usize,
        n: usize,
        bits: Option<BitSlice<'_>>,
    ) -> Result<()> {
        let level = self.level_mut(level, LevelForm::Validity)?;
        let nulls = bits.map_or(0, |bits| n - bits.count_ones());
        match bits {
            Some(bits) if nulls > 0 => {
                if level.null_count == 0 {
                    level.validity = Bits::default();
                    level.validity.append_set(level.n_slots);
                }
                level.validity.append(bits)?;
            }
            _ if level.null_count > 0 => level.validity.append_set(n),
            _ => {}
        }
        level.null_count += nulls;
        level.n_slots += n;
        Ok(())
    }

    /// Appends slots of a lengths level.
    ///
    /// # Errors
    /// As [`CollectedLevels::push_validity`].
    pub fn push_lengths(&mut self, level: usize, lengths: impl Iterator<Item = u32>) -> Result<()> {
        let level = self.level_mut(level, LevelForm::Lengths)?;
        make_room(&mut level.lengths, lengths.size_hint().0);
        level.lengths.extend(lengths);
        level.n_slots = level.lengths.len();
        Ok(())
    }

    /// Appends slots of a level of constant length.
    pub fn push_constant(&mut self, level: usize, n: usize) {
        if let Some(level) = self.levels.get_mut(level) {
            level.n_slots += n;
        }
    }

    fn level_mut(&mut self, level: usize, form: LevelForm) -> Result<&mut CollectedLevel> {
        let level = self
            .levels
            .get_mut(level)
            .filter(|level| level.form == form);
        level.ok_or_else(|| Error::invalid("slots for a level of another form"))
    }

    /// Counts rows whose slots have been appended to all levels.
    pub fn end_rows(&mut self, n: usize) {
        self.rows += n;
        self.extend_index();
    }

    fn extend_index(&mut self) {
        let n_levels = self.levels.len();
        let mut chunk = self.index.first().map_or(0, |starts| starts.len() - 1);
        while (chunk + 1) * INDEXED_ROWS <= self.rows {
            let mut slots = chunk * INDEXED_ROWS..(chunk + 1) * INDEXED_ROWS;
            for level in 0..n_levels {
                let start = self.index[level][chunk];
                let end = start + self.levels[level].below(slots);
                self.index[level].push(end);
                slots = start as usize..end as usize;
            }
            chunk += 1;
        }
    }

    /// Slots of a level in front of a row; level `n` of `n` levels are the items.
    pub fn slot(&self, level: usize, row: usize) -> usize {
        let chunk =
            (row / INDEXED_ROWS).min(self.index.first().map_or(0, |starts| starts.len() - 1));
        let mut slots = chunk * INDEXED_ROWS..row;
        for (data, starts) in self.levels.iter().zip(&self.index).take(level) {
            let start = starts.get(chunk).copied().unwrap_or_default();
            let end = start + data.below(slots);
            slots = start as usize..end as usize;
        }
        slots.end
    }

    /// Slots of a level in front of each of some rows, and behind the last, counted from those in front of the first.
    fn slot_starts(&self, level: usize, rows: Range<usize>) -> Vec<u32> {
        let mut starts: Vec<usize> = (rows.start..=rows.end).collect();
        for (number, data) in self.levels.iter().enumerate().take(level) {
            let first = [number, number + 1].map(|level| self.slot(level, rows.start));
            data.replace_by_starts_below(&mut starts, first);
        }
        let first = starts.first().copied().unwrap_or_default();
        // A page's slots are counted in 32 bits.
        starts.iter().map(|start| (start - first) as u32).collect()
    }

    /// Slots of a level that belong to some rows.
    pub fn slots(&self, level: usize, rows: Range<usize>) -> Range<usize> {
        self.slot(level, rows.start)..self.slot(level, rows.end)
    }

    /// Items of some rows.
    pub fn items(&self, rows: Range<usize>) -> Range<usize> {
        self.slots(self.levels.len(), rows)
    }

    /// Bytes of memory, used or not.
    pub fn capacity_bytes(&self) -> usize {
        let levels = self.levels.iter();
        let levels =
            levels.map(|level| level.validity.bytes.capacity() + 4 * level.lengths.capacity());
        let index = self.index.iter().map(|starts| 8 * starts.capacity());
        levels.sum::<usize>() + index.sum::<usize>()
    }

    /// Frees memory that is not used.
    pub fn release_unused(&mut self) {
        for level in &mut self.levels {
            level.validity.bytes.shrink_to_fit();
            level.lengths.shrink_to_fit();
        }
        self.index.iter_mut().for_each(Vec::shrink_to_fit);
    }

    /// Bytes of bits and lengths of some rows.
    pub fn bytes_of(&self, rows: Range<usize>) -> u64 {
        let bytes = |(number, level): (usize, &CollectedLevel)| {
            level.bytes_of(self.slots(number, rows.clone()).len())
        };
        self.levels.iter().enumerate().map(bytes).sum()
    }

    /// Bytes of bits and lengths of all slots, also of rows that [`CollectedLevels::end_rows`] has not counted yet.
    pub fn logical_bytes(&self) -> u64 {
        self.levels
            .iter()
            .map(|level| level.bytes_of(level.n_slots))
            .sum()
    }

    /// Forgets the first `rows` rows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for more than there are.
    pub fn drain(&mut self, rows: usize) -> Result<()> {
        if rows > self.rows {
            return Err(Error::invalid("draining more rows than there are"));
        }
        let starts: Vec<usize> = (0..self.levels.len())
            .map(|level| self.slot(level, rows))
            .collect();
        for (level, start) in self.levels.iter_mut().zip(starts) {
            match level.form {
                LevelForm::Validity if level.null_count > 0 => {
                    level.validity.drain(start)?;
                    let left = level.validity.slice(0..level.validity.len)?;
                    level.null_count = left.len() - left.count_ones();
                }
                LevelForm::Lengths => {
                    level.lengths.drain(..start);
                }
                _ => {}
            }
            level.n_slots -= start;
        }
        self.rows -= rows;
        for starts in &mut self.index {
            starts.truncate(1);
        }
        self.extend_index();
        Ok(())
    }

    /// The levels of the rows whose bit in `kept` is set, and a bit for each item: set where its row's is.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there is not a bit for each row.
    pub(crate) fn keep(&self, kept: BitSlice<'_>) -> Result<(Self, Bits)> {
        if kept.len() != self.rows {
            return Err(Error::invalid("a bit for each row"));
        }
        let mut left = Self::new(self.forms());
        let mut ranges = runs(kept);
        for (number, level) in self.levels.iter().enumerate() {
            let mut below: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
            let (mut at, mut n_below) = (0, 0);
            for slots in ranges {
                n_below += level.below(at..slots.start) as usize;
                let start = n_below;
                n_below += level.below(slots.clone()) as usize;
                at = slots.end;
                if start < n_below {
                    below.push(start..n_below);
                }
                match level.form {
                    LevelForm::Validity => {
                        let bits = match level.null_count {
                            0 => None,
                            _ => Some(level.validity.slice(slots.clone())?),
                        };
                        left.push_validity(number, slots.len(), bits)?;
                    }
                    LevelForm::Lengths => {
                        let lengths = level.lengths.get(slots).unwrap_or_default();
                        left.push_lengths(number, lengths.iter().copied())?;
                    }
                    LevelForm::ConstantLength(_) => left.push_constant(number, slots.len()),
                }
            }
            ranges = below;
        }
        left.end_rows(kept.count_ones());
        let mut items = Bits::default();
        for range in ranges {
            items.append_unset(range.start - items.len);
            items.append_set(range.len());
        }
        items.append_unset(self.slot(self.levels.len(), self.rows) - items.len);
        Ok((left, items))
    }

    /// The bits of a validity level where some of `slots` are null.
    pub(crate) fn nulls(&self, level: usize, slots: Range<usize>) -> Option<BitSlice<'_>> {
        let level = self
            .levels
            .get(level)
            .filter(|level| level.null_count > 0)?;
        let bits = level.validity.slice(slots).ok()?;
        (bits.count_ones() < bits.len()).then_some(bits)
    }

    /// The lengths of a level.
    pub(crate) fn lengths(&self, level: usize, slots: Range<usize>) -> &[u32] {
        let level = self.levels.get(level);
        level
            .and_then(|level| level.lengths.get(slots))
            .unwrap_or_default()
    }
}

/// Some of the rows of a [`CollectedLevels`].
#[derive(Debug, Clone, Copy)]
pub struct LevelsSlice<'a> {
    levels: &'a CollectedLevels,
    start: usize,
    end: usize,
}

impl<'a> LevelsSlice<'a> {
    /// These rows of `levels`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there are no such rows.
    pub fn new(levels: &'a CollectedLevels, rows: Range<usize>) -> Result<Self> {
        if rows.start > rows.end || rows.end > levels.rows {
            return Err(Error::invalid("a page of more rows than the column holds"));
        }
        Ok(Self {
            levels,
            start: rows.start,
            end: rows.end,
        })
    }

    pub(crate) fn levels(&self) -> &'a CollectedLevels {
        self.levels
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.end - self.start
    }

    /// Slots of a level that belong to rows counted from the first of these, counted among all slots of the level.
    pub(crate) fn slots(&self, level: usize, rows: Range<usize>) -> Range<usize> {
        self.levels
            .slots(level, self.start + rows.start..self.start + rows.end)
    }

    /// Items of rows counted from the first of these; items count from there too.
    pub fn items(&self, rows: Range<usize>) -> Range<usize> {
        let n_levels = self.levels.levels.len();
        let base = self.levels.slot(n_levels, self.start);
        let items = self.slots(n_levels, rows);
        items.start - base..items.end - base
    }

    /// For each of these rows the slots of a level in front of it, then the number of all.
    pub(crate) fn slot_starts(&self, level: usize) -> Vec<u32> {
        self.levels.slot_starts(level, self.start..self.end)
    }

    /// Returns the starts of the rows among the items.
    pub(crate) fn item_starts(&self) -> Vec<u32> {
        self.slot_starts(self.levels.levels.len())
    }

    /// Number of items.
    pub fn n_items(&self) -> usize {
        self.items(0..self.rows()).len()
    }
}

/// The runs of bits that are set.
fn runs(bits: BitSlice<'_>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for i in (0..bits.len()).filter(|i| bits.get(*i)) {
        match runs.last_mut() {
            Some(run) if run.end == i => run.end = i + 1,
            _ => runs.push(i..i + 1),
        }
    }
    runs
}

/// Lengths as encoders take them.
pub(crate) fn length_values(lengths: &[u32]) -> Result<Values<'_>> {
    let bytes = bytemuck::cast_slice(lengths);
    Ok(Values::Fixed(FixedSlice::new(bytes, 4, lengths.len())?))
}

/// The length that all have; that of none is 0.
pub(crate) fn one_length(lengths: &[u32]) -> Option<u32> {
    let first = lengths.first().copied().unwrap_or_default();
    lengths
        .iter()
        .all(|length| *length == first)
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of nullable structs in nullable lists, by a naive model.
    #[test]
    fn slots_of_rows_match_counting_one_by_one() {
        let forms = [
            LevelForm::Validity,
            LevelForm::Lengths,
            LevelForm::Validity,
            LevelForm::ConstantLength(3),
        ];
        let rows: usize = 500;
        let mut levels = CollectedLevels::new(forms);
        let mut model: Vec<[usize; 5]> = vec![[0; 5]];
        let mut slot = 0;
        for batch in 0..10 {
            let n = rows / 10;
            let valid: Vec<bool> = (0..n)
                .map(|i| batch == 3 || (i * 7 + batch) % 5 != 0)
                .collect();
            let mut bits = vec![0u8; n.div_ceil(8)];
            for i in (0..n).filter(|i| valid[*i]) {
                bits[i / 8] |= 1 << (i % 8);
            }
            levels
                .push_validity(0, n, Some(BitSlice::new(&bits, 0, n).unwrap()))
                .unwrap();
            let lengths: Vec<u32> = (0..n)
                .filter(|i| valid[*i])
                .map(|i| (i * i % 11) as u32)
                .collect();
            levels.push_lengths(1, lengths.iter().copied()).unwrap();
            let n_items: u32 = lengths.iter().sum();
            let inner: Vec<bool> = (0..n_items as usize).map(|i| (slot + i) % 3 != 1).collect();
            let mut bits = vec![0u8; inner.len().div_ceil(8)];
            for i in (0..inner.len()).filter(|i| inner[*i]) {
                bits[i / 8] |= 1 << (i % 8);
            }
            levels
                .push_validity(
                    2,
                    inner.len(),
                    Some(BitSlice::new(&bits, 0, inner.len()).unwrap()),
                )
                .unwrap();
            let n_valid = inner.iter().filter(|valid| **valid).count();
            levels.push_constant(3, n_valid);
            levels.end_rows(n);
            slot += inner.len();
            let (mut lengths, mut inner) = (lengths.iter(), inner.iter());
            for valid in valid {
                let [a, b, c, d, e] = *model.last().unwrap();
                let length = if valid {
                    *lengths.next().unwrap() as usize
                } else {
                    0
                };
                let kept = inner.by_ref().take(length).filter(|valid| **valid).count();
                model.push([
                    a + 1,
                    b + usize::from(valid),
                    c + length,
                    d + kept,
                    e + 3 * kept,
                ]);
            }
        }
        let check = |levels: &CollectedLevels, from: usize| {
            for row in 0..=rows - from {
                for (level, (end, start)) in model[from + row].iter().zip(model[from]).enumerate() {
                    let want = end - start;
                    assert_eq!(levels.slot(level, row), want, "{from} {row} {level}");
                }
            }
            let (first, last) = (from + 30, rows - 20);
            for (level, start) in model[first].iter().enumerate() {
                let want = (first..=last).map(|row| (model[row][level] - start) as u32);
                let starts = levels.slot_starts(level, 30..last - from);
                assert!(
                    starts.iter().copied().eq(want),
                    "{from} {level}: {starts:?}"
                );
            }
        };
        check(&levels, 0);
        let mut from = 0;
        for n in [1, 64, 100, 0, 63] {
            levels.drain(n).unwrap();
            from += n;
            check(&levels, from);
        }
        let slice = LevelsSlice::new(&levels, 10..20).unwrap();
        let items = model[from + 20][4] - model[from + 10][4];
        assert_eq!((slice.n_items(), slice.items(0..0)), (items, 0..0));
        assert!(levels.drain(rows).is_err());
        assert!(LevelsSlice::new(&levels, 0..rows).is_err());
    }

    #[test]
    fn levels_of_kept_rows_are_those_of_these_rows_alone() {
        let forms = || {
            [
                LevelForm::Validity,
                LevelForm::Lengths,
                LevelForm::ConstantLength(2),
            ]
        };
        let bits = |bits: &[bool]| {
            let mut bytes = vec![0u8; bits.len().div_ceil(8)];
            for i in (0..bits.len()).filter(|i| bits[*i]) {
                bytes[i / 8] |= 1 << (i % 8);
            }
            bytes
        };
        // `None` for a null list.
        let lists: Vec<Option<u32>> = (0..200)
            .map(|i| (i % 7 != 3).then_some(i * i % 5))
            .collect();
        let levels_of = |lists: &[Option<u32>]| {
            let mut levels = CollectedLevels::new(forms());
            let valid: Vec<bool> = lists.iter().map(Option::is_some).collect();
            let valid = bits(&valid);
            let valid = BitSlice::new(&valid, 0, lists.len()).unwrap();
            levels.push_validity(0, lists.len(), Some(valid)).unwrap();
            levels
                .push_lengths(1, lists.iter().flatten().copied())
                .unwrap();
            levels.push_constant(2, lists.iter().flatten().sum::<u32>() as usize);
            levels.end_rows(lists.len());
            levels
        };
        let all = levels_of(&lists);
        for step in [1, 2, 3, 70, 300] {
            for offset in [0, 1, 69] {
                let kept: Vec<bool> = (0..200).map(|i| (i + offset) % step != 0).collect();
                let kept_lists: Vec<_> = (0..200).filter(|i| kept[*i]).map(|i| lists[i]).collect();
                let expected = levels_of(&kept_lists);
                let items: Vec<bool> = lists
                    .iter()
                    .zip(&kept)
                    .flat_map(|(list, kept)| vec![*kept; 2 * list.unwrap_or(0) as usize])
                    .collect();
                let kept = bits(&kept);
                let (left, kept_items) = all.keep(BitSlice::new(&kept, 0, 200).unwrap()).unwrap();
                assert_eq!(kept_items.len, items.len());
                assert_eq!(kept_items.bytes, bits(&items));
                assert_eq!(left.rows(), kept_lists.len());
                for level in 0..3 {
                    assert_eq!(left.n_slots(level), expected.n_slots(level));
                    let slots = 0..left.n_slots(level);
                    let nulls = |levels: &CollectedLevels| {
                        let nulls = levels.nulls(level, slots.clone());
                        nulls.map(|bits| slots.clone().map(|i| bits.get(i)).collect::<Vec<_>>())
                    };
                    assert_eq!(nulls(&left), nulls(&expected));
                    let lengths = expected.lengths(level, slots.clone());
                    assert_eq!(left.lengths(level, slots.clone()), lengths);
                }
            }
        }
        assert!(all.keep(BitSlice::new(&[0], 0, 1).unwrap()).is_err());
    }
}
