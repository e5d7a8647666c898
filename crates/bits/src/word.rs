//! The integer types that can be packed.

use crate::loops::pack::{Group, pack_rows, unpack_rows};

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

/// What the loops need of a [`Word`] besides. Other crates cannot name this trait, which seals `Word`.
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

    /// [`unpack_rows`] with the number of lanes of a group of this type.
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
        strings: crate::PaddedStrings<'_>,
        codes: &[u8],
        base: u32,
        ends: &mut [u32],
        out: &mut [u8],
    ) -> Result<(usize, usize), crate::Error>;
    /// [`crate::largest`] of this type, likewise.
    fn largest(numbers: &[u8]) -> Self;
    /// [`pack_rows`] with the number of lanes of a group of this type.
    fn pack_rows(group: Group, values: &[u8], base: Self, width: u32, packed: &mut [u8]);
}

macro_rules! lane {
    ($word:ty) => {
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            const BYTES: usize = size_of::<$word>();

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn read_le(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$word>::from_le_bytes)
            }
            #[inline(always)]
            fn write_le(self, to: &mut [u8]) {
                let bytes = self.to_le_bytes();
                match to.first_chunk_mut() {
                    Some(to) => *to = bytes,
                    None => to.copy_from_slice(&bytes[..to.len()]),
                }
            }
            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }

        impl Lane for $word {
            type Bytes = [u8; size_of::<$word>()];

            const ZERO: Self = 0;
            const MAX: Self = <$word>::MAX;
            const SIGN: Self = 1 << (<$word>::BITS - 1);

            #[inline(always)]
            fn from_le(bytes: Self::Bytes) -> Self {
                <$word>::from_le_bytes(bytes)
            }
            #[inline(always)]
            fn to_le(self) -> Self::Bytes {
                self.to_le_bytes()
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                self.wrapping_shl(by)
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                self.wrapping_shr(by)
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                self.leading_zeros()
            }
            #[inline(always)]
            fn mask(width: u32) -> Self {
                match width {
                    0 => 0,
                    _ => <$word>::MAX >> (<$word>::BITS.wrapping_sub(width) % <$word>::BITS),
                }
            }

            #[inline(always)]
            fn unpack_rows(
                group: Group,
                packed: &[u8],
                width: u32,
                base: Self,
                row: u32,
                out: &mut [u8],
            ) {
                const BITS: usize = <$word>::BITS as usize;
                match group {
                    Group::Of1024 => {
                        unpack_rows::<Self, { 1024 / BITS }>(packed, width, base, row, out);
                    }
                    Group::Of256 => {
                        unpack_rows::<Self, { 256 / BITS }>(packed, width, base, row, out);
                    }
                    Group::Of64 => {
                        unpack_rows::<Self, { 64 / BITS }>(packed, width, base, row, out);
                    }
                }
            }

            fn gather(
                entries: &[u8],
                width: usize,
                codes: &[u8],
                out: &mut [u8],
            ) -> Result<(), crate::Error> {
                crate::gather::gather_by::<Self>(entries, width, codes, out)
            }

            fn gather_padded(
                strings: crate::PaddedStrings<'_>,
                codes: &[u8],
                base: u32,
                ends: &mut [u32],
                out: &mut [u8],
            ) -> Result<(usize, usize), crate::Error> {
                crate::gather::gather_padded_by::<Self>(strings, codes, base, ends, out)
            }

            fn largest(numbers: &[u8]) -> Self {
                crate::loops::gather::max_code::<Self>(numbers)
            }

            #[inline(always)]
            fn pack_rows(group: Group, values: &[u8], base: Self, width: u32, packed: &mut [u8]) {
                const BITS: usize = <$word>::BITS as usize;
                match group {
                    Group::Of1024 => {
                        pack_rows::<Self, { 1024 / BITS }>(values, base, width, packed);
                    }
                    Group::Of256 => {
                        pack_rows::<Self, { 256 / BITS }>(values, base, width, packed);
                    }
                    Group::Of64 => pack_rows::<Self, { 64 / BITS }>(values, base, width, packed),
                }
            }
        }
    };
}

lane!(u8);
lane!(u16);
lane!(u32);
lane!(u64);
