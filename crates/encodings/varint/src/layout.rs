//! Fields and checks that decoder and encoder share.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.varint";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Values of a group. The last group of a unit may have fewer.
pub const GROUP_VALUES: usize = 256;

/// Bytes of the end of a group.
pub(crate) const END_BYTES: usize = 4;

/// Set in all bytes of a value but the last.
pub(crate) const MORE: u8 = 0x80;

/// The tree `varint`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Bytes of a value. Refuses parameters, and values that are not numbers of 2, 4 or 8 bytes.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.without_params("varint.params_len")?;
    match node.value_type {
        ValueType::Fixed(width @ (2 | 4 | 8)) => Ok(width as usize),
        _ => Err(Error::unsupported(
            "values other than numbers of 2, 4 or 8 bytes in tarsia.varint",
        )),
    }
}

/// The most bytes of a value of `width` bytes, seven bits in each.
pub(crate) const fn encoded_bytes_max(width: usize) -> usize {
    (8 * width).div_ceil(7)
}

/// Bytes of the ends of all groups.
pub(crate) fn ends_bytes(n_values: u32) -> usize {
    (n_values as usize)
        .div_ceil(GROUP_VALUES)
        .saturating_mul(END_BYTES)
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// For each group where it ends in `values`, little-endian.
    ends: &'a [[u8; END_BYTES]],
    /// The values of all groups.
    pub(crate) values: &'a [u8],
}

impl<'a> UnitParts<'a> {
    /// Checks that the last group ends where the unit does.
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let ends = reader.take(ends_bytes(unit.len), "varint.ends")?;
        let values_at = reader.position();
        let parts = Self {
            ends: ends.as_chunks().0,
            values: reader.rest(),
        };
        let (found, end) = (parts.values.len(), parts.end_of(parts.ends.len()));
        if found < end {
            let needed = values_at.saturating_add(end);
            return Err(Error::truncated("varint.values", needed, unit.bytes.len()));
        }
        if found > end {
            let allowed = "no bytes after the last value";
            let (at, more) = (values_at + end, found - end);
            return Err(Error::corrupt("varint.values", at, more, allowed));
        }
        Ok(parts)
    }

    /// Where the first `n_groups` groups end in `values`.
    fn end_of(&self, n_groups: usize) -> usize {
        let end = n_groups.checked_sub(1).and_then(|last| self.ends.get(last));
        end.map_or(0, |end| u32::from_le_bytes(*end) as usize)
    }

    /// The values of a group.
    pub(crate) fn group(&self, number: usize) -> Result<Group<'a>> {
        let (start, end) = (self.end_of(number), self.end_of(number + 1));
        match self.values.get(start..end) {
            Some(bytes) => Ok(Group {
                number,
                bytes,
                end,
                at: self.ends.len() * END_BYTES + start,
            }),
            None => {
                let allowed = "ends that do not fall, none beyond the values";
                Err(Error::corrupt(
                    "varint.ends",
                    number * END_BYTES,
                    end,
                    allowed,
                ))
            }
        }
    }
}

/// The bytes of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    number: usize,
    pub(crate) bytes: &'a [u8],
    end: usize,
    /// Where they start in the unit.
    pub(crate) at: usize,
}

impl Group<'_> {
    /// The error for a group whose last value does not end where the group does.
    #[cold]
    pub(crate) fn bad_end(&self) -> Error {
        let allowed = "the end of the group's last value";
        Error::corrupt("varint.ends", self.number * END_BYTES, self.end, allowed)
    }
}
