//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.alprd";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes of a left part.
pub(crate) const LEFT_BYTES: usize = 2;

/// Bytes before the left parts.
#[cfg(feature = "encode")]
pub(crate) const LEFT_AT: usize = 4;

/// The tree `alprd(left, right)`: `left` encodes values of 2 bytes, the highest bits of numbers, and `right` the lowest
/// `right_bits` as values of the node's width. They are at least the node's bits less 16, and less than all.
pub fn tree(right_bits: u8, left: Tree, right: Tree) -> Tree {
    Tree::node(ID, VERSION, &[right_bits], vec![left, right])
}

/// The bits of right parts.
pub(crate) fn parse_right_bits(node: &Node<'_>) -> Result<u32> {
    let width = match node.value_type {
        ValueType::Fixed(width @ (4 | 8)) => width,
        _ => {
            let what = "values other than numbers of 4 or 8 bytes in tarsia.alprd";
            return Err(Error::unsupported(what));
        }
    };
    let mut reader = ByteReader::new(node.params);
    let right_bits = reader.u8("alprd.right_bits")?;
    reader.finish("alprd.params")?;
    let all = width * 8;
    match (all - 16..all).contains(&right_bits.into()) {
        true => Ok(right_bits.into()),
        false => Err(Error::corrupt(
            "alprd.right_bits",
            0,
            right_bits,
            "less than the bits of a value, by at most 16",
        )),
    }
}

/// Checks a node and returns its needs.
pub(crate) fn spec(node: &Node<'_>) -> Result<NodeSpec> {
    parse_right_bits(node)?;
    let left = ValueType::Fixed(LEFT_BYTES as u32);
    Ok(NodeSpec::with_children(&[left, node.value_type]))
}

/// A unit taken apart.
pub(crate) struct UnitParts<'a> {
    pub(crate) left: Unit<'a>,
    pub(crate) right: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let left_len = reader.u32("alprd.left_len")?;
        let left_len = usize::try_from(left_len).unwrap_or(usize::MAX);
        Ok(Self {
            left: Unit {
                bytes: reader.take(left_len, "alprd.left")?,
                len: unit.len,
                decoded_bytes: unit.len.saturating_mul(LEFT_BYTES as u32),
            },
            right: Unit {
                bytes: reader.rest(),
                ..*unit
            },
        })
    }
}
