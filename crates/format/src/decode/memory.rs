//! Memory that decoding works with.

use tarsia_codec::{AlignedBuf, Scratch};

/// Scratch memory and output memory.
pub(crate) struct Memory<'m> {
    /// For temporary values.
    pub(crate) scratch: &'m mut Scratch,
    /// Hands out memory for output.
    pub(crate) take: &'m mut dyn FnMut(usize) -> AlignedBuf,
}
