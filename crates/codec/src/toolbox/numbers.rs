//! Numbers of 4 bytes that a child encodes, such as the lengths of strings: decoded a part at a time.

use core::ops::Range;

use crate::{Decoder, Error, Output, Result, Scratch, Selection, Unit};

/// The most numbers in scratch memory at a time: 4 MiB. Only blocks of one huge row have more, and a unit that claims
/// 2^31 values in a few bytes must not take 8 GiB.
const AT_ONCE: u32 = 1 << 20;

/// A child's unit of numbers of 4 bytes.
#[derive(Clone, Copy)]
pub struct NumbersUnit<'a> {
    decoder: &'a dyn Decoder,
    unit: Unit<'a>,
}

/// Decoded numbers of consecutive values from `start` on.
#[derive(Debug)]
pub struct Numbers<'a> {
    /// The first value.
    pub start: u32,
    /// The number of each value.
    pub numbers: &'a mut [u32],
}

impl Numbers<'_> {
    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.numbers.iter().map(|number| u64::from(*number)).sum()
    }

    /// Where value `index` begins and ends, if the numbers are ends and the value is one of these.
    pub fn ends_of(&self, index: u32) -> Option<Range<u32>> {
        let i = index.checked_sub(self.start)? as usize;
        let end = *self.numbers.get(i)?;
        let before = i.checked_sub(1).and_then(|i| self.numbers.get(i));
        Some(before.copied().unwrap_or(0)..end)
    }
}

impl<'a> NumbersUnit<'a> {
    /// A unit of the child that has this decoder.
    pub fn new(decoder: &'a dyn Decoder, unit: Unit<'a>) -> Self {
        Self { decoder, unit }
    }

    /// How many numbers it has.
    pub fn len(&self) -> u32 {
        self.unit.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes the selected numbers.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    // Not inlined, so that kernels have one copy.
    #[inline(never)]
    pub fn decode(
        &self,
        selection: Selection<'_>,
        to: &mut [u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let bytes = Output::Fixed(bytemuck::cast_slice_mut(to));
        self.decoder.decode(self.unit, selection, scratch, bytes)?;
        for number in to {
            *number = u32::from_le(*number);
        }
        Ok(())
    }

    /// Decodes the numbers of some values into scratch memory, at most 2^20 at a time, and calls `with` with them, at
    /// least once: a child without values may still have bytes that are wrong.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; those of `with`.
    pub fn for_parts(
        &self,
        values: Range<u32>,
        scratch: &mut Scratch,
        with: &mut dyn FnMut(Numbers<'_>, &mut Scratch) -> Result<()>,
    ) -> Result<()> {
        self.try_for_parts(values, scratch, with)
    }

    /// Does what [`NumbersUnit::for_parts`] does, with another error of `with`.
    ///
    /// # Errors
    /// As [`NumbersUnit::for_parts`].
    pub fn try_for_parts<E: From<Error>>(
        &self,
        values: Range<u32>,
        scratch: &mut Scratch,
        with: &mut dyn FnMut(Numbers<'_>, &mut Scratch) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = values.start;
        loop {
            let len = values.end.saturating_sub(start).min(AT_ONCE);
            let selection = match len == self.len() {
                true => Selection::All,
                false => Selection::Range { start, len },
            };
            scratch.with_values(len as usize, |numbers, scratch| {
                self.decode(selection, numbers, scratch)?;
                with(Numbers { start, numbers }, scratch)
            })?;
            start += len;
            if start >= values.end {
                return Ok(());
            }
        }
    }

    /// The sum of the numbers of some values.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn sum(&self, values: Range<u32>, scratch: &mut Scratch) -> Result<u64> {
        let mut all = 0;
        self.for_parts(values, scratch, &mut |numbers, _| {
            all += numbers.sum();
            Ok(())
        })?;
        Ok(all)
    }

    /// The parts of some values, where each number says how many parts its value has, and all lie back to back.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn parts_of(&self, values: Range<u32>, scratch: &mut Scratch) -> Result<Range<u64>> {
        let start = match values.start {
            0 => 0,
            n_before => self.sum(0..n_before, scratch)?,
        };
        Ok(start..start + self.sum(values, scratch)?)
    }
}

/// Turns lengths into ends, starting at `base`. Returns the sum of the lengths, and true if the ends fit 32 bits;
/// otherwise they are undefined.
#[inline]
pub fn ends_from_lengths(lengths: &mut [u32], base: u32) -> (u64, bool) {
    let (end, fits) = match tarsia_bits::prefix_sum(lengths, base) {
        Ok(end) => (end.into(), true),
        Err(tarsia_bits::Error::Overflow { sum }) => (sum, false),
        Err(_) => (u64::MAX, false),
    };
    (end.saturating_sub(base.into()), fits)
}
