//! Bits filled front to back.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::{BitSlice, Result};
use tarsia_structure::slots;

/// Makes room for `more` items, and for an eighth of all items besides. A vector that grows by itself doubles, so that
/// a writer of many columns would hold up to twice the bytes that it counts.
pub fn make_room<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        let spare = ((items.len() + more) / 8).max(16);
        items.reserve_exact(more + spare);
    }
}

/// The number of bits in a range that are set. The range is mostly that of a row and has few bits, which are counted
/// without the call that many are worth.
pub(crate) fn ones_of_few(bits: BitSlice<'_>, range: Range<usize>) -> usize {
    match range.len() {
        ..=8 => range.filter(|i| bits.get(*i)).count(),
        _ => bits.slice(range).count_ones(),
    }
}

/// Bits filled front to back.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    /// The bits; those behind the last are zero.
    pub bytes: Vec<u8>,
    /// How many bits there are.
    pub len: usize,
}

impl Bits {
    /// Appends bits.
    ///
    /// # Errors
    /// None in practice: there is room for them.
    pub fn append(&mut self, bits: BitSlice<'_>) -> Result<()> {
        // They are appended in whole words.
        self.make_room(bits.len() + 64);
        if self.len.is_multiple_of(8) {
            bits.append_to(&mut self.bytes);
        } else {
            let end = (self.len + bits.len()).div_ceil(8);
            self.bytes.resize(end, 0);
            slots::copy_bits(&mut self.bytes, self.len, bits)?;
        }
        self.len += bits.len();
        Ok(())
    }

    /// Appends `n` bits that are 1.
    pub fn append_set(&mut self, n: usize) {
        self.make_room(n);
        self.bytes.resize((self.len + n).div_ceil(8), 0);
        tarsia_bits::fill_bits(&mut self.bytes, self.len, n, true);
        self.len += n;
    }

    /// Appends `n` bits that are 0.
    pub fn append_unset(&mut self, n: usize) {
        self.make_room(n);
        self.len += n;
        self.bytes.resize(self.len.div_ceil(8), 0);
    }

    fn make_room(&mut self, n: usize) {
        let bytes = (self.len + n).div_ceil(8);
        let more = bytes.saturating_sub(self.bytes.len());
        make_room(&mut self.bytes, more);
    }

    /// Drops the first `n` bits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there are fewer.
    pub fn drain(&mut self, n: usize) -> Result<()> {
        let mut rest = Self::default();
        rest.append(BitSlice::new(&self.bytes, n, self.len - n)?)?;
        *self = rest;
        Ok(())
    }

    /// Some of the bits.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) where there are fewer.
    pub fn slice(&self, range: Range<usize>) -> Result<BitSlice<'_>> {
        BitSlice::new(&self.bytes, range.start, range.len())
    }
}
