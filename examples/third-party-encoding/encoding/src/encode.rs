//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BlockChild, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node,
    OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values,
};

use crate::{HEADER_BYTES, Line, Linear, VALUE};

/// Blocks are expected to have so many values.
const UNIT_VALUES: usize = 2048;

impl Line {
    /// From the first value on, as steep as from the mean of the first eighth of the values to the mean of the last.
    fn through(values: &FixedSlice<'_>) -> Self {
        let number = |i: usize| {
            let bytes = values.get(i).first_chunk().copied();
            bytes.map_or(0, u64::from_le_bytes)
        };
        let (n, first) = (values.len(), number(0));
        let n_ends = (n / 8).max(1);
        let above_first = |i: usize| i128::from(number(i).wrapping_sub(first) as i64);
        let slope = match n {
            0 | 1 => 0,
            n => {
                let of_end: i128 = (n - n_ends..n).map(above_first).sum();
                let of_start: i128 = (0..n_ends).map(above_first).sum();
                let run = (n_ends * (n - n_ends)) as i128;
                // As far as it fits; a line that is off costs bytes, nothing else.
                i64::try_from(((of_end - of_start) << 32) / run).unwrap_or_default()
            }
        };
        Self { first, slope }
    }

    fn distances(self, values: &FixedSlice<'_>) -> OwnedValues {
        let mut bytes = AlignedBuf::copy_of(values.bytes());
        for (i, value) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let distance = u64::from_le_bytes(*value).wrapping_sub(self.at(i as u32));
            *value = distance.to_le_bytes();
        }
        OwnedValues::Fixed {
            bytes,
            width: 8,
            len: values.len(),
        }
    }
}

/// The distances of all values, each unit's from its own line.
fn distances_in_units(values: &FixedSlice<'_>) -> OwnedValues {
    let mut bytes = AlignedBuf::zeroed(values.bytes().len());
    for (i, to) in bytes.chunks_mut(8 * UNIT_VALUES).enumerate() {
        let unit = values.slice(i * UNIT_VALUES..(i + 1) * UNIT_VALUES);
        if let OwnedValues::Fixed { bytes, .. } = Line::through(&unit).distances(&unit) {
            to.copy_from_slice(&bytes);
        }
    }
    OwnedValues::Fixed {
        bytes,
        width: 8,
        len: values.len(),
    }
}

impl EncodingWriter for Linear {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        // Only of values in order a line says anything.
        let is_number = values.facts().logical_type.is_integer() && fixed.width() == 8;
        if !is_number || fixed.len() < 3 || values.sort_order().is_none() {
            return Ok(());
        }
        let n_units = fixed.len().div_ceil(UNIT_VALUES);
        let distances = Part::owned(Rc::new(distances_in_units(&fixed)), LogicalType::Signed);
        proposals.push(Proposal {
            children: vec![distances.in_units_of(UNIT_VALUES)],
            ..Proposal::leaf(self, (n_units * HEADER_BYTES) as u64)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        // Every block has a line of its own, so distances are made block by block.
        let fixed = values.as_fixed()?;
        let distances = page.block_child(0, || distances_in_units(&fixed))?;
        Ok(Box::new(LinearPage { distances }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        child(0, VALUE, n_values, decoded_bytes).saturating_add(HEADER_BYTES as u64)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // The survivors' line may be farther from them.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(VALUE, &[])]
    }
}

struct LinearPage {
    distances: BlockChild,
}

impl PageEncoder for LinearPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_fixed()?;
        let line = Line::through(&values);
        out.extend_from_slice(&line.first.to_le_bytes());
        out.extend_from_slice(&line.slope.to_le_bytes());
        let distances = line.distances(&values);
        self.distances.encode(distances.as_values()?, out)
    }
}
