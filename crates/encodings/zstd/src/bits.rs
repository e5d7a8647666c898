//! Numbers of any number of bits in bytes: RFC 8878, section 4. Bit `i` of bytes is bit `i % 8` of byte `i / 8`, where
//! bit 0 is the lowest. Tables are read from front to back, all else from back to front.

/// The most bits that [`word`] has, wherever they start.
pub(crate) const WORD_BITS: u32 = 57;

/// 57 bits or more from bit `at` on, the first the lowest. Zeros follow the last bit.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], at: usize) -> u64 {
    let start = at / 8;
    let loaded = match bytes.get(start..start + 8).and_then(<[u8]>::first_chunk) {
        Some(loaded) => u64::from_le_bytes(*loaded),
        None => last_word(bytes, start),
    };
    loaded >> (at % 8)
}

/// 57 bits or more before bit `end`, the last the highest. Zeros are before the first bit.
#[inline(always)]
pub(crate) fn top_word(bytes: &[u8], end: usize) -> u64 {
    let end_byte = end.div_ceil(8);
    let start = end_byte.wrapping_sub(8);
    let loaded = bytes.get(start..start.wrapping_add(8));
    let loaded = match loaded.and_then(<[u8]>::first_chunk) {
        Some(loaded) => u64::from_le_bytes(*loaded),
        None => first_word(bytes, end_byte),
    };
    loaded << (end_byte * 8 - end)
}

/// The bytes before `end`, fewer than 8, the last the highest.
#[cold]
#[inline(never)]
fn first_word(bytes: &[u8], end: usize) -> u64 {
    let first = bytes.get(..end).unwrap_or_default();
    let byte = |word: u64, byte: &u8| word >> 8 | u64::from(*byte) << 56;
    first.iter().fold(0, byte)
}

/// 64 bits from bit `at` on, as [`word`].
#[cold]
#[inline(never)]
pub(crate) fn long_word(bytes: &[u8], at: usize) -> u64 {
    let half = |at| word(bytes, at) & u64::from(u32::MAX);
    half(at) | half(at + 32) << 32
}

/// The bytes from `at` on, fewer than 8.
#[cold]
#[inline(never)]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let last = bytes.get(at..).unwrap_or_default();
    let byte = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
    last.iter().rev().fold(0, byte)
}

/// The lowest `n` bits of a number, 32 at most.
#[inline(always)]
pub(crate) fn low_bits(number: u64, n: u32) -> u64 {
    number & u64::from(MASKS[usize::from(n as u8)])
}

/// The lowest so many bits, for as many as a byte says: a load without a check takes fewer instructions than shifts.
static MASKS: [u32; 256] = {
    let mut masks = [u32::MAX; 256];
    let mut n = 0;
    while n < 32 {
        masks[n] = (1 << n) - 1;
        n += 1;
    }
    masks
};

/// A stream that is read from its last bit to its first. The highest bit that is set in its last byte only marks the
/// end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BackBits<'a> {
    pub(crate) bytes: &'a [u8],
    /// Bits that were not read yet.
    pub(crate) left: usize,
}

impl<'a> BackBits<'a> {
    /// `None` for bytes without a mark.
    pub(crate) fn open(bytes: &'a [u8]) -> Option<Self> {
        let last = *bytes.last()?;
        let left = (bytes.len() - 1) * 8 + last.checked_ilog2()? as usize;
        Some(Self { bytes, left })
    }

    /// The next `n` bits, 32 at most; `None` if fewer are left.
    #[inline(always)]
    pub(crate) fn read(&mut self, n: u32) -> Option<u64> {
        self.left = self.left.checked_sub(n as usize)?;
        Some(low_bits(word(self.bytes, self.left), n))
    }

    /// The next `n` bits without reading them, 32 at most. Zeros follow the last one.
    #[inline(always)]
    pub(crate) fn peek(&self, n: u32) -> u64 {
        match self.left.checked_sub(n as usize) {
            Some(at) => low_bits(word(self.bytes, at), n),
            None => {
                let left = self.left as u32;
                low_bits(word(self.bytes, 0), left) << (n - left)
            }
        }
    }
}
