//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::toolbox::is_constant;
use tarsia_codec::{
    Asked, BlockValues, EncodingWriter, EraseFit, Error, Node, OwnedValues, PageEncoder, Prepare,
    Proposal, Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Constant;
use crate::layout;

impl EncodingWriter for Constant {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        if !values.is_empty() && values.is_constant() {
            let all = values.values();
            let value_bytes = all.slice(0..1).decoded_bytes();
            proposals.push(Proposal::leaf(self, value_bytes * values.n_units()));
        }
        Ok(())
    }

    /// One value that differs from the first says that it does not suit.
    fn asked(&self) -> Asked {
        Asked::First
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        // Blocks are checked one by one: each may hold another value.
        Ok(Box::new(ConstantPage))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        match layout::value_bytes(node.value_type) {
            _ if n_values == 0 => 0,
            Some(value_bytes) => value_bytes,
            // Not divided by the number of values: a parent may pass an upper bound of that number, and the result must
            // not fall as it grows.
            None => decoded_bytes,
        }
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let widths = [0, 1, 2, 4, 5, 8, 16].map(ValueType::Fixed);
        let types = widths
            .into_iter()
            .chain([ValueType::Bits, ValueType::Bytes]);
        types
            .map(|it| Sample::fitting(it, &[], repeat_first))
            .collect()
    }
}

/// As many values as in `values`, all equal to the first. Long strings are cut, because their copies would take too
/// much memory.
fn repeat_first(values: Values<'_>) -> OwnedValues {
    const STRING_BYTES_MAX: usize = 64;
    let n = values.len();
    match values {
        Values::Bits(bits) => {
            let byte = if bits.get(0) { u8::MAX } else { 0 };
            let all = alloc::vec![byte; n.div_ceil(8)];
            let bits = tarsia_codec::BitSlice::new(&all, 0, n);
            bits.map_or_else(
                |_| OwnedValues::copy_of(values),
                |it| OwnedValues::copy_of(Values::Bits(it)),
            )
        }
        Values::Fixed(fixed) => OwnedValues::Fixed {
            bytes: tarsia_codec::AlignedBuf::copy_of(&fixed.get(0).repeat(n)),
            width: fixed.width(),
            len: n,
        },
        Values::Bytes(strings) => {
            let first = strings.get(0);
            let first = first.get(..STRING_BYTES_MAX).unwrap_or(first);
            OwnedValues::Bytes {
                offsets: (0..=n as u32).map(|i| i * first.len() as u32).collect(),
                data: tarsia_codec::AlignedBuf::copy_of(&first.repeat(n)),
            }
        }
    }
}

struct ConstantPage;

impl PageEncoder for ConstantPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values();
        if !is_constant(values) {
            return Err(Error::invalid("the values of a constant unit differ"));
        }
        match values {
            _ if values.is_empty() => {}
            Values::Bits(bits) => out.push(bits.get(0).into()),
            Values::Fixed(values) => out.extend_from_slice(values.get(0)),
            Values::Bytes(values) => out.extend_from_slice(values.get(0)),
        }
        Ok(())
    }
}
