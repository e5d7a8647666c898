//! Finite state entropy: RFC 8878, section 4.1. A table turns a state into a symbol, and, with the next bits of the
//! stream, into the next state.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};

use crate::bits::word;

/// States of the largest table.
const STATES_MAX: usize = 512;

/// The most symbols of a table: those of match lengths.
const SYMBOLS_MAX: usize = 53;

/// The meaning of a state, in one load. Bits 0 to 31 are the number `base`, bits 32 to 47 the lowest next state, bits
/// 48 to 55 the bits that are added to that, bits 56 to 63 all bits that a sequence reads for it: those, and the ones
/// that are added to `base`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry(pub(crate) u64);

impl Entry {
    fn new(symbol: Symbol, next: usize, next_bits: u32) -> Self {
        let all_bits = next_bits + u32::from(symbol.bits);
        let (next, next_bits) = (next as u64, u64::from(next_bits));
        Self(u64::from(symbol.base) | next << 32 | next_bits << 48 | u64::from(all_bits) << 56)
    }

    #[inline(always)]
    pub(crate) fn base(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(crate) fn next(self) -> usize {
        (self.0 >> 32) as usize & 0xffff
    }

    #[inline(always)]
    pub(crate) fn next_bits(self) -> u32 {
        (self.0 >> 48) as u32 & 0xff
    }

    #[inline(always)]
    pub(crate) fn all_bits(self) -> u32 {
        (self.0 >> 56) as u32
    }

    /// Bits of the number that is added to the base.
    #[inline(always)]
    pub(crate) fn number_bits(self) -> u32 {
        self.all_bits() - self.next_bits()
    }
}

/// The number that a symbol stands for: `base` and a number of `bits` bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symbol {
    pub(crate) base: u32,
    pub(crate) bits: u8,
}

/// The probabilities of symbols, in parts of 2^`log`.
pub(crate) struct Counts {
    /// -1 for a probability of less than 1.
    of_symbols: [i16; SYMBOLS_MAX],
    pub(crate) log: u32,
}

impl Counts {
    pub(crate) fn of(counts: &[i8], log: u32) -> Self {
        let mut of_symbols = [0; SYMBOLS_MAX];
        for (to, from) in of_symbols.iter_mut().zip(counts) {
            *to = i16::from(*from);
        }
        Self { of_symbols, log }
    }

    /// Section 4.1.1. Refuses more than `n_symbols`, and a log above `log_max`.
    pub(crate) fn read(
        reader: &mut ByteReader<'_>,
        n_symbols: usize,
        log_max: u32,
    ) -> Result<Self> {
        let (bytes, at_byte) = (reader.rest(), reader.position());
        let mut of_symbols = [0; SYMBOLS_MAX];
        let log = (word(bytes, 0) & 15) as u32 + 5;
        if log > log_max {
            let allowed = "at most the largest accuracy of the table";
            return Err(Error::corrupt("zstd.accuracy_log", at_byte, log, allowed));
        }
        // One more than the parts that are left.
        let mut left = (1u32 << log) + 1;
        let (mut symbol, mut at) = (0, 4);
        while left > 1 {
            // Numbers up to `left`; the lowest ones take a bit less than the others.
            let threshold = 1u32 << left.ilog2();
            let n_short = 2 * threshold - 1 - left;
            let bits = word(bytes, at) as u32;
            let (short, long) = (bits & (threshold - 1), bits & (2 * threshold - 1));
            let is_short = short < n_short;
            let number = match is_short {
                true => short,
                false if long >= threshold => long - n_short,
                false => long,
            };
            at += left.ilog2() as usize + usize::from(!is_short);
            let Some(to) = of_symbols
                .get_mut(..n_symbols)
                .and_then(|all| all.get_mut(symbol))
            else {
                return Err(many(at_byte + at / 8, symbol));
            };
            *to = number as i16 - 1;
            left -= u32::from(to.unsigned_abs());
            symbol += 1;
            // How many of the next symbols have no part either.
            let mut is_more = number == 1;
            while is_more {
                let skipped = word(bytes, at) as usize % 4;
                (symbol, at) = (symbol + skipped, at + 2);
                is_more = skipped == 3;
                if symbol > n_symbols {
                    return Err(many(at_byte + at / 8, symbol));
                }
            }
        }
        reader.take(at.div_ceil(8), "zstd.table")?;
        Ok(Self { of_symbols, log })
    }
}

#[cold]
#[inline(never)]
fn many(at_byte: usize, found: usize) -> Error {
    Error::corrupt(
        "zstd.table",
        at_byte,
        found,
        "at most the symbols of the table",
    )
}

/// Section 4.1.1, "From normalized distribution to decoding tables". `symbol(i)` is what symbol `i` stands for. Writes
/// the first 2^`log` entries.
pub(crate) fn build(counts: &Counts, entries: &mut [u64], symbol: impl Fn(usize) -> Symbol) {
    let size = 1usize << counts.log;
    let mut of_states = [0u8; STATES_MAX];
    let mut next_of = [0u16; SYMBOLS_MAX];
    // The rarest symbols have the last states.
    let mut n_common = size;
    for (i, (count, next)) in counts.of_symbols.iter().zip(&mut next_of).enumerate() {
        *next = count.unsigned_abs();
        if *count < 0 {
            n_common = n_common.saturating_sub(1);
            if let Some(to) = of_states.get_mut(n_common) {
                *to = i as u8;
            }
        }
    }
    let step = (size >> 1) + (size >> 3) + 3;
    let mut at = 0;
    for (i, count) in counts.of_symbols.iter().enumerate() {
        for _ in 0..*count {
            if let Some(to) = of_states.get_mut(at) {
                *to = i as u8;
            }
            at = (at + step) & (size - 1);
            while at >= n_common && n_common > 0 {
                at = (at + step) & (size - 1);
            }
        }
    }
    for (entry, of_state) in entries.iter_mut().zip(of_states).take(size) {
        let of_state = usize::from(of_state);
        let Some(next) = next_of.get_mut(of_state) else {
            return;
        };
        let next_bits = counts.log - next.checked_ilog2().unwrap_or(0);
        let low = (usize::from(*next) << next_bits).wrapping_sub(size);
        *next += 1;
        *entry = Entry::new(symbol(of_state), low, next_bits).0;
    }
}

/// A table of one state.
pub(crate) fn build_one(entries: &mut [u64], symbol: Symbol) {
    if let Some(to) = entries.first_mut() {
        *to = Entry::new(symbol, 0, 0).0;
    }
}
