//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_bits::Word;
use tarsia_codec::{
    AlignedBuf, Asked, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::Delta;
use crate::layout::{self, GROUP_VALUES};

impl EncodingWriter for Delta {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        let logical_type = values.facts().logical_type;
        let is_number = matches!(fixed.width(), 1 | 2 | 4 | 8) && logical_type.is_integer();
        let bases_bytes = (layout::n_groups(fixed.len()) * fixed.width()) as u64;
        if !is_number
            || logical_type == LogicalType::Length
            || fixed.len() < 3
            || bases_bytes >= proposals.bytes_to_beat()
            || !runs_steadily(values, &fixed)
        {
            return Ok(());
        }
        let differences = Part::owned(Rc::new(differences(&fixed)), LogicalType::Signed);
        proposals.push(Proposal {
            children: vec![differences],
            ..Proposal::leaf(self, bases_bytes)
        });
        Ok(())
    }

    /// Units have a first value each.
    fn asked(&self) -> Asked {
        Asked::BySample
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        // The groups of a block start elsewhere than those of the page, but all its differences occur among the page's.
        let differences = all_differences(&values.as_fixed()?);
        let child = page.child(0, differences.as_values()?)?;
        Ok(Box::new(DeltaPage { child }))
    }

    fn encoded_bytes_max(
        &self,
        node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let value_bytes = layout::value_bytes(node).unwrap_or(0) as u64;
        let bases = n_values.div_ceil(GROUP_VALUES as u64) * value_bytes;
        child(0, node.value_type, n_values, decoded_bytes).saturating_add(bases)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // The difference across a gap is the sum of the differences that it replaces, which may need more bits.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        let widths = [8, 4, 2, 1].map(ValueType::Fixed);
        widths.iter().map(|it| Sample::any(*it, &[])).collect()
    }
}

/// True if, summed over the runs of a sample, differences span fewer bits than values. The differences of values in no
/// order span more.
fn runs_steadily(values: &Statistics<'_>, fixed: &FixedSlice<'_>) -> bool {
    let spans = |run: core::ops::Range<usize>| {
        let run = fixed.slice(run);
        match fixed.width() {
            1 => spans_of::<u8>(&run),
            2 => spans_of::<u16>(&run),
            4 => spans_of::<u32>(&run),
            _ => spans_of::<u64>(&run),
        }
    };
    let (mut of_values, mut of_differences) = (0, 0);
    for (values, differences) in values.sample().into_iter().filter_map(spans) {
        of_values += values;
        of_differences += differences;
    }
    of_differences < of_values
}

/// The number of bits that the values of a run span, and the number that their differences span.
fn spans_of<T: Word>(run: &FixedSlice<'_>) -> Option<(u32, u32)> {
    let bits = |values: &[u8]| {
        let extent = tarsia_bits::extent::<T>(values).ok()??;
        Some(64 - extent.base_and_span().1.to_u64().leading_zeros())
    };
    let OwnedValues::Fixed { bytes, .. } = all_differences(run) else {
        return None;
    };
    Some((bits(run.bytes())?, bits(&bytes)?))
}

/// Each value minus the one before: one fewer than there are values.
fn all_differences(values: &FixedSlice<'_>) -> OwnedValues {
    differences_where(values, |_| true)
}

/// The differences of the values that do not start a group.
fn differences(values: &FixedSlice<'_>) -> OwnedValues {
    differences_where(values, |i| !i.is_multiple_of(GROUP_VALUES))
}

fn differences_where(values: &FixedSlice<'_>, keep: impl Fn(usize) -> bool) -> OwnedValues {
    match values.width() {
        1 => differences_of::<u8>(values, keep),
        2 => differences_of::<u16>(values, keep),
        4 => differences_of::<u32>(values, keep),
        _ => differences_of::<u64>(values, keep),
    }
}

fn differences_of<T: Word>(values: &FixedSlice<'_>, keep: impl Fn(usize) -> bool) -> OwnedValues {
    let n = values.len();
    let len = (1..n).filter(|i| keep(*i)).count();
    let mut bytes = AlignedBuf::zeroed(len * T::BYTES);
    let numbers = values.bytes().chunks_exact(T::BYTES);
    let pairs = numbers.clone().zip(numbers.skip(1));
    let kept = pairs.zip(1..).filter(|(_, i)| keep(*i));
    for (to, ((before, after), _)) in bytes.chunks_exact_mut(T::BYTES).zip(kept) {
        if let (Some(before), Some(after)) = (T::read_le(before), T::read_le(after)) {
            after.wrapping_sub(before).write_le(to);
        }
    }
    OwnedValues::Fixed {
        bytes,
        width: T::BYTES,
        len,
    }
}

struct DeltaPage {
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for DeltaPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        for first in (0..values.len()).step_by(GROUP_VALUES) {
            out.extend_from_slice(values.get(first));
        }
        let differences = differences(&values);
        self.child
            .encode(BlockValues::all(differences.as_values()?)?, out)
    }
}
