//! The encoder.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Node, PageEncoder, Prepare, Proposal, Proposals, Result,
    Sample, Statistics, ValueType, Values,
};

use crate::Bitmap;
use crate::layout;

impl EncodingWriter for Bitmap {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        if let Values::Bits(bits) = values.values() {
            proposals.push(Proposal::leaf(self, layout::unit_bytes(bits.len() as u64)));
        }
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        Ok(Box::new(BitmapPage))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        layout::unit_bytes(n_values)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(ValueType::Bits, &[])]
    }
}

struct BitmapPage;

impl PageEncoder for BitmapPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        block.values().as_bits()?.append_to(out);
        Ok(())
    }
}
