//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    BlockValues, EncodingWriter, EraseFit, Error, FixedSlice, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Varint;
use crate::layout::{self, END_BYTES, GROUP_VALUES, MORE};

impl EncodingWriter for Varint {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if !proposals.is_named() || !matches!(fixed.width(), 2 | 4 | 8) || fixed.is_empty() {
            return Ok(());
        }
        // Units end inside of groups of the page: one more group in each.
        let n_groups = (fixed.len() / GROUP_VALUES) as u64 + values.n_units();
        let of_values: u64 = match fixed.width() {
            2 => numbers::<2>(&fixed).map(encoded_bytes).sum(),
            4 => numbers::<4>(&fixed).map(encoded_bytes).sum(),
            _ => numbers::<8>(&fixed).map(encoded_bytes).sum(),
        };
        proposals.push(Proposal {
            is_uniform: false,
            ..Proposal::leaf(self, n_groups * END_BYTES as u64 + of_values)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        Ok(Box::new(UnitEncoder))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let width = node.value_type.fixed_bytes().unwrap_or(0);
        let ends = n_values.div_ceil(GROUP_VALUES as u64) * END_BYTES as u64;
        let of_values = n_values.saturating_mul(layout::encoded_bytes_max(width) as u64);
        ends.saturating_add(of_values)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Each remaining value has the bytes that it had, and there are no more groups than before.
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        let types = [8, 4, 2].map(ValueType::Fixed);
        types.map(|it| Sample::any(it, &[])).into()
    }
}

/// Values of `S` bytes as unsigned numbers.
fn numbers<'v, const S: usize>(values: &FixedSlice<'v>) -> impl Iterator<Item = u64> + use<'v, S> {
    values.bytes().as_chunks::<S>().0.iter().map(|value| {
        let mut bytes = [0; 8];
        bytes[..S].copy_from_slice(value);
        u64::from_le_bytes(bytes)
    })
}

/// Bytes of a number: one for each seven bits, and one for zero.
fn encoded_bytes(number: u64) -> u64 {
    let bits = u64::from(u64::BITS - (number | 1).leading_zeros());
    // A seventh, rounded up, for all numbers up to 64.
    (bits * 9 + 64) / 64
}

struct UnitEncoder;

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        match values.width() {
            2 => encode::<2>(&values, out),
            4 => encode::<4>(&values, out),
            _ => encode::<8>(&values, out),
        }
    }
}

fn encode<const S: usize>(values: &FixedSlice<'_>, out: &mut Vec<u8>) -> Result<()> {
    let ends_at = out.len();
    let n_groups = values.len().div_ceil(GROUP_VALUES);
    let values_at = ends_at + n_groups * END_BYTES;
    out.resize(values_at, 0);
    out.reserve(values.len());
    for group in 0..n_groups {
        let start = group * GROUP_VALUES;
        for number in numbers::<S>(&values.slice(start..start + GROUP_VALUES)) {
            push(number, out);
        }
        let end = u32::try_from(out.len() - values_at)
            .map_err(|_| Error::invalid("the values of a unit take 4 GiB"))?;
        let end_at = ends_at + group * END_BYTES;
        if let Some(to) = out.get_mut(end_at..end_at + END_BYTES) {
            to.copy_from_slice(&end.to_le_bytes());
        }
    }
    Ok(())
}

/// Appends the bytes of a number.
#[inline]
fn push(mut number: u64, out: &mut Vec<u8>) {
    while number >= MORE.into() {
        out.push(number as u8 | MORE);
        number >>= 7;
    }
    out.push(number as u8);
}
