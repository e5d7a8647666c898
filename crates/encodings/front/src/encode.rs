//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_bits::equal_bytes;
use tarsia_codec::toolbox::narrow_numbers;
use tarsia_codec::{
    AlignedBuf, BlockChild, BlockValues, BytesSlice, EncodingWriter, EraseFit, Error, LogicalType,
    Node, OwnedValues, PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics,
    ValueType, Values, limits,
};

use crate::Front;
use crate::layout::{GROUP, HEADER_BYTES, PREFIX_BYTES, PREFIXES_TYPE};

impl EncodingWriter for Front {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Bytes(strings) = values.values() else {
            return Ok(());
        };
        if strings.is_empty() {
            return Ok(());
        }
        let Split { prefixes, suffixes } = Split::of(&strings);
        // Blocks start groups anew, which changes a few prefixes.
        let suffix_bytes = suffixes.as_values()?.decoded_bytes();
        let n_units = suffix_bytes
            .div_ceil(limits::UNIT_BYTES_TARGET as u64)
            .max(values.n_units());
        let unit_values = (strings.len() as u64).div_ceil(n_units.max(1)) as usize;
        let prefixes = Part::owned(Rc::new(prefixes), LogicalType::Length);
        // A suffix may start inside a character.
        let suffixes = Part::owned(Rc::new(suffixes), LogicalType::Binary);
        proposals.push(Proposal {
            children: vec![
                prefixes.in_units_of(unit_values),
                suffixes.in_units_of(unit_values),
            ],
            is_uniform: false,
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
        // Groups count from the start of a block, so a block has other prefixes than the page.
        Ok(Box::new(UnitEncoder {
            prefixes: page.block_child(0, || Split::of(&strings).prefixes)?,
            suffixes: page.block_child(1, || Split::of(&strings).suffixes)?,
        }))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        decoded_bytes: u64,
        child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        let prefix_bytes = n_values.saturating_mul(PREFIX_BYTES as u64);
        // In the worst case no string shares bytes with the one before.
        (HEADER_BYTES as u64)
            .saturating_add(child(0, PREFIXES_TYPE, n_values, prefix_bytes))
            .saturating_add(child(1, ValueType::Bytes, n_values, decoded_bytes))
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Other strings become the first of a group, and are stored whole.
        EraseFit::MayGrow
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(ValueType::Bytes, &[])]
    }
}

/// The values of the children.
struct Split {
    prefixes: OwnedValues,
    suffixes: OwnedValues,
}

impl Split {
    /// Codes the strings of a unit, or of all of a page as if they were one.
    fn of(strings: &BytesSlice<'_>) -> Self {
        let n = strings.len();
        let mut prefixes = Vec::with_capacity(n);
        let mut offsets = Vec::with_capacity(n + 1);
        let mut data = Vec::new();
        offsets.push(0);
        let mut before: &[u8] = &[];
        for i in 0..n {
            let string = strings.get(i);
            let n_shared = match i % GROUP {
                0 => 0,
                _ => equal_bytes(before, string),
            };
            prefixes.push(n_shared as u32);
            data.extend_from_slice(string.get(n_shared..).unwrap_or_default());
            offsets.push(data.len() as u32);
            before = string;
        }
        Self {
            prefixes: narrow_numbers(&prefixes, PREFIX_BYTES),
            suffixes: OwnedValues::Bytes {
                offsets,
                data: AlignedBuf::copy_of(&data),
            },
        }
    }
}

struct UnitEncoder {
    prefixes: BlockChild,
    suffixes: BlockChild,
}

impl PageEncoder for UnitEncoder {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let Split { prefixes, suffixes } = Split::of(&block.values().as_bytes()?);
        let suffixes = suffixes.as_values()?;
        let unit_at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        let prefixes_at = out.len();
        self.prefixes.encode(prefixes.as_values()?, out)?;
        let prefixes_len = u32::try_from(out.len() - prefixes_at)
            .map_err(|_| Error::invalid("the prefixes of a unit take 4 GiB"))?;
        self.suffixes.encode(suffixes, out)?;
        // A unit decodes to at most 2 GiB, so its suffixes do.
        let fields = [prefixes_len, suffixes.decoded_bytes() as u32];
        let header = out.get_mut(unit_at..prefixes_at).unwrap_or_default();
        for (to, field) in header.chunks_exact_mut(4).zip(fields) {
            to.copy_from_slice(&field.to_le_bytes());
        }
        Ok(())
    }
}
