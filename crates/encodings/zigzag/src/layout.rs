//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::{Node, Result, Tree, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.zigzag";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `zigzag(values)`; `values` encodes values of the node's own type.
pub fn tree(values: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![values])
}

/// Bytes of a value. Refuses parameters, and values that are not numbers of 1, 2, 4 or 8 bytes.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.without_params("zigzag.params_len")?;
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.zigzag")
}
