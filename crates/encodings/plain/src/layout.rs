//! Sizes and checks that decoder and encoder share.

use tarsia_codec::{BitSlice, Error, ErrorKind, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.plain";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `plain`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Bytes of a unit of `n_values`; `None` for byte strings.
pub(crate) fn unit_bytes(value_type: ValueType, n_values: u64) -> Option<u64> {
    match value_type {
        ValueType::Bits => Some(n_values.div_ceil(8)),
        // The width is below 2^32 and so is the number of values in any unit.
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

/// The unit's values, which fill it exactly.
pub(crate) fn exact_bytes<'a>(unit: &Unit<'a>, value_type: ValueType) -> Result<&'a [u8]> {
    let have_bytes = unit.bytes.len() as u64;
    match unit_bytes(value_type, unit.len.into()) {
        Some(needed_bytes) if needed_bytes == have_bytes => Ok(unit.bytes),
        Some(needed_bytes) if needed_bytes < have_bytes => Err(Error::from(ErrorKind::Corrupt {
            field: "plain.values",
            at_byte: needed_bytes,
            found: have_bytes - needed_bytes,
            allowed: "no bytes after the last value",
        })),
        needed_bytes => Err(Error::from(ErrorKind::Truncated {
            field: "plain.values",
            needed_bytes: needed_bytes.unwrap_or(u64::MAX),
            have_bytes,
        })),
    }
}

/// The unit's bits; spare ones are zero.
pub(crate) fn exact_bits<'a>(unit: &Unit<'a>) -> Result<BitSlice<'a>> {
    let bytes = exact_bytes(unit, ValueType::Bits)?;
    let n_used = unit.len % 8;
    match bytes.last() {
        Some(last) if n_used != 0 && last >> n_used != 0 => Err(Error::corrupt(
            "plain.spare_bits",
            bytes.len() - 1,
            last >> n_used,
            "zero",
        )),
        _ => BitSlice::new(bytes, 0, unit.len as usize),
    }
}
