//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::{Node, NodeSpec, Result, Tree, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.{{name}}";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `{{name}}(values)`; `values` encodes values of the node's type.
pub fn tree(values: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![values])
}

/// Checks a node and returns its needs. Refuses parameters, and values that are not numbers of 1, 2, 4 or 8 bytes.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    node.without_params("{{name}}.params_len")?;
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.{{name}}")?;
    Ok(NodeSpec::with_children(&[node.value_type]))
}
