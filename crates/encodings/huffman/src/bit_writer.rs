//! Bits to bytes.

/// Up to 64 bits, the first one lowest; the others are zero.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bits {
    pub(crate) bits: u64,
    pub(crate) n: u32,
}

impl Bits {
    /// These, and others behind them: together at most 64.
    #[inline(always)]
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            bits: self.bits | later.bits << self.n,
            n: self.n + later.n,
        }
    }
}

/// Writes bits to memory, the lowest of each byte first.
pub(crate) struct BitWriter<'o> {
    to: &'o mut [u8],
    /// Bytes that are written.
    at: usize,
    /// At most 7 bits behind them.
    pending: Bits,
}

impl<'o> BitWriter<'o> {
    /// Writes to the front of `to`.
    pub(crate) fn new(to: &'o mut [u8]) -> Self {
        Self {
            to,
            at: 0,
            pending: Bits::default(),
        }
    }

    /// Appends at most 48 bits. There must be room for 8 bytes behind those that are written.
    #[inline(always)]
    pub(crate) fn put(&mut self, bits: Bits) {
        let Bits { bits, n } = self.pending.then(bits);
        if let Some(to) = self.to.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
            *to = bits.to_le_bytes();
        }
        self.at += n as usize / 8;
        self.pending = Bits {
            bits: bits >> (n / 8 * 8),
            n: n % 8,
        };
    }

    /// All bits so far.
    pub(crate) fn n_bits(&self) -> u64 {
        self.at as u64 * 8 + u64::from(self.pending.n)
    }
}
