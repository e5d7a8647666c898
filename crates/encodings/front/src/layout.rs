//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.front";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Strings of a group. The first of each group is stored whole, so that a decoder can start there.
pub(crate) const GROUP: usize = 16;

/// Bytes in front of the prefixes.
pub(crate) const HEADER_BYTES: usize = 8;

/// Where `suffix_bytes` is.
pub(crate) const SUFFIX_BYTES_AT: usize = 4;

/// Bytes of one prefix's length.
pub(crate) const PREFIX_BYTES: usize = 4;

/// The type of the child `prefixes`.
pub(crate) const PREFIXES_TYPE: ValueType = ValueType::Fixed(PREFIX_BYTES as u32);

/// The tree `front(prefixes, suffixes)`: `prefixes` encodes numbers of 4 bytes, `suffixes` byte strings.
pub fn tree(prefixes: Tree, suffixes: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![prefixes, suffixes])
}

/// Checks a node and returns its needs. Refuses parameters, and values that are not byte strings.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    node.without_params("front.params_len")?;
    node.only(
        ValueType::Bytes,
        "values other than byte strings in tarsia.front",
    )?;
    Ok(NodeSpec::with_children(&[PREFIXES_TYPE, ValueType::Bytes]))
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The unit of the child `prefixes`.
    pub(crate) prefixes: Unit<'a>,
    /// The unit of the child `suffixes`.
    pub(crate) suffixes: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let prefixes_len = reader.u32("front.prefixes_len")?;
        let suffix_bytes = reader.u32("front.suffix_bytes")?;
        if suffix_bytes > unit.decoded_bytes {
            let (field, allowed) = ("front.suffix_bytes", "at most the unit's decoded bytes");
            return Err(Error::corrupt(
                field,
                SUFFIX_BYTES_AT,
                suffix_bytes,
                allowed,
            ));
        }
        let prefixes_len = usize::try_from(prefixes_len).unwrap_or(usize::MAX);
        Ok(Self {
            prefixes: Unit {
                bytes: reader.take(prefixes_len, "front.prefixes")?,
                len: unit.len,
                decoded_bytes: unit.len.saturating_mul(PREFIX_BYTES as u32),
            },
            suffixes: Unit {
                bytes: reader.rest(),
                len: unit.len,
                decoded_bytes: suffix_bytes,
            },
        })
    }

    /// The error for suffixes that do not decode to as many bytes as the header says.
    #[cold]
    pub(crate) fn bad_suffix_bytes(&self) -> Error {
        let (found, allowed) = (self.suffixes.decoded_bytes, "what the suffixes decode to");
        Error::corrupt("front.suffix_bytes", SUFFIX_BYTES_AT, found, allowed)
    }
}

/// The error for strings of `found` bytes in a unit that decodes to other than these.
#[cold]
pub(crate) fn bad_sum(found: u64) -> Error {
    let allowed = "prefixes that make up the unit's decoded bytes with the suffixes";
    Error::corrupt("front.prefixes", HEADER_BYTES, found, allowed)
}
