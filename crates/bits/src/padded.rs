//! Short strings that are padded to one width.

/// Strings of at most `width` bytes, 16 or 32, each padded to `width` bytes so that one load reads it.
#[derive(Debug, Clone, Copy)]
pub struct PaddedStrings<'a> {
    /// Bytes of each string with its padding.
    pub width: usize,
    /// The strings with their padding, back to back.
    pub entries: &'a [u8],
    /// The length of each string without its padding, in bytes.
    pub lengths: &'a [u8],
}
