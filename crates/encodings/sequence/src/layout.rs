//! Fields and checks that decoder and encoder share.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, Result, Tree, Unit, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.sequence";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The form of a unit that is a sequence.
pub(crate) const SEQUENCE: u8 = 0;

/// The form of a unit of other values: survivors of an erasure.
pub(crate) const PLAIN: u8 = 1;

/// Bytes of the form.
#[cfg(feature = "encode")]
pub(crate) const FORM_BYTES: usize = 1;

/// The tree `sequence`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// The bytes of a value. Refuses parameters, and values that are not numbers of 1, 2, 4 or 8 bytes.
pub(crate) fn check_node(node: &Node<'_>) -> Result<usize> {
    node.without_params("sequence.params_len")?;
    node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.sequence")
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UnitParts<'a> {
    /// Value `i` is `first + i * step`, modulo the numbers of its width.
    Sequence { first: u64, step: u64 },
    /// All values.
    Plain(&'a [u8]),
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, width: usize) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        match reader.u8("sequence.form")? {
            SEQUENCE => {
                let first = reader.take(width, "sequence.first")?;
                let step = reader.take(width, "sequence.step")?;
                reader.finish("sequence.step")?;
                let number = |bytes| tarsia_bits::read_value(bytes).unwrap_or_default();
                Ok(Self::Sequence {
                    first: number(first),
                    step: number(step),
                })
            }
            PLAIN => {
                let n_bytes = (unit.len as usize).saturating_mul(width);
                let values = reader.take(n_bytes, "sequence.values")?;
                reader.finish("sequence.values")?;
                Ok(Self::Plain(values))
            }
            other => Err(Error::corrupt("sequence.form", 0, other, "0 or 1")),
        }
    }
}
