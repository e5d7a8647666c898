//! Memory that columns are decoded into: handed out by the caller, who may use it again.

use tarsia_codec::AlignedBuf;

/// Hands out memory of at least so many bytes; it may have been used before.
pub type Take<'a> = &'a mut dyn FnMut(usize) -> AlignedBuf;

/// Makes memory at least so long, and keeps what is in it.
pub(crate) fn grow(buf: &mut AlignedBuf, bytes: usize, take: Take<'_>) {
    if buf.len() < bytes {
        let mut longer = take(bytes.max(buf.len() * 2));
        if let Some(start) = longer.get_mut(..buf.len()) {
            start.copy_from_slice(buf);
        }
        *buf = longer;
    }
}

/// Aligned bytes as numbers. They are aligned, and whole; none otherwise, without the panic that kernels would carry.
pub fn words(bytes: &[u8]) -> &[u32] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

/// As [`words`].
pub fn words_mut(bytes: &mut [u8]) -> &mut [u32] {
    bytemuck::try_cast_slice_mut(bytes).unwrap_or_default()
}

/// Numbers as bytes.
pub fn bytes_mut(words: &mut [u32]) -> &mut [u8] {
    bytemuck::try_cast_slice_mut(words).unwrap_or_default()
}
