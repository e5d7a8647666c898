//! Tokens, for encoders.

use crate::layout::TOKEN_BYTES_MAX;

/// A token in a register. The order is that of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    /// Its bytes, the first one highest, then zeros.
    key: u128,
    pub(crate) len: u8,
}

impl Token {
    /// The token `bytes`, of which the first 16 count.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let len = bytes.len().min(TOKEN_BYTES_MAX);
        let mut key = [0; TOKEN_BYTES_MAX];
        key[..len].copy_from_slice(&bytes[..len]);
        Self {
            key: u128::from_be_bytes(key),
            len: len as u8,
        }
    }

    /// The bytes of both, which are at most 16.
    pub(crate) fn then(self, next: Self) -> Self {
        Self {
            key: self.key | next.key >> (8 * u32::from(self.len)),
            len: self.len + next.len,
        }
    }

    /// Byte `at`, below 16.
    #[inline]
    pub(crate) fn byte(self, at: usize) -> u8 {
        (self.key >> (u128::BITS as usize - 8 - 8 * at)) as u8
    }

    /// Its bytes, then zeros.
    pub(crate) fn bytes(self) -> [u8; TOKEN_BYTES_MAX] {
        self.key.to_be_bytes()
    }
}
