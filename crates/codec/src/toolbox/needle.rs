//! A byte string that encoded values are compared with, piece by piece.

use crate::{Predicate, Result, Scratch, Values};

/// Bytes of codes that a value is compared with before its pieces are.
const AHEAD_BYTES: usize = 16;

/// How often it is noted with which codes values begin. Some have the same bytes in other codes.
const TRIES_MAX: usize = 32;

/// The most bytes of a piece.
const PIECE_BYTES_MAX: usize = 16;

/// A byte string that values are compared with while they are encoded as pieces of a few bytes, such as symbols or
/// tokens.
pub struct Needle<'a> {
    /// The string, with so many zeros behind it that a piece can be read at each of its bytes.
    padded: &'a [u8],
    len: usize,
    /// Whether values that begin with it are looked for, not those that equal it.
    is_prefix: bool,
}

/// Bytes that a value consists of, among others: at most 16.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    bits: u128,
    len: usize,
    /// Whether there is more than one code for it.
    is_escaped: bool,
}

/// Codes of a value, in the order of its pieces.
#[derive(Clone, Copy)]
pub struct Codes<'a> {
    /// The codes of this value and those behind it.
    pub ahead: &'a [u8],
    /// Bytes of a code.
    pub width: usize,
    /// How many codes the value has.
    pub len: usize,
}

/// Codes that some values begin with which begin like the needle. Where values begin alike, these are passed over.
#[derive(Default)]
pub struct Begin {
    codes: u128,
    len: usize,
    /// Where in the needle the bytes of the first so many codes end.
    ends: [usize; AHEAD_BYTES + 1],
    n_tries: usize,
}

impl Codes<'_> {
    #[inline(always)]
    fn first(&self) -> Option<u128> {
        let first = self.ahead.first_chunk::<AHEAD_BYTES>()?;
        Some(u128::from_le_bytes(*first))
    }
}

impl Begin {
    /// How many of the codes can be passed over, and the place in the needle behind these.
    #[inline(always)]
    fn skip(&self, codes: Codes<'_>) -> (usize, usize) {
        let Some(first) = codes.first().filter(|_| self.len > 0) else {
            return (0, 0);
        };
        let n_bytes = (first ^ self.codes).trailing_zeros() as usize / 8;
        let n_equal = n_bytes.checked_div(codes.width).unwrap_or_default();
        let n = n_equal.min(self.len).min(codes.len);
        (n, self.ends.get(n).copied().unwrap_or_default())
    }
}

impl Piece {
    /// The first `len` of these bytes. Of fewer bytes than `len`, zeros follow.
    #[inline(always)]
    pub fn of_8(padded: &[u8; 8], len: usize) -> Self {
        Self {
            bits: u64::from_le_bytes(*padded).into(),
            len,
            is_escaped: false,
        }
    }

    /// As [`Piece::of_8`].
    #[inline(always)]
    pub fn of_16(padded: &[u8; 16], len: usize) -> Self {
        Self {
            bits: u128::from_le_bytes(*padded),
            len,
            is_escaped: false,
        }
    }

    /// One byte, for which there are two codes: one that announces it, and itself.
    #[inline(always)]
    pub fn of_byte(byte: u8) -> Self {
        Self {
            bits: byte.into(),
            len: 1,
            is_escaped: true,
        }
    }
}

/// How the needle goes on behind some pieces of a value.
enum Step {
    /// Behind these many of its bytes.
    At(usize),
    Matches,
    Differs,
}

impl Needle<'_> {
    /// Calls `with` with the byte string of a predicate. Returns `None` without calling it for predicates of another
    /// form, and of several strings: pieces are decoded faster than they are compared with each of these.
    ///
    /// # Errors
    /// Those of `with`.
    pub fn with<R>(
        predicate: &Predicate<'_>,
        scratch: &mut Scratch,
        with: impl FnOnce(&Needle<'_>, &mut Scratch) -> Result<R>,
    ) -> Result<Option<R>> {
        let (string, is_prefix) = match predicate {
            Predicate::In(Values::Bytes(strings)) if strings.len() == 1 => (strings.get(0), false),
            Predicate::StartsWith(prefix) => (*prefix, true),
            _ => return Ok(None),
        };
        let len = string.len();
        let found = scratch.with_values(len + PIECE_BYTES_MAX, |padded: &mut [u8], scratch| {
            padded.fill(0);
            let to = padded.get_mut(..len);
            to.unwrap_or_default().copy_from_slice(string);
            let needle = Needle {
                padded,
                len,
                is_prefix,
            };
            with(&needle, scratch)
        });
        found.map(Some)
    }

    /// Whether only values of one length match.
    pub fn has_length(&self) -> bool {
        !self.is_prefix
    }

    /// Whether values of this length may match.
    #[inline(always)]
    pub fn may_have_length(&self, len: u32) -> bool {
        self.is_prefix || self.len == len as usize
    }

    /// Whether values that begin with this piece may match.
    #[inline]
    pub fn may_begin_with(&self, piece: Piece) -> bool {
        !matches!(self.step(0, piece), Step::Differs)
    }

    /// Whether a value matches that consists of pieces with these codes. `pieces` gives those from a code on. Not all
    /// of them may be asked for.
    ///
    /// # Errors
    /// Those of the pieces.
    #[inline(always)]
    pub fn match_value<I: Iterator<Item = Result<Piece>>>(
        &self,
        codes: Codes<'_>,
        begin: &mut Begin,
        pieces: impl Fn(usize) -> I,
    ) -> Result<bool> {
        // So do most values where few begin alike.
        if let Some(first) = pieces(0).next()
            && !self.may_begin_with(first?)
        {
            return Ok(false);
        }
        let (n_skipped, mut at) = begin.skip(codes);
        let mut n = n_skipped;
        let mut matches = None;
        for piece in pieces(n_skipped) {
            match self.step(at, piece?) {
                Step::At(next) => at = next,
                Step::Matches => matches = Some(true),
                Step::Differs => matches = Some(false),
            }
            if matches.is_some() {
                break;
            }
            n += 1;
        }
        if n > begin.len && begin.n_tries < TRIES_MAX {
            self.learn(codes, begin, pieces(0))?;
        }
        Ok(matches.unwrap_or(at == self.len))
    }

    /// Notes with which codes a value begin that has more of them than known that begin like the needle.
    #[cold]
    #[inline(never)]
    fn learn(
        &self,
        codes: Codes<'_>,
        begin: &mut Begin,
        pieces: impl Iterator<Item = Result<Piece>>,
    ) -> Result<()> {
        begin.n_tries += 1;
        let Some(first) = codes.first() else {
            return Ok(());
        };
        let n_max = AHEAD_BYTES.checked_div(codes.width).unwrap_or_default();
        let mut found = Begin {
            codes: first,
            n_tries: begin.n_tries,
            ..Begin::default()
        };
        let mut at = 0;
        for piece in pieces.take(n_max) {
            let piece = piece?;
            match self.step(at, piece) {
                Step::At(next) if !piece.is_escaped => at = next,
                _ => break,
            }
            found.len += 1;
            if let Some(end) = found.ends.get_mut(found.len) {
                *end = at;
            }
        }
        if found.len > begin.len {
            *begin = found;
        }
        Ok(())
    }

    /// Compares a piece with the needle from byte `at` of it on.
    #[inline(always)]
    fn step(&self, at: usize, piece: Piece) -> Step {
        let left = self.len - at;
        let bytes = self.padded.get(at..);
        let bytes = bytes.and_then(<[u8]>::first_chunk::<PIECE_BYTES_MAX>);
        let needle = bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes));
        let n = piece.len.min(left);
        // Bits of the first n bytes.
        let differing = (piece.bits ^ needle) & !(!0_u128).checked_shl(8 * n as u32).unwrap_or(0);
        if differing != 0 || piece.len > left && !self.is_prefix {
            return Step::Differs;
        }
        match self.is_prefix && piece.len >= left {
            true => Step::Matches,
            false => Step::At(at + n),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::BytesSlice;

    /// The value cut to pieces of these lengths, again and again.
    fn pieces(value: &[u8], lengths: &[usize]) -> Vec<Piece> {
        let (mut pieces, mut rest) = (Vec::new(), value);
        for len in lengths.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((*len).min(rest.len()));
            // What is behind a piece means nothing.
            let mut padded = [b'#'; 16];
            padded[..piece.len()].copy_from_slice(piece);
            pieces.push(Piece::of_16(&padded, piece.len()));
            rest = behind;
        }
        pieces
    }

    #[test]
    fn pieces_match_as_their_bytes_do() {
        let texts: [&[u8]; 9] = [
            b"",
            b"a",
            b"ab",
            b"ab\0",
            b"the quick brown fox",
            b"the quick brown fox jumps over the dog",
            b"the quick brown fox jumps over the dog\0\0",
            b"the quick brown cat",
            &[0; 20],
        ];
        let offsets: Vec<u32> = texts
            .iter()
            .scan(0, |end, text| {
                *end += text.len() as u32;
                Some(*end)
            })
            .collect();
        let data = texts.concat();
        let mut predicates: Vec<_> = texts.iter().map(|it| Predicate::StartsWith(it)).collect();
        for range in offsets.windows(2) {
            let strings = BytesSlice::new(range, &data).unwrap();
            predicates.push(Predicate::In(Values::Bytes(strings)));
        }
        let mut scratch = Scratch::new();
        for predicate in &predicates {
            for value in texts {
                for lengths in [&[1][..], &[16], &[3, 1, 7], &[0, 2]] {
                    let pieces = pieces(value, lengths);
                    let found = Needle::with(predicate, &mut scratch, |needle, _| {
                        let codes = Codes {
                            ahead: &[],
                            width: 1,
                            len: pieces.len(),
                        };
                        let found = needle.match_value(codes, &mut Begin::default(), |from| {
                            pieces[from..].iter().map(|it| Ok(*it))
                        })?;
                        if found {
                            assert!(needle.may_have_length(value.len() as u32));
                            assert!(pieces.first().is_none_or(|it| needle.may_begin_with(*it)));
                        }
                        Ok(found)
                    });
                    let holds = predicate.holds(crate::ValueType::Bytes, value);
                    assert_eq!(
                        found.unwrap(),
                        holds,
                        "{predicate:?}, {value:?}, {lengths:?}"
                    );
                }
            }
        }
    }

    /// Values of tokens, one after the other, with what is known of those before: some begin alike, and some have the
    /// same bytes in other tokens.
    #[test]
    fn codes_that_values_begin_with_are_passed_over() {
        let tokens: [&[u8]; 6] = [b"a", b"b", b"ab", b"https://", b"\0", b""];
        let mut rng = 1_u64;
        let mut next = |n: u64| {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (rng >> 33) % n
        };
        for width in [1, 2] {
            let values: Vec<Vec<u8>> = (0..200)
                .map(|_| {
                    let begin = [3, 2, 0].into_iter().take(next(4) as usize);
                    let mut value: Vec<u8> = begin.collect();
                    let rest = next(25);
                    value.extend((0..rest).map(|_| match next(3) {
                        0 => next(6) as u8,
                        _ => 2,
                    }));
                    value
                })
                .collect();
            let text = |value: &[u8]| -> Vec<u8> {
                let tokens = value.iter().map(|code| tokens[*code as usize]);
                tokens.flatten().copied().collect()
            };
            let stored: Vec<u8> = values
                .iter()
                .flatten()
                .flat_map(|code| [*code, 0].into_iter().take(width))
                .collect();
            for wanted in &values {
                let wanted = text(wanted);
                let offsets = [0, wanted.len() as u32];
                let one = BytesSlice::new(&offsets, &wanted).unwrap();
                for predicate in [
                    Predicate::In(Values::Bytes(one)),
                    Predicate::StartsWith(&wanted),
                ] {
                    let check = |needle: &Needle<'_>, _: &mut Scratch| {
                        let (mut begin, mut start) = (Begin::default(), 0);
                        for value in &values {
                            let codes = Codes {
                                ahead: &stored[start * width..],
                                width,
                                len: value.len(),
                            };
                            start += value.len();
                            let found = needle.match_value(codes, &mut begin, |from| {
                                value[from..].iter().map(|code| {
                                    let token = tokens[*code as usize];
                                    let mut padded = [0; 16];
                                    padded[..token.len()].copy_from_slice(token);
                                    Ok(Piece::of_16(&padded, token.len()))
                                })
                            });
                            let text = text(value);
                            let holds = predicate.holds(crate::ValueType::Bytes, &text);
                            assert_eq!(found.ok(), holds, "{predicate:?}, {value:?}");
                        }
                        Ok(())
                    };
                    let done = Needle::with(&predicate, &mut Scratch::new(), check);
                    assert_eq!(done, Ok(Some(())));
                }
            }
        }
    }

    #[test]
    fn several_strings_and_other_predicates_are_left_to_others() {
        let offsets = [0; 3];
        let several = Predicate::In(Values::Bytes(BytesSlice::new(&offsets, b"").unwrap()));
        let range = Predicate::Within(crate::NumberRange {
            order: crate::Order::Signed,
            low: 0,
            high: 1,
        });
        for predicate in [several, range] {
            let found = Needle::with(&predicate, &mut Scratch::new(), |_, _| Ok(()));
            assert!(matches!(found, Ok(None)), "{predicate:?}");
        }
    }
}
