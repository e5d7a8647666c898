//! Spreads values to the slots whose bits are set, four or eight at a time, where one instruction does that.

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[path = "expand/x86.rs"]
mod registers;

use super::bitmap::Spread;

/// Spreads values as wide as `filler`, which all other slots get; returns how many slots are done. The others are left
/// to the caller: all, where the processor or the width does not allow it, and the last ones.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
pub(crate) fn expand<const W: usize>(spread: &mut Spread<'_>, filler: [u8; W]) -> usize {
    if !registers::is_there() {
        return 0;
    }
    // SAFETY: the processor has all that these functions are compiled for, as was just asked.
    unsafe {
        match *filler.as_slice() {
            [a] => registers::bytes(spread, [a]),
            [a, b] => registers::pairs(spread, [a, b]),
            [a, b, c, d] => registers::words(spread, [a, b, c, d]),
            [a, b, c, d, e, f, g, h] => registers::long_words(spread, [a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }
}

/// Other targets have no such loop.
#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
#[inline]
pub(crate) fn expand<const W: usize>(_spread: &mut Spread<'_>, _filler: [u8; W]) -> usize {
    0
}
