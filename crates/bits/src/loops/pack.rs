//! Packing and unpacking of whole and partial runs.

use core::marker::PhantomData;

use super::{dispatch, unpack_row};
use crate::group::Group;
use crate::word::{Lane, Word, read_value};

impl Group {
    #[inline(always)]
    fn lanes_log2(self, kind: impl Kind) -> u32 {
        self.values_log2() - (kind.bytes_log2() + 3)
    }

    /// Row and lane of a value of the group.
    #[inline(always)]
    fn row_and_lane(self, kind: impl Kind, in_group: usize) -> (usize, usize) {
        let lanes_log2 = self.lanes_log2(kind);
        (in_group >> lanes_log2, in_group & ((1 << lanes_log2) - 1))
    }
}

/// The type of the values: known at compile time ([`Of`]) or only at run time ([`Any`]).
pub(crate) trait Kind: Copy {
    /// 0 ..= 3.
    fn bytes_log2(self) -> u32;

    /// [`unpack_rows`] for this type. Bits of `base` above the width of a value are ignored.
    fn unpack_rows(
        self,
        group: Group,
        packed: &[u8],
        width: u32,
        base: u64,
        row: u32,
        out: &mut [u8],
    );

    /// All values are `base`.
    fn fill(self, base: u64, out: &mut [u8]);

    /// Unpacks the values of a remainder from `start` on, as many as fit `out`.
    fn unpack_horizontal(self, packed: &[u8], width: u32, base: u64, start: usize, out: &mut [u8]);
}

/// Values of the type `T`.
pub(crate) struct Of<T>(PhantomData<T>);

impl<T> Clone for Of<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Of<T> {}

impl<T: Word> Kind for Of<T> {
    #[inline(always)]
    fn bytes_log2(self) -> u32 {
        T::BYTES.ilog2()
    }
    #[inline(always)]
    fn unpack_rows(
        self,
        group: Group,
        packed: &[u8],
        width: u32,
        base: u64,
        row: u32,
        out: &mut [u8],
    ) {
        T::unpack_rows(group, packed, width, T::from_u64(base), row, out);
    }
    #[inline(always)]
    fn fill(self, base: u64, out: &mut [u8]) {
        let values: &mut [T::Bytes] = bytemuck::try_cast_slice_mut(out).unwrap_or_default();
        values.fill(T::from_u64(base).to_le());
    }
    #[inline(always)]
    fn unpack_horizontal(self, packed: &[u8], width: u32, base: u64, start: usize, out: &mut [u8]) {
        unpack_horizontal::<T>(packed, width, T::from_u64(base), start, out);
    }
}

/// Values of 1, 2, 4 or 8 bytes. All code but the innermost loops exists once for the four types, to keep Wasm kernels
/// small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Any {
    bytes_log2: u32,
}

impl Kind for Any {
    #[inline(always)]
    fn bytes_log2(self) -> u32 {
        self.bytes_log2
    }
    #[inline(always)]
    fn unpack_rows(
        self,
        group: Group,
        packed: &[u8],
        width: u32,
        base: u64,
        row: u32,
        out: &mut [u8],
    ) {
        unpack_rows_any(self.bytes_log2, group, packed, width, base, row, out);
    }
    #[inline(always)]
    fn fill(self, base: u64, out: &mut [u8]) {
        let base = base.to_le_bytes();
        let mut pattern = [0; 16];
        for (i, to) in pattern.iter_mut().enumerate() {
            *to = base[i & ((1 << self.bytes_log2) - 1) & 7];
        }
        let (whole, rest) = out.as_chunks_mut();
        for to in whole {
            *to = pattern;
        }
        for (to, from) in rest.iter_mut().zip(&pattern) {
            *to = *from;
        }
    }
    #[inline(always)]
    fn unpack_horizontal(self, packed: &[u8], width: u32, base: u64, start: usize, out: &mut [u8]) {
        match self.bytes_log2 {
            0 => horizontal_by::<1>(packed, width, base, start, out),
            1 => horizontal_by::<2>(packed, width, base, start, out),
            2 => horizontal_by::<4>(packed, width, base, start, out),
            _ => horizontal_by::<8>(packed, width, base, start, out),
        }
    }
}

/// [`unpack_horizontal`] without a copy of the packed bytes.
#[inline(never)]
fn horizontal_by<const B: usize>(
    packed: &[u8],
    width: u32,
    base: u64,
    start: usize,
    out: &mut [u8],
) {
    let mask = low_bits(width);
    let mut bit = start * width as usize;
    for to in out.as_chunks_mut::<B>().0 {
        let window = packed.get(bit / 8..).and_then(<[u8]>::first_chunk::<8>);
        let value = match window {
            // Eight bytes hold any value of up to 57 bits.
            Some(window) if width <= 57 => u64::from_le_bytes(*window) >> (bit % 8) & mask,
            _ => match horizontal_value(packed, width, bit) {
                Some(value) => value,
                None => return,
            },
        };
        if let Some(bytes) = value.wrapping_add(base).to_le_bytes().first_chunk() {
            *to = *bytes;
        }
        bit += width as usize;
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

/// The place of value `at` of `n`. Groups of each size start at multiples of their size, because larger groups come
/// first.
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

/// The byte where the group or remainder that starts at value `first` (a multiple of 64) begins. It is smaller than the
/// length of the run, which is in memory, so it cannot overflow.
#[inline(always)]
pub(crate) fn byte_of(first: usize, width: u32) -> usize {
    (first / 8).wrapping_mul(width as usize)
}

dispatch! {
    /// Unpacks the values from `start` on, as many as fit `out`, of a run of `n`. `packed` is the whole run (checked by
    /// the caller).
    pub(crate) fn unpack_run<T: Word>(
        packed: &[u8],
        n: usize,
        width: u32,
        base: T,
        start: usize,
        out: &mut [u8],
    ) -> () = unpack_run_body;
}

/// [`unpack_run`] for values of 1, 2, 4 or 8 bytes.
#[inline(always)]
pub(crate) fn unpack_run_of(
    value_bytes: usize,
    packed: &[u8],
    n: usize,
    width: u32,
    base: u64,
    start: usize,
    out: &mut [u8],
) {
    match value_bytes {
        _ if ONE_COPY => unpack_run_any(value_bytes, packed, n, width, base, start, out),
        1 => unpack_run(packed, n, width, base as u8, start, out),
        2 => unpack_run(packed, n, width, base as u16, start, out),
        4 => unpack_run(packed, n, width, base as u32, start, out),
        _ => unpack_run(packed, n, width, base, start, out),
    }
}

/// Wasm kernels use one copy for all types: they must be small and gain little from a copy per type.
const ONE_COPY: bool = cfg!(target_arch = "wasm32");

/// The innermost loops of all types. Not inlined, because the compiler would make two copies of them.
#[inline(never)]
fn unpack_rows_any(
    bytes_log2: u32,
    group: Group,
    packed: &[u8],
    width: u32,
    base: u64,
    row: u32,
    out: &mut [u8],
) {
    match bytes_log2 {
        0 => u8::unpack_rows(group, packed, width, base as u8, row, out),
        1 => u16::unpack_rows(group, packed, width, base as u16, row, out),
        2 => u32::unpack_rows(group, packed, width, base as u32, row, out),
        _ => u64::unpack_rows(group, packed, width, base, row, out),
    }
}

/// [`unpack_run_of`] with one copy for all types.
#[inline(never)]
pub(crate) fn unpack_run_any(
    value_bytes: usize,
    packed: &[u8],
    n: usize,
    width: u32,
    base: u64,
    start: usize,
    out: &mut [u8],
) {
    let kind = Any {
        bytes_log2: value_bytes.trailing_zeros(),
    };
    unpack_by(kind, packed, n, width, base, start, out);
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
    out: &mut [u8],
) {
    unpack_by(
        Of::<T>(PhantomData),
        packed,
        n,
        width,
        base.to_u64(),
        start,
        out,
    );
}

#[inline(always)]
fn unpack_by<K: Kind>(
    kind: K,
    packed: &[u8],
    n: usize,
    width: u32,
    base: u64,
    start: usize,
    mut out: &mut [u8],
) {
    if width == 0 {
        return kind.fill(base, out);
    }
    let bytes_log2 = kind.bytes_log2();
    let mut at = start;
    while !out.is_empty() {
        let (group, first) = match place(n, at) {
            Place::Interleaved { group, first } => (group, first),
            Place::Horizontal { first } => {
                let rest = packed.get(byte_of(first, width)..).unwrap_or_default();
                return kind.unpack_horizontal(rest, width, base, at - first, out);
            }
        };
        let values = group.values();
        let lanes = 1 << group.lanes_log2(kind);
        // A row has one bit per bit of a lane, so its bytes are those of all lanes.
        let row_bytes_log2 = group.values_log2() - 3;
        let from = byte_of(first, width);
        let rows = packed
            .get(from..from + values / 8 * width as usize)
            .unwrap_or_default();
        let (row, lane) = group.row_and_lane(kind, at - first);
        let whole = if lane == 0 {
            (out.len() >> row_bytes_log2).min((8 << bytes_log2) - row)
        } else {
            0
        };
        let wanted = match whole {
            0 => (lanes - lane).min(out.len() >> bytes_log2),
            _ => whole * lanes,
        };
        let Some((now, later)) =
            core::mem::take(&mut out).split_at_mut_checked(wanted << bytes_log2)
        else {
            return;
        };
        // Whole rows are written in place. A partial row before or after them goes through a buffer.
        if whole > 0 {
            kind.unpack_rows(group, rows, width, base, row as u32, now);
        } else {
            let mut buf = [0; ROW_BYTES_MAX];
            let to = buf.get_mut(..1 << row_bytes_log2).unwrap_or_default();
            kind.unpack_rows(group, rows, width, base, row as u32, to);
            let from = buf.get(lane << bytes_log2..).unwrap_or_default();
            if let Some(from) = from.get(..now.len()) {
                now.copy_from_slice(from);
            }
        }
        out = later;
        if wanted == 0 {
            return;
        }
        at += wanted;
    }
}

/// Unpacks rows from `row` on, as many as fit `out`: `out[i] = base + packed[i]`. `packed` is the whole group.
#[inline(always)]
pub(crate) fn unpack_rows<T: Word, const L: usize>(
    packed: &[u8],
    width: u32,
    base: T,
    row: u32,
    out: &mut [u8],
) {
    // The caller cuts both to whole rows. Otherwise nothing would be written.
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

/// Value `at` of a run of `n`, without a base; `None` if it lies beyond the bytes. The result has 64 bits for every
/// type, at no cost.
#[inline(always)]
pub(crate) fn unpack_value_of(
    value_bytes: usize,
    packed: &[u8],
    n: usize,
    width: u32,
    at: usize,
) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    let kind = Any {
        bytes_log2: value_bytes.trailing_zeros(),
    };
    match place(n, at) {
        Place::Interleaved { group, first } => {
            let bits_log2 = kind.bytes_log2 + 3;
            let bits = 1 << bits_log2;
            let (row, lane) = group.row_and_lane(kind, at - first);
            let bit = row as u32 * width;
            let (word, shift) = ((bit >> bits_log2) as usize, bit & (bits - 1));
            let row_bytes = value_bytes << group.lanes_log2(kind);
            let rest = packed.get(byte_of(first, width)..)?;
            let byte = word * row_bytes + lane * value_bytes;
            // No branch, because it would be mispredicted: a value that does not straddle two words uses its low word
            // twice, and the mask removes the extra bits.
            let to_high = if shift + width > bits { row_bytes } else { 0 };
            let low = read_value(rest.get(byte..byte + value_bytes)?)?;
            let byte = byte + to_high;
            let high = read_value(rest.get(byte..byte + value_bytes)?)?;
            let value = low >> shift | (high << 1) << (bits - 1 - shift);
            Some(value & low_bits(width))
        }
        Place::Horizontal { first } => {
            let rest = packed.get(byte_of(first, width)..)?;
            horizontal_value(rest, width, (at - first) * width as usize)
        }
    }
}

/// The value of a remainder that starts at `bit`.
#[inline(always)]
fn horizontal_value(packed: &[u8], width: u32, bit: usize) -> Option<u64> {
    let rest = packed.get(bit / 8..)?;
    let window = match rest.first_chunk() {
        Some(window) => *window,
        None => {
            let mut window = [0; 9];
            for (to, from) in window.iter_mut().zip(rest) {
                *to = *from;
            }
            window
        }
    };
    Some(bits_of(&window, bit % 8) & low_bits(width))
}

/// The lowest `width` bits, of at most 64.
#[inline(always)]
fn low_bits(width: u32) -> u64 {
    <u64 as Lane>::mask(width)
}

/// 64 bits from bit `shift < 8` of nine bytes.
#[inline(always)]
fn bits_of(window: &[u8; 9], shift: usize) -> u64 {
    let [low @ .., high] = window;
    let low = u64::from_le_bytes(*low);
    let high = u64::from(*high);
    low >> shift | (high << 1) << (63 - shift)
}

/// Bytes of the longest remainder, plus the bytes that a load may reach beyond its end.
const HORIZONTAL_BYTES_MAX: usize = 63 * 8 + 9;

/// Unpacks the values of a remainder from `start` on, as many as fit `out`.
#[inline(always)]
pub(crate) fn unpack_horizontal<T: Word>(
    packed: &[u8],
    width: u32,
    base: T,
    start: usize,
    out: &mut [u8],
) {
    let out: &mut [T::Bytes] = bytemuck::try_cast_slice_mut(out).unwrap_or_default();
    // Copied to a longer buffer, so that the end needs no special case.
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

/// Packs one group: the low `width` bits of `values[i] - base`.
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
    // The current word of each lane. It is stored once it is full: reading it back from `words`, which are unaligned,
    // halved the speed with 64-byte registers (benches/loops.rs, `pack_u32`).
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

/// Packs the remainder: least significant bit first, spare bits zero.
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
