//! Fields and checks that decoder and encoder share.

use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.lz4";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The most bytes of a unit. Lengths in a block are sums of its bytes; for longer blocks they would not fit 32 bits.
pub const UNIT_BYTES_MAX: usize = 8 << 20;

/// The tree `lz4`, which has no children.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Checks a node and returns its needs. Refuses parameters, and values without a fixed width.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    value_bytes(node)?;
    Ok(NodeSpec::LEAF)
}

/// Bytes of a value, at least 1.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.without_params("lz4.params_len")?;
    match node.value_type {
        ValueType::Fixed(width @ 1..) => Ok(width as usize),
        _ => Err(Error::unsupported(
            "values without a fixed width of 1 byte or more in tarsia.lz4",
        )),
    }
}

/// Refuses a unit of more than [`UNIT_BYTES_MAX`].
pub(crate) fn check_unit(n_bytes: usize) -> Result<()> {
    let (n_bytes, max) = (n_bytes as u64, UNIT_BYTES_MAX as u64);
    match n_bytes <= max {
        true => Ok(()),
        false => Err(Error::limit("tarsia_lz4::UNIT_BYTES_MAX", n_bytes, max)),
    }
}
