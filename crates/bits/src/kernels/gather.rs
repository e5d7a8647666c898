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
    for (to, code) in out.iter_mut().zip(codes) {
        let code = C::from_le(*code).to_u64() as usize;
        // SAFETY: `code <= largest`, the maximum over these same codes, which cannot change as they are borrowed, and
        // `largest < entries.len()` was checked above; so the cast to `usize` is exact, too.
        *to = *unsafe { entries.get_unchecked(code) };
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
            to.copy_from_slice(entry);
        }
    }
    Ok(())
}
