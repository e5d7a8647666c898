//! The decoder: integers to numbers in the output itself, then the exceptions.

use alloc::boxed::Box;

use tarsia_codec::toolbox::children_of;
use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Alp;
use crate::layout::{ID, Scale, UnitParts, VERSION, parse_scale};

impl Encoding for Alp {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        parse_scale(node)?;
        Ok(NodeSpec::with_children(&[node.value_type]))
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [integers] = children_of(children)?;
        Ok(Box::new(AlpDecoder {
            scale: parse_scale(node)?,
            value_bytes: node.value_type.fixed_bytes().unwrap_or_default(),
            integers,
        }))
    }
}

struct AlpDecoder {
    scale: Scale,
    value_bytes: usize,
    integers: Box<dyn Decoder>,
}

impl Decoder for AlpDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let width = self.value_bytes;
        let to = out.into_fixed(width, n_selected)?;
        let parts = UnitParts::parse(&unit, width)?;
        let integers = Output::Fixed(&mut *to);
        self.integers
            .decode(parts.integers, selection, scratch, integers)?;
        match width {
            4 => narrow_numbers(to, self.scale),
            _ => wide_numbers(to, self.scale),
        }
        if !parts.exceptions.positions.is_empty() {
            patch(&parts, width, selection, to)?;
        }
        Ok(0)
    }
}

fn wide_numbers(values: &mut [u8], scale: Scale) {
    let (values, _) = values.as_chunks_mut();
    for value in values {
        *value = scale.wide(u64::from_le_bytes(*value)).to_le_bytes();
    }
}

fn narrow_numbers(values: &mut [u8], scale: Scale) {
    let (values, _) = values.as_chunks_mut();
    for value in values {
        *value = scale.narrow(u32::from_le_bytes(*value)).to_le_bytes();
    }
}

/// Writes the exceptions among the selected values.
fn patch(
    parts: &UnitParts<'_>,
    width: usize,
    selection: Selection<'_>,
    to: &mut [u8],
) -> Result<()> {
    let exception = |i: usize| parts.exceptions.values.get(i * width..(i + 1) * width);
    let mut write = |place: usize, i: usize| {
        let value = to.get_mut(place * width..(place + 1) * width);
        match (value, exception(i)) {
            (Some(to), Some(exception)) => {
                to.copy_from_slice(exception);
                Ok(())
            }
            _ => Err(misfit()),
        }
    };
    let (start, end) = match selection {
        Selection::All => (0, parts.integers.len),
        Selection::Range { start, len } => (start, start + len),
        Selection::Indices(indices) => {
            for (place, index) in indices.iter().enumerate() {
                let i = parts.exceptions.positions.n_before(*index);
                if parts.exceptions.positions.get(i) == Some(*index) {
                    write(place, i)?;
                }
            }
            return Ok(());
        }
    };
    for i in parts.exceptions.positions.n_before(start)..parts.exceptions.positions.n_before(end) {
        let position = parts.exceptions.positions.get(i).ok_or_else(misfit)?;
        write((position - start) as usize, i)?;
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::invalid("the output is not sized for these fixed-width values")
}
