//! Linear: a straight line through the values of a unit, and how far each value is from it.
//!
//! Source: the idea of "LeCo: Lightweight Compression via Learning Serial Correlations" (SIGMOD 2024), with one line
//! per unit and without its search for the best partition.
//!
//! # Layout (little-endian; `n` values of 8 bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 8 | `first` | where the line starts; the unit of no values starts with it, too |
//! | 8 | 8 | `slope` | how much the line rises per value, in parts of 2^32, two's complement |
//! | 16 | the rest | `distances` | the child's unit of `n` values of 8 bytes: value less the line, modulo 2^64 |
//!
//! The line at value `i` is `first + floor(i * slope / 2^32)`, modulo 2^64. The node has no parameters and one child.
//!
//! # What this crate does not do
//! Values of other widths, several lines per unit.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::boxed::Box;

use tarsia_codec::toolbox::{ByteReader, children_of};
use tarsia_codec::{
    Children, Decoder, Encoding, Node, NodeSpec, Output, Result, Scratch, Selection, SharedBuffer,
    Tree, Unit, ValueType, Version,
};

#[cfg(feature = "encode")]
mod encode;

/// The id of this encoding in files.
pub const ID: &str = "org.example.linear";

/// The version of the layout.
pub const VERSION: Version = Version::new(1, 0);

const VALUE: ValueType = ValueType::Fixed(8);
#[cfg(feature = "encode")]
const HEADER_BYTES: usize = 16;

/// The tree `linear(distances)`.
pub fn tree(distances: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], alloc::vec![distances])
}

/// The encoding, for a [`tarsia_codec::Registry`].
pub static LINEAR: Linear = Linear;

/// The type of [`LINEAR`].
#[derive(Debug, Clone, Copy)]
pub struct Linear;

/// A straight line.
#[derive(Debug, Clone, Copy)]
struct Line {
    first: u64,
    slope: i64,
}

impl Line {
    fn at(self, i: u32) -> u64 {
        let rise = i128::from(i) * i128::from(self.slope) >> 32;
        self.first.wrapping_add(rise as u64)
    }
}

impl Encoding for Linear {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> Version {
        VERSION
    }

    fn check(&self, node: &Node<'_>) -> Result<NodeSpec> {
        node.without_params("linear.params_len")?;
        node.only(VALUE, "values other than numbers of 8 bytes in linear")?;
        Ok(NodeSpec::with_children(&[VALUE]))
    }

    fn init(
        &self,
        _node: &Node<'_>,
        children: Children,
        _shared: &[SharedBuffer],
    ) -> Result<Box<dyn Decoder>> {
        let [distances] = children_of(children)?;
        Ok(Box::new(LinearDecoder { distances }))
    }
}

struct LinearDecoder {
    distances: Box<dyn Decoder>,
}

impl Decoder for LinearDecoder {
    fn decode(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        scratch: &mut Scratch,
        out: Output<'_>,
    ) -> Result<usize> {
        let n_selected = selection.check(unit.len)?;
        let to = out.into_fixed(8, n_selected)?;
        let mut reader = ByteReader::new(unit.bytes);
        let line = Line {
            first: reader.u64("linear.first")?,
            slope: reader.u64("linear.slope")? as i64,
        };
        let distances = Unit {
            bytes: reader.rest(),
            ..unit
        };
        // The distances lie where the values will be.
        self.distances
            .decode(distances, selection, scratch, Output::Fixed(&mut *to))?;
        let values = to.as_chunks_mut::<8>().0.iter_mut();
        for (i, value) in values.enumerate() {
            let place = match selection {
                Selection::All => i as u32,
                Selection::Range { start, .. } => start + i as u32,
                Selection::Indices(indices) => indices.get(i).copied().unwrap_or_default(),
            };
            *value = line
                .at(place)
                .wrapping_add(u64::from_le_bytes(*value))
                .to_le_bytes();
        }
        Ok(0)
    }
}
