//! One decoded level.

use tarsia_codec::{AlignedBuf, BitSlice, Error, Result, limits};

use super::budget::Budget;
use crate::memory::{Take, grow, words, words_mut};
use crate::meta::LevelForm;
use crate::slots;

/// Most slots of a level in one array: the offsets of a list count them.
pub(crate) const SLOTS_MAX: u64 = limits::ARROW_OFFSET_MAX as u64;

/// One level of [`RawLevels`](super::RawLevels).
#[derive(Debug)]
pub struct RawLevel {
    /// The form that the schema has there.
    pub form: LevelForm,
    /// Slots.
    pub n_slots: usize,
    /// Slots that are null, in a level of [`LevelForm::Validity`].
    pub null_count: usize,
    validity: Option<AlignedBuf>,
    ends: AlignedBuf,
}

impl RawLevel {
    pub(crate) fn new(form: LevelForm) -> Self {
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

    /// Returns the ends of a level of [`LevelForm::Lengths`]: one more than slots, from 0.
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

    /// Whether another column's level has the same slots. Levels of one parent must, in all columns below it.
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

    pub(crate) fn validity_mut(&mut self, n_more: usize, take: Take<'_>) -> Result<&mut [u8]> {
        let n_slots = self.n_slots;
        let bytes = (n_slots + n_more).div_ceil(8);
        if self.validity.is_none() {
            let mut bits = take(bytes);
            tarsia_bits::fill_bits(&mut bits, 0, n_slots, true);
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
    pub(crate) fn ends_mut(&mut self, n_more: usize, take: Take<'_>) -> (&mut [u32], u32) {
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

    /// Checks that there may be `n_more` more slots, and takes their bytes off the budget.
    pub(crate) fn admit(&self, n_more: u64, budget: &Budget) -> Result<()> {
        let n_slots = self.n_slots as u64 + n_more;
        if n_slots > SLOTS_MAX {
            return Err(Error::limit("slots of a batch's level", n_slots, SLOTS_MAX));
        }
        budget.spend(self.form.slots_bytes(n_more))
    }

    /// Writes valid slots behind those so far: no bits where there are none yet.
    pub(crate) fn push_valid(&mut self, n_more: usize, take: Take<'_>) -> Result<()> {
        let at = self.n_slots;
        if self.validity.is_some() {
            tarsia_bits::fill_bits(self.validity_mut(n_more, take)?, at, n_more, true);
        }
        Ok(())
    }

    /// Writes the ends of lists of one length behind the slots so far.
    pub(crate) fn push_equal(&mut self, n_more: usize, length: u32, take: Take<'_>) -> Result<()> {
        let (ends, base) = self.ends_mut(n_more, take);
        let last = u64::from(base) + n_more as u64 * u64::from(length);
        if last > SLOTS_MAX {
            return Err(Error::limit("items of a batch", last, SLOTS_MAX));
        }
        tarsia_bits::equal_ends(ends, length, base);
        Ok(())
    }

    /// Writes decoded bits behind the slots so far; returns how many are valid.
    pub(crate) fn push_bits(
        &mut self,
        n_more: usize,
        bits: &[u8],
        take: Take<'_>,
    ) -> Result<usize> {
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
    pub(crate) fn push_ends(
        &mut self,
        ends: &[[u8; 4]],
        n_below: usize,
        take: Take<'_>,
    ) -> Result<bool> {
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

/// One level of rows that something else decoded; see [`RawLevels::push_decoded`](super::RawLevels::push_decoded).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedSlots<'a> {
    /// Its slots.
    pub n_slots: usize,
    /// The form of the slots.
    pub form: DecodedForm<'a>,
}

/// The slots of such a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedForm<'a> {
    /// Bits, 1 for valid; none where all are.
    Validity(&'a [u8]),
    /// The ends of lists, one more than slots, from 0.
    Ends(&'a [[u8; 4]]),
    /// Lists that all have one length: the slots below divided by the lists.
    ConstantLength,
}
