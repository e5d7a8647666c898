//! Collects values whose bits are set, eight words at a time, where one instruction does that.

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[path = "compress/x86.rs"]
mod registers;

/// Writes the values of `width` bytes whose bit from bit `at` on is set to `dense`, which has exactly their bytes.
/// Returns false and writes nothing where the processor or the width does not allow it.
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[inline]
pub(crate) fn compress(
    bits: &[u8],
    at: usize,
    width: usize,
    values: &[u8],
    dense: &mut [u8],
) -> bool {
    if !registers::is_there() {
        return false;
    }
    // SAFETY: the processor has all that these functions are compiled for, as was just asked.
    unsafe {
        match width {
            4 => registers::words(bits, at, values, dense),
            8 => registers::long_words(bits, at, values, dense),
            16 => registers::pairs(bits, at, values, dense),
            _ => return false,
        }
    }
    true
}

/// Other targets have no such loop.
#[cfg(not(all(target_arch = "x86_64", feature = "std")))]
#[inline]
pub(crate) fn compress(
    _bits: &[u8],
    _at: usize,
    _width: usize,
    _values: &[u8],
    _dense: &mut [u8],
) -> bool {
    false
}
