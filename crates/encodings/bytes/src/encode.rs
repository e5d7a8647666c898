//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::toolbox::{append_sized, lengths_of};
use tarsia_codec::{
    BlockValues, BytesSlice, EncodingWriter, EraseFit, LogicalType, Node, OwnedValues, PageEncoder,
    Part, Prepare, Proposal, Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Bytes;
use crate::layout::{HEADER_BYTES, LENGTH_BYTES, LENGTHS_TYPE};

/// Blocks of byte strings have few values. The size of the lengths is estimated for units of at most this many values.
const LENGTHS_PER_UNIT: usize = 1024;

impl EncodingWriter for Bytes {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Bytes(strings) = values.values() else {
            return Ok(());
        };
        let data_bytes = u64::from(strings.data_bytes());
        if let Some(lengths) = values.lengths()
            && data_bytes < proposals.bytes_to_beat()
        {
            let lengths = Part::owned(Rc::clone(lengths), LogicalType::Length);
            proposals.push(Proposal {
                children: vec![lengths.in_units_of(LENGTHS_PER_UNIT)],
                is_uniform: false,
                ..Proposal::leaf(self, data_bytes)
            });
        }
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let lengths = lengths_of(&values.as_bytes()?);
        let child = page.child(0, lengths.as_values()?)?;
        Ok(Box::new(BytesPage { lengths, child }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let lengths_bytes = n_values.saturating_mul(LENGTH_BYTES as u64);
        let lengths = child(0, LENGTHS_TYPE, n_values, lengths_bytes);
        (HEADER_BYTES as u64)
            .saturating_add(lengths)
            .saturating_add(decoded_bytes)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(ValueType::Bytes, &[])]
    }
}

struct BytesPage {
    /// The lengths of all values of the page, as the child encodes them.
    lengths: OwnedValues,
    child: Box<dyn PageEncoder>,
}

impl BytesPage {
    /// True if the lengths of `range` are those of `values`.
    fn has_lengths_of(&self, range: Range<usize>, values: &BytesSlice<'_>) -> bool {
        let OwnedValues::Fixed { bytes, .. } = &self.lengths else {
            return false;
        };
        let (all, _) = bytes.as_chunks::<LENGTH_BYTES>();
        match all.get(range) {
            Some(lengths) => lengths
                .iter()
                .zip(values.offsets().windows(2))
                .all(|(length, pair)| *length == (pair[1] - pair[0]).to_le_bytes()),
            None => false,
        }
    }
}

impl PageEncoder for BytesPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = block.values().as_bytes()?;
        append_sized(out, "the lengths of a unit take 4 GiB", |out| {
            if self.has_lengths_of(block.range(), &values) {
                let lengths = block.of(self.lengths.as_values()?)?;
                return self.child.encode(lengths, out);
            }
            // A parent that derives values per block (the entries of a block's dictionary) passes other values than it
            // prepared with. So the lengths of the page are used only after a comparison.
            let lengths = lengths_of(&values);
            self.child
                .encode(BlockValues::all(lengths.as_values()?)?, out)
        })?;
        out.extend_from_slice(values.value_data());
        Ok(())
    }
}
