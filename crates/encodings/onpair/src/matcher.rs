//! A set of tokens that finds the longest one at the front of a text.

use alloc::vec;
use alloc::vec::Vec;

use crate::layout::TOKEN_BYTES_MAX;

/// Bits of a slot for the number of a token plus 1, and for its length less 1. The others are bits of its hash.
const NUMBER_BITS: u32 = 18;
const LENGTH_BITS: u32 = 4;

/// The most tokens of a matcher.
pub(crate) const MATCHER_TOKENS_MAX: usize = (1 << NUMBER_BITS) - 1;

/// Bits of the hashes of beginnings.
const BEGINNING_BITS: u32 = 15;

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
/// Five tables say which lengths are possible for a text. Each has a bit per length for beginnings of so many bytes: 2
/// (tokens of 2 and 3 bytes), and hashes of 4 (up to 5), 6 (up to 7), 8 (up to 11) and 12 (up to 16). So a search looks
/// up one or two lengths and not sixteen.
pub(crate) struct Matcher {
    tokens: Vec<Token>,
    /// The first eight bytes of each token, and the others: most are short, and what is looked at stays in the cache.
    lows: Vec<u64>,
    highs: Vec<u64>,
    slots: Vec<u32>,
    shift: u32,
    from_2: Vec<u8>,
    from_4: Vec<u8>,
    from_6: Vec<u8>,
    from_8: Vec<u8>,
    from_12: Vec<u8>,
}

/// Places of a text in the tables of beginnings.
struct Beginnings {
    at_2: usize,
    at_4: usize,
    at_6: usize,
    at_8: usize,
    at_12: usize,
}

impl Beginnings {
    #[inline]
    fn of(window: u128) -> Self {
        let low = window as u64;
        let next = u64::from((window >> 64) as u32);
        let place = |hash: u64| (hash >> (u64::BITS - BEGINNING_BITS)) as usize;
        Self {
            at_2: usize::from(low as u16),
            at_4: place((low << 32).wrapping_mul(MULTIPLIER)),
            at_6: place((low << 16).wrapping_mul(MULTIPLIER)),
            at_8: place(low.wrapping_mul(MULTIPLIER)),
            at_12: place((low ^ next.wrapping_mul(MULTIPLIER_HIGH)).wrapping_mul(MULTIPLIER)),
        }
    }
}

impl Matcher {
    /// No tokens, room for `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        let bits = (capacity.max(256) * 2).next_power_of_two().ilog2();
        Self {
            tokens: Vec::with_capacity(capacity),
            lows: Vec::with_capacity(capacity),
            highs: Vec::with_capacity(capacity),
            slots: vec![0; 1 << bits],
            shift: u64::BITS - bits,
            from_2: vec![0; 1 << 16],
            from_4: vec![0; 1 << BEGINNING_BITS],
            from_6: vec![0; 1 << BEGINNING_BITS],
            from_8: vec![0; 1 << BEGINNING_BITS],
            from_12: vec![0; 1 << BEGINNING_BITS],
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
        let tag = tag(hash, token.len);
        let (low, high) = (token.key as u64, (token.key >> 64) as u64);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if (slot ^ tag) >> NUMBER_BITS == 0 {
                let number = (slot as usize & MATCHER_TOKENS_MAX) - 1;
                if self.lows[number] == low && (token.len <= 8 || self.highs[number] == high) {
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
        self.lows.push(token.key as u64);
        self.highs.push((token.key >> 64) as u64);
        self.slots[at] = tag(hash, token.len) | self.tokens.len() as u32;
        let at = Beginnings::of(token.key);
        match token.len {
            12.. => self.from_12[at.at_12] |= 1 << (token.len - 12),
            8.. => self.from_8[at.at_8] |= 1 << (token.len - 8),
            6.. => self.from_6[at.at_6] |= 1 << (token.len - 6),
            4.. => self.from_4[at.at_4] |= 1 << (token.len - 4),
            2.. => self.from_2[at.at_2] |= 1 << (token.len - 2),
            _ => {}
        }
        true
    }

    /// The number and the length of the longest token that the text at `window` begins with, which ends within
    /// `available` bytes (1 to 16). `None` if there is no token even for its first byte.
    #[inline]
    pub(crate) fn longest(&self, window: u128, available: usize) -> Option<(usize, usize)> {
        let at = Beginnings::of(window);
        // Bit `len` for each length.
        let possible = u32::from(self.from_2[at.at_2]) << 2
            | u32::from(self.from_4[at.at_4]) << 4
            | u32::from(self.from_6[at.at_6]) << 6
            | u32::from(self.from_8[at.at_8]) << 8
            | u32::from(self.from_12[at.at_12]) << 12;
        let mut lengths = possible & ((2 << available) - 1) | 1 << 1;
        while lengths != 0 {
            let len = lengths.ilog2() as usize;
            if let Some(number) = self.number(Token::front(window, len)) {
                return Some((number, len));
            }
            lengths ^= 1 << len;
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

/// The bits of a slot above the number.
fn tag(hash: u64, len: usize) -> u32 {
    (hash as u32) << (NUMBER_BITS + LENGTH_BITS) | (len as u32 - 1) << NUMBER_BITS
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
