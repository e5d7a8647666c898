//! The decoder.

use alloc::boxed::Box;

use tarsia_codec::toolbox::decode_bits;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
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
        let bits = unit.bitmap("bitmap.bits", "bitmap.spare_bits")?;
        decode_bits(bits, selection, out)
    }
}
