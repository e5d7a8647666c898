//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Node, PageEncoder, Prepare, Proposals, Result, Sample,
    Statistics, ValueType, Values,
};

use crate::{{Type}};

impl EncodingWriter for {{Type}} {
    fn propose<'v>(&self, _values: &Statistics<'v>, _proposals: &mut Proposals<'v>) -> Result<()> {
        // FILL IN: if the encoding may be worth it, `proposals.push` a `Proposal` with the bytes that all units take
        // without the child's, by a formula or by encoding `values.sample()`, and with the child's values: `Proposal {
        // children: vec![Part::owned(..)], ..Proposal::leaf(self, bytes) }`.
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        // FILL IN: pass the child its own values. If they are derived block by block, use `page.block_child`.
        let values = page.child(0, values)?;
        Ok(Box::new(UnitEncoder { values }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        child(0, node.value_type, n_values, decoded_bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let types = [1, 2, 4, 8].map(ValueType::Fixed);
        types.map(|it| Sample::any(it, &[])).into()
    }
}

struct UnitEncoder {
    values: Box<dyn PageEncoder>,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        // FILL IN: append the unit's fields.
        self.values.encode(block, out)
    }
}
