//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    Error, Node, NodeSpec, Result, SharedKind, SharedSpec, Tree, Unit, ValueType, Version,
};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.fsst";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes in front of the lengths.
pub(crate) const HEADER_BYTES: usize = 8;

/// Bytes of a length, and of a count.
pub(crate) const NUMBER_BYTES: usize = 4;

/// The longest symbol, in bytes.
pub(crate) const SYMBOL_BYTES_MAX: usize = 8;

/// The most symbols: one code is the escape.
pub(crate) const SYMBOLS_MAX: usize = 255;

/// The code behind which a byte stands for itself.
pub(crate) const ESCAPE: u8 = 255;

/// The type of the children `lengths` and `counts`.
pub(crate) const NUMBERS_TYPE: ValueType = ValueType::Fixed(NUMBER_BYTES as u32);

/// The tree `fsst(lengths, counts)` with its symbols in shared buffer 0. Both children encode values of 4 bytes.
pub fn tree(lengths: Tree, counts: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![lengths, counts]).with_shared(&[0])
}

/// Checks a node and returns its needs. Refuses parameters and values that are not byte strings.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    node.without_params("fsst.params_len")?;
    node.only(
        ValueType::Bytes,
        "values other than byte strings in tarsia.fsst",
    )?;
    // A code is the number of one symbol. So a symbol to which no value refers can be wiped, as a token can.
    let symbols = SharedSpec {
        kind: SharedKind::TokenDictionary,
        value_type: ValueType::Bytes,
    };
    Ok(NodeSpec::with_children(&[NUMBERS_TYPE, NUMBERS_TYPE]).with_shared(&[symbols]))
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The unit of the child `lengths`.
    pub(crate) lengths: Unit<'a>,
    /// The unit of the child `counts`.
    pub(crate) counts: Unit<'a>,
    /// The codes of all strings.
    pub(crate) codes: &'a [u8],
    /// The place of the codes in the unit.
    pub(crate) codes_at: usize,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let lengths_len = reader.u32("fsst.lengths_len")?;
        let counts_len = reader.u32("fsst.counts_len")?;
        let size = |bytes: u32| usize::try_from(bytes).unwrap_or(usize::MAX);
        let lengths = reader.take(size(lengths_len), "fsst.lengths")?;
        let counts = reader.take(size(counts_len), "fsst.counts")?;
        let child = |bytes| Unit {
            bytes,
            len: unit.len,
            decoded_bytes: unit.len.saturating_mul(NUMBER_BYTES as u32),
        };
        Ok(Self {
            lengths: child(lengths),
            counts: child(counts),
            codes: reader.rest(),
            codes_at: reader.position(),
        })
    }

    /// The error for lengths whose sum is `found`.
    #[cold]
    pub(crate) fn bad_lengths(found: u64) -> Error {
        let allowed = "a sum equal to the unit's decoded bytes";
        Error::corrupt("fsst.lengths", HEADER_BYTES, found, allowed)
    }

    /// The error for counts whose sum is `found`.
    #[cold]
    pub(crate) fn bad_counts(&self, found: u64) -> Error {
        let counts_at = HEADER_BYTES + self.lengths.bytes.len();
        let allowed = "a sum equal to the bytes of codes";
        Error::corrupt("fsst.counts", counts_at, found, allowed)
    }
}
