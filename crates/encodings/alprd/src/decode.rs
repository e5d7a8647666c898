//! The decoder: right parts in the output itself, left parts added.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
};

use crate::Alprd;
use crate::layout::{self, ID, LEFT_BYTES, UnitParts, VERSION};

impl Encoding for Alprd {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::spec(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [left, right] = children_of(children)?;
        Ok(Box::new(AlprdDecoder {
            right_bits: layout::parse_right_bits(node)?,
            value_bytes: node.value_type.fixed_bytes().unwrap_or_default(),
            left,
            right,
        }))
    }
}

struct AlprdDecoder {
    right_bits: u32,
    value_bytes: usize,
    left: Box<dyn Decoder>,
    right: Box<dyn Decoder>,
}

impl Decoder for AlprdDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let parts = UnitParts::parse(&unit)?;
        let right = Output::Fixed(&mut *to);
        self.right.decode(parts.right, selection, scratch, right)?;
        let mut left = scratch.take(n_selected * LEFT_BYTES);
        let into = Output::Fixed(&mut left);
        let done = self.left.decode(parts.left, selection, scratch, into);
        if done.is_ok() {
            match self.value_bytes {
                4 => add_narrow(&left, self.right_bits, to),
                _ => add_wide(&left, self.right_bits, to),
            }
        }
        scratch.give(left);
        done.map(|_| 0)
    }
}

fn add_wide(left: &[u8], right_bits: u32, to: &mut [u8]) {
    for (to, left) in to.as_chunks_mut().0.iter_mut().zip(left.as_chunks().0) {
        let high = u64::from(u16::from_le_bytes(*left)) << right_bits;
        *to = u64::from_le_bytes(*to).wrapping_add(high).to_le_bytes();
    }
}

fn add_narrow(left: &[u8], right_bits: u32, to: &mut [u8]) {
    for (to, left) in to.as_chunks_mut().0.iter_mut().zip(left.as_chunks().0) {
        let high = u32::from(u16::from_le_bytes(*left)) << right_bits;
        *to = u32::from_le_bytes(*to).wrapping_add(high).to_le_bytes();
    }
}
