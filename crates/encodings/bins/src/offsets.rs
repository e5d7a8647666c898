//! Offsets in their bins to values: the loops of the decoder.

use tarsia_codec::{Error, Result};

use crate::table::{Bin, Table};

/// Values that are decoded between two looks at where the offsets end.
const GROUP: usize = 8;

/// Bytes that hold the offsets of a group, wherever in the first byte they start, as the loads of the last one read
/// them.
const WINDOW: usize = 80;

/// The most bits of an offset of which one load of 8 bytes holds two, wherever in the first byte they start.
#[cfg(not(feature = "kernel"))]
const PAIR_BITS_MAX: u32 = 28;

/// The most bits of an offset that one load holds.
#[cfg(not(feature = "kernel"))]
const ONE_BITS_MAX: u32 = 57;

/// The offsets of a unit: one behind the other, the lowest bit of each byte first.
pub(crate) struct Offsets<'a> {
    bytes: &'a [u8],
    /// Their place in the unit.
    at_byte: usize,
    /// Where the last bytes start.
    tail_at: usize,
    /// The last bytes, then zeros: offsets near the end are read like all others.
    tail: [u8; 2 * WINDOW],
}

impl<'a> Offsets<'a> {
    pub(crate) fn new(bytes: &'a [u8], at_byte: usize) -> Self {
        let tail_at = bytes.len().saturating_sub(WINDOW);
        let mut tail = [0; 2 * WINDOW];
        let last = bytes.get(tail_at..).unwrap_or_default();
        for (to, from) in tail.iter_mut().zip(last) {
            *to = *from;
        }
        Self {
            bytes,
            at_byte,
            tail_at,
            tail,
        }
    }

    /// The bytes from that of `bit` on, then zeros; `None` if that is behind all offsets.
    #[inline(always)]
    fn window(&self, bit: u64) -> Option<&[u8; WINDOW]> {
        let at = usize::try_from(bit / 8).ok()?;
        match self.bytes.get(at..).and_then(<[u8]>::first_chunk) {
            Some(window) => Some(window),
            None => self
                .tail
                .get(at.checked_sub(self.tail_at)?..)?
                .first_chunk(),
        }
    }

    /// Decodes values of the bins with these numbers, whose offsets start at `bit`. Returns where they end. If they end
    /// behind the last byte, the values are undefined: who has decoded the last one calls [`Offsets::check_end`].
    pub(crate) fn decode<const S: usize>(
        &self,
        table: &Table,
        numbers: &[u8],
        bit: u64,
        to: &mut [[u8; S]],
    ) -> u64 {
        // Kernels must be small.
        #[cfg(feature = "kernel")]
        let end = self.groups(table, numbers, bit, to, wide);
        #[cfg(not(feature = "kernel"))]
        let end = if table.width_max <= PAIR_BITS_MAX {
            self.groups(table, numbers, bit, to, pairs)
        } else if table.width_max <= ONE_BITS_MAX {
            self.groups(table, numbers, bit, to, ones)
        } else {
            self.groups(table, numbers, bit, to, wide)
        };
        end.unwrap_or_else(|| bit + table.widths(numbers))
    }

    /// Decodes groups with `group`. `None` if a group starts behind all offsets.
    #[inline(always)]
    fn groups<const S: usize>(
        &self,
        table: &Table,
        numbers: &[u8],
        mut bit: u64,
        to: &mut [[u8; S]],
        group: impl Fn(&Table, &[u8; GROUP], &mut Place<'_>, &mut [[u8; S]; GROUP]),
    ) -> Option<u64> {
        let (groups, last) = numbers.as_chunks();
        let (to_groups, to_last) = to.as_chunks_mut();
        for (numbers, to) in groups.iter().zip(to_groups) {
            let start = (bit % 8) as usize;
            let mut place = Place {
                window: self.window(bit)?,
                bit: start,
            };
            group(table, numbers, &mut place, to);
            bit += (place.bit - start) as u64;
        }
        for (number, to) in last.iter().zip(to_last) {
            let bin = table.bin(*number);
            let place = Place {
                window: self.window(bit)?,
                bit: (bit % 8) as usize,
            };
            *to = bin.value(place.wide());
            bit += u64::from(bin.width);
        }
        Some(bit)
    }

    /// Checks that the offsets up to bit `end` are there and, if these are all, that nothing is behind them.
    pub(crate) fn check_end(&self, end: u64, are_all: bool) -> Result<()> {
        let found = self.bytes.len();
        let needed = usize::try_from(end.div_ceil(8)).unwrap_or(usize::MAX);
        if needed > found {
            let needed = self.at_byte.saturating_add(needed);
            let found = self.at_byte + found;
            return Err(Error::truncated("bins.offsets", needed, found));
        }
        if are_all && needed < found {
            let allowed = "no bytes behind the last offset";
            let at_byte = self.at_byte + needed;
            return Err(Error::corrupt(
                "bins.offsets",
                at_byte,
                found - needed,
                allowed,
            ));
        }
        let spare = match self.bytes.last() {
            Some(last) if are_all && !end.is_multiple_of(8) => last >> (end % 8),
            _ => 0,
        };
        if spare != 0 {
            let at_byte = self.at_byte + found - 1;
            return Err(Error::corrupt("bins.spare_bits", at_byte, spare, "zero"));
        }
        Ok(())
    }
}

/// The next bit in a window: at most seven offsets of 64 bits, and seven bits, behind its start.
struct Place<'a> {
    window: &'a [u8; WINDOW],
    bit: usize,
}

impl Place<'_> {
    /// 57 bits or more from the next one on.
    #[inline(always)]
    fn narrow(&self) -> u64 {
        self.load(0) >> (self.bit % 8)
    }

    /// 64 bits from the next one on.
    #[inline(always)]
    fn wide(&self) -> u64 {
        let low = self.narrow() & u64::from(u32::MAX);
        low | self.load(size_of::<u32>()) >> (self.bit % 8) << 32
    }

    /// The 8 bytes from `skipped` behind the next bit's on, as a number.
    #[inline(always)]
    fn load(&self, skipped: usize) -> u64 {
        // Never more than 63. The compiler does not know.
        let at = self.bit / 8 % 64 + skipped;
        let bytes = self.window.get(at..).and_then(<[u8]>::first_chunk);
        u64::from_le_bytes(bytes.copied().unwrap_or_default())
    }
}

impl Bin {
    /// The value whose offset is the lowest bits of `bits`.
    #[inline(always)]
    fn value<const S: usize>(&self, bits: u64) -> [u8; S] {
        let value = self.lower.wrapping_add(bits & self.mask);
        let mut bytes = [0; S];
        bytes.copy_from_slice(value.to_le_bytes().get(..S).unwrap_or_default());
        bytes
    }
}

/// A group of offsets of any width.
#[inline(always)]
fn wide<const S: usize>(
    table: &Table,
    numbers: &[u8; GROUP],
    place: &mut Place<'_>,
    to: &mut [[u8; S]; GROUP],
) {
    for (number, to) in numbers.iter().zip(to) {
        let bin = table.bin(*number);
        *to = bin.value(place.wide());
        place.bit += bin.width as usize;
    }
}

/// A group of offsets of at most [`ONE_BITS_MAX`] bits.
#[cfg(not(feature = "kernel"))]
#[inline(always)]
fn ones<const S: usize>(
    table: &Table,
    numbers: &[u8; GROUP],
    place: &mut Place<'_>,
    to: &mut [[u8; S]; GROUP],
) {
    for (number, to) in numbers.iter().zip(to) {
        let bin = table.bin(*number);
        *to = bin.value(place.narrow());
        place.bit += bin.width as usize;
    }
}

/// A group of offsets of at most [`PAIR_BITS_MAX`] bits.
#[cfg(not(feature = "kernel"))]
#[inline(always)]
fn pairs<const S: usize>(
    table: &Table,
    numbers: &[u8; GROUP],
    place: &mut Place<'_>,
    to: &mut [[u8; S]; GROUP],
) {
    let (numbers, _) = numbers.as_chunks();
    let (to, _) = to.as_chunks_mut();
    for ([first, second], [to_first, to_second]) in numbers.iter().zip(to) {
        let (first, second) = (table.bin(*first), table.bin(*second));
        let bits = place.narrow();
        *to_first = first.value(bits);
        *to_second = second.value(bits >> (first.width % 64));
        place.bit += (first.width + second.width) as usize;
    }
}
