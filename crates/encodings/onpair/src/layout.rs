//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    Error, Node, NodeSpec, Result, SharedKind, SharedSpec, Tree, Unit, ValueType, Version,
};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.onpair";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes in front of the counts.
pub(crate) const HEADER_BYTES: usize = 8;

/// Bytes of a count.
pub(crate) const COUNT_BYTES: usize = 4;

/// Bytes of a code.
pub(crate) const CODE_BYTES: usize = 2;

/// The longest token, in bytes.
pub(crate) const TOKEN_BYTES_MAX: usize = 16;

/// The most tokens that codes tell apart.
pub(crate) const TOKENS_MAX: usize = 1 << 16;

/// The type of the child `counts`.
pub(crate) const COUNTS_TYPE: ValueType = ValueType::Fixed(COUNT_BYTES as u32);

/// The type of the child `codes`.
pub(crate) const CODES_TYPE: ValueType = ValueType::Fixed(CODE_BYTES as u32);

/// The tree `onpair(counts, codes)` with its tokens in shared buffer 0. `counts` encodes values of 4 bytes, `codes`
/// values of 2 bytes.
pub fn tree(counts: Tree, codes: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![counts, codes]).with_shared(&[0])
}

/// Checks a node and returns its needs. Refuses parameters and values that are not byte strings.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    node.without_params("onpair.params_len")?;
    node.only(
        ValueType::Bytes,
        "values other than byte strings in tarsia.onpair",
    )?;
    let tokens = SharedSpec {
        kind: SharedKind::TokenDictionary,
        value_type: ValueType::Bytes,
    };
    Ok(NodeSpec::with_children(&[COUNTS_TYPE, CODES_TYPE]).with_shared(&[tokens]))
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The unit of the child `counts`.
    pub(crate) counts: Unit<'a>,
    /// The unit of the child `codes`.
    pub(crate) codes: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let n_codes = reader.u32("onpair.n_codes")?;
        // A code stands for at least one byte. So the codes of a unit are no more than what it decodes to.
        if n_codes > unit.decoded_bytes {
            let allowed = "at most the unit's decoded bytes";
            return Err(Error::corrupt("onpair.n_codes", 0, n_codes, allowed));
        }
        let counts_len = reader.u32("onpair.counts_len")?;
        let counts_len = usize::try_from(counts_len).unwrap_or(usize::MAX);
        let counts = reader.take(counts_len, "onpair.counts")?;
        let child = |bytes, len: u32, width: usize| Unit {
            bytes,
            len,
            decoded_bytes: len.saturating_mul(width as u32),
        };
        Ok(Self {
            counts: child(counts, unit.len, COUNT_BYTES),
            codes: child(reader.rest(), n_codes, CODE_BYTES),
        })
    }

    /// The error for counts whose sum is `found`.
    #[cold]
    pub(crate) fn bad_counts(found: u64) -> Error {
        let allowed = "a sum equal to the number of codes";
        Error::corrupt("onpair.counts", HEADER_BYTES, found, allowed)
    }
}
