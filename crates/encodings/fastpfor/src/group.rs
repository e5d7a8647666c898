//! The groups of a unit: where each lies, and its values.

use core::ops::Range;

use tarsia_bits::{read_value, unpack_range_of, write_value};
use tarsia_codec::{Error, Result};

use crate::layout::{GROUP_VALUES, UnitParts, stored_bits, sum};
use crate::rows::{ROW_BYTES, low_bits, unpack};

/// The groups of a unit from front to back.
pub(crate) struct Groups<'p, 'a> {
    parts: &'p mut UnitParts<'a>,
    /// The number of the next group.
    next: usize,
    /// Where it starts in the packed bytes.
    packed_at: usize,
    /// Exceptions, and groups with exceptions, before it.
    n_exceptions: usize,
    n_exceptional: usize,
}

impl<'p, 'a> Groups<'p, 'a> {
    pub(crate) fn new(parts: &'p mut UnitParts<'a>) -> Self {
        Self {
            parts,
            next: 0,
            packed_at: 0,
            n_exceptions: 0,
            n_exceptional: 0,
        }
    }

    /// Goes on to group `number`, which is the next one or a later one.
    pub(crate) fn pass_to(&mut self, number: usize) {
        let passed = self.next..number;
        let widths = self.parts.widths.get(passed.clone()).unwrap_or_default();
        // All but the last group of a unit are whole. Sums saturate where not all bytes of the unit are known (reach).
        let passed_bytes = (sum(widths) as usize).saturating_mul(ROW_BYTES);
        self.packed_at = self.packed_at.saturating_add(passed_bytes);
        let counts = self.parts.counts.get(passed).unwrap_or_default();
        for count in counts {
            self.exceptions(*count);
        }
        self.next = number;
    }

    /// Goes on behind the exceptions of a group, which has `count`.
    #[inline]
    fn exceptions(&mut self, count: u8) -> Exceptions<'a> {
        if count == 0 {
            return Exceptions::default();
        }
        let parts = &mut *self.parts;
        let high_width = parts.high_widths.get(self.n_exceptional);
        let high_width = high_width.copied().unwrap_or(1);
        let start = self.n_exceptions;
        self.n_exceptional += 1;
        self.n_exceptions += usize::from(count);
        let mut found = Exceptions {
            positions: parts
                .positions
                .get(start..self.n_exceptions)
                .unwrap_or_default(),
            positions_at: parts.positions_at + start,
            high_width,
            high_at_bit: 0,
        };
        if let Some(at_bit) = parts.highs_at_bit.get_mut(usize::from(high_width)) {
            found.high_at_bit = *at_bit;
            *at_bit += u64::from(count) * stored_bits(high_width);
        }
        found
    }

    /// Where the next group lies in the packed bytes.
    #[inline]
    pub(crate) fn place(&self) -> Range<usize> {
        let width = self.parts.widths.get(self.next).copied().unwrap_or(0);
        let n_bits = self.n_values() * usize::from(width);
        self.packed_at..self.packed_at.saturating_add(n_bits.div_ceil(8))
    }

    /// Values of the next group.
    #[inline]
    fn n_values(&self) -> usize {
        let before = self.next * GROUP_VALUES;
        GROUP_VALUES.min(self.parts.n_values.saturating_sub(before))
    }

    /// The next group.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<Group<'a>> {
        let (n_values, place) = (self.n_values(), self.place());
        let width = self.parts.widths.get(self.next).copied();
        let width = width.ok_or_else(|| Error::invalid("a selection beyond the last group"))?;
        let count = self.parts.counts.get(self.next).copied().unwrap_or(0);
        let exceptions = self.exceptions(count);
        self.next += 1;
        self.packed_at = place.end;
        let parts = &*self.parts;
        Ok(Group {
            unit: parts.bytes,
            value_bytes: parts.value_bytes,
            n_values,
            width: width.into(),
            packed: parts.packed.get(place).unwrap_or_default(),
            exceptions,
        })
    }
}

/// The exceptions of a group.
#[derive(Default)]
struct Exceptions<'a> {
    positions: &'a [u8],
    /// Their place in the unit.
    positions_at: usize,
    high_width: u8,
    /// The bit of the unit where the first high starts.
    high_at_bit: u64,
}

/// One group: up to 128 values.
pub(crate) struct Group<'a> {
    unit: &'a [u8],
    value_bytes: usize,
    pub(crate) n_values: usize,
    width: u32,
    packed: &'a [u8],
    exceptions: Exceptions<'a>,
}

impl Group<'_> {
    /// Decodes all values to `to`, which has room for exactly these.
    #[inline]
    pub(crate) fn decode(&self, to: &mut [u8]) -> Result<()> {
        if self.n_values == GROUP_VALUES {
            unpack(self.packed, self.width, self.value_bytes, to);
        } else {
            unpack_range_of(
                self.value_bytes,
                self.packed,
                self.n_values,
                self.width,
                0,
                0,
                to,
            )
            .map_err(|_| Error::invalid("packed values do not fit the unit"))?;
        }
        if self.exceptions.positions.is_empty() {
            return Ok(());
        }
        match self.value_bytes {
            1 => self.patch::<1>(to),
            2 => self.patch::<2>(to),
            4 => self.patch::<4>(to),
            _ => self.patch::<8>(to),
        }
    }

    /// Adds the highs of exceptions to `to`, which holds the low bits of all values of the group.
    fn patch<const S: usize>(&self, to: &mut [u8]) -> Result<()> {
        let to = to.as_chunks_mut::<S>().0;
        let mut next = 0;
        for (i, position) in self.exceptions.positions.iter().enumerate() {
            let place = self.place_of(i, *position, next)?;
            if let Some(value) = to.get_mut(place) {
                let high = self.high(i) << (self.width & 63);
                write_value(read_value(value).unwrap_or_default() | high, value);
            }
            next = place + 1;
        }
        Ok(())
    }

    /// Value `at`, which is in the group. Kernels must be small.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn value(&self, at: usize) -> Result<u64> {
        let (packed, n_values, width) = (self.packed, self.n_values, self.width);
        let found = match n_values {
            GROUP_VALUES => crate::rows::unpack_one(packed, width, self.value_bytes, at),
            _ => tarsia_bits::unpack_one_of(self.value_bytes, packed, n_values, width, 0, at).ok(),
        };
        let mut value = found.ok_or_else(|| Error::invalid("a value beyond its group"))?;
        let mut next = 0;
        for (i, position) in self.exceptions.positions.iter().enumerate() {
            let place = self.place_of(i, *position, next)?;
            if place == at {
                value |= self.high(i) << (self.width & 63);
            }
            next = place + 1;
        }
        Ok(value)
    }

    /// The place of exception `i`, which must be `next` or a later one.
    #[inline(always)]
    fn place_of(&self, i: usize, position: u8, next: usize) -> Result<usize> {
        let place = usize::from(position);
        match next <= place && place < self.n_values {
            true => Ok(place),
            false => Err(self.bad_position(i, position)),
        }
    }

    #[cold]
    #[inline(never)]
    fn bad_position(&self, i: usize, found: u8) -> Error {
        let at = self.exceptions.positions_at + i;
        let allowed = "strictly rising and below the number of values of the group";
        Error::corrupt("fastpfor.positions", at, found, allowed)
    }

    /// The bits of exception `i` above the width of the group.
    #[inline(always)]
    fn high(&self, i: usize) -> u64 {
        let width = self.exceptions.high_width;
        if width == 1 {
            return 1;
        }
        let bit = self.exceptions.high_at_bit + i as u64 * u64::from(width);
        let rest = self.unit.get((bit / 8) as usize..).unwrap_or_default();
        let window = match rest.first_chunk() {
            Some(window) => *window,
            None => {
                let mut window = [0; 9];
                for (to, from) in window.iter_mut().zip(rest) {
                    *to = *from;
                }
                window
            }
        };
        let [low @ .., last] = window;
        let shift = bit % 8;
        let high = u64::from_le_bytes(low) >> shift | (u64::from(last) << 1) << (63 - shift);
        high & low_bits(width.into())
    }
}
