//! Fields and checks that decoder and encoder share.

use alloc::vec;
use core::ops::Range;

use tarsia_codec::{Error, Node, Result, Tree, ValueType, Version, limits};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.bitshuffle";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Values of a group. The last group of a unit may have fewer.
pub const GROUP_VALUES: usize = 1024;

/// Values of a row: those whose bits of one place are one byte of a plane.
pub(crate) const ROW_VALUES: usize = 8;

/// Rows of a group that is not the last one: the bytes of one of its planes.
pub(crate) const GROUP_ROWS: usize = GROUP_VALUES / ROW_VALUES;

/// The type of the child.
pub(crate) const PLANES_TYPE: ValueType = ValueType::Fixed(1);

/// The tree `bitshuffle(planes)`; `planes` encodes numbers of 1 byte.
pub fn tree(planes: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![planes])
}

/// Bytes of a value. Refuses parameters, and values that are not numbers of 1, 2, 4 or 8 bytes.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    node.without_params("bitshuffle.params_len")?;
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.bitshuffle")
}

/// The planes of a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planes {
    /// Values of the unit.
    pub(crate) n_values: usize,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
    /// Bytes of all planes.
    pub(crate) n_bytes: u32,
}

impl Planes {
    /// The planes of a unit of `n_values`. Refuses more bytes than a child holds.
    pub(crate) fn new(n_values: usize, value_bytes: usize) -> Result<Self> {
        let (n_bytes, max) = (
            planes_bytes(n_values as u64, value_bytes),
            limits::UNIT_VALUES_MAX,
        );
        match u32::try_from(n_bytes) {
            Ok(n_bytes) if n_bytes <= max => Ok(Self {
                n_values,
                value_bytes,
                n_bytes,
            }),
            _ => Err(Error::limit("UNIT_VALUES_MAX", n_bytes, max.into())),
        }
    }

    /// Planes of a group, of one byte for each of its rows.
    pub(crate) fn n_planes(&self) -> usize {
        8 * self.value_bytes
    }

    /// The values of a group.
    pub(crate) fn values_of(&self, group: usize) -> Range<usize> {
        let start = group * GROUP_VALUES;
        start..(start + GROUP_VALUES).min(self.n_values)
    }

    /// Where the planes of a group lie among the bytes of all planes. Every group before it is full.
    pub(crate) fn place_of(&self, group: usize) -> Range<usize> {
        let n_rows = self.values_of(group).len().div_ceil(ROW_VALUES);
        let start = group * GROUP_VALUES * self.value_bytes;
        start..start + n_rows * self.n_planes()
    }

    /// Where the planes of the groups that hold some of `values` lie.
    pub(crate) fn place_of_values(&self, values: &Range<u32>) -> Range<usize> {
        if values.is_empty() {
            return 0..0;
        }
        let first = values.start as usize / GROUP_VALUES;
        let last = (values.end as usize - 1) / GROUP_VALUES;
        self.place_of(first).start..self.place_of(last).end
    }
}

/// Bytes of all planes of `n_values`: of each group its values, the last ones filled up to a row.
pub(crate) fn planes_bytes(n_values: u64, value_bytes: usize) -> u64 {
    let row_bytes = (ROW_VALUES * value_bytes) as u64;
    n_values
        .div_ceil(ROW_VALUES as u64)
        .saturating_mul(row_bytes)
}
