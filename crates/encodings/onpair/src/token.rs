//! Tokens, for encoders.

use crate::layout::TOKEN_BYTES_MAX;

/// A token in a register. The order is that of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    /// Its bytes, the first one highest, then zeros. Two words, not one of 16 bytes: that would be aligned as such, and
    /// tokens, of which many are sorted, would take 32 bytes instead of 24.
    high: u64,
    low: u64,
    pub(crate) len: u8,
}

impl Token {
    /// The token `bytes`, of which the first 16 count.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let len = bytes.len().min(TOKEN_BYTES_MAX);
        let mut key = [0; TOKEN_BYTES_MAX];
        key[..len].copy_from_slice(&bytes[..len]);
        Self::new(u128::from_be_bytes(key), len as u8)
    }

    const fn new(key: u128, len: u8) -> Self {
        Self {
            high: (key >> 64) as u64,
            low: key as u64,
            len,
        }
    }

    fn key(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// The bytes of both, which are at most 16.
    pub(crate) fn then(self, next: Self) -> Self {
        let key = self.key() | next.key() >> (8 * u32::from(self.len));
        Self::new(key, self.len + next.len)
    }

    /// Byte `at`, below 16.
    #[inline]
    pub(crate) fn byte(self, at: usize) -> u8 {
        (self.key() >> (u128::BITS as usize - 8 - 8 * at)) as u8
    }

    /// Its bytes, then zeros.
    pub(crate) fn bytes(self) -> [u8; TOKEN_BYTES_MAX] {
        self.key().to_be_bytes()
    }
}
