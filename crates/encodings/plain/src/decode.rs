//! The decoder.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    ChildTypes, Children, Decoder, Encoding, EraseFit, Error, Features, Node, Output, Result,
    Scratch, Selection, Shared, Unit, ValueType, Version,
};

use crate::Plain;
use crate::copy::{copy_bits, gather, gather_bits};
use crate::layout::{self, ID, VERSION};

impl Encoding for Plain {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn child_types(&self, node: &Node<'_>) -> Result<ChildTypes> {
        layout::check_node(node)?;
        Ok(Vec::new())
    }

    fn check(&self, node: &Node<'_>) -> Result<Features> {
        layout::check_node(node)?;
        Ok(Features::POINT | Features::RANGE)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        EraseFit::Always
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: Shared<'_>,
    ) -> Result<Box<dyn Decoder>> {
        layout::check_node(node)?;
        if !children.is_empty() {
            return Err(Error::invalid("plain has no children"));
        }
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
        let values = layout::exact_bytes(&unit, ValueType::Fixed(self.width))?;
        let width = self.width as usize;
        let to = out.into_fixed(width, n_selected)?;
        // No product below overflows: the unit holds `len` values of this width.
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

    // Kernels are given whole blocks, and are to be small.
    #[cfg(not(target_arch = "wasm32"))]
    fn reach(
        &self,
        unit: Unit<'_>,
        _front: usize,
        range: core::ops::Range<u32>,
        _scratch: &mut Scratch,
    ) -> Result<tarsia_codec::Reach> {
        use tarsia_codec::Reach;

        Selection::from(&range).check(unit.len)?;
        layout::exact_bytes(&unit, ValueType::Fixed(self.width))?;
        // Inside the unit, which holds `len` values of this width.
        let place = |value: u32| value as usize * self.width as usize;
        Ok(Reach::bytes(place(range.start)..place(range.end)))
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
        let n_selected = selection.check(unit.len)?;
        let bits = layout::exact_bits(&unit)?;
        let (to, offset) = out.into_bits(n_selected)?;
        match selection {
            Selection::All => copy_bits(bits, to, offset)?,
            Selection::Range { start, .. } => {
                let start = start as usize;
                copy_bits(bits.slice(start..start + n_selected), to, offset)?;
            }
            Selection::Indices(indices) => gather_bits(bits, indices, to, offset),
        }
        Ok(0)
    }
}
