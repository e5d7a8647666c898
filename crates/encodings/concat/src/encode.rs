//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::toolbox::{append_sized, lengths_of};
use tarsia_codec::{
    BlockValues, BytesSlice, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node, PageEncoder,
    Part, Prepare, Proposal, Proposals, Result, Sample, SharedKind, Statistics, ValueType, Values,
    limits,
};

use crate::Concat;
use crate::layout::{DATA_TYPE, HEADER_BYTES, LENGTH_BYTES, LENGTHS_TYPE};

/// Blocks of byte strings have few values. The size of the lengths is estimated for units of at most this many values.
const LENGTHS_PER_UNIT: usize = 1024;

/// Fewer bytes than this do not pay for a child of their own.
const DATA_BYTES_MIN: u64 = 1 << 10;

/// The strings must get smaller by at least one byte in so many.
const GAIN_ONE_IN: u64 = 50;

impl EncodingWriter for Concat {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Bytes(strings) = values.values() else {
            return Ok(());
        };
        let are_tokens = values.facts().shared == Some(SharedKind::TokenDictionary);
        let data_bytes = u64::from(strings.data_bytes());
        if data_bytes < DATA_BYTES_MIN || are_tokens {
            return Ok(());
        }
        let Some(lengths) = values.lengths() else {
            return Ok(());
        };
        let lengths = Part::owned(Rc::clone(lengths), LogicalType::Length);
        let data = Part::borrowed(data_of(&strings)?, LogicalType::Unknown);
        // How many strings a block has depends on how small they get.
        let data = data.in_longer_units_of(limits::UNIT_VALUES_MAX as usize);
        let n_units = values.n_units();
        proposals.push(Proposal {
            children: vec![lengths.in_units_of(LENGTHS_PER_UNIT), data],
            is_uniform: false,
            // Strings that hardly get smaller are better left as they are, where rows can be read and borrowed.
            bytes_max: data_bytes - data_bytes / GAIN_ONE_IN,
            ..Proposal::leaf(self, HEADER_BYTES as u64 * n_units)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let strings = values.as_bytes()?;
        let lengths = lengths_of(&strings);
        Ok(Box::new(UnitEncoder {
            lengths: page.child(0, lengths.as_values()?)?,
            data: page.child(1, data_of(&strings)?)?,
        }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let lengths_bytes = n_values.saturating_mul(LENGTH_BYTES as u64);
        (HEADER_BYTES as u64)
            .saturating_add(child(0, LENGTHS_TYPE, n_values, lengths_bytes))
            .saturating_add(child(1, DATA_TYPE, decoded_bytes, decoded_bytes))
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(ValueType::Bytes, &[])]
    }
}

/// The bytes of all strings.
fn data_of<'a>(strings: &BytesSlice<'a>) -> Result<Values<'a>> {
    let data = strings.value_data();
    Ok(Values::Fixed(FixedSlice::new(data, 1, data.len())?))
}

struct UnitEncoder {
    lengths: Box<dyn PageEncoder>,
    data: Box<dyn PageEncoder>,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let strings = block.values().as_bytes()?;
        append_sized(out, "the lengths of a unit take 4 GiB", |out| {
            let lengths = lengths_of(&strings);
            self.lengths
                .encode(BlockValues::all(lengths.as_values()?)?, out)
        })?;
        self.data.encode(BlockValues::all(data_of(&strings)?)?, out)
    }
}
