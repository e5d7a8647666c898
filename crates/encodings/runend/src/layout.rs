//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.runend";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes of a run's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndBytes {
    /// For units of at most 65,536 values.
    Two,
    /// For all units.
    Four,
}

impl EndBytes {
    /// The number of bytes.
    pub fn bytes(self) -> u8 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// The fewest bytes for units of at most `unit_values`. The last end, the unit's length, is not stored.
    pub fn for_units_of(unit_values: usize) -> Self {
        match unit_values <= 1 << 16 {
            true => Self::Two,
            false => Self::Four,
        }
    }
}

/// The tree `runend(ends, values)`: `ends` encodes numbers of `end_bytes`, `values` those of the node's own type.
pub fn tree(end_bytes: EndBytes, ends: Tree, values: Tree) -> Tree {
    Tree::node(ID, VERSION, &[end_bytes.bytes()], vec![ends, values])
}

/// The node's parameter.
pub(crate) fn end_bytes(node: &Node<'_>) -> Result<EndBytes> {
    let mut reader = ByteReader::new(node.params);
    let end_bytes = match reader.u8("runend.end_bytes")? {
        2 => EndBytes::Two,
        4 => EndBytes::Four,
        found => return Err(Error::corrupt("runend.end_bytes", 0, found, "2 or 4")),
    };
    reader.finish("runend.params")?;
    Ok(end_bytes)
}

/// Checks a node and returns its needs.
pub(crate) fn spec(node: &Node<'_>) -> Result<NodeSpec> {
    let ends = ValueType::Fixed(end_bytes(node)?.bytes().into());
    Ok(NodeSpec::with_children(&[ends, node.value_type]))
}

/// Where `values_bytes` is, which only units of byte strings have.
pub(crate) const VALUES_BYTES_AT: usize = 8;

/// Bytes before the ends.
#[cfg(feature = "encode")]
pub(crate) fn header_bytes(value_type: ValueType) -> usize {
    match value_type {
        ValueType::Bytes => VALUES_BYTES_AT + 4,
        ValueType::Fixed(_) | ValueType::Bits => VALUES_BYTES_AT,
    }
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// The child's unit of all ends but the last.
    pub(crate) ends: Unit<'a>,
    /// The child's unit of one value per run.
    pub(crate) values: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(
        unit: &Unit<'a>,
        end_bytes: EndBytes,
        value_type: ValueType,
    ) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let n_runs = reader.u32("runend.n_runs")?;
        let ends_len = reader.u32("runend.ends_len")?;
        if n_runs > unit.len || (n_runs == 0) != (unit.len == 0) {
            let allowed = "1 ..= number of values, 0 without values";
            return Err(Error::corrupt("runend.n_runs", 0, n_runs, allowed));
        }
        let values_bytes = match value_type {
            ValueType::Bytes => {
                let found = reader.u32("runend.values_bytes")?;
                if found > unit.decoded_bytes {
                    let allowed = "at most the unit's decoded bytes";
                    let field = "runend.values_bytes";
                    return Err(Error::corrupt(field, VALUES_BYTES_AT, found, allowed));
                }
                found
            }
            ValueType::Fixed(width) => n_runs.saturating_mul(width),
            ValueType::Bits => n_runs.div_ceil(8),
        };
        let ends_len = usize::try_from(ends_len).unwrap_or(usize::MAX);
        let n_ends = n_runs.saturating_sub(1);
        Ok(Self {
            ends: Unit {
                bytes: reader.take(ends_len, "runend.ends")?,
                len: n_ends,
                decoded_bytes: n_ends.saturating_mul(end_bytes.bytes().into()),
            },
            values: Unit {
                bytes: reader.rest(),
                len: n_runs,
                decoded_bytes: values_bytes,
            },
        })
    }
}
