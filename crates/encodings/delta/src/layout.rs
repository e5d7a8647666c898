//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Node, Result, Tree, Unit, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.delta";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Values of a group. The first is its base and stored unchanged.
pub const GROUP_VALUES: usize = 1024;

/// The tree `delta(differences)`; `differences` encodes values of the node's own type.
pub fn tree(differences: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![differences])
}

/// Bytes of a value.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.without_params("delta.params_len")?;
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.delta")
}

/// Number of groups of a unit.
pub(crate) fn n_groups(n_values: usize) -> usize {
    n_values.div_ceil(GROUP_VALUES)
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The first value of each group.
    pub(crate) bases: &'a [u8],
    /// The child's unit.
    pub(crate) differences: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, value_bytes: usize) -> Result<Self> {
        let n_groups = n_groups(unit.len as usize);
        let mut reader = ByteReader::new(unit.bytes);
        let bases = reader.take(n_groups.saturating_mul(value_bytes), "delta.bases")?;
        // Cannot underflow: a group has at least one value.
        let n_differences = unit.len - n_groups as u32;
        Ok(Self {
            bases,
            differences: Unit {
                bytes: reader.rest(),
                len: n_differences,
                decoded_bytes: n_differences.saturating_mul(value_bytes as u32),
            },
        })
    }
}
