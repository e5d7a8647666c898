//! Codes to bytes: the loops of the decoder.

#[cfg(not(feature = "kernel"))]
use tarsia_codec::toolbox::{Needle, Piece};
use tarsia_codec::{Error, OwnedValues, Result, UsedEntries};

use crate::layout::{ESCAPE, SYMBOL_BYTES_MAX, SYMBOLS_MAX};

/// Codes that are looked up between two checks.
const GROUP: usize = 8;

/// The most bytes of the symbols of a group.
const GROUP_BYTES_MAX: usize = GROUP * SYMBOL_BYTES_MAX;

/// Where a group is decoded to: its symbols, and room for the last one's store of 8 bytes.
type Window = [u8; GROUP_BYTES_MAX + SYMBOL_BYTES_MAX];

/// The length of what is no symbol: more than those of all symbols of a group, so that one check per group finds it.
const NO_SYMBOL: u8 = GROUP_BYTES_MAX as u8 + 1;

/// A value for each code, so that looking one up needs no check.
type PerCode<T> = [T; SYMBOLS_MAX + 1];

/// The symbols of a page.
pub(crate) struct Symbols {
    /// Each symbol, padded with zeros.
    padded: PerCode<[u8; SYMBOL_BYTES_MAX]>,
    lengths: PerCode<u8>,
}

/// Which codes a string may begin with.
#[cfg(not(feature = "kernel"))]
pub(crate) struct FirstCodes(PerCode<bool>);

#[cfg(not(feature = "kernel"))]
impl FirstCodes {
    #[inline(always)]
    pub(crate) fn have(&self, code: u8) -> bool {
        self.0[usize::from(code)]
    }
}

impl Symbols {
    /// The symbols in a shared buffer. Empty ones were wiped.
    pub(crate) fn of(values: &OwnedValues) -> Result<Self> {
        let strings = values.as_values()?.as_bytes()?;
        let n = strings.len();
        if n > SYMBOLS_MAX {
            return Err(Error::corrupt("fsst.symbols", 0, n, "at most 255"));
        }
        let mut symbols = Self {
            padded: [[0; SYMBOL_BYTES_MAX]; SYMBOLS_MAX + 1],
            lengths: [NO_SYMBOL; SYMBOLS_MAX + 1],
        };
        let places = symbols.padded.iter_mut().zip(&mut symbols.lengths);
        for (i, (padded, length)) in places.enumerate().take(n) {
            let symbol = strings.get(i);
            let Some(to) = padded.get_mut(..symbol.len()) else {
                let found = symbol.len();
                return Err(Error::corrupt("fsst.symbols", i, found, "at most 8 bytes"));
            };
            to.copy_from_slice(symbol);
            *length = symbol.len() as u8;
        }
        Ok(symbols)
    }

    /// Decodes `codes`, which lie at byte `codes_at` of their unit, to the front of `data`. Returns the bytes of the
    /// strings; those behind them are undefined.
    #[cfg_attr(feature = "kernel", inline(never))]
    pub(crate) fn decode(&self, codes: &[u8], codes_at: usize, data: &mut [u8]) -> Result<usize> {
        let (mut next, mut at) = (0, 0);
        while let Some(group) = group_at(codes, next)
            && let Some(window) = window_at(data, at)
        {
            let n = codes_before_escape(group);
            let group_at = codes_at + next;
            let mut len = 0;
            if n == GROUP {
                for code in group {
                    len += self.put(*code, window, len);
                }
                next += GROUP;
            } else {
                for code in group.iter().take(n) {
                    len += self.put(*code, window, len);
                }
                next += n + 2;
                let Some(byte) = codes.get(next - 1) else {
                    return Err(bad_escape(group_at + n));
                };
                // At most 7 symbols are before it.
                if let Some(to) = window.get_mut(len) {
                    *to = *byte;
                    len += 1;
                }
            }
            if len > GROUP_BYTES_MAX {
                return Err(self.bad_code(group, group_at));
            }
            at += len;
        }
        self.decode_last(codes, next, codes_at, data, at)
    }

    /// The codes that strings may begin with that match.
    #[cfg(not(feature = "kernel"))]
    pub(crate) fn that_begin(&self, needle: &Needle<'_>) -> FirstCodes {
        let mut codes = FirstCodes([true; SYMBOLS_MAX + 1]);
        let symbols = self.padded.iter().zip(&self.lengths);
        for (may_begin, (padded, len)) in codes.0.iter_mut().zip(symbols) {
            // The escape has no symbol either.
            *may_begin = usize::from(*len) > SYMBOL_BYTES_MAX
                || needle.may_begin_with(Piece::of_8(padded, usize::from(*len)));
        }
        codes
    }

    /// The symbols of `codes`, which lie at byte `codes_at` of their unit.
    #[cfg(not(feature = "kernel"))]
    #[inline(always)]
    pub(crate) fn pieces(
        &self,
        codes: &[u8],
        codes_at: usize,
    ) -> impl Iterator<Item = Result<Piece>> {
        let mut places = codes.iter().zip(codes_at..);
        core::iter::from_fn(move || {
            let (code, at) = places.next()?;
            let len = usize::from(self.lengths[usize::from(*code)]);
            if len <= SYMBOL_BYTES_MAX {
                return Some(Ok(Piece::of_8(&self.padded[usize::from(*code)], len)));
            }
            if *code != ESCAPE {
                return Some(Err(no_symbol(*code, at)));
            }
            Some(match places.next() {
                Some((byte, _)) => Ok(Piece::of_byte(*byte)),
                None => Err(bad_escape(at)),
            })
        })
    }

    /// Stores the symbol of a code at byte `at` of a window. Returns its length, or more than that of a group's symbols
    /// if there is no such symbol.
    #[inline(always)]
    fn put(&self, code: u8, window: &mut Window, at: usize) -> usize {
        // Where all codes before it have symbols, `at` is less than that already.
        let at = at & (GROUP_BYTES_MAX - 1);
        let to = window.get_mut(at..);
        if let Some(to) = to.and_then(<[u8]>::first_chunk_mut::<SYMBOL_BYTES_MAX>) {
            *to = self.padded[usize::from(code)];
        }
        usize::from(self.lengths[usize::from(code)])
    }

    /// Decodes the codes from `next` on to `data[at..]`, one by one. Returns the end of what was written.
    fn decode_last(
        &self,
        codes: &[u8],
        mut next: usize,
        codes_at: usize,
        data: &mut [u8],
        mut at: usize,
    ) -> Result<usize> {
        while let Some(code) = codes.get(next) {
            let padded = &self.padded[usize::from(*code)];
            let len = usize::from(self.lengths[usize::from(*code)]);
            let to = data.get_mut(at..).unwrap_or_default();
            if *code == ESCAPE {
                let Some(byte) = codes.get(next + 1) else {
                    return Err(bad_escape(codes_at + next));
                };
                let Some(to) = to.first_mut() else {
                    return Err(bad_lengths(codes_at + next, at + 1));
                };
                *to = *byte;
                (next, at) = (next + 2, at + 1);
                continue;
            }
            if len > SYMBOL_BYTES_MAX {
                return Err(no_symbol(*code, codes_at + next));
            }
            if let Some(to) = to.first_chunk_mut::<SYMBOL_BYTES_MAX>() {
                *to = *padded;
            } else if let (Some(to), Some(symbol)) = (to.get_mut(..len), padded.get(..len)) {
                to.copy_from_slice(symbol);
            } else {
                return Err(bad_lengths(codes_at + next, at + len));
            }
            (next, at) = (next + 1, at + len);
        }
        Ok(at)
    }

    /// The error for a group that lies at byte `at` of its unit, in which a code has no symbol.
    #[cold]
    fn bad_code(&self, group: &[u8; GROUP], at: usize) -> Error {
        let is_bad = |code: &u8| usize::from(self.lengths[usize::from(*code)]) > SYMBOL_BYTES_MAX;
        let mut codes = group.iter().zip(at..);
        let found = codes.find(|(code, _)| is_bad(code));
        found.map_or_else(
            || Error::invalid("symbols of more than 64 bytes"),
            |(code, at)| no_symbol(*code, at),
        )
    }
}

fn group_at(codes: &[u8], at: usize) -> Option<&[u8; GROUP]> {
    codes.get(at..)?.first_chunk()
}

fn window_at(data: &mut [u8], at: usize) -> Option<&mut Window> {
    data.get_mut(at..)?.first_chunk_mut()
}

/// The number of codes before the first escape; all if there is none.
#[inline(always)]
fn codes_before_escape(group: &[u8; GROUP]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    // The lowest zero byte of a number is the lowest byte whose highest bit is set here.
    let inverse = !u64::from_le_bytes(*group);
    let is_zero = inverse.wrapping_sub(ONES) & !inverse & (ONES << 7);
    is_zero.trailing_zeros() as usize / 8
}

/// Adds the symbols of `codes` to a set.
pub(crate) fn note_used(codes: &[u8], used: &UsedEntries) {
    let mut codes = codes.iter();
    while let Some(code) = codes.next() {
        match *code {
            ESCAPE => _ = codes.next(),
            code => used.insert(code.into()),
        }
    }
}

/// The error for strings that are not as long as their lengths say, of which `found` bytes were decoded.
#[cold]
pub(crate) fn bad_lengths(at_byte: usize, found: usize) -> Error {
    let allowed = "codes of as many bytes as the lengths say";
    Error::corrupt("fsst.codes", at_byte, found, allowed)
}

#[cold]
fn bad_escape(at_byte: usize) -> Error {
    let allowed = "a code that is followed by a byte";
    Error::corrupt("fsst.codes", at_byte, ESCAPE, allowed)
}

#[cold]
fn no_symbol(code: u8, at_byte: usize) -> Error {
    let allowed = "below the number of symbols, or 255";
    Error::corrupt("fsst.codes", at_byte, code, allowed)
}
