//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.concat";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes in front of the lengths.
pub(crate) const HEADER_BYTES: usize = 4;

/// Bytes of one length.
pub(crate) const LENGTH_BYTES: usize = 4;

/// The type of the child `lengths`.
pub(crate) const LENGTHS_TYPE: ValueType = ValueType::Fixed(LENGTH_BYTES as u32);

/// The type of the child `data`.
pub(crate) const DATA_TYPE: ValueType = ValueType::Fixed(1);

/// The tree `concat(lengths, data)`: `lengths` encodes values of 4 bytes, `data` values of 1 byte.
pub fn tree(lengths: Tree, data: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![lengths, data])
}

/// Refuses parameters and values that are not byte strings.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.without_params("concat.params_len")?;
    node.only(
        ValueType::Bytes,
        "values other than byte strings in tarsia.concat",
    )
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The unit of the child `lengths`.
    pub(crate) lengths: Unit<'a>,
    /// The unit of the child `data`.
    pub(crate) data: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let lengths_len = reader.u32("concat.lengths_len")?;
        let lengths_len = usize::try_from(lengths_len).unwrap_or(usize::MAX);
        let lengths = reader.take(lengths_len, "concat.lengths")?;
        Ok(Self {
            lengths: Unit {
                bytes: lengths,
                len: unit.len,
                decoded_bytes: unit.len.saturating_mul(LENGTH_BYTES as u32),
            },
            data: Unit {
                bytes: reader.rest(),
                len: unit.decoded_bytes,
                decoded_bytes: unit.decoded_bytes,
            },
        })
    }
}

/// The error for lengths whose sum is `found`.
#[cold]
pub(crate) fn bad_lengths(found: u64) -> Error {
    let allowed = "a sum equal to the unit's decoded bytes";
    Error::corrupt("concat.lengths", HEADER_BYTES, found, allowed)
}
