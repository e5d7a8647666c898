//! Values as encoders and rounding functions see them.

use crate::scaled::Product;
use crate::small::{Small, f64_of_f32};

/// Floating-point numbers of 2 bytes (the bits of a binary16 number), 4 or 8.
pub(crate) trait Value: Copy + Product {
    /// Bytes of a value.
    const BYTES: usize;

    /// The values with these bytes, little-endian.
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self>;

    /// Its bits.
    fn bits(self) -> u64;

    /// Its bits without the sign. The larger of two numbers has the larger ones, infinity those of [`Value::INFINITY`],
    /// a NaN larger ones.
    fn magnitude(self) -> u64;

    /// The magnitude of infinity.
    const INFINITY: u64;

    /// The number as binary64, which holds all of them.
    fn number(self) -> f64;

    /// The value with the bits of a binary32 number, which it holds.
    fn of_f32(bits: u32) -> Self;

    /// As [`Small::of_f32`].
    fn rounded(self, small: Small) -> u32;
}

impl Value for u16 {
    const BYTES: usize = 2;
    const INFINITY: u64 = 0x7c00;

    #[inline(always)]
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (values, _) = bytes.as_chunks();
        values.iter().map(|it| Self::from_le_bytes(*it))
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn magnitude(self) -> u64 {
        (self & 0x7fff).into()
    }

    #[inline(always)]
    fn number(self) -> f64 {
        f64::from(f32::from_bits(Small::F16.to_f32(self.into())))
    }

    #[inline(always)]
    fn of_f32(bits: u32) -> Self {
        Small::F16.of_f32(bits) as Self
    }

    #[inline(always)]
    fn rounded(self, small: Small) -> u32 {
        small.of_f32(Small::F16.to_f32(self.into()))
    }
}

impl Value for f32 {
    const BYTES: usize = 4;
    const INFINITY: u64 = f32::INFINITY.to_bits() as u64;

    #[inline(always)]
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (values, _) = bytes.as_chunks();
        values.iter().map(|it| Self::from_le_bytes(*it))
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    #[inline(always)]
    fn magnitude(self) -> u64 {
        (self.to_bits() & (u32::MAX >> 1)).into()
    }

    #[inline(always)]
    fn number(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn of_f32(bits: u32) -> Self {
        Self::from_bits(bits)
    }

    #[inline(always)]
    fn rounded(self, small: Small) -> u32 {
        small.of_f32(self.to_bits())
    }
}

impl Value for f64 {
    const BYTES: usize = 8;
    const INFINITY: u64 = f64::INFINITY.to_bits();

    #[inline(always)]
    fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (values, _) = bytes.as_chunks();
        values.iter().map(|it| Self::from_le_bytes(*it))
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn magnitude(self) -> u64 {
        self.to_bits() & (u64::MAX >> 1)
    }

    #[inline(always)]
    fn number(self) -> f64 {
        self
    }

    #[inline(always)]
    fn of_f32(bits: u32) -> Self {
        Self::from_bits(f64_of_f32(bits))
    }

    #[inline(always)]
    fn rounded(self, small: Small) -> u32 {
        small.of_f64(self.to_bits())
    }
}
