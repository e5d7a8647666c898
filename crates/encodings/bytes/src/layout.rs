//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, ErrorKind, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.bytes";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes in front of the lengths.
pub(crate) const HEADER_BYTES: usize = 4;

/// Bytes of one length.
pub(crate) const LENGTH_BYTES: usize = 4;

/// The type of the child.
pub(crate) const LENGTHS_TYPE: ValueType = ValueType::Fixed(LENGTH_BYTES as u32);

/// The tree `bytes(lengths)`; `lengths` encodes fixed-width values of 4 bytes.
pub fn tree(lengths: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![lengths])
}

/// Refuses parameters and values that are not byte strings.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.without_params("bytes.params_len")?;
    node.only(
        ValueType::Bytes,
        "values other than byte strings in tarsia.bytes",
    )
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The child's unit.
    pub(crate) lengths: Unit<'a>,
    /// The bytes of all strings: as many as the unit decodes to.
    pub(crate) data: &'a [u8],
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let lengths_len = reader.u32("bytes.lengths_len")?;
        let lengths_len = usize::try_from(lengths_len).unwrap_or(usize::MAX);
        let lengths = reader.take(lengths_len, "bytes.lengths")?;
        let data_at = reader.position();
        let data = reader.rest();
        let decoded_bytes = u64::from(unit.decoded_bytes);
        if (data.len() as u64) < decoded_bytes {
            return Err(Error::from(ErrorKind::Truncated {
                field: "bytes.data",
                needed_bytes: data_at as u64 + decoded_bytes,
                have_bytes: unit.bytes.len() as u64,
            }));
        }
        if data.len() as u64 > decoded_bytes {
            return Err(Error::corrupt(
                "bytes.data",
                data_at,
                data.len(),
                "the unit's decoded bytes",
            ));
        }
        Ok(Self {
            lengths: Unit {
                bytes: lengths,
                len: unit.len,
                decoded_bytes: unit.len.saturating_mul(LENGTH_BYTES as u32),
            },
            data,
        })
    }

    /// The error for lengths whose sum is `found`.
    #[cold]
    pub(crate) fn bad_lengths(found: u64) -> Error {
        Error::corrupt(
            "bytes.lengths",
            HEADER_BYTES,
            found,
            "a sum equal to the bytes of data",
        )
    }
}
