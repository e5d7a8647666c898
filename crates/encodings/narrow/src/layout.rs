//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, Result, Tree, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.narrow";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The content of the bytes that the child does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Zero.
    Zero = 0,
    /// The sign bit of the child's value, repeated.
    Sign = 1,
}

/// The tree `narrow(values)`; `values` encodes values of `child_bytes` bytes: 1, 2, 4, 8 or, for values of 32 bytes,
/// 16.
pub fn tree(child_bytes: u8, extension: Extension, values: Tree) -> Tree {
    let params = Params {
        child_bytes,
        extension,
    };
    Tree::node(ID, VERSION, &params.to_bytes(), vec![values])
}

/// The parameters of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// Bytes of a value of the child.
    pub(crate) child_bytes: u8,
    pub(crate) extension: Extension,
}

impl Params {
    /// Parses the parameters of a node. Refuses types of values that the encoding does not hold.
    pub(crate) fn parse(node: &Node<'_>) -> Result<Self> {
        let (ValueType::Fixed(value_bytes @ 16) | ValueType::Fixed(value_bytes @ 32)) =
            node.value_type
        else {
            return Err(Error::unsupported(
                "values other than integers of 16 or 32 bytes in tarsia.narrow",
            ));
        };
        let mut reader = ByteReader::new(node.params);
        let child_bytes = match reader.u8("narrow.child_bytes")? {
            bytes @ (1 | 2 | 4 | 8) => bytes,
            16 if value_bytes == 32 => 16,
            found => {
                return Err(Error::corrupt(
                    "narrow.child_bytes",
                    0,
                    found,
                    "1, 2, 4, 8, or 16 for values of 32 bytes",
                ));
            }
        };
        let extension = match reader.u8("narrow.sign")? {
            0 => Extension::Zero,
            1 => Extension::Sign,
            found => return Err(Error::corrupt("narrow.sign", 1, found, "0 or 1")),
        };
        reader.finish("narrow.params")?;
        Ok(Self {
            child_bytes,
            extension,
        })
    }

    pub(crate) fn to_bytes(self) -> [u8; 2] {
        [self.child_bytes, self.extension as u8]
    }

    /// The type of the child's values.
    pub(crate) fn child_type(self) -> ValueType {
        ValueType::Fixed(self.child_bytes.into())
    }
}
