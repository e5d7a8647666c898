//! Sizes and checks that decoder and encoder share.

use tarsia_codec::{Error, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.plain";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `plain`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Bytes of a unit of `n_values`; `None` for byte strings.
#[cfg(feature = "encode")]
pub(crate) fn unit_bytes(value_type: ValueType, n_values: u64) -> Option<u64> {
    match value_type {
        ValueType::Bits => Some(n_values.div_ceil(8)),
        // Saturates only for more values than any unit has.
        ValueType::Fixed(width) => Some(n_values.saturating_mul(width.into())),
        ValueType::Bytes => None,
    }
}

/// Refuses parameters and byte strings.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.without_params("plain.params_len")?;
    match node.value_type.validate()? {
        ValueType::Bits | ValueType::Fixed(_) => Ok(()),
        ValueType::Bytes => Err(Error::unsupported("byte strings in tarsia.plain")),
    }
}

/// The values of a unit of fixed-width values, which fill it exactly.
pub(crate) fn fixed_values<'a>(unit: &Unit<'a>, width: u32) -> Result<&'a [u8]> {
    // Both are below 2^32.
    unit.exact(u64::from(unit.len) * u64::from(width), "plain.values")
}
