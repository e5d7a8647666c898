//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    Asked, BlockValues, EncodingWriter, EraseFit, Error, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Plain;
use crate::layout;

impl EncodingWriter for Plain {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let values = values.values();
        if let Some(bytes) = layout::unit_bytes(values.value_type(), values.len() as u64) {
            proposals.push(Proposal::leaf(self, bytes));
        }
        Ok(())
    }

    /// Every value takes as many bytes.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        Ok(Box::new(PlainPage))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        layout::unit_bytes(node.value_type, n_values).unwrap_or(0)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let widths = [0, 1, 2, 3, 4, 8, 16, 33].map(ValueType::Fixed);
        let types = widths.into_iter().chain([ValueType::Bits]);
        types.map(|it| Sample::any(it, &[])).collect()
    }
}

struct PlainPage;

impl PageEncoder for PlainPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        match block.values() {
            Values::Fixed(values) => out.extend_from_slice(values.bytes()),
            Values::Bits(values) => values.append_to(out),
            Values::Bytes(_) => return Err(Error::invalid("plain holds no byte strings")),
        }
        Ok(())
    }
}
