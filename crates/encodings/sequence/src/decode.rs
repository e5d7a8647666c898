//! The decoder: adds the step again and again.

use alloc::boxed::Box;

use tarsia_bits::Word;
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Unit, Version,
};

use crate::Sequence;
use crate::layout::{self, ID, UnitParts, VERSION};

impl Encoding for Sequence {
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
        let width = layout::check_node(node)?;
        Ok(Box::new(UnitDecoder { width }))
    }
}

struct UnitDecoder {
    width: usize,
}

impl Decoder for UnitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        _scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let width = self.width;
        let to = out.into_fixed(width, n_selected)?;
        match (UnitParts::parse(&unit, width)?, selection) {
            (UnitParts::Sequence { first, step }, Selection::Indices(indices)) => {
                for (to, index) in to.chunks_exact_mut(width).zip(indices) {
                    tarsia_bits::write_value(at(first, step, *index), to);
                }
            }
            (UnitParts::Sequence { first, step }, selection) => {
                let start = match selection {
                    Selection::Range { start, .. } => start,
                    _ => 0,
                };
                fill(at(first, step, start), step, width, to);
            }
            (UnitParts::Plain(values), Selection::Indices(indices)) => {
                for (to, index) in to.chunks_exact_mut(width).zip(indices) {
                    let start = *index as usize * width;
                    if let Some(value) = values.get(start..start + width) {
                        to.copy_from_slice(value);
                    }
                }
            }
            (UnitParts::Plain(values), selection) => {
                let start = match selection {
                    Selection::Range { start, .. } => start as usize * width,
                    _ => 0,
                };
                if let Some(range) = values.get(start..start + to.len()) {
                    to.copy_from_slice(range);
                }
            }
        }
        Ok(0)
    }
}

/// Value `i` of a sequence, of which the lowest bytes count.
fn at(first: u64, step: u64, i: u32) -> u64 {
    first.wrapping_add(step.wrapping_mul(i.into()))
}

/// Fills `to` with the sequence from `first` on.
fn fill(first: u64, step: u64, width: usize, to: &mut [u8]) {
    match width {
        1 => fill_words::<u8>(first, step, to),
        2 => fill_words::<u16>(first, step, to),
        4 => fill_words::<u32>(first, step, to),
        _ => fill_words::<u64>(first, step, to),
    }
}

fn fill_words<T: Word>(first: u64, step: u64, to: &mut [u8]) {
    let (mut value, step) = (T::from_u64(first), T::from_u64(step));
    for to in to.chunks_exact_mut(T::BYTES) {
        value.write_le(to);
        value = value.wrapping_add(step);
    }
}
