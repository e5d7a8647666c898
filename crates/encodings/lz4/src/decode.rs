//! The decoder.

use alloc::boxed::Box;

use lz4_flex::block::decompress_into;
use tarsia_codec::toolbox::{children_of, decode_by_gather};
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, ValueType, Version, limits,
};

use crate::Lz4;
use crate::layout::{self, ID, VERSION};

impl Encoding for Lz4 {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [] = children_of(children)?;
        let width = layout::value_bytes(node)?;
        Ok(Box::new(UnitDecoder { width }))
    }
}

/// No byte of a block stands for more decoded bytes.
const BYTES_PER_BYTE_MAX: usize = 255;

struct UnitDecoder {
    /// Bytes of a value.
    width: usize,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        limits::check_codec_bytes(unit.len.into(), self.width)?;
        layout::check_unit(unit.bytes.len())?;
        let n_bytes = unit.len as usize * self.width;
        let needed_bytes = n_bytes.div_ceil(BYTES_PER_BYTE_MAX).max(1);
        if unit.bytes.len() < needed_bytes {
            return Err(Error::truncated(FIELD, needed_bytes, unit.bytes.len()));
        }
        let Selection::All = selection else {
            let value_type = ValueType::Fixed(self.width as u32);
            return decode_by_gather(self, value_type, unit, selection, scratch, out);
        };
        let to = out.into_fixed(self.width, unit.len as usize)?;
        let allowed = match decompress_into(unit.bytes, to) {
            Ok(decoded) if decoded == to.len() => return Ok(0),
            Ok(_) => "a block of as many bytes as the values have",
            Err(_) => "whole sequences that fit the values, and copies of bytes before them",
        };
        Err(Error::corrupt(FIELD, 0, unit.bytes.len(), allowed))
    }
}

const FIELD: &str = "lz4.block";
