//! Sizes and checks that decoder and encoder share.

use tarsia_codec::{Error, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.constant";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `constant`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Bytes of the value; `None` for byte strings, whose length is that of the unit.
pub(crate) fn value_bytes(value_type: ValueType) -> Option<u64> {
    match value_type {
        ValueType::Bits => Some(1),
        ValueType::Fixed(width) => Some(width.into()),
        ValueType::Bytes => None,
    }
}

/// Refuses parameters.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.value_type.validate()?;
    node.without_params("constant.params_len")
}

/// The bytes of the value, which are all bytes of the unit; empty if there are no values.
pub(crate) fn parse<'a>(unit: &Unit<'a>, value_type: ValueType) -> Result<&'a [u8]> {
    let needed_bytes = match value_bytes(value_type) {
        _ if unit.len == 0 => 0,
        Some(needed_bytes) => needed_bytes,
        None => {
            let have_bytes = unit.bytes.len() as u64;
            let all_bytes = have_bytes.saturating_mul(unit.len.into());
            if all_bytes != u64::from(unit.decoded_bytes) {
                let allowed = "decoded bytes / number of values";
                return Err(Error::corrupt("constant.value", 0, have_bytes, allowed));
            }
            have_bytes
        }
    };
    let value = unit.exact(needed_bytes, "constant.value")?;
    if value_type == ValueType::Bytes && unit.len == 0 && unit.decoded_bytes != 0 {
        return Err(Error::corrupt(
            "constant.value",
            0,
            unit.decoded_bytes,
            "no decoded bytes where there are no values",
        ));
    }
    match value.first() {
        Some(bit) if value_type == ValueType::Bits && *bit > 1 => {
            Err(Error::corrupt("constant.value", 0, *bit, "0 or 1"))
        }
        _ => Ok(value),
    }
}
