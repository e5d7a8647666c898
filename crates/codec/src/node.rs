//! One node of a tree, and what it needs: the result of *check*.

use alloc::vec::Vec;

use crate::{Error, Result, ValueType, Version};

/// One node of a tree, as *check*, *init* and writers get it.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The type of the values that the node decodes to.
    pub value_type: ValueType,
    /// The version of the layout of its units.
    pub version: Version,
    /// The node's page-wide parameters, unchanged from the tree. Untrusted.
    pub params: &'a [u8],
}

impl Node<'_> {
    /// Checks that the node has no parameters. `field` is `"<name>.params_len"`, for the error.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if the node has parameters.
    pub fn without_params(&self, field: &'static str) -> Result<()> {
        match self.params.len() {
            0 => Ok(()),
            found => Err(Error::corrupt(field, 0, found, "0 (no parameters)")),
        }
    }

    /// Bytes of a value, for an encoding of numbers of 1, 2, 4 or 8 bytes. `refusal` is the text of the error for all
    /// other types, such as `"values other than numbers of 1, 2, 4 or 8 bytes in tarsia.delta"`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for values of another type.
    pub fn number_bytes(&self, refusal: &'static str) -> Result<usize> {
        match self.value_type {
            ValueType::Fixed(width @ (1 | 2 | 4 | 8)) => Ok(width as usize),
            _ => Err(Error::unsupported(refusal)),
        }
    }

    /// Checks that the values have the type `wanted`. `refusal` is the text of the error for all other types.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for values of another type.
    pub fn only(&self, wanted: ValueType, refusal: &'static str) -> Result<()> {
        match self.value_type == wanted {
            true => Ok(()),
            false => Err(Error::unsupported(refusal)),
        }
    }
}

/// The needs of a node: the types of its children, and its shared buffers, both in the encoding's order. The tree must
/// have exactly these. [`build_decoder`](crate::build_decoder) and [`TreeWriter`](crate::TreeWriter) check that, so
/// encodings need not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeSpec {
    /// The types of the values that the children decode to.
    pub children: Vec<ValueType>,
    /// The shared buffers.
    pub shared: Vec<SharedSpec>,
}

impl NodeSpec {
    /// A node without children and shared buffers.
    pub const LEAF: Self = Self {
        children: Vec::new(),
        shared: Vec::new(),
    };

    /// A node with children.
    pub fn with_children(children: &[ValueType]) -> Self {
        Self {
            children: children.to_vec(),
            shared: Vec::new(),
        }
    }

    /// Returns the needs of the node, with shared buffers.
    #[must_use]
    pub fn with_shared(self, shared: &[SharedSpec]) -> Self {
        Self {
            shared: shared.to_vec(),
            ..self
        }
    }
}

/// The role of a shared buffer for the nodes that refer to it. An erasure treats each kind differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharedKind {
    /// Entries to which codes refer by index. An erasure wipes entries to which no row refers any more.
    Dictionary,
    /// A table that any value may have been encoded with. It is needed as a whole while any value is left.
    SymbolTable,
    /// The initial state of a general-purpose codec (zstd). Needed as a whole, like a symbol table.
    CodecDictionary,
    /// Tokens; a value is a sequence of token indices (OnPair, FSST). An erasure wipes them like entries.
    TokenDictionary,
}

impl SharedKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::Dictionary,
        Self::SymbolTable,
        Self::CodecDictionary,
        Self::TokenDictionary,
    ];

    /// The number of this kind in files.
    pub fn code(self) -> u8 {
        match self {
            Self::Dictionary => 1,
            Self::SymbolTable => 2,
            Self::CodecDictionary => 3,
            Self::TokenDictionary => 4,
        }
    }

    /// The kind that has this number in files.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The kind as text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::SymbolTable => "symbol table",
            Self::CodecDictionary => "codec dictionary",
            Self::TokenDictionary => "token dictionary",
        }
    }

    /// True if each value refers to entries by their numbers, so that an entry to which no value refers can be wiped.
    pub fn has_entries(self) -> bool {
        matches!(self, Self::Dictionary | Self::TokenDictionary)
    }
}

/// The kind and type of a shared buffer: what a node needs, and what a page lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedSpec {
    /// The kind of the buffer.
    pub kind: SharedKind,
    /// The type of its values.
    pub value_type: ValueType,
}
