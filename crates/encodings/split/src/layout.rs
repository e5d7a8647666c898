//! Fields and checks that decoder and encoder share.

use alloc::vec::Vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.split";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes of the widest value.
pub(crate) const WIDTH_MAX: u32 = 32;

/// The most parts of a value.
pub(crate) const PARTS_MAX: usize = 16;

/// Bytes of the length of a part's unit.
#[cfg(feature = "encode")]
pub(crate) const LEN_BYTES: usize = size_of::<u32>();

/// The tree `split(parts..)`: part `i` encodes values of `widths[i]` bytes. There is a tree for each width, and all
/// widths together are the bytes of a value.
pub fn tree(widths: &[u8], parts: Vec<Tree>) -> Tree {
    Tree::node(ID, VERSION, widths, parts)
}

/// The bytes of each part of a value, lowest bytes first.
pub(crate) fn widths<'a>(node: &Node<'a>) -> Result<&'a [u8]> {
    let width = match node.value_type {
        ValueType::Fixed(width) if (2..=WIDTH_MAX).contains(&width) => width,
        _ => {
            let what = "values other than of 2 to 32 bytes in tarsia.split";
            return Err(Error::unsupported(what));
        }
    };
    let widths = node.params;
    let n_parts = widths.len();
    if !(2..=PARTS_MAX).contains(&widths.len()) {
        return Err(Error::corrupt(
            "split.n_parts",
            0,
            n_parts as u64,
            "2 to 16",
        ));
    }
    let sum: u32 = widths.iter().map(|width| u32::from(*width)).sum();
    if let Some(at) = widths.iter().position(|width| *width == 0) {
        let allowed = "at least 1";
        return Err(Error::corrupt("split.width", at, 0u8, allowed));
    }
    match sum == width {
        true => Ok(widths),
        false => Err(Error::corrupt(
            "split.width",
            n_parts,
            sum,
            "widths whose sum is the bytes of a value",
        )),
    }
}

/// Checks a node and returns its needs.
pub(crate) fn spec(node: &Node<'_>) -> Result<NodeSpec> {
    let widths = widths(node)?.iter();
    let children: Vec<_> = widths
        .map(|width| ValueType::Fixed((*width).into()))
        .collect();
    Ok(NodeSpec::with_children(&children))
}

/// The units of the parts of a unit, whose widths are given; there are as many as widths, and behind them none.
pub(crate) fn parse<'a>(unit: &Unit<'a>, widths: &[u8]) -> Result<[Unit<'a>; PARTS_MAX]> {
    let mut reader = ByteReader::new(unit.bytes);
    let mut lens = [0; PARTS_MAX];
    let n_lens = widths.len().saturating_sub(1);
    for len in lens.iter_mut().take(n_lens) {
        *len = reader.u32("split.part_len")?;
    }
    let none = Unit {
        bytes: &[],
        len: 0,
        decoded_bytes: 0,
    };
    let mut units = [none; PARTS_MAX];
    for (i, ((part, width), len)) in units.iter_mut().zip(widths).zip(lens).enumerate() {
        let bytes = match i < n_lens {
            true => reader.take(usize::try_from(len).unwrap_or(usize::MAX), "split.part")?,
            false => reader.rest(),
        };
        *part = Unit {
            bytes,
            len: unit.len,
            decoded_bytes: unit.len.saturating_mul((*width).into()),
        };
    }
    Ok(units)
}
