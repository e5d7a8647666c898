//! Loops that copy dictionary entries by code.

use super::{dispatch, shuffle};
use crate::{PaddedStrings, Word};

dispatch! {
    /// The largest code, 0 of none.
    pub(crate) fn max_code<C: Word>(codes: &[u8]) -> C = max_code_body;
}

#[inline(always)]
fn max_code_body<C: Word>(codes: &[u8]) -> C {
    let codes: &[C::Bytes] = bytemuck::try_cast_slice(codes).unwrap_or_default();
    let largest = |max: C, code: &C::Bytes| max.max(C::from_le(*code));
    codes.iter().fold(C::ZERO, largest)
}

/// Codes per iteration of the loop below, unrolled by hand because the compiler does not unroll loops for Wasm.
const RUN: usize = if cfg!(target_arch = "wasm32") { 8 } else { 1 };

/// Narrow entries are put together to words before they are stored: with a store for each, the stores take longer than
/// everything else. Not for Wasm, whose modules must be small.
const IN_WORDS: bool = !cfg!(target_arch = "wasm32");

/// `out[i] = entries[codes[i]]` for entries of `width` bytes; returns the largest code, and writes nothing, if that
/// code has no entry. The check is compiled once; only the copying is compiled per width.
pub(crate) fn gather<C: Word>(
    entries: &[u8],
    width: usize,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), u64> {
    let largest = max_code::<C>(codes).to_u64();
    if !codes.is_empty() && largest >= (entries.len() / width.max(1)) as u64 {
        return Err(largest);
    }
    let n_looked_up = match C::BYTES {
        1 => shuffle::lookup(entries, width, codes, out),
        _ => 0,
    };
    let codes: &[C::Bytes] = bytemuck::try_cast_slice(codes).unwrap_or_default();
    let codes = codes.get(n_looked_up..).unwrap_or_default();
    let out = out.get_mut(n_looked_up * width..).unwrap_or_default();
    // SAFETY: each code is at most `largest`, the maximum over these same codes, which cannot change as they are
    // borrowed, and that is below the number of whole entries of `width` bytes, as was just checked.
    let n_done = unsafe {
        match width {
            1 if IN_WORDS => words::<C, 1>(entries, codes, out),
            2 if IN_WORDS => words::<C, 2>(entries, codes, out),
            1 => runs::<C, 1>(entries, codes, out),
            2 => runs::<C, 2>(entries, codes, out),
            4 => runs::<C, 4>(entries, codes, out),
            8 => runs::<C, 8>(entries, codes, out),
            16 => runs::<C, 16>(entries, codes, out),
            _ => 0,
        }
    };
    // Also copies the codes that remain after the whole runs. A loop per width for so few codes would be unrolled and
    // double the code.
    if let Some(rest) = codes.get(n_done..)
        && !rest.is_empty()
        && let Some(out) = out.get_mut(n_done * width..)
    {
        copies_any::<C>(entries, width, rest, out);
    }
    Ok(())
}

/// Copies entries of `W` bytes for all whole runs of codes, and says how many codes those are.
///
/// # Safety
/// Every code is below the number of whole entries.
#[inline(never)]
unsafe fn runs<C: Word, const W: usize>(
    entries: &[u8],
    codes: &[C::Bytes],
    out: &mut [u8],
) -> usize {
    let entries: &[[u8; W]] = entries.as_chunks().0;
    let out: &mut [[u8; W]] = out.as_chunks_mut().0;
    let (runs, rest) = codes.as_chunks::<RUN>();
    for (to, codes) in out.as_chunks_mut::<RUN>().0.iter_mut().zip(runs) {
        for (to, code) in to.iter_mut().zip(codes) {
            let code = C::from_le(*code).to_u64() as usize;
            // SAFETY: `code < entries.len()` by the caller's promise; so the cast to `usize` is exact, too.
            *to = *unsafe { entries.get_unchecked(code) };
        }
    }
    codes.len() - rest.len()
}

/// As [`runs`], a word of entries at a time.
///
/// # Safety
/// Every code is below the number of whole entries.
#[inline(never)]
unsafe fn words<C: Word, const W: usize>(
    entries: &[u8],
    codes: &[C::Bytes],
    out: &mut [u8],
) -> usize {
    let entries: &[[u8; W]] = entries.as_chunks().0;
    let words = codes.chunks_exact(8 / W);
    let n_rest = words.remainder().len();
    for (to, codes) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        let mut word = 0;
        for (i, code) in codes.iter().enumerate() {
            let code = C::from_le(*code).to_u64() as usize;
            // SAFETY: `code < entries.len()` by the caller's promise; so the cast to `usize` is exact, too.
            let entry = unsafe { entries.get_unchecked(code) };
            let mut bytes = [0; 8];
            for (to, byte) in bytes.iter_mut().zip(entry) {
                *to = *byte;
            }
            word |= u64::from_le_bytes(bytes) << (8 * W * i);
        }
        *to = word.to_le_bytes();
    }
    codes.len() - n_rest
}

/// Strings per iteration of [`padded_runs`], which checks the free space once for all of them.
const STRINGS: usize = 4;

/// Strings by codes, as [`crate::gather_padded`] says; returns the largest code, and writes nothing, if that code has
/// no entry. The caller has checked that the lengths in `strings` match and that none is above the width.
pub(crate) fn padded<C: Word>(
    strings: PaddedStrings<'_>,
    codes: &[u8],
    base: u32,
    ends: &mut [u32],
    out: &mut [u8],
) -> Result<(usize, usize), u64> {
    let largest = max_code::<C>(codes).to_u64();
    let codes: &[C::Bytes] = bytemuck::try_cast_slice(codes).unwrap_or_default();
    if !codes.is_empty() && largest >= strings.lengths.len() as u64 {
        return Err(largest);
    }
    // SAFETY: each code is at most `largest`, the maximum over these same codes, which is below the number of lengths;
    // there are as many entries, and no length is above their width, as the caller has checked.
    Ok(unsafe {
        match strings.width {
            16 => padded_runs::<C, 16>(strings, codes, base, ends, out),
            _ => padded_runs::<C, 32>(strings, codes, base, ends, out),
        }
    })
}

/// Returns the number of codes used and the bytes of their strings.
///
/// # Safety
/// Every code is below the number of lengths, there are as many entries of `W` bytes, and no length is above `W`.
#[inline(never)]
unsafe fn padded_runs<C: Word, const W: usize>(
    strings: PaddedStrings<'_>,
    codes: &[C::Bytes],
    base: u32,
    ends: &mut [u32],
    out: &mut [u8],
) -> (usize, usize) {
    let entries: &[[u8; W]] = strings.entries.as_chunks().0;
    let (mut at, mut n_done) = (0, 0);
    let Some(last_start) = out.len().checked_sub(STRINGS * W) else {
        return (0, 0);
    };
    let runs = codes.as_chunks::<STRINGS>().0.iter();
    for (codes, ends) in runs.zip(ends.as_chunks_mut::<STRINGS>().0) {
        if at > last_start {
            break;
        }
        for (code, end) in codes.iter().zip(ends) {
            let code = C::from_le(*code).to_u64() as usize;
            // SAFETY: the code has an entry and a length, by the caller's promise. The strings before this one in the
            // run took at most `W` bytes each, so that `at` is at most `last_start + (STRINGS - 1) * W`, and `W` more
            // are still inside of `out`. Bytes have no alignment; what is written is borrowed mutably and so not what
            // is read.
            unsafe {
                let entry = entries.get_unchecked(code);
                out.as_mut_ptr().add(at).cast::<[u8; W]>().write(*entry);
                at += usize::from(*strings.lengths.get_unchecked(code));
            }
            *end = base.wrapping_add(at as u32);
        }
        n_done += STRINGS;
    }
    (n_done, at)
}

/// Copies entries of any width for any number of codes, with a check per code.
#[inline(never)]
fn copies_any<C: Word>(entries: &[u8], width: usize, codes: &[C::Bytes], out: &mut [u8]) {
    for (to, code) in out.chunks_exact_mut(width.max(1)).zip(codes) {
        let from = C::from_le(*code).to_u64() as usize * width;
        if let Some(entry) = entries.get(from..from + width) {
            copy_entry(entry, to);
        }
    }
}

/// Copies one entry; `from` and `to` are equally long. A copy of a length known only at run time is a function call,
/// which takes several times as long as the loads and stores of a short entry. A loop here would become the same call.
#[inline(always)]
fn copy_entry(entry: &[u8], to: &mut [u8]) {
    match entry.len() {
        0..4 => {
            for (to, from) in to.iter_mut().zip(entry) {
                *to = *from;
            }
        }
        4..8 => ends::<4>(entry, to),
        8..16 => ends::<8>(entry, to),
        16..32 => ends::<16>(entry, to),
        32..=64 => ends::<32>(entry, to),
        _ => to.copy_from_slice(entry),
    }
}

/// Copies the first and the last `N` bytes, which together are all bytes.
#[inline(always)]
fn ends<const N: usize>(entry: &[u8], to: &mut [u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), entry.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), entry.last_chunk::<N>()) {
        *to = *from;
    }
}
