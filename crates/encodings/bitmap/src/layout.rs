//! Sizes and checks that decoder and encoder share.

use tarsia_codec::{BitSlice, Error, ErrorKind, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.bitmap";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `bitmap`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Bytes of a unit of `n_values`.
pub(crate) fn unit_bytes(n_values: u64) -> u64 {
    n_values.div_ceil(8)
}

/// Refuses parameters and values that are not bits.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.without_params("bitmap.params_len")?;
    node.only(ValueType::Bits, "values other than bits in tarsia.bitmap")
}

/// The unit's bits, which fill it exactly; spare ones are zero.
pub(crate) fn parse<'a>(unit: &Unit<'a>) -> Result<BitSlice<'a>> {
    let needed_bytes = unit_bytes(unit.len.into());
    let have_bytes = unit.bytes.len() as u64;
    if have_bytes < needed_bytes {
        return Err(Error::from(ErrorKind::Truncated {
            field: "bitmap.bits",
            needed_bytes,
            have_bytes,
        }));
    }
    if have_bytes > needed_bytes {
        return Err(Error::from(ErrorKind::Corrupt {
            field: "bitmap.bits",
            at_byte: needed_bytes,
            found: have_bytes - needed_bytes,
            allowed: "no bytes after the last value",
        }));
    }
    let n_used = unit.len % 8;
    match unit.bytes.last() {
        Some(last) if n_used != 0 && last >> n_used != 0 => Err(Error::corrupt(
            "bitmap.spare_bits",
            unit.bytes.len() - 1,
            last >> n_used,
            "zero",
        )),
        _ => BitSlice::new(unit.bytes, 0, unit.len as usize),
    }
}
