//! The encoder.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    AlignedBuf, BlockValues, EncodingWriter, EraseFit, FixedSlice, LogicalType, Node, OwnedValues,
    PageEncoder, Part, Prepare, Proposal, Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Zigzag;

impl EncodingWriter for Zigzag {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Fixed(fixed) = values.values() else {
            return Ok(());
        };
        if !matches!(fixed.width(), 1 | 2 | 4 | 8) || fixed.is_empty() {
            return Ok(());
        }
        let child = Part::owned(Rc::new(unsigned(&fixed)), LogicalType::Unsigned);
        proposals.push(Proposal {
            children: vec![match values.facts().all_distinct {
                true => child.distinct(),
                false => child,
            }],
            ..Proposal::leaf(self, 0)
        });
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        values: Values<'_>,
        page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        let of_page = unsigned(&values.as_fixed()?);
        let child = page.child(0, of_page.as_values()?)?;
        Ok(Box::new(ZigzagPage { of_page, child }))
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
        let widths = [8, 4, 2, 1].map(ValueType::Fixed);
        widths.map(|it| Sample::any(it, &[])).into()
    }
}

/// The values as unsigned numbers: 0, -1, 1, -2, 2 and so on are 0, 1, 2, 3, 4.
fn unsigned(values: &FixedSlice<'_>) -> OwnedValues {
    let mut bytes = AlignedBuf::zeroed(values.bytes().len());
    macro_rules! fold {
        ($signed:ty) => {
            let to = bytes.as_chunks_mut().0.iter_mut();
            for (to, value) in to.zip(values.bytes().as_chunks().0) {
                let signed = <$signed>::from_le_bytes(*value);
                // All bits set for a negative number.
                let sign = signed >> (<$signed>::BITS - 1);
                *to = (signed << 1 ^ sign).to_le_bytes();
            }
        };
    }
    match values.width() {
        1 => {
            fold!(i8);
        }
        2 => {
            fold!(i16);
        }
        4 => {
            fold!(i32);
        }
        _ => {
            fold!(i64);
        }
    }
    OwnedValues::Fixed {
        bytes,
        width: values.width(),
        len: values.len(),
    }
}

struct ZigzagPage {
    /// All values of the page as unsigned numbers.
    of_page: OwnedValues,
    child: Box<dyn PageEncoder>,
}

impl PageEncoder for ZigzagPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let of_block = unsigned(&block.values().as_fixed()?);
        let of_block = block.derived(self.of_page.as_values()?, of_block.as_values()?)?;
        self.child.encode(of_block, out)
    }
}
