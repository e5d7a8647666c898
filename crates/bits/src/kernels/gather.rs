//! Copies of entries by code.

use super::dispatch;
use crate::Word;

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

/// Codes per round of the loop below. The compiler of Wasm unrolls nothing by itself.
const RUN: usize = if cfg!(target_arch = "wasm32") { 8 } else { 1 };

/// `out[i] = entries[codes[i]]`; writes nothing and returns the largest code where that is not an entry.
pub(crate) fn gather<C: Word, const W: usize>(
    entries: &[[u8; W]],
    codes: &[u8],
    out: &mut [[u8; W]],
) -> Result<(), u64> {
    let largest = max_code::<C>(codes).to_u64();
    let codes: &[C::Bytes] = bytemuck::try_cast_slice(codes).unwrap_or_default();
    if !codes.is_empty() && largest >= entries.len() as u64 {
        return Err(largest);
    }
    let entry = |code: &C::Bytes| {
        let code = C::from_le(*code).to_u64() as usize;
        // SAFETY: `code <= largest`, the maximum over these same codes, which cannot change as they are borrowed, and
        // `largest < entries.len()` was checked above; so the cast to `usize` is exact, too.
        *unsafe { entries.get_unchecked(code) }
    };
    let (runs, rest) = codes.as_chunks::<RUN>();
    let (to_runs, to_rest) = out.as_chunks_mut::<RUN>();
    for (to, codes) in to_runs.iter_mut().zip(runs) {
        for (to, code) in to.iter_mut().zip(codes) {
            *to = entry(code);
        }
    }
    for (to, code) in to_rest.iter_mut().zip(rest) {
        *to = entry(code);
    }
    Ok(())
}

/// The same for any width, with a check per code.
pub(crate) fn gather_any<C: Word>(
    entries: &[u8],
    width: usize,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), u64> {
    let largest = max_code::<C>(codes).to_u64();
    let codes: &[C::Bytes] = bytemuck::try_cast_slice(codes).unwrap_or_default();
    if !codes.is_empty() && largest >= (entries.len() / width.max(1)) as u64 {
        return Err(largest);
    }
    for (to, code) in out.chunks_exact_mut(width.max(1)).zip(codes) {
        let from = C::from_le(*code).to_u64() as usize * width;
        if let Some(entry) = entries.get(from..from + width) {
            copy_entry(entry, to);
        }
    }
    Ok(())
}

/// Copies one entry into its place, which is as long. Copies of lengths that are only known when running are calls, several times as
/// long as the loads and stores of a short entry; so would be a loop here, as the compiler makes such a copy of it.
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

/// The first and the last `N` bytes, which are all.
#[inline(always)]
fn ends<const N: usize>(entry: &[u8], to: &mut [u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), entry.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), entry.last_chunk::<N>()) {
        *to = *from;
    }
}
