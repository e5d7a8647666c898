//! Fields and checks that decoder and encoder share.

use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.zstd";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// RFC 8878, section 3.1.1.2.4: the most bytes of a block of a frame, stored and decoded.
pub(crate) const BLOCK_BYTES_MAX: usize = 128 << 10;

/// The tree `zstd`, which has no children.
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
    node.without_params("zstd.params_len")?;
    match node.value_type {
        ValueType::Fixed(width @ 1..) => Ok(width as usize),
        _ => Err(Error::unsupported(
            "values without a fixed width of 1 byte or more in tarsia.zstd",
        )),
    }
}
