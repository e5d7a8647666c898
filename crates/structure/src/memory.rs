//! Memory that columns are decoded into. The caller hands it out, often from a pool.

use tarsia_codec::AlignedBuf;

/// Hands out memory of at least the asked number of bytes. It may hold anything.
pub type Take<'a> = &'a mut dyn FnMut(usize) -> AlignedBuf;

/// Makes `buf` at least `bytes` long and keeps its content.
pub(crate) fn grow(buf: &mut AlignedBuf, bytes: usize, take: Take<'_>) {
    if buf.len() < bytes {
        let mut longer = take(bytes.max(buf.len() * 2));
        if let Some(start) = longer.get_mut(..buf.len()) {
            start.copy_from_slice(buf);
        }
        *buf = longer;
    }
}

/// Bytes as 32-bit numbers in native byte order. Empty where the bytes are not aligned or not whole numbers: no panic,
/// so that kernels carry no code for one.
pub fn words(bytes: &[u8]) -> &[u32] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

/// As [`words`], to be written to.
pub fn words_mut(bytes: &mut [u8]) -> &mut [u32] {
    bytemuck::try_cast_slice_mut(bytes).unwrap_or_default()
}

/// Numbers as bytes.
pub fn bytes_mut(words: &mut [u32]) -> &mut [u8] {
    bytemuck::try_cast_slice_mut(words).unwrap_or_default()
}
