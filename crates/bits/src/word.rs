//! The integer types that can be packed.

use crate::group::Group;
use crate::padded::PaddedStrings;

/// An unsigned integer that can be packed: `u8`, `u16`, `u32`, `u64`. Sealed. Signed values are packed as their bit
/// patterns: additions wrap, so a frame of reference works for both.
pub trait Word: Lane {
    /// Bits of the type.
    const BITS: u32;
    /// Bytes of the type.
    const BYTES: usize;

    /// The number as `u64`.
    fn to_u64(self) -> u64;

    /// The low bits of a `u64`.
    fn from_u64(value: u64) -> Self;

    /// Reads little-endian bytes of any alignment; `None` if they are not exactly [`Word::BYTES`].
    fn read_le(bytes: &[u8]) -> Option<Self>;

    /// Writes the value's little-endian bytes to the front of `to`, as many as fit.
    fn write_le(self, to: &mut [u8]);

    /// The sum modulo 2 to the power of [`Word::BITS`].
    #[must_use]
    fn wrapping_add(self, other: Self) -> Self;

    /// The difference modulo 2 to the power of [`Word::BITS`].
    #[must_use]
    fn wrapping_sub(self, other: Self) -> Self;
}

/// Reads a little-endian number of 1, 2, 4 or 8 bytes, that fills `bytes`; `None` for other lengths.
///
/// ```
/// assert_eq!(tarsia_bits::read_value(&[1, 2]), Some(0x0201));
/// assert_eq!(tarsia_bits::read_value(&[1, 2, 3]), None);
/// ```
#[inline(always)]
pub fn read_value(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        1 => u8::read_le(bytes).map(u64::from),
        2 => u16::read_le(bytes).map(u64::from),
        4 => u32::read_le(bytes).map(u64::from),
        _ => u64::read_le(bytes),
    }
}

/// Fills `to` with the low bytes of `value`, little-endian. Writes nothing if `to` is not 1, 2, 4 or 8 bytes long.
#[inline(always)]
pub fn write_value(value: u64, to: &mut [u8]) {
    #[inline(always)]
    fn put<const N: usize>(bytes: [u8; N], to: &mut [u8]) {
        if let Some(to) = to.first_chunk_mut() {
            *to = bytes;
        }
    }
    match to.len() {
        1 => put((value as u8).to_le_bytes(), to),
        2 => put((value as u16).to_le_bytes(), to),
        4 => put((value as u32).to_le_bytes(), to),
        8 => put(value.to_le_bytes(), to),
        _ => {}
    }
}

/// Needs of the loops besides those of a [`Word`]. Other crates cannot name this trait, which seals `Word`.
pub trait Lane: bytemuck::Pod + Ord + core::fmt::Debug + Send + Sync {
    /// The bytes of a word, without alignment.
    type Bytes: bytemuck::Pod;

    const ZERO: Self;
    const MAX: Self;
    /// The highest bit: xor with it turns signed order into unsigned order and back.
    const SIGN: Self;

    fn from_le(bytes: Self::Bytes) -> Self;
    fn to_le(self) -> Self::Bytes;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// `by` below the number of bits.
    fn shl(self, by: u32) -> Self;
    /// `by` below the number of bits.
    fn shr(self, by: u32) -> Self;
    fn leading_zeros(self) -> u32;
    /// The lowest `width` bits, of at most all.
    fn mask(width: u32) -> Self;

    /// [`unpack_rows`](crate::loops::pack::unpack_rows) with the number of lanes of a group of this type.
    fn unpack_rows(group: Group, packed: &[u8], width: u32, base: Self, row: u32, out: &mut [u8]);
    /// [`crate::gather`] with codes of this type. Compiled in this crate, so that callers share one copy.
    fn gather(
        entries: &[u8],
        width: usize,
        codes: &[u8],
        out: &mut [u8],
    ) -> Result<(), crate::Error>;
    /// [`crate::gather_padded`] with codes of this type, likewise.
    fn gather_padded(
        strings: PaddedStrings<'_>,
        codes: &[u8],
        base: u32,
        ends: &mut [u32],
        out: &mut [u8],
    ) -> Result<(usize, usize), crate::Error>;
    /// [`crate::largest`] of this type, likewise.
    fn largest(numbers: &[u8]) -> Self;
    /// [`pack_rows`](crate::loops::pack::pack_rows) with the number of lanes of a group of this type.
    fn pack_rows(group: Group, values: &[u8], base: Self, width: u32, packed: &mut [u8]);
}
