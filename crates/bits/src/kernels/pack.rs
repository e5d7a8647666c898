//! Packing and unpacking of whole and partial runs.

use super::{dispatch, unpack_row};
use crate::Word;

/// Sizes of interleaved groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Of1024,
    Of256,
    Of64,
}

impl Group {
    /// A shift, since divisions by a number of lanes that is only known at run time would take longer than a lookup.
    #[inline(always)]
    fn values_log2(self) -> u32 {
        match self {
            Self::Of1024 => 10,
            Self::Of256 => 8,
            Self::Of64 => 6,
        }
    }

    #[inline(always)]
    pub(crate) fn values(self) -> usize {
        1 << self.values_log2()
    }

    #[inline(always)]
    fn lanes_log2<T: Word>(self) -> u32 {
        self.values_log2() - T::BITS.ilog2()
    }

    /// Row and lane of a value of the group.
    #[inline(always)]
    fn row_and_lane<T: Word>(self, in_group: usize) -> (usize, usize) {
        let lanes_log2 = self.lanes_log2::<T>();
        (in_group >> lanes_log2, in_group & ((1 << lanes_log2) - 1))
    }
}

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this group, whose first value is `first`.
    Interleaved { group: Group, first: usize },
    /// Among the last, fewer than 64 values, the first of which is `first`.
    Horizontal { first: usize },
}

/// The place of value `at` of `n`. Groups of each size start at multiples of their size, as larger ones come first.
#[inline(always)]
pub(crate) fn place(n: usize, at: usize) -> Place {
    let group = if at < n & !1023 {
        Group::Of1024
    } else if at < n & !255 {
        Group::Of256
    } else if at < n & !63 {
        Group::Of64
    } else {
        return Place::Horizontal { first: n & !63 };
    };
    let first = at & !(group.values() - 1);
    Place::Interleaved { group, first }
}

/// Where packed bytes of the group or remainder that starts at value `first` (a multiple of 64) begin. Smaller than the
/// length of the run, which exists in memory, so it cannot overflow.
#[inline(always)]
pub(crate) fn byte_of(first: usize, width: u32) -> usize {
    (first / 8).wrapping_mul(width as usize)
}

dispatch! {
    /// Values `start ..` of a run of `n`, as many as `out` holds; `packed` is the whole run (checked by the caller).
    pub(crate) fn unpack_run<T: Word>(
        packed: &[u8],
        n: usize,
        width: u32,
        base: T,
        start: usize,
        out: &mut [u8],
    ) -> () = unpack_run_body;
}

dispatch! {
    /// Packs all of `values` (little-endian bytes) into `packed` (sized by the caller).
    pub(crate) fn pack_run<T: Word>(values: &[u8], base: T, width: u32, packed: &mut [u8]) -> () =
        pack_run_body;
}

/// The longest row in bytes.
const ROW_BYTES_MAX: usize = 128;

#[inline(always)]
pub(crate) fn unpack_run_body<T: Word>(
    packed: &[u8],
    n: usize,
    width: u32,
    base: T,
    start: usize,
    mut out: &mut [u8],
) {
    if width == 0 {
        return fill(base, out);
    }
    let mut at = start;
    while !out.is_empty() {
        let (group, first) = match place(n, at) {
            Place::Interleaved { group, first } => (group, first),
            Place::Horizontal { first } => {
                let rest = packed.get(byte_of(first, width)..).unwrap_or_default();
                return unpack_horizontal(rest, width, base, at - first, out);
            }
        };
        let values = group.values();
        let lanes = 1 << group.lanes_log2::<T>();
        let row_bytes = lanes * T::BYTES;
        let from = byte_of(first, width);
        let rows = packed
            .get(from..from + values / 8 * width as usize)
            .unwrap_or_default();
        let (row, lane) = group.row_and_lane::<T>(at - first);
        let whole = if lane == 0 {
            (out.len() / row_bytes).min(T::BITS as usize - row)
        } else {
            0
        };
        // Whole rows go where they belong, the part of a row before or after them through a buffer.
        let mut buf = [0; ROW_BYTES_MAX];
        let wanted = match whole {
            0 => (lanes - lane).min(out.len() / T::BYTES),
            _ => whole * lanes,
        };
        let (now, later) = core::mem::take(&mut out).split_at_mut(wanted * T::BYTES);
        let (in_buf, to) = match whole {
            0 => (true, &mut buf[..row_bytes]),
            _ => (false, &mut *now),
        };
        T::unpack_rows(group, rows, width, base, row as u32, to);
        if in_buf {
            now.copy_from_slice(&buf[lane * T::BYTES..][..now.len()]);
        }
        out = later;
        if wanted == 0 {
            return;
        }
        at += wanted;
    }
}

#[inline(always)]
fn fill<T: Word>(base: T, out: &mut [u8]) {
    let values: &mut [T::Bytes] = bytemuck::try_cast_slice_mut(out).unwrap_or_default();
    values.fill(base.to_le());
}

/// Rows from `row` on, as many as `out` holds: `out[i] = base + packed[i]`. `packed` is the whole group.
#[inline(always)]
pub(crate) fn unpack_rows<T: Word, const L: usize>(
    packed: &[u8],
    width: u32,
    base: T,
    row: u32,
    out: &mut [u8],
) {
    // Both are cut to whole rows by the caller; if they were not, nothing would be written.
    let words: &[[T::Bytes; L]] = bytemuck::try_cast_slice(packed).unwrap_or_default();
    let out: &mut [[T::Bytes; L]] = bytemuck::try_cast_slice_mut(out).unwrap_or_default();
    let mask = T::mask(width);
    let mut bit = row * width;
    for to in out {
        let (word, shift) = ((bit / T::BITS) as usize, bit % T::BITS);
        let Some(low) = words.get(word) else { return };
        if shift + width <= T::BITS {
            unpack_row::<T, L>(low, None, shift, mask, base, to);
        } else {
            let Some(high) = words.get(word + 1) else {
                return;
            };
            unpack_row::<T, L>(low, Some(high), shift, mask, base, to);
        }
        bit += width;
    }
}

/// The value at `at` of a run of `n`; `None` where the bytes do not hold it.
#[inline(always)]
pub(crate) fn unpack_value<T: Word>(packed: &[u8], n: usize, width: u32, at: usize) -> Option<T> {
    if width == 0 {
        return Some(T::ZERO);
    }
    match place(n, at) {
        Place::Interleaved { group, first } => {
            let (row, lane) = group.row_and_lane::<T>(at - first);
            let bit = row as u32 * width;
            let (word, shift) = ((bit / T::BITS) as usize, bit % T::BITS);
            let row_bytes = T::BYTES << group.lanes_log2::<T>();
            let rest = packed.get(byte_of(first, width)..)?;
            let byte = word * row_bytes + lane * T::BYTES;
            // Whether a value straddles is random for lookups, so it is no branch: the high word of one that does not
            // is its low word, whose bits then land above the mask.
            let to_high = if shift + width > T::BITS {
                row_bytes
            } else {
                0
            };
            let low: T = load(rest, byte)?;
            let high: T = load(rest, byte + to_high)?;
            let value = low.shr(shift).or(high.shl(1).shl(T::BITS - 1 - shift));
            Some(value.and(T::mask(width)))
        }
        Place::Horizontal { first } => {
            let rest = packed.get(byte_of(first, width)..)?;
            let bit = (at - first) * width as usize;
            let mut window = [0; 9];
            for (to, from) in window.iter_mut().zip(rest.get(bit / 8..)?) {
                *to = *from;
            }
            Some(T::from_u64(bits_of(&window, bit % 8)).and(T::mask(width)))
        }
    }
}

#[inline(always)]
fn load<T: Word>(bytes: &[u8], at: usize) -> Option<T> {
    T::read_le(bytes.get(at..)?.get(..T::BYTES)?)
}

/// 64 bits from bit `shift < 8` of nine bytes.
#[inline(always)]
fn bits_of(window: &[u8; 9], shift: usize) -> u64 {
    let [low @ .., high] = window;
    let low = u64::from_le_bytes(*low);
    let high = u64::from(*high);
    low >> shift | (high << 1) << (63 - shift)
}

/// Bytes of the longest remainder, and as many more as a window may reach beyond its end.
const HORIZONTAL_BYTES_MAX: usize = 63 * 8 + 9;

/// Values `start ..` of a remainder, as many as `out` holds.
#[inline(always)]
pub(crate) fn unpack_horizontal<T: Word>(
    packed: &[u8],
    width: u32,
    base: T,
    start: usize,
    out: &mut [u8],
) {
    let out: &mut [T::Bytes] = bytemuck::try_cast_slice_mut(out).unwrap_or_default();
    // A copy that is longer than the bytes needs no special case at the end.
    let mut copy = [0; HORIZONTAL_BYTES_MAX];
    let len = packed.len().min(copy.len());
    copy[..len].copy_from_slice(&packed[..len]);
    let mask = T::mask(width);
    for (i, to) in out.iter_mut().enumerate() {
        let bit = (start + i) * width as usize;
        let Some(window) = copy.get(bit / 8..).and_then(<[u8]>::first_chunk::<9>) else {
            return;
        };
        let value = T::from_u64(bits_of(window, bit % 8));
        *to = value.and(mask).wrapping_add(base).to_le();
    }
}

#[inline(always)]
pub(crate) fn pack_run_body<T: Word>(
    mut values: &[u8],
    base: T,
    width: u32,
    mut packed: &mut [u8],
) {
    if width == 0 {
        return;
    }
    let n = values.len() / T::BYTES;
    let mut at = 0;
    while let Place::Interleaved { group, .. } = place(n, at) {
        let (now, later) = values.split_at(group.values() * T::BYTES);
        let group_bytes = group.values() / 8 * width as usize;
        let Some((to, rest)) = core::mem::take(&mut packed).split_at_mut_checked(group_bytes)
        else {
            return;
        };
        T::pack_rows(group, now, base, width, to);
        (values, packed) = (later, rest);
        at += group.values();
    }
    pack_horizontal(values, base, width, packed);
}

/// One group: keeps the low `width` bits of `values[i] - base`.
#[inline(always)]
pub(crate) fn pack_rows<T: Word, const L: usize>(
    values: &[u8],
    base: T,
    width: u32,
    packed: &mut [u8],
) {
    let values: &[[T::Bytes; L]] = bytemuck::try_cast_slice(values).unwrap_or_default();
    let words: &mut [[T::Bytes; L]] = bytemuck::try_cast_slice_mut(packed).unwrap_or_default();
    let mask = T::mask(width);
    let mut bit = 0;
    // The word of each lane that is being filled. Stored once it is full: reading it back from `words`, which are not
    // aligned, cost half of the speed with 64-byte registers (benches/kernels.rs, `pack_u32`).
    let mut filling = [T::ZERO.to_le(); L];
    for from in values {
        let (word, shift) = ((bit / T::BITS) as usize, bit % T::BITS);
        let mut row = *from;
        for value in &mut row {
            *value = T::from_le(*value).wrapping_sub(base).and(mask).to_le();
        }
        if shift == 0 {
            filling = row;
        } else {
            for (filling, value) in filling.iter_mut().zip(&row) {
                *filling = T::from_le(*filling)
                    .or(T::from_le(*value).shl(shift))
                    .to_le();
            }
        }
        if shift + width >= T::BITS {
            let Some(to) = words.get_mut(word) else {
                return;
            };
            *to = filling;
        }
        if shift + width > T::BITS {
            for (filling, value) in filling.iter_mut().zip(&row) {
                *filling = T::from_le(*value).shr(T::BITS - shift).to_le();
            }
        }
        bit += width;
    }
}

/// The remainder: least significant bit first, spare bits zero.
#[inline(always)]
fn pack_horizontal<T: Word>(values: &[u8], base: T, width: u32, packed: &mut [u8]) {
    let values: &[T::Bytes] = bytemuck::try_cast_slice(values).unwrap_or_default();
    packed.fill(0);
    let mask = T::mask(width);
    for (i, value) in values.iter().enumerate() {
        let bit = i * width as usize;
        let value =
            u128::from(T::from_le(*value).wrapping_sub(base).and(mask).to_u64()) << (bit % 8);
        let to = packed.get_mut(bit / 8..).unwrap_or_default();
        for (to, from) in to.iter_mut().zip(value.to_le_bytes()) {
            *to |= from;
        }
    }
}
