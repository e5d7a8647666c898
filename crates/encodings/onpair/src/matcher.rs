//! A set of tokens that finds the longest one at the front of a text.

use alloc::vec;
use alloc::vec::Vec;

use crate::layout::TOKEN_BYTES_MAX;

/// Bits of a slot for the number of a token plus 1. The others are bits of its hash.
const NUMBER_BITS: u32 = 18;

/// The most tokens of a matcher.
pub(crate) const MATCHER_TOKENS_MAX: usize = (1 << NUMBER_BITS) - 1;

const HASH4_BITS: u32 = 15;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER_HIGH: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// A token in a register: its bytes little-endian, then zeros; and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) key: u128,
    pub(crate) len: usize,
}

impl Token {
    /// The first `len` bytes of a window.
    #[inline]
    pub(crate) fn front(window: u128, len: usize) -> Self {
        let key = match len {
            0..TOKEN_BYTES_MAX => window & ((1 << (8 * len)) - 1),
            _ => window,
        };
        Self { key, len }
    }

    /// The bytes of both, which are at most 16.
    pub(crate) fn then(self, next: Self) -> Self {
        Self {
            key: self.key | next.key << (8 * self.len),
            len: self.len + next.len,
        }
    }

    /// The token `bytes`, at most 16.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::front(window(bytes), bytes.len())
    }

    fn hash(self) -> u64 {
        let (low, high) = (self.key as u64, (self.key >> 64) as u64);
        let high = high.wrapping_add(self.len as u64);
        let mixed =
            low.wrapping_mul(MULTIPLIER) ^ high.wrapping_mul(MULTIPLIER_HIGH).rotate_left(29);
        (mixed ^ mixed >> 32).wrapping_mul(MULTIPLIER)
    }
}

/// The first 16 bytes of `text`, zeros behind its end.
#[inline]
pub(crate) fn window(text: &[u8]) -> u128 {
    match text.first_chunk::<TOKEN_BYTES_MAX>() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; TOKEN_BYTES_MAX];
            bytes[..text.len()].copy_from_slice(text);
            u128::from_le_bytes(bytes)
        }
    }
}

/// Tokens, numbered in the order of insertion.
///
/// Two tables say which lengths are possible for a text: one has a bit per length for each pair of first bytes, the
/// other for each hash of four first bytes. So a search looks up two or three lengths and not sixteen.
pub(crate) struct Matcher {
    tokens: Vec<Token>,
    slots: Vec<u32>,
    shift: u32,
    lengths_by_pair: Vec<u16>,
    lengths_by_hash: Vec<u16>,
}

impl Matcher {
    /// No tokens, room for `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        let bits = (capacity.max(256) * 2).next_power_of_two().ilog2();
        Self {
            tokens: Vec::with_capacity(capacity),
            slots: vec![0; 1 << bits],
            shift: u64::BITS - bits,
            lengths_by_pair: vec![0; 1 << 16],
            lengths_by_hash: vec![0; 1 << HASH4_BITS],
        }
    }

    /// The tokens.
    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The number of `token`.
    #[inline]
    pub(crate) fn number(&self, token: Token) -> Option<usize> {
        let hash = token.hash();
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if (slot ^ (hash as u32) << NUMBER_BITS) >> NUMBER_BITS == 0 {
                let number = (slot as usize & MATCHER_TOKENS_MAX) - 1;
                if self.tokens[number] == token {
                    return Some(number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a token of 1 to 16 bytes, unless it is there or the capacity is reached.
    pub(crate) fn insert(&mut self, token: Token) -> bool {
        let is_full = (self.tokens.len() + 1) * 2 > self.slots.len()
            || self.tokens.len() >= MATCHER_TOKENS_MAX;
        if is_full || self.number(token).is_some() {
            return false;
        }
        let hash = token.hash();
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.tokens.push(token);
        self.slots[at] = (hash as u32) << NUMBER_BITS | self.tokens.len() as u32;
        let bit = 1 << (token.len - 1);
        match token.len {
            4.. => self.lengths_by_hash[hash4(token.key)] |= bit,
            2.. => self.lengths_by_pair[token.key as usize & 0xffff] |= bit,
            _ => {}
        }
        true
    }

    /// The number and the length of the longest token that the text at `window` begins with, which ends within
    /// `available` bytes (1 to 16). `None` if there is no token even for its first byte.
    #[inline]
    pub(crate) fn longest(&self, window: u128, available: usize) -> Option<(usize, usize)> {
        let by_pair = self.lengths_by_pair[window as usize & 0xffff];
        let by_hash = self.lengths_by_hash[hash4(window)];
        let fitting = (1u32 << available) - 1;
        let mut lengths = u32::from(by_pair | by_hash) & fitting | 1;
        while lengths != 0 {
            let len = lengths.ilog2() as usize + 1;
            if let Some(number) = self.number(Token::front(window, len)) {
                return Some((number, len));
            }
            lengths ^= 1 << (len - 1);
        }
        None
    }

    /// Calls `push` with the number of each token of `text`, the longest at each place, and with its length. Returns
    /// false where a byte is not a token.
    #[inline]
    pub(crate) fn parse(&self, text: &[u8], mut push: impl FnMut(usize, usize)) -> bool {
        let mut rest = text;
        while !rest.is_empty() {
            let available = rest.len().min(TOKEN_BYTES_MAX);
            let Some((number, len)) = self.longest(window(rest), available) else {
                return false;
            };
            push(number, len);
            rest = &rest[len..];
        }
        true
    }
}

fn hash4(window: u128) -> usize {
    let word = u64::from(window as u32);
    (word.wrapping_mul(MULTIPLIER) >> (u64::BITS - HASH4_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_token_is_found() {
        let mut matcher = Matcher::new(8);
        let tokens: [&[u8]; 7] = [b"a", b"b", b"ab", b"abba", b"abbaabb", b"ba", b"\0"];
        for token in tokens {
            assert!(matcher.insert(Token::of(token)));
            assert!(!matcher.insert(Token::of(token)));
        }
        let parse = |text: &[u8]| {
            let mut parsed: Vec<&[u8]> = vec![];
            let is_whole = matcher.parse(text, |number, len| {
                assert_eq!(tokens[number].len(), len);
                parsed.push(tokens[number]);
            });
            is_whole.then_some(parsed)
        };
        assert_eq!(parse(b""), Some(vec![]));
        assert_eq!(parse(b"abb"), Some(vec![&b"ab"[..], b"b"]));
        assert_eq!(parse(b"abbaab"), Some(vec![&b"abba"[..], b"ab"]));
        assert_eq!(
            parse(b"abbaabba\0"),
            Some(vec![&b"abbaabb"[..], b"a", b"\0"])
        );
        assert_eq!(parse(b"ac"), None);
    }

    #[test]
    fn tokens_of_sixteen_bytes_and_their_prefixes_differ() {
        let text: Vec<u8> = (0..40).collect();
        let mut matcher = Matcher::new(0);
        for len in 1..=16 {
            assert!(matcher.insert(Token::of(&text[..len])));
        }
        for available in 1..=16 {
            let found = matcher.longest(window(&text), available);
            assert_eq!(found, Some((available - 1, available)));
        }
        let joined = Token::of(&text[..5]).then(Token::of(&text[5..16]));
        assert_eq!(matcher.number(joined), Some(15));
        assert_eq!(matcher.longest(window(&text[1..]), 16), None);
    }
}
