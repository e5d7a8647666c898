//! Fields and checks that decoder and encoder share.

use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, Result, Tree, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.divisor";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The tree `divisor(quotients)` for values of `value_bytes` bytes: 1, 2, 4 or 8. `quotients` encodes values of the
/// same width.
pub fn tree(value_bytes: usize, divisor: u64, remainder: u64, quotients: Tree) -> Tree {
    let params = Params { divisor, remainder };
    Tree::node(ID, VERSION, &params.to_bytes(value_bytes), vec![quotients])
}

/// The parameters of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// At least 2.
    pub(crate) divisor: u64,
    /// Less than the divisor.
    pub(crate) remainder: u64,
}

impl Params {
    /// Parses the parameters of a node. Refuses values that are not numbers of 1, 2, 4 or 8 bytes.
    pub(crate) fn parse(node: &Node<'_>) -> Result<Self> {
        let width =
            node.number_bytes("values other than numbers of 1, 2, 4 or 8 bytes in tarsia.divisor")?;
        let mut reader = ByteReader::new(node.params);
        let divisor = reader.uint(width, "divisor.divisor")?;
        if divisor < 2 {
            return Err(Error::corrupt("divisor.divisor", 0, divisor, "at least 2"));
        }
        let remainder = reader.uint(width, "divisor.remainder")?;
        if remainder >= divisor {
            let expected = "less than the divisor";
            return Err(Error::corrupt(
                "divisor.remainder",
                width,
                remainder,
                expected,
            ));
        }
        reader.finish("divisor.params")?;
        Ok(Self { divisor, remainder })
    }

    /// The parameters of a node of values of `width` bytes.
    pub(crate) fn to_bytes(self, width: usize) -> Vec<u8> {
        let fields = [self.divisor.to_le_bytes(), self.remainder.to_le_bytes()];
        let fields = fields.iter();
        fields
            .flat_map(|it| it.iter().take(width))
            .copied()
            .collect()
    }
}
