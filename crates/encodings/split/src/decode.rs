//! The decoder: decodes all parts, and interleaves neighbours until whole values are left.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tarsia_codec::{
    Children, Decoder, Encoding, Error, Node, NodeSpec, Output, Result, Scratch, Selection,
    SharedBuffer, Unit, Version,
};

use crate::Split;
use crate::layout::{self, ID, VERSION};

impl Encoding for Split {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        layout::spec(node)
    }

    fn init(
        &self,
        node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let widths = layout::widths(node)?.to_vec();
        match children.len() == widths.len() {
            true => Ok(Box::new(SplitDecoder {
                widths,
                parts: children,
            })),
            false => Err(Error::invalid("a node with another number of children")),
        }
    }
}

struct SplitDecoder {
    widths: Vec<u8>,
    parts: Children,
}

impl Decoder for SplitDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let units = layout::parse(&unit, &self.widths)?;
        let all = NeighbouringParts {
            decoders: &self.parts,
            widths: &self.widths,
            units: units.get(..self.parts.len()).unwrap_or_default(),
        };
        let to = out.into_fixed(all.width(), n_selected)?;
        all.decode(selection, n_selected, scratch, to)?;
        Ok(0)
    }
}

/// Some neighbouring parts of all values of a unit.
#[derive(Clone, Copy)]
struct NeighbouringParts<'a> {
    decoders: &'a [Box<dyn Decoder>],
    widths: &'a [u8],
    units: &'a [Unit<'a>],
}

impl NeighbouringParts<'_> {
    /// Bytes that they have of a value.
    fn width(&self) -> usize {
        self.widths.iter().map(|width| usize::from(*width)).sum()
    }

    /// Decodes them for the selected values, as neighbours, to `to`.
    fn decode(
        self,
        selection: Selection<'_>,
        n_selected: usize,
        scratch: &mut Scratch,
        to: &mut [u8],
    ) -> Result<()> {
        if let ([decoder], [unit]) = (self.decoders, self.units) {
            let out = Output::Fixed(to);
            return decoder.decode(*unit, selection, scratch, out).map(|_| ());
        }
        // Halves of equal width have the fastest loops.
        let (low, high) = self.halves();
        let (low_width, high_width) = (low.width(), high.width());
        let mut lows = scratch.take(n_selected * low_width);
        let mut highs = scratch.take(n_selected * high_width);
        let done = low
            .decode(selection, n_selected, scratch, &mut lows)
            .and_then(|()| high.decode(selection, n_selected, scratch, &mut highs));
        if done.is_ok() {
            interleave(&lows, low_width, &highs, high_width, to);
        }
        scratch.give(highs);
        scratch.give(lows);
        done
    }

    fn halves(&self) -> (Self, Self) {
        let middle = self.widths.len() / 2;
        let (low_decoders, high_decoders) = self.decoders.split_at(middle);
        let (low_widths, high_widths) = self.widths.split_at(middle);
        let (low_units, high_units) = self.units.split_at(middle);
        let of = |decoders, widths, units| Self {
            decoders,
            widths,
            units,
        };
        (
            of(low_decoders, low_widths, low_units),
            of(high_decoders, high_widths, high_units),
        )
    }
}

/// Writes values of `low_width` bytes of `low` followed by `high_width` bytes of `high`.
fn interleave(low: &[u8], low_width: usize, high: &[u8], high_width: usize, to: &mut [u8]) {
    match (low_width, high_width) {
        (1, 1) => interleave_equal::<1, 2>(low, high, to),
        (2, 2) => interleave_equal::<2, 4>(low, high, to),
        (4, 4) => interleave_equal::<4, 8>(low, high, to),
        (8, 8) => interleave_equal::<8, 16>(low, high, to),
        (16, 16) => interleave_equal::<16, 32>(low, high, to),
        _ => {
            let parts = low
                .chunks_exact(low_width)
                .zip(high.chunks_exact(high_width));
            for (to, (low, high)) in to.chunks_exact_mut(low_width + high_width).zip(parts) {
                let (to_low, to_high) = to.split_at_mut(low_width);
                to_low.copy_from_slice(low);
                to_high.copy_from_slice(high);
            }
        }
    }
}

/// Interleaves halves of `HALF` bytes of values of `BOTH` bytes.
fn interleave_equal<const HALF: usize, const BOTH: usize>(low: &[u8], high: &[u8], to: &mut [u8]) {
    let halves = low
        .as_chunks::<HALF>()
        .0
        .iter()
        .zip(high.as_chunks::<HALF>().0);
    for (to, (low, high)) in to.as_chunks_mut::<BOTH>().0.iter_mut().zip(halves) {
        let (to_low, to_high) = to.split_at_mut(HALF);
        to_low.copy_from_slice(low);
        to_high.copy_from_slice(high);
    }
}
