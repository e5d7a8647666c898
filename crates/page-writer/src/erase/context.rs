//! The parts that the blocks of a page have in common.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tarsia_codec::{Error, OwnedValues, Registry, Result, SharedBuffers, Tree};
use tarsia_structure::meta::Meta;

/// The parts that the blocks of a page have in common.
#[derive(Clone, Copy)]
pub struct BlockContext<'a> {
    /// Decoders and encoders by id.
    pub registry: &'a Registry,
    /// How the page is encoded.
    pub meta: &'a Meta,
    /// Values of the page's shared buffers, in the order of their numbers; they are used as they are and never added
    /// to.
    pub shared: &'a [Arc<OwnedValues>],
    /// CRC-32C.
    pub checksum: fn(&[u8]) -> u32,
}

impl BlockContext<'_> {
    /// The page's shared buffers as encoders get them.
    pub(super) fn closed_buffers(&self) -> Result<SharedBuffers> {
        // One check for both sides.
        self.meta.shared_buffers(self.shared)?;
        let specs = self.meta.shared.iter().copied();
        let buffers: Vec<_> = specs.zip(self.shared.iter().cloned()).collect();
        Ok(SharedBuffers::closed(&buffers))
    }
}

/// A tree by its number in a list of META.
pub(super) fn tree_of<'a>(trees: &'a [Tree], tree: u8, field: &'static str) -> Result<&'a Tree> {
    trees
        .get(usize::from(tree))
        .ok_or_else(|| Error::corrupt(field, 0, tree, "the page's trees"))
}
