//! The encoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    Asked, BlockValues, EncodingWriter, EraseFit, FixedSlice, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Sequence;
use crate::layout::{FORM_BYTES, PLAIN, SEQUENCE};

/// Fewer values are no sequence yet: any two are one.
const VALUES_MIN: usize = 3;

impl EncodingWriter for Sequence {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let bytes = values.n_units() * (FORM_BYTES + 2 * fixed.width()) as u64;
        let is_number = matches!(fixed.width(), 1 | 2 | 4 | 8);
        if is_number
            && fixed.len() >= VALUES_MIN
            && bytes < proposals.bytes_to_beat()
            && !proposals.must_fit()
            // Equal values are for another encoding.
            && step(&fixed).is_some_and(|step| step != 0)
        {
            proposals.push(Proposal::leaf(self, bytes));
        }
        Ok(())
    }

    /// Two steps that differ say that it does not suit.
    fn asked(&self) -> Asked {
        Asked::First
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        // A part of a sequence is a sequence, so blocks are looked at one by one.
        Ok(Box::new(SequencePage))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        _n_values: u64,
        decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let width = node.value_type.fixed_bytes().unwrap_or_default() as u64;
        decoded_bytes
            .max(2 * width)
            .saturating_add(FORM_BYTES as u64)
    }

    /// Survivors of a sequence are mostly no sequence.
    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        let types = [8, 4, 2, 1].map(ValueType::Fixed);
        types.map(|it| Sample::any(it, &[])).into()
    }
}

/// The step of the values, modulo the numbers of their width, if they are a sequence; 0 of fewer than two.
fn step(values: &FixedSlice<'_>) -> Option<u64> {
    let bytes = values.bytes();
    match values.width() {
        1 => step_of::<1>(bytes),
        2 => step_of::<2>(bytes),
        4 => step_of::<4>(bytes),
        _ => step_of::<8>(bytes),
    }
}

fn step_of<const WIDTH: usize>(bytes: &[u8]) -> Option<u64> {
    let values = bytes.as_chunks::<WIDTH>().0;
    let number = |value: &[u8; WIDTH]| tarsia_bits::read_value(value).unwrap_or_default();
    let difference = |a: &[u8; WIDTH], b: &[u8; WIDTH]| {
        let unused_bits = u64::BITS - 8 * WIDTH as u32;
        number(b).wrapping_sub(number(a)) << unused_bits >> unused_bits
    };
    let (Some(first), Some(second)) = (values.first(), values.get(1)) else {
        return Some(0);
    };
    let step = difference(first, second);
    let mut pairs = values.windows(2);
    let is_sequence = pairs.all(|pair| match pair {
        [a, b] => difference(a, b) == step,
        _ => true,
    });
    is_sequence.then_some(step)
}

struct SequencePage;

impl PageEncoder for SequencePage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let width = values.width();
        // Two values in plain form take as many bytes as the fields of a sequence; with fewer it is smaller.
        let step = step(&values).filter(|_| values.len() >= 2);
        let Some(step) = step else {
            out.push(PLAIN);
            out.extend_from_slice(values.bytes());
            return Ok(());
        };
        out.push(SEQUENCE);
        out.extend_from_slice(values.get(0));
        out.extend(step.to_le_bytes().iter().take(width));
        Ok(())
    }
}
