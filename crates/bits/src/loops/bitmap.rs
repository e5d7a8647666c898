//! Loops that copy bits between offsets, and that spread and collect values by validity.

use super::dispatch;

/// 64 bits from bit `at`, zeros beyond the end; bit `at` is bit 0.
#[inline(always)]
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    let (byte, shift) = (at / 8, at % 8);
    let rest = bytes.get(byte..).unwrap_or_default();
    let low = match rest.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut chunk = [0; 8];
            for (to, from) in chunk.iter_mut().zip(rest) {
                *to = *from;
            }
            u64::from_le_bytes(chunk)
        }
    };
    let high = u64::from(rest.get(8).copied().unwrap_or_default());
    low >> shift | (high << 1) << (63 - shift)
}

/// The lowest `len <= 64` bits set.
#[inline(always)]
pub(crate) fn low_bits(len: usize) -> u64 {
    match len {
        0 => 0,
        _ => u64::MAX >> (64 - len),
    }
}

/// Replaces `len <= 8` bits of a byte from bit `at`, `at + len <= 8`.
#[inline(always)]
fn put(byte: &mut u8, at: usize, len: usize, bits: u64) {
    let mask = (low_bits(len) << at) as u8;
    *byte = *byte & !mask | (bits << at) as u8 & mask;
}

/// The caller checks the lengths. Bits beyond the end of `src` are not copied.
pub(crate) fn copy_bits(dst: &mut [u8], dst_at: usize, src: &[u8], src_at: usize, len: usize) {
    // The bits up to the first whole byte of `dst`.
    let head = (dst_at.wrapping_neg() % 8).min(len);
    let dst = dst.get_mut(dst_at / 8..).unwrap_or_default();
    let (dst, len) = match head {
        0 => (dst, len),
        _ => {
            let Some((first, rest)) = dst.split_first_mut() else {
                return;
            };
            put(first, dst_at % 8, head, word_at(src, src_at));
            (rest, len - head)
        }
    };
    let src_at = src_at + head;
    let whole = len / 8;
    let Some((bytes, last)) = dst.split_at_mut_checked(whole) else {
        return;
    };
    copy_whole(bytes, src.get(src_at / 8..).unwrap_or_default(), src_at % 8);
    if let (Some(last), tail @ 1..) = (last.first_mut(), len % 8) {
        put(last, 0, tail, word_at(src, src_at + whole * 8));
    }
}

/// Fills whole bytes from bit `shift < 8` of `src`.
fn copy_whole(dst: &mut [u8], src: &[u8], shift: usize) {
    if shift == 0 {
        if let Some(src) = src.get(..dst.len()) {
            dst.copy_from_slice(src);
        }
        return;
    }
    // Word `i` combines the eight bytes at `8i` and the eight bytes at `8i + 1`. Loads of equal shape vectorise. All of
    // them lie before the last bit that is copied.
    let next = src.get(1..).unwrap_or_default();
    let done = {
        let (words, _) = dst.as_chunks_mut::<8>();
        let n = words.len().min(next.len() / 8);
        let pairs = src.as_chunks::<8>().0.iter().zip(next.as_chunks::<8>().0);
        for (to, (low, high)) in words.iter_mut().zip(pairs) {
            let word = u64::from_le_bytes(*low) >> shift | u64::from_le_bytes(*high) << (8 - shift);
            *to = word.to_le_bytes();
        }
        n * 8
    };
    for (i, to) in dst.iter_mut().enumerate().skip(done) {
        *to = word_at(src, i * 8 + shift) as u8;
    }
}

dispatch! {
    /// Set bits among `len` from bit `at`.
    pub(crate) fn count_ones<>(bytes: &[u8], at: usize, len: usize) -> usize = count_ones_body;
}

#[inline(always)]
fn count_ones_body(bytes: &[u8], at: usize, len: usize) -> usize {
    // Whole bytes in the middle need no shift, so the sum vectorises.
    let head = (at.wrapping_neg() % 8).min(len);
    let mut n = (word_at(bytes, at) & low_bits(head)).count_ones() as usize;
    let middle = (at + head) / 8;
    let tail = (len - head) % 8;
    let whole = (len - head) / 8;
    let bytes_of_middle = bytes.get(middle..).unwrap_or_default();
    let bytes_of_middle = bytes_of_middle.get(..whole).unwrap_or_default();
    let (words, rest) = bytes_of_middle.as_chunks::<8>();
    n += words
        .iter()
        .map(|word| u64::from_le_bytes(*word).count_ones() as usize)
        .sum::<usize>();
    n += rest
        .iter()
        .map(|byte| byte.count_ones() as usize)
        .sum::<usize>();
    let last = word_at(bytes, (middle + whole) * 8) & low_bits(tail);
    n + last.count_ones() as usize
}

dispatch! {
    /// Set bits among `len` from bit `at`, and runs of them.
    pub(crate) fn count_runs<>(bytes: &[u8], at: usize, len: usize) -> [usize; 2] = count_runs_body;
}

#[inline(always)]
fn count_runs_body(bytes: &[u8], at: usize, len: usize) -> [usize; 2] {
    let (mut n_ones, mut n_runs, mut last) = (0, 0, 0);
    let mut count = |word: u64| {
        // A run begins where the bit before is not set.
        let begins = word & !(word << 1 | last);
        n_ones += word.count_ones() as usize;
        n_runs += begins.count_ones() as usize;
        last = word >> 63;
    };
    let mut done = 0;
    if at.is_multiple_of(8) {
        let whole = bytes.get(at / 8..).unwrap_or_default().as_chunks::<8>().0;
        for word in whole.iter().take(len / 64) {
            count(u64::from_le_bytes(*word));
            done += 64;
        }
    }
    for first in (done..len).step_by(64) {
        count(word_at(bytes, at + first) & low_bits((len - first).min(64)));
    }
    [n_ones, n_runs]
}

dispatch! {
    /// Collects the bits of `values`, from bit `values_at` on, whose bit in `bits`, from bit `at` on, is set: at the
    /// front of `out`, which has room for them.
    pub(crate) fn compact_bits<>(
        bits: &[u8],
        at: usize,
        len: usize,
        values: &[u8],
        values_at: usize,
        out: &mut [u8]
    ) -> () = compact_bits_body;
}

#[inline(always)]
fn compact_bits_body(
    bits: &[u8],
    at: usize,
    len: usize,
    values: &[u8],
    values_at: usize,
    out: &mut [u8],
) {
    out.fill(0);
    let mut done = 0_usize;
    for first in (0..len).step_by(64) {
        let mut word = word_at(bits, at + first) & low_bits((len - first).min(64));
        let value = word_at(values, values_at + first);
        let (mut found, mut n_found) = (0_u64, 0);
        while word != 0 {
            found |= (value >> word.trailing_zeros() & 1) << n_found;
            n_found += 1;
            word &= word - 1;
        }
        // Bits that were not set before.
        let shifted = (u128::from(found) << (done % 8)).to_le_bytes();
        let places = out.get_mut(done / 8..).unwrap_or_default();
        for (to, byte) in places.iter_mut().zip(shifted).take(9) {
            *to |= byte;
        }
        done += n_found as usize;
    }
}

/// Values to be spread, and the slots for them.
pub(crate) struct Spread<'a> {
    /// A bit for each slot, from bit `at` on: set where it gets a value.
    pub(crate) bits: &'a [u8],
    pub(crate) at: usize,
    /// A value for each set bit.
    pub(crate) dense: &'a [u8],
    /// All slots.
    pub(crate) out: &'a mut [u8],
}

/// A fixed-size run of slots under one word of validity.
pub(crate) const SLOTS: usize = 64;

/// `expand` for one width; `dense` holds one value per set bit (checked by the caller), and all other slots get
/// `filler`.
#[inline(always)]
fn expand_body<V: Slot>(bits: &[u8], at: usize, filler: V, dense: &[u8], out: &mut [u8]) {
    let mut dense: &[V] = bytemuck::try_cast_slice(dense).unwrap_or_default();
    let out: &mut [V] = bytemuck::try_cast_slice_mut(out).unwrap_or_default();
    for (i, slots) in out.chunks_mut(SLOTS).enumerate() {
        let word = word_at(bits, at + i * SLOTS) & low_bits(slots.len());
        let n_values = word.count_ones() as usize;
        let Some((now, later)) = dense.split_at_checked(n_values) else {
            return;
        };
        dense = later;
        if n_values == slots.len() {
            slots.copy_from_slice(now);
            continue;
        }
        put_each(word, filler, now, slots);
    }
}

/// Puts values one by one in the slots whose bit is set, and `filler` in all others.
#[inline(always)]
pub(crate) fn put_each<V: Copy>(mut word: u64, filler: V, values: &[V], slots: &mut [V]) {
    slots.fill(filler);
    for value in values {
        if let Some(slot) = slots.get_mut(word.trailing_zeros() as usize) {
            *slot = *value;
        }
        word &= word.wrapping_sub(1);
    }
}

/// `compact` for one width; `dense` has room for one value per set bit (checked by the caller).
#[inline(always)]
fn compact_body<V: Slot>(bits: &[u8], at: usize, values: &[u8], dense: &mut [u8]) {
    let values: &[V] = bytemuck::try_cast_slice(values).unwrap_or_default();
    let mut dense: &mut [V] = bytemuck::try_cast_slice_mut(dense).unwrap_or_default();
    for (i, slots) in values.chunks(SLOTS).enumerate() {
        let mut word = word_at(bits, at + i * SLOTS) & low_bits(slots.len());
        let n_values = word.count_ones() as usize;
        let Some((now, later)) = core::mem::take(&mut dense).split_at_mut_checked(n_values) else {
            return;
        };
        dense = later;
        if n_values == slots.len() {
            now.copy_from_slice(slots);
            continue;
        }
        for to in now {
            if let Some(slot) = slots.get(word.trailing_zeros() as usize) {
                *to = *slot;
            }
            word &= word.wrapping_sub(1);
        }
    }
}

/// Bytes of one value, without alignment.
pub(crate) trait Slot: bytemuck::Pod {}
impl<const W: usize> Slot for [u8; W] {}

dispatch! {
    /// See [`expand_body`].
    pub(crate) fn expand<V: Slot>(
        bits: &[u8],
        at: usize,
        filler: V,
        dense: &[u8],
        out: &mut [u8]
    ) -> () = expand_body;
}

dispatch! {
    /// See [`compact_body`].
    pub(crate) fn compact<V: Slot>(bits: &[u8], at: usize, values: &[u8], dense: &mut [u8]) -> () =
        compact_body;
}

/// `expand` for any width.
pub(crate) fn expand_any(
    bits: &[u8],
    at: usize,
    width: usize,
    filler: &[u8],
    dense: &[u8],
    out: &mut [u8],
) {
    let mut dense = dense.chunks_exact(width.max(1));
    for (i, slot) in out.chunks_exact_mut(width.max(1)).enumerate() {
        match word_at(bits, at + i) & 1 {
            1 => {
                if let Some(value) = dense.next() {
                    slot.copy_from_slice(value);
                }
            }
            _ if filler.len() == slot.len() => slot.copy_from_slice(filler),
            _ => slot.fill(0),
        }
    }
}

/// `compact` for any width.
pub(crate) fn compact_any(bits: &[u8], at: usize, width: usize, values: &[u8], dense: &mut [u8]) {
    let mut dense = dense.chunks_exact_mut(width.max(1));
    for (i, slot) in values.chunks_exact(width.max(1)).enumerate() {
        if word_at(bits, at + i) & 1 == 1
            && let Some(to) = dense.next()
        {
            to.copy_from_slice(slot);
        }
    }
}
