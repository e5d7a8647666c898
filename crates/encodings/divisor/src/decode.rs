//! The decoder: quotients to values in the output itself.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
};

use crate::Divisor;
use crate::layout::{ID, Params, VERSION};

impl Encoding for Divisor {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        Params::parse(node)?;
        Ok(NodeSpec::with_children(&[node.value_type]))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [quotients] = children_of(children)?;
        Ok(Box::new(DivisorDecoder {
            params: Params::parse(node)?,
            value_bytes: node.value_type.fixed_bytes().unwrap_or_default(),
            quotients,
        }))
    }
}

struct DivisorDecoder {
    params: Params,
    value_bytes: usize,
    quotients: Box<dyn Decoder>,
}

impl Decoder for DivisorDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(self.value_bytes, n_selected)?;
        let quotients = Output::Fixed(&mut *to);
        self.quotients.decode(unit, selection, scratch, quotients)?;
        multiply(to, self.value_bytes, self.params);
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
        self.quotients.reach(unit, front, range, scratch)
    }
}

/// Replaces quotients of `width` bytes by values.
fn multiply(values: &mut [u8], width: usize, params: Params) {
    let Params { divisor, remainder } = params;
    macro_rules! multiply {
        ($number:ty) => {{
            let (divisor, remainder) = (divisor as $number, remainder as $number);
            for value in values.as_chunks_mut().0 {
                let quotient = <$number>::from_le_bytes(*value);
                let product = quotient.wrapping_mul(divisor);
                *value = product.wrapping_add(remainder).to_le_bytes();
            }
        }};
    }
    match width {
        1 => multiply!(u8),
        2 => multiply!(u16),
        4 => multiply!(u32),
        _ => multiply!(u64),
    }
}
