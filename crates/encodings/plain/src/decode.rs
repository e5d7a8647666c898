//! The decoder.

use alloc::boxed::Box;

use tarsia_codec::toolbox::decode_bits;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, ValueType, Version,
};

use crate::Plain;
use crate::gather::gather;
use crate::layout::{self, ID, VERSION};

impl Encoding for Plain {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::check_node(node)?;
        Ok(NodeSpec::LEAF)
    }

    fn init(
        &self,
        node: &Node<'_>,
        _children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        Ok(match node.value_type {
            ValueType::Fixed(width) => Box::new(FixedDecoder { width }),
            ValueType::Bits | ValueType::Bytes => Box::new(BitsDecoder),
        })
    }
}

struct FixedDecoder {
    width: u32,
}

impl Decoder for FixedDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let values = layout::fixed_values(&unit, self.width)?;
        let width = self.width as usize;
        let to = out.into_fixed(width, n_selected)?;
        // No product below overflows, because the unit holds `len` values of this width.
        match selection {
            Selection::All => to.copy_from_slice(values),
            Selection::Range { start, .. } => {
                let start = start as usize * width;
                if let Some(range) = values.get(start..start + to.len()) {
                    to.copy_from_slice(range);
                }
            }
            Selection::Indices(indices) => gather(values, width, indices, to),
        }
        Ok(0)
    }

    // Kernels get whole blocks and must be small.
    #[cfg(not(feature = "kernel"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        _front: usize,
        range: core::ops::Range<u32>,
        _scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        Selection::from(&range).check(unit.len)?;
        layout::fixed_values(&unit, self.width)?;
        // Cannot overflow: the place is inside the unit.
        let place = |value: u32| value as usize * self.width as usize;
        Ok(Reach::bytes(place(range.start)..place(range.end)))
    }

    #[cfg(not(feature = "kernel"))]
    fn filter(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        predicate: &tarsia_codec::Predicate<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<bool> {
        use tarsia_codec::toolbox::{BitsOut, test_values};
        use tarsia_codec::{FixedSlice, Values};

        let n_selected = selection.check(unit.len)?;
        let width = self.width as usize;
        let start = match selection {
            Selection::All => 0,
            Selection::Range { start, .. } => start as usize,
            Selection::Indices(_) => return Ok(false),
        };
        if !predicate.suits(ValueType::Fixed(self.width)) {
            return Ok(false);
        }
        let values = layout::fixed_values(&unit, self.width)?;
        // Cannot overflow: the place is inside the unit.
        let place = start * width..(start + n_selected) * width;
        let values = values.get(place).unwrap_or_default();
        let mut out = BitsOut::new(out, n_selected)?;
        let values = Values::Fixed(FixedSlice::new(values, width, n_selected)?);
        test_values(predicate, values, scratch, &mut out)?;
        Ok(true)
    }
}

struct BitsDecoder;

impl Decoder for BitsDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let bits = unit.bitmap("plain.values", "plain.spare_bits")?;
        decode_bits(bits, selection, out)
    }
}
