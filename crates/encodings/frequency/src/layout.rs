//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.frequency";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The most bytes of a value.
pub(crate) const WIDTH_MAX: u32 = 32;

/// Bytes before the frequent value.
#[cfg(feature = "encode")]
pub(crate) const HEADER_BYTES: usize = 8;

/// The tree `frequency(mask, exceptions)`: `mask` encodes bits, `exceptions` values of the node's own type.
pub fn tree(mask: Tree, exceptions: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![mask, exceptions])
}

/// Bytes of a value of the node, which has no parameters.
pub(crate) fn width(node: &Node<'_>) -> Result<usize> {
    let ValueType::Fixed(width @ 1..=WIDTH_MAX) = node.value_type else {
        let what = "values other than those of 1 to 32 bytes in tarsia.frequency";
        return Err(Error::unsupported(what));
    };
    ByteReader::new(node.params).finish("frequency.params")?;
    Ok(width as usize)
}

/// Checks a node and returns its needs.
pub(crate) fn spec(node: &Node<'_>) -> Result<NodeSpec> {
    width(node)?;
    Ok(NodeSpec::with_children(&[ValueType::Bits, node.value_type]))
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The frequent value.
    pub(crate) top: &'a [u8],
    /// The child's unit of one bit per value.
    pub(crate) mask: Unit<'a>,
    /// The child's unit of the values whose bit is set.
    pub(crate) exceptions: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, width: usize) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let n_exceptions = reader.u32("frequency.n_exceptions")?;
        let mask_len = reader.u32("frequency.mask_len")?;
        if n_exceptions > unit.len {
            return Err(bad_count(n_exceptions, "at most the number of values"));
        }
        let mask_len = usize::try_from(mask_len).unwrap_or(usize::MAX);
        Ok(Self {
            top: reader.take(width, "frequency.top")?,
            mask: Unit {
                bytes: reader.take(mask_len, "frequency.mask")?,
                len: unit.len,
                decoded_bytes: unit.len.div_ceil(8),
            },
            exceptions: Unit {
                bytes: reader.rest(),
                len: n_exceptions,
                decoded_bytes: n_exceptions.saturating_mul(width as u32),
            },
        })
    }
}

#[cold]
#[inline(never)]
pub(crate) fn bad_count(found: u32, allowed: &'static str) -> Error {
    Error::corrupt("frequency.n_exceptions", 0, found, allowed)
}
