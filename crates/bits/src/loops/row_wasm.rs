//! One row of a group with the 128-bit registers of WebAssembly, which the compiler does not use by itself for wide
//! values: `u32` 1.6 against 5.2 and `u64` 0.9 against 2.8 billion values per second in V8.

use core::arch::wasm32::{
    u8x16_add, u8x16_splat, u16x8_add, u16x8_shl, u16x8_shr, u16x8_splat, u32x4_add, u32x4_shl,
    u32x4_shr, u32x4_splat, u64x2_add, u64x2_extract_lane, u64x2_shl, u64x2_shr, u64x2_splat, v128,
    v128_and, v128_bitselect, v128_load, v128_or, v128_store,
};

use crate::Word;

/// Does what `row::unpack_row` does.
#[inline(always)]
pub(crate) fn unpack_row<T: Word, const L: usize>(
    low: &[T::Bytes; L],
    high: Option<&[T::Bytes; L]>,
    shift: u32,
    mask: T,
    base: T,
    to: &mut [T::Bytes; L],
) {
    if L * T::BYTES < size_of::<v128>() {
        unpack_by::<T, 8>(
            low.as_ref(),
            high.map(AsRef::as_ref),
            shift,
            mask,
            base,
            to.as_mut(),
        );
    } else {
        unpack_by::<T, 16>(
            low.as_ref(),
            high.map(AsRef::as_ref),
            shift,
            mask,
            base,
            to.as_mut(),
        );
    }
}

/// `B` bytes of a row at a time: a register, or the lower half of one.
#[inline(always)]
fn unpack_by<T: Word, const B: usize>(
    low: &[T::Bytes],
    high: Option<&[T::Bytes]>,
    shift: u32,
    mask: T,
    base: T,
    to: &mut [T::Bytes],
) where
    [u8; B]: Register,
{
    let (mask, base) = (splat::<T>(mask), splat::<T>(base));
    let to = bytemuck::cast_slice_mut::<T::Bytes, u8>(to)
        .as_chunks_mut::<B>()
        .0;
    let low = bytemuck::cast_slice::<T::Bytes, u8>(low).as_chunks::<B>().0;
    match high {
        None => {
            for (to, low) in to.iter_mut().zip(low) {
                let value = v128_and(shr::<T>(low.load(), shift), mask);
                to.store(add::<T>(value, base));
            }
        }
        Some(high) => {
            let high = bytemuck::cast_slice::<T::Bytes, u8>(high)
                .as_chunks::<B>()
                .0;
            let up = T::BITS - shift;
            let upper = splat::<T>(T::MAX.shl(up));
            for ((to, low), high) in to.iter_mut().zip(low).zip(high) {
                let (low, high) = (shr::<T>(low.load(), shift), shl::<T>(high.load(), up));
                let both = match T::BYTES {
                    1 => v128_bitselect(high, low, upper),
                    _ => v128_or(low, high),
                };
                to.store(add::<T>(v128_and(both, mask), base));
            }
        }
    }
}

/// Bytes that are loaded and stored at once.
trait Register {
    fn load(&self) -> v128;
    fn store(&mut self, value: v128);
}

impl Register for [u8; 16] {
    #[inline(always)]
    fn load(&self) -> v128 {
        // SAFETY: `self` is 16 readable bytes, and `v128_load` asks for no alignment.
        unsafe { v128_load(self.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(&mut self, value: v128) {
        // SAFETY: `self` is 16 writable bytes, and `v128_store` asks for no alignment.
        unsafe { v128_store(self.as_mut_ptr().cast(), value) }
    }
}

impl Register for [u8; 8] {
    #[inline(always)]
    fn load(&self) -> v128 {
        u64x2_splat(u64::from_le_bytes(*self))
    }
    #[inline(always)]
    fn store(&mut self, value: v128) {
        *self = u64x2_extract_lane::<0>(value).to_le_bytes();
    }
}

#[inline(always)]
fn splat<T: Word>(value: T) -> v128 {
    let value = value.to_u64();
    match T::BYTES {
        1 => u8x16_splat(value as u8),
        2 => u16x8_splat(value as u16),
        4 => u32x4_splat(value as u32),
        _ => u64x2_splat(value),
    }
}

/// Shifts bytes in pairs, so bits of the neighbouring byte enter where a byte shift would leave zeros; the caller masks
/// them. CPUs have no byte shift, and engines replace it by several instructions.
#[inline(always)]
fn shr<T: Word>(value: v128, by: u32) -> v128 {
    match T::BYTES {
        1 | 2 => u16x8_shr(value, by),
        4 => u32x4_shr(value, by),
        _ => u64x2_shr(value, by),
    }
}

/// As [`shr`].
#[inline(always)]
fn shl<T: Word>(value: v128, by: u32) -> v128 {
    match T::BYTES {
        1 | 2 => u16x8_shl(value, by),
        4 => u32x4_shl(value, by),
        _ => u64x2_shl(value, by),
    }
}

#[inline(always)]
fn add<T: Word>(a: v128, b: v128) -> v128 {
    match T::BYTES {
        1 => u8x16_add(a, b),
        2 => u16x8_add(a, b),
        4 => u32x4_add(a, b),
        _ => u64x2_add(a, b),
    }
}
