//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    Error, Node, NodeSpec, Result, SharedKind, SharedSpec, Tree, Unit, ValueType, Version,
};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.bins";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes in front of the numbers.
pub(crate) const HEADER_BYTES: usize = 4;

/// The most bits of the number of a bin.
pub const NUMBER_BITS_MAX: u8 = 8;

/// The most bins of a page.
pub(crate) const BINS_MAX: usize = 1 << NUMBER_BITS_MAX;

/// The type of the child `numbers`.
pub(crate) const NUMBERS_TYPE: ValueType = ValueType::Fixed(1);

/// The tree `bins(numbers)` with its table in shared buffer 0, for at most `2^number_bits` bins. The child encodes
/// values of 1 byte, each below that.
///
/// Bins are chosen for numbers that take `number_bits` each, or, with [`NUMBER_BITS_MAX`], for a child that stores
/// frequent ones in fewer.
pub fn tree(number_bits: u8, numbers: Tree) -> Tree {
    Tree::node(ID, VERSION, &[number_bits], vec![numbers]).with_shared(&[0])
}

/// Checks a node and returns its needs. Refuses parameters that no writer writes, and values that are not numbers of 1,
/// 2, 4 or 8 bytes.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    number_bits(node)?;
    let table = SharedSpec {
        kind: SharedKind::SymbolTable,
        value_type: ValueType::Fixed(value_bytes(node)? as u32 + 1),
    };
    Ok(NodeSpec::with_children(&[NUMBERS_TYPE]).with_shared(&[table]))
}

/// The node's parameter.
pub(crate) fn number_bits(node: &Node<'_>) -> Result<u8> {
    let mut reader = ByteReader::new(node.params);
    let found = reader.u8("bins.number_bits")?;
    reader.finish("bins.params")?;
    match (1..=NUMBER_BITS_MAX).contains(&found) {
        true => Ok(found),
        false => Err(Error::corrupt("bins.number_bits", 0, found, "1 to 8")),
    }
}

/// The most bins of a node.
pub(crate) fn bins_max(node: &Node<'_>) -> Result<usize> {
    Ok(1 << number_bits(node)?)
}

/// Bytes of a value.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.bins")
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The unit of the child `numbers`.
    pub(crate) numbers: Unit<'a>,
    /// The bits of all offsets.
    pub(crate) offsets: &'a [u8],
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let numbers_len = reader.u32("bins.numbers_len")?;
        let numbers_len = usize::try_from(numbers_len).unwrap_or(usize::MAX);
        let numbers = Unit {
            bytes: reader.take(numbers_len, "bins.numbers")?,
            len: unit.len,
            decoded_bytes: unit.len,
        };
        Ok(Self {
            numbers,
            offsets: reader.rest(),
        })
    }

    /// Where the offsets lie in the unit.
    pub(crate) fn offsets_at(&self) -> usize {
        HEADER_BYTES + self.numbers.bytes.len()
    }
}
