//! The decoder.

use alloc::boxed::Box;

use tarsia_codec::{
    BitSlice, Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch,
    Selection, SharedBuffer, Unit, Version,
};

use crate::Bitmap;
use crate::layout::{self, ID, VERSION};

impl Encoding for Bitmap {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)?;
        Ok(NodeSpec::LEAF)
    }

    fn init(
        &self,
        _node: &Node<'_>,
        _children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(BitmapDecoder))
    }
}

struct BitmapDecoder;

impl Decoder for BitmapDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let bits = layout::parse(&unit)?;
        let (to, offset) = out.into_bits(n_selected)?;
        match selection {
            Selection::All => copy_bits(bits, to, offset)?,
            Selection::Range { start, .. } => {
                let start = start as usize;
                copy_bits(bits.slice(start..start + n_selected), to, offset)?;
            }
            Selection::Indices(indices) => gather_bits(bits, indices, to, offset),
        }
        Ok(0)
    }
}

/// Copies `from` to the bits of `to` from bit `offset` on and leaves the bits around them as they are.
fn copy_bits(from: BitSlice<'_>, to: &mut [u8], offset: usize) -> Result<()> {
    tarsia_bits::copy_bits(to, offset, from.bytes(), from.offset(), from.len())
        .map_err(|_| Error::invalid("the output is not sized for these bits"))
}

/// Copies the bits that `indices` name to the bits of `to` from bit `offset` on.
fn gather_bits(from: BitSlice<'_>, indices: &[u32], to: &mut [u8], offset: usize) {
    for (i, index) in indices.iter().enumerate() {
        let bit = u8::from(from.get(*index as usize));
        let at = offset + i;
        if let Some(byte) = to.get_mut(at / 8) {
            *byte = *byte & !(1 << (at % 8)) | bit << (at % 8);
        }
    }
}
