//! The nodes below a node, as its record describes them.

use tarsia_codec::toolbox::ByteReader;

use crate::error::{Error, Result};
use crate::limits::{HEADER_BYTES, RECORD_HEADER_BYTES, U48_MAX};

/// Stands for descendants of 4 GiB or more. It is not a multiple of 8, so it cannot be a length.
pub(crate) const DESCENDANTS_LONG: u32 = u32::MAX;

const _: () = assert!(!DESCENDANTS_LONG.is_multiple_of(8));

/// The nodes below a node. The records of all descendants lie back to back, directly after the node's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildRange {
    /// Number of direct children.
    pub n_children: u32,
    /// Number of the descendants' first column in pre-order. A union's own column is not one of theirs.
    pub first_leaf: u32,
    /// Columns of the descendants.
    pub n_leaves: u32,
    /// Bytes of the records of all descendants: 0 for the root, `u32::MAX` for 4 GiB or more.
    pub descendants_bytes: u32,
    /// Offset of the first child's record; 0 where there is none.
    pub first_child_place: u64,
}

impl ChildRange {
    /// How the length of all descendants' records is stored.
    pub(crate) fn stored_bytes(bytes: u64) -> u32 {
        u32::try_from(bytes).unwrap_or(DESCENDANTS_LONG)
    }

    pub(crate) fn parse(reader: &mut ByteReader<'_>) -> Result<Self> {
        Ok(Self {
            n_children: reader.u32("record.n_children")?,
            first_leaf: reader.u32("record.first_leaf")?,
            n_leaves: reader.u32("record.n_leaves")?,
            descendants_bytes: reader.u32("record.descendants_length")?,
            first_child_place: reader.u64("record.first_child_place")?,
        })
    }

    /// `at` is where the children start in their record.
    pub(crate) fn check(&self, is_root: bool, at: usize) -> Result<()> {
        let place = self.first_child_place;
        let good = match self.n_children {
            0 => place == 0 && self.n_leaves == 0,
            _ => place >= HEADER_BYTES as u64 && place <= U48_MAX && place.is_multiple_of(8),
        };
        if !good {
            return Err(Error::corrupt(
                "record.first_child_place",
                at + 16,
                place,
                "an 8-aligned place, 0 without children",
            ));
        }
        if self.n_children == 0 && !is_root {
            return Err(Error::corrupt(
                "record.n_children",
                at,
                0_u32,
                "1 or more with flag 4, but for the root",
            ));
        }
        if self.first_leaf.checked_add(self.n_leaves).is_none() {
            return Err(Error::corrupt(
                "record.n_leaves",
                at + 8,
                self.n_leaves,
                "at most 2^32 leaves",
            ));
        }
        let bytes = self.descendants_bytes;
        let least = u64::from(self.n_children) * RECORD_HEADER_BYTES as u64;
        let good = match bytes {
            _ if is_root => bytes == 0,
            DESCENDANTS_LONG => true,
            _ => bytes.is_multiple_of(8) && u64::from(bytes) >= least,
        };
        if !good {
            return Err(Error::corrupt(
                "record.descendants_length",
                at + 12,
                bytes,
                "multiples of 8 from 24 per child, 0 for the root",
            ));
        }
        Ok(())
    }
}
