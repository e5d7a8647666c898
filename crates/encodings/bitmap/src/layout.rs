//! Sizes and checks that decoder and encoder share.

use tarsia_codec::{Node, Result, Tree, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.bitmap";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `bitmap`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Bytes of a unit of `n_values`.
#[cfg(feature = "encode")]
pub(crate) fn unit_bytes(n_values: u64) -> u64 {
    n_values.div_ceil(8)
}

/// Refuses parameters and values that are not bits.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.without_params("bitmap.params_len")?;
    node.only(ValueType::Bits, "values other than bits in tarsia.bitmap")
}
