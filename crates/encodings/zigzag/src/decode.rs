//! The decoder: unsigned numbers to signed ones in the output itself.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
};

use crate::Zigzag;
use crate::layout::{self, ID, VERSION};

impl Encoding for Zigzag {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::value_bytes(node)?;
        Ok(NodeSpec::with_children(&[node.value_type]))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [values] = children_of(children)?;
        Ok(Box::new(UnitDecoder {
            value_bytes: layout::value_bytes(node)?,
            values,
        }))
    }
}

struct UnitDecoder {
    value_bytes: usize,
    values: Box<dyn Decoder>,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let unsigned = Output::Fixed(&mut *to);
        self.values.decode(unit, selection, scratch, unsigned)?;
        restore_signs(to, self.value_bytes);
        Ok(0)
    }

    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        front: usize,
        range: core::ops::Range<u32>,
        scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        self.values.reach(unit, front, range, scratch)
    }
}

/// Replaces unsigned numbers of `width` bytes by signed ones.
fn restore_signs(values: &mut [u8], width: usize) {
    macro_rules! restore {
        ($unsigned:ty) => {
            for value in values.as_chunks_mut().0 {
                let unsigned = <$unsigned>::from_le_bytes(*value);
                // All bits set for an odd number.
                let sign = (unsigned & 1).wrapping_neg();
                *value = (unsigned >> 1 ^ sign).to_le_bytes();
            }
        };
    }
    match width {
        1 => restore!(u8),
        2 => restore!(u16),
        4 => restore!(u32),
        _ => restore!(u64),
    }
}
