//! The words, each with the loops compiled for it.

use crate::gather::{gather_by, gather_padded_by};
use crate::group::Group;
use crate::loops::gather::max_code;
use crate::loops::pack::{pack_rows, unpack_rows};
use crate::padded::PaddedStrings;
use crate::word::{Lane, Word};

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
                gather_by::<Self>(entries, width, codes, out)
            }

            fn gather_padded(
                strings: PaddedStrings<'_>,
                codes: &[u8],
                base: u32,
                ends: &mut [u32],
                out: &mut [u8],
            ) -> Result<(usize, usize), crate::Error> {
                gather_padded_by::<Self>(strings, codes, base, ends, out)
            }

            fn largest(numbers: &[u8]) -> Self {
                max_code::<Self>(numbers)
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
