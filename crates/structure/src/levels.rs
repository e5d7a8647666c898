//! The sections of a nested block's levels, and what they decode to. Bytes: `docs/spec/page.md`.

use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use tarsia_codec::{
    AlignedBuf, BitSlice, Error, Output, Reader, Result, Scratch, Selection, Unit, ValueType,
    check_zero, limits,
};

use crate::block::{
    BLOCK_ALIGN, Block, BlockHeader, LAYER_ALL_NULL, LAYER_ALL_VALID, LAYER_CONSTANT,
};
use crate::meta::{Level, LevelForm};
use crate::page::{PageDecoder, bytes_mut, words, words_mut};
use crate::slots;
use crate::zip::ZipRows;

/// Bytes that slots of a level take when decoded: a bit each of validity, the end of each list.
pub fn slots_bytes(form: LevelForm, n_slots: u64) -> u64 {
    match form {
        LevelForm::Validity => n_slots.div_ceil(8),
        LevelForm::Lengths | LevelForm::ConstantLength(_) => n_slots.saturating_mul(4),
    }
}

/// Bytes that items take when decoded, null ones too: a bit of validity at least; strings without their bytes.
pub fn items_bytes(value_type: ValueType, n_items: u64) -> u64 {
    match value_type {
        ValueType::Bits | ValueType::Fixed(0) => n_items.div_ceil(8),
        ValueType::Fixed(width) => n_items.saturating_mul(width.into()),
        ValueType::Bytes => n_items.saturating_mul(4),
    }
}

/// Bytes that nested rows may still take when they are decoded together: levels, items, and the slots that Arrow wants below nulls. Few
/// stored bytes may stand for many of them, so they are counted before memory is taken.
#[derive(Debug)]
pub struct Budget {
    left: AtomicU64,
}

impl Budget {
    /// So many bytes.
    pub fn new(bytes: u64) -> Self {
        Self {
            left: AtomicU64::new(bytes),
        }
    }

    /// Bytes that may still be taken.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes bytes off what is left.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::LimitExceeded`] for more than that.
    pub fn spend(&self, bytes: u64) -> Result<()> {
        let spend = |left: u64| left.checked_sub(bytes);
        let spent = (self.left).fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        match spent {
            Ok(_) => Ok(()),
            Err(left) => Err(Error::limit("bytes of nested rows", bytes, left)),
        }
    }
}

/// Bytes in front of a level's encoded slots.
pub const SECTION_HEADER_BYTES: usize = 16;

/// What one level of a block says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots<'a> {
    /// All valid.
    AllValid,
    /// All null.
    AllNull,
    /// All of this length.
    ConstantLength(u32),
    /// Encoded bits or lengths, one per slot.
    Encoded {
        /// Index into the level's trees.
        tree: u8,
        /// The encoded slots.
        bytes: &'a [u8],
    },
}

/// One level of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelSection<'a> {
    /// What it says.
    pub slots: Slots<'a>,
    /// Its slots.
    pub n_slots: u32,
    /// Slots below.
    pub n_below: u32,
}

/// Takes the levels of a block apart, outermost first; counts are checked as far as they are known without decoding.
#[derive(Debug, Clone)]
pub struct LevelSections<'a, 'l> {
    start: &'a [u8],
    reader: Reader<'a>,
    levels: core::slice::Iter<'l, Level>,
    n_slots: u32,
    bytes_max: u64,
    /// Place of the payload in the block, for errors.
    at: usize,
}

impl<'a, 'l> LevelSections<'a, 'l> {
    pub(crate) fn new(
        payload: &'a [u8],
        levels: &'l [Level],
        header: &BlockHeader,
        at: usize,
    ) -> Result<Self> {
        let mut reader = Reader::new(payload);
        // One row may decode to a multiple of its payload; where that is not enough, the payload is made longer.
        let padding = reader.u32("levels.padding_length")?;
        check_zero(
            reader.take(4, "levels.reserved")?,
            "levels.reserved",
            at + 4,
        )?;
        let padding = reader.take(padding as usize, "levels.padding")?;
        check_zero(padding, "levels.padding", at + 8)?;
        reader.pad_to(BLOCK_ALIGN, "levels.padding")?;
        Ok(Self {
            start: payload,
            reader,
            levels: levels.iter(),
            n_slots: header.present_rows,
            bytes_max: header.decoded_bytes_max(),
            at,
        })
    }

    /// Those of a block that was parsed.
    pub fn of(block: &Block<'a>, levels: &'l [Level]) -> Result<Self> {
        let at = 0;
        Self::new(block.levels, levels, &block.header, at)
    }

    /// Slots of the next level; at the end the items.
    pub fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// What was read, and what is left.
    pub(crate) fn split(&self) -> (&'a [u8], &'a [u8]) {
        let rest = self.reader.rest();
        let read = self.start.len() - rest.len();
        (self.start.get(..read).unwrap_or_default(), rest)
    }

    fn section(&mut self, level: &Level) -> Result<LevelSection<'a>> {
        let n_slots = self.n_slots;
        let section = match level {
            Level::AllValid => LevelSection {
                slots: Slots::AllValid,
                n_slots,
                n_below: n_slots,
            },
            Level::ConstantLength(length) => LevelSection {
                slots: Slots::ConstantLength(*length),
                n_slots,
                n_below: self.times(n_slots, *length)?,
            },
            Level::Validity(_) | Level::Lengths(_) => self.stored(level)?,
        };
        // What the level itself takes when decoded, stored or not: lists of many empty lists take memory too.
        let bytes = slots_bytes(level.form(), n_slots.into());
        if bytes > self.bytes_max {
            return Err(Error::limit(
                "slots of a block's level",
                bytes,
                self.bytes_max,
            ));
        }
        self.n_slots = section.n_below;
        Ok(section)
    }

    fn times(&self, n_slots: u32, length: u32) -> Result<u32> {
        let n_below = u64::from(n_slots) * u64::from(length);
        match u32::try_from(n_below) {
            Ok(n_below) if n_below <= limits::UNIT_VALUES_MAX => Ok(n_below),
            _ => Err(Error::limit(
                "items of a block",
                n_below,
                limits::UNIT_VALUES_MAX.into(),
            )),
        }
    }

    fn stored(&mut self, level: &Level) -> Result<LevelSection<'a>> {
        let n_slots = self.n_slots;
        let at = self.at + self.reader.position();
        let tree = self.reader.u8("level.tree")?;
        check_zero(
            self.reader.take(3, "level.reserved")?,
            "level.reserved",
            at + 1,
        )?;
        let len = self.reader.u32("level.length")?;
        let n_below = self.reader.u32("level.slots_below")?;
        check_zero(
            self.reader.take(4, "level.reserved")?,
            "level.reserved",
            at + 12,
        )?;
        let bytes = self.reader.take(len as usize, "level")?;
        self.reader.pad_to(BLOCK_ALIGN, "level.padding")?;
        let is_validity = matches!(level, Level::Validity(_));
        let (slots, expected) = match (tree, bytes) {
            (LAYER_ALL_VALID, []) if is_validity => (Slots::AllValid, Some(n_slots)),
            (LAYER_ALL_NULL, []) if is_validity => (Slots::AllNull, Some(0)),
            (LAYER_CONSTANT, bytes) if !is_validity => {
                let length = bytes.try_into().map(u32::from_le_bytes);
                let length = length
                    .map_err(|_| Error::corrupt("level.length", at + 4, len, "4 for one length"))?;
                (
                    Slots::ConstantLength(length),
                    Some(self.times(n_slots, length)?),
                )
            }
            (tree, bytes) => (Slots::Encoded { tree, bytes }, None),
        };
        let fits = match expected {
            Some(expected) => n_below == expected,
            None if is_validity => n_below <= n_slots,
            None => n_below <= limits::UNIT_VALUES_MAX,
        };
        if !fits {
            let allowed = "as many as the level's slots say";
            return Err(Error::corrupt(
                "level.slots_below",
                at + 8,
                n_below,
                allowed,
            ));
        }
        Ok(LevelSection {
            slots,
            n_slots,
            n_below,
        })
    }
}

impl<'a> Iterator for LevelSections<'a, '_> {
    type Item = Result<LevelSection<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let level = self.levels.next()?;
        Some(self.section(level))
    }
}

/// The levels of a run of rows of one column, decoded: outermost first.
#[derive(Debug)]
pub struct RawLevels<'a> {
    levels: Vec<RawLevel>,
    n_items: usize,
    /// For each level of lists: which of their items are wanted; all where there is no cut.
    cuts: Vec<Option<Cut>>,
    budget: &'a Budget,
}

/// The items `start .. end` of each list, or as many of them as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first item.
    pub start: u32,
    /// The item behind the last.
    pub end: u32,
}

impl Cut {
    /// What is left of a list of `length` items that starts at `start`.
    fn of(&self, start: u32, length: u32) -> Range<u32> {
        let from = self.start.min(length);
        start + from..start + self.end.clamp(from, length)
    }

    /// How many items are left of `length`.
    pub fn length_of(&self, length: u32) -> u32 {
        self.of(0, length).len() as u32
    }
}

/// One level of [`RawLevels`].
#[derive(Debug)]
pub struct RawLevel {
    /// What the schema has there.
    pub form: LevelForm,
    /// Slots.
    pub n_slots: usize,
    /// Of [`LevelForm::Validity`]: slots that are null.
    pub null_count: usize,
    validity: Option<AlignedBuf>,
    ends: AlignedBuf,
}

impl RawLevel {
    fn new(form: LevelForm) -> Self {
        Self {
            form,
            n_slots: 0,
            null_count: 0,
            validity: None,
            ends: AlignedBuf::default(),
        }
    }

    /// One bit per slot, 1 for valid; `None` where all are.
    pub fn take_validity(&mut self) -> Option<AlignedBuf> {
        self.validity.take().filter(|_| self.null_count > 0)
    }

    /// The bits of [`RawLevel::take_validity`].
    pub fn validity(&self) -> Option<BitSlice<'_>> {
        let bits = self.validity.as_ref().filter(|_| self.null_count > 0)?;
        BitSlice::new(bits, 0, self.n_slots).ok()
    }

    /// Of [`LevelForm::Lengths`]: one more than slots, from 0.
    pub fn ends(&self) -> &[u32] {
        words(&self.ends)
            .get(..self.n_slots + 1)
            .unwrap_or_default()
    }

    /// The bytes of [`RawLevel::validity`], as many as slots need; none where all are valid.
    pub fn validity_bytes(&self) -> &[u8] {
        let bits = self.validity.as_deref().filter(|_| self.null_count > 0);
        let bytes = bits.and_then(|bits| bits.get(..self.n_slots.div_ceil(8)));
        bytes.unwrap_or_default()
    }

    /// The bytes of [`RawLevel::ends`].
    pub fn ends_bytes(&self) -> &[u8] {
        self.ends.get(..(self.n_slots + 1) * 4).unwrap_or_default()
    }

    /// The memory of [`RawLevel::ends`], which may be longer.
    pub fn take_ends(&mut self) -> AlignedBuf {
        core::mem::take(&mut self.ends)
    }

    /// Whether another column's level says the same, as those of columns under one parent must.
    pub fn agrees(&self, other: &Self) -> bool {
        let same_bits = || match (self.validity(), other.validity()) {
            (None, None) => true,
            (Some(a), Some(b)) => (0..self.n_slots)
                .step_by(64)
                .all(|i| a.word(i) == b.word(i)),
            _ => false,
        };
        self.form == other.form
            && self.n_slots == other.n_slots
            && same_bits()
            && (self.form != LevelForm::Lengths || self.ends() == other.ends())
    }

    fn validity_mut(&mut self, n_more: usize, take: Take<'_>) -> Result<&mut [u8]> {
        let n_slots = self.n_slots;
        let bytes = (n_slots + n_more).div_ceil(8);
        if self.validity.is_none() {
            let mut bits = take(bytes);
            slots::set_bits(&mut bits, 0, n_slots, true);
            self.validity = Some(bits);
        }
        match &mut self.validity {
            Some(bits) => {
                grow(bits, bytes, take);
                Ok(bits)
            }
            None => Err(Error::invalid("no validity")),
        }
    }

    /// Room for the ends of `n_more` slots, and the end before them.
    fn ends_mut(&mut self, n_more: usize, take: Take<'_>) -> (&mut [u32], u32) {
        let n_slots = self.n_slots;
        grow(&mut self.ends, (n_slots + n_more + 1) * 4, take);
        let ends: &mut [u32] = words_mut(&mut self.ends);
        if let (0, Some(first)) = (n_slots, ends.first_mut()) {
            *first = 0;
        }
        let base = ends.get(n_slots).copied().unwrap_or_default();
        let room = ends.get_mut(n_slots + 1..n_slots + 1 + n_more);
        (room.unwrap_or_default(), base)
    }

    /// Whether there may be so many more slots, which the budget pays for.
    fn admit(&self, n_more: u64, budget: &Budget) -> Result<()> {
        let n_slots = self.n_slots as u64 + n_more;
        if n_slots > SLOTS_MAX {
            return Err(Error::limit("slots of a batch's level", n_slots, SLOTS_MAX));
        }
        budget.spend(slots_bytes(self.form, n_more))
    }

    /// Writes valid slots behind those so far: no bits where there are none yet.
    fn push_valid(&mut self, n_more: usize, take: Take<'_>) -> Result<()> {
        let at = self.n_slots;
        if self.validity.is_some() {
            slots::set_bits(self.validity_mut(n_more, take)?, at, n_more, true);
        }
        Ok(())
    }

    /// Writes the ends of lists of one length behind the slots so far.
    fn push_equal(&mut self, n_more: usize, length: u32, take: Take<'_>) -> Result<()> {
        let (ends, base) = self.ends_mut(n_more, take);
        let last = u64::from(base) + n_more as u64 * u64::from(length);
        if last > SLOTS_MAX {
            return Err(Error::limit("items of a batch", last, SLOTS_MAX));
        }
        tarsia_bits::equal_ends(ends, length, base);
        Ok(())
    }

    /// Writes decoded bits behind the slots so far; returns how many are valid.
    fn push_bits(&mut self, n_more: usize, bits: &[u8], take: Take<'_>) -> Result<usize> {
        if bits.is_empty() {
            self.push_valid(n_more, take)?;
            return Ok(n_more);
        }
        let (at, bits) = (self.n_slots, BitSlice::new(bits, 0, n_more)?);
        let valid = bits.count_ones();
        slots::copy_bits(self.validity_mut(n_more, take)?, at, bits)?;
        self.null_count += n_more - valid;
        Ok(valid)
    }

    /// Writes decoded ends behind the slots so far; returns whether they rise from 0 to `n_below`.
    fn push_ends(&mut self, ends: &[[u8; 4]], n_below: usize, take: Take<'_>) -> Result<bool> {
        let Some((&[0, 0, 0, 0], ends)) = ends.split_first() else {
            return Ok(false);
        };
        let (to, base) = self.ends_mut(ends.len(), take);
        let last = u64::from(base) + n_below as u64;
        if last > SLOTS_MAX {
            return Err(Error::limit("items of a batch", last, SLOTS_MAX));
        }
        let (mut end, mut rising) = (0, true);
        for (to, next) in to.iter_mut().zip(ends) {
            let next = u32::from_le_bytes(*next);
            rising &= end <= next;
            end = next;
            // Below the limit where they rise to `n_below`, which is looked at last.
            *to = base.wrapping_add(end);
        }
        Ok(rising && end as usize == n_below)
    }
}

/// What one level of decoded rows says; see [`RawLevels::push_decoded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedSlots<'a> {
    /// Its slots.
    pub n_slots: usize,
    /// What they are.
    pub form: DecodedForm<'a>,
}

/// The slots of a level as something else decoded them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedForm<'a> {
    /// Bits, 1 for valid; none where all are.
    Validity(&'a [u8]),
    /// The ends of lists, one more than slots, from 0.
    Ends(&'a [[u8; 4]]),
    /// Lists that all have one length, which the slots below say.
    ConstantLength,
}

type Take<'a> = &'a mut dyn FnMut(usize) -> AlignedBuf;

/// Makes memory at least so long, and keeps what is in it.
pub(crate) fn grow(buf: &mut AlignedBuf, bytes: usize, take: Take<'_>) {
    if buf.len() < bytes {
        let mut longer = take(bytes.max(buf.len() * 2));
        if let Some(start) = longer.get_mut(..buf.len()) {
            start.copy_from_slice(buf);
        }
        *buf = longer;
    }
}

/// Most slots of a level in one run of rows: what 32-bit offsets of Arrow can say.
const SLOTS_MAX: u64 = i32::MAX as u64;

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

    /// The same, where of some lists (by the number of the level that has their lengths) only some items are decoded. The levels come
    /// back as if the lists had no others.
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

    /// Decodes the levels of the selected rows of a block behind those before, and says which of the block's items are below them:
    /// `ranges` become theirs, rising as the rows do.
    ///
    /// # Errors
    /// What the decoders refuse, and levels whose slots do not add up; [`tarsia_codec::ErrorKind::LimitExceeded`] for more slots than
    /// 32-bit offsets can say or the budget allows. After an error nothing here must be used.
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
        if let Some(form) = page.zip() {
            let rows = ZipRows::of(form, block);
            self.push_zipped(page, rows, take, ranges)?;
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

    /// The levels of the rows `ranges`, which become their items.
    fn push_zipped(
        &mut self,
        page: &PageDecoder,
        rows: ZipRows<'_>,
        take: Take<'_>,
        ranges: &mut Vec<Range<u32>>,
    ) -> Result<()> {
        // Of levels that store validity, those above.
        let mut n_above = 0;
        let mut slots_per_row = 1;
        let lengths = self.cuts.iter().zip(page.levels());
        let lengths: Vec<Option<(u32, Option<Cut>)>> = lengths
            .map(|(cut, stored)| match stored {
                Level::ConstantLength(length) => Some((*length, *cut)),
                _ => None,
            })
            .collect();
        let stored = page.levels().iter().zip(&lengths);
        for (level, (stored, length)) in self.levels.iter_mut().zip(stored) {
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
            level.admit(n_more, self.budget)?;
            let (at, n_more) = (level.n_slots, n_more as usize);
            match (level.form, stored) {
                (LevelForm::Validity, Level::Validity(_)) => {
                    let bits = level.validity_mut(n_more, &mut *take)?;
                    let slots = ranges.iter().cloned().flatten().filter(reached);
                    let mut nulls = 0;
                    for (i, row) in slots.enumerate() {
                        let valid = rows.control(row) > above;
                        slots::set_bits(bits, at + i, 1, valid);
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

    /// Appends the levels of rows that something else decoded, a kernel say, outermost first, and `n_items` items below the last. Nothing
    /// of it is believed; the cuts were made by who decoded.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::InvalidInput`] where the levels do not fit each other, the column's forms or the items, else as
    /// [`RawLevels::push`]. After an error nothing here must be used.
    pub fn push_decoded(
        &mut self,
        n_rows: usize,
        decoded: &[DecodedSlots<'_>],
        (value_type, n_items): (ValueType, usize),
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

fn misfit() -> Error {
    Error::invalid("levels that are not the page's")
}

/// Appends a range, to the last one where they touch.
fn push_range(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// The same for parts of lists, which may be empty.
fn push_picked(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    if !range.is_empty() {
        push_range(ranges, range);
    }
}

fn scale(ranges: &mut [Range<u32>], length: u32) -> Result<()> {
    let too_many = || Error::limit("items of a block", u64::MAX, limits::UNIT_VALUES_MAX.into());
    for range in ranges {
        let start = range.start.checked_mul(length).ok_or_else(too_many)?;
        let end = range.end.checked_mul(length).ok_or_else(too_many)?;
        *range = start..end;
    }
    Ok(())
}

/// What a cut leaves below slots that all have one length.
fn cut_constant(ranges: &[Range<u32>], length: u32, cut: &Cut) -> Result<Vec<Range<u32>>> {
    let mut below = Vec::new();
    for slot in ranges.iter().cloned().flatten() {
        let start = slot.checked_mul(length).ok_or_else(misfit)?;
        push_picked(&mut below, cut.of(start, length));
    }
    Ok(below)
}

/// One level of one block.
struct Run<'a, 'b> {
    section: LevelSection<'a>,
    page: &'a PageDecoder,
    number: usize,
    /// Slots selected.
    n_more: usize,
    scratch: &'a mut Scratch,
    take: &'a mut (dyn FnMut(usize) -> AlignedBuf + 'b),
}

impl Run<'_, '_> {
    fn whole(&self, ranges: &[Range<u32>]) -> bool {
        matches!(ranges, [range] if *range == (0..self.section.n_slots))
    }

    fn wrong_count(&self) -> Error {
        let allowed = "as many as the level's slots say";
        Error::corrupt("level.slots_below", 8, self.section.n_below, allowed)
    }

    fn validity(&mut self, level: &mut RawLevel, ranges: &mut Vec<Range<u32>>) -> Result<()> {
        let (at, n_more) = (level.n_slots, self.n_more);
        match self.section.slots {
            Slots::AllValid => level.push_valid(n_more, self.take),
            Slots::AllNull => {
                let bits = level.validity_mut(n_more, self.take)?;
                slots::set_bits(bits, at, n_more, false);
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

    fn lengths(&mut self, level: &mut RawLevel, ranges: &mut Vec<Range<u32>>) -> Result<()> {
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
    fn cut_lengths(
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
