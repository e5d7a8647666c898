//! Strings to codes: the longest symbol that fits, at each place.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{BytesSlice, Error, Result};

use crate::layout::{ESCAPE, SYMBOL_BYTES_MAX, SYMBOLS_MAX};

/// A symbol of 3 bytes and more.
#[derive(Clone, Copy)]
struct Long {
    /// Its bytes, the first one lowest.
    word: u64,
    /// Which bits of a word are compared with it.
    mask: u64,
    len: u8,
    code: u8,
}

/// A symbol of one or two bytes; none if `len` is zero.
#[derive(Clone, Copy, Default)]
struct Short {
    len: u8,
    code: u8,
}

/// The symbols that strings may go on with, of which the first two bytes are known.
#[derive(Clone, Copy, Default)]
struct Pair {
    /// Where the longer symbols are in the list of all.
    start: u8,
    n: u8,
    /// The longest of the shorter ones.
    short: Short,
}

/// Finds the longest symbol at each place of a string. The result does not depend on symbols that are longest nowhere:
/// where they are gone, strings have the same codes.
pub(crate) struct Splitter {
    /// For each two bytes, the first one lowest.
    pairs: Vec<Pair>,
    /// For each byte the symbol of it alone.
    singles: [Short; 256],
    /// In the order of their first two bytes, then the longest first, then by code.
    longs: Vec<Long>,
}

impl Splitter {
    /// Prepares a splitter. It uses the first of equal symbols, and no empty ones, which were wiped.
    pub(crate) fn of(symbols: &BytesSlice<'_>) -> Result<Self> {
        if symbols.len() > SYMBOLS_MAX {
            return Err(Error::invalid("more symbols than codes tell apart"));
        }
        let mut singles = [Short::default(); 256];
        let mut doubles = vec![];
        let mut longs = vec![];
        for (i, code) in (0..symbols.len()).zip(0u8..) {
            let len = symbols.value_bytes(i) as u8;
            match symbols.get(i) {
                [] => {}
                [byte] => {
                    let single = &mut singles[usize::from(*byte)];
                    if single.len == 0 {
                        *single = Short { len, code };
                    }
                }
                [first, second] => {
                    let pair = u16::from_le_bytes([*first, *second]);
                    doubles.push((pair, Short { len, code }));
                }
                symbol if symbol.len() <= SYMBOL_BYTES_MAX => longs.push(Long {
                    word: word_of(symbol),
                    mask: u64::MAX >> (64 - 8 * u32::from(len)),
                    len,
                    code,
                }),
                _ => return Err(Error::invalid("a symbol of more than 8 bytes")),
            }
        }
        let mut pairs: Vec<Pair> = (0..=u16::MAX)
            .map(|pair| Pair {
                short: singles[usize::from(pair as u8)],
                ..Pair::default()
            })
            .collect();
        // Backwards, so that the first of equal ones stays.
        for (pair, short) in doubles.into_iter().rev() {
            pairs[usize::from(pair)].short = short;
        }
        longs.sort_unstable_by_key(|long: &Long| (long.word as u16, !long.len, long.code));
        for (long, place) in longs.iter().zip(0u8..) {
            let pair = &mut pairs[usize::from(long.word as u16)];
            if pair.n == 0 {
                pair.start = place;
            }
            pair.n += 1;
        }
        Ok(Self {
            pairs,
            singles,
            longs,
        })
    }

    /// Appends the codes of a string.
    pub(crate) fn split(&self, string: &[u8], codes: &mut Vec<u8>) {
        let mut rest = string;
        while let Some(word) = rest.first_chunk::<SYMBOL_BYTES_MAX>() {
            let found = self.longest(u64::from_le_bytes(*word));
            rest = append(found, rest, codes);
        }
        while !rest.is_empty() {
            let found = self.longest_of_few(rest);
            rest = append(found, rest, codes);
        }
    }

    /// The longest symbol that `word` begins with.
    #[inline]
    fn longest(&self, word: u64) -> Short {
        let pair = self.pairs[usize::from(word as u16)];
        let start = usize::from(pair.start);
        let longs = &self.longs[start..start + usize::from(pair.n)];
        let found = longs.iter().find(|it| (it.word ^ word) & it.mask == 0);
        found.map_or(pair.short, |it| Short {
            len: it.len,
            code: it.code,
        })
    }

    /// The longest symbol that fewer than 8 bytes begin with.
    fn longest_of_few(&self, bytes: &[u8]) -> Short {
        let word = word_of(bytes);
        let pair = self.pairs[usize::from(word as u16)];
        let start = usize::from(pair.start);
        let longs = &self.longs[start..start + usize::from(pair.n)];
        let found = longs
            .iter()
            .find(|it| usize::from(it.len) <= bytes.len() && (it.word ^ word) & it.mask == 0);
        match found {
            Some(it) => Short {
                len: it.len,
                code: it.code,
            },
            None if usize::from(pair.short.len) <= bytes.len() => pair.short,
            None => self.singles[usize::from(word as u8)],
        }
    }
}

/// Appends the code of the symbol that `rest` begins with, or of its first byte. Returns what is behind it.
#[inline]
fn append<'a>(found: Short, rest: &'a [u8], codes: &mut Vec<u8>) -> &'a [u8] {
    match found.len {
        0 => {
            codes.extend_from_slice(&[ESCAPE, rest[0]]);
            &rest[1..]
        }
        len => {
            codes.push(found.code);
            &rest[usize::from(len)..]
        }
    }
}

/// Up to 8 bytes, the first one lowest.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; SYMBOL_BYTES_MAX];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarsia_testkit::cases::Case;
    use tarsia_testkit::rng::Rng;

    fn splitter(symbols: &[Vec<u8>]) -> Splitter {
        let case = Case::strings("", symbols);
        Splitter::of(&case.values().as_bytes().unwrap()).unwrap()
    }

    /// The codes by trying every symbol at each place. Of equal ones the first counts.
    fn expected(symbols: &[Vec<u8>], mut rest: &[u8]) -> Vec<u8> {
        let mut codes = vec![];
        while let Some(byte) = rest.first() {
            let fitting = symbols.iter().zip(0u8..);
            let fitting =
                fitting.filter(|(symbol, _)| !symbol.is_empty() && rest.starts_with(symbol));
            let longest = fitting.max_by_key(|(symbol, code)| (symbol.len(), !code));
            match longest {
                Some((symbol, code)) => {
                    codes.push(code);
                    rest = &rest[symbol.len()..];
                }
                None => {
                    codes.extend([ESCAPE, *byte]);
                    rest = &rest[1..];
                }
            }
        }
        codes
    }

    fn codes_of(symbols: &[Vec<u8>], string: &[u8]) -> Vec<u8> {
        let mut codes = vec![];
        splitter(symbols).split(string, &mut codes);
        codes
    }

    #[test]
    fn the_longest_symbol_is_found() {
        let symbols = ["", "a", "ab", "abc", "abcdefgh", "b", "a\0", "\0\0\0", "ab"];
        let symbols = symbols.map(|symbol| symbol.as_bytes().to_vec());
        for string in [
            "",
            "a",
            "ab",
            "abc",
            "abcd",
            "abcdefg",
            "abcdefgh",
            "abcdefghabcdefg",
            "ba",
            "a\0",
            "\0",
            "\0\0",
            "\0\0\0\0",
            "xab",
            "abx",
            "aabababc",
        ] {
            let string = string.as_bytes();
            assert_eq!(codes_of(&symbols, string), expected(&symbols, string));
        }
    }

    #[test]
    fn any_symbols_split_any_strings() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let n_letters = [1, 2, 4, 30, 256][rng.below(5)];
            let word = |rng: &mut Rng, len: usize| -> Vec<u8> {
                (0..len).map(|_| rng.below(n_letters) as u8).collect()
            };
            let symbols: Vec<Vec<u8>> = (0..rng.below(256))
                .map(|_| {
                    let len = rng.below(9);
                    word(&mut rng, len)
                })
                .collect();
            for _ in 0..20 {
                let len = rng.below(60);
                let string = word(&mut rng, len);
                let codes = codes_of(&symbols, &string);
                assert_eq!(codes, expected(&symbols, &string), "seed {seed}");
                // Where unused symbols are wiped, it has the same codes.
                let mut wiped = symbols.clone();
                for (symbol, code) in wiped.iter_mut().zip(0u8..) {
                    if !codes.contains(&code) {
                        symbol.clear();
                    }
                }
                assert_eq!(codes_of(&wiped, &string), codes, "seed {seed}");
            }
        }
    }
}
