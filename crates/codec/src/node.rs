//! What one node of a tree is and needs: the result of *check*.

use alloc::vec::Vec;

use crate::{Error, Result, ValueType, Version};

/// One node of a tree, as *check*, *init* and writers are told about it.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The type of the values it decodes to.
    pub value_type: ValueType,
    /// The version of the layout that its units have.
    pub version: Version,
    /// The node's page-wide parameters, verbatim from the tree. Hostile.
    pub params: &'a [u8],
}

impl Node<'_> {
    /// Refuses parameters, for an encoding that has none; `field` is `"<name>.params_len"`.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) where there are some.
    pub fn without_params(&self, field: &'static str) -> Result<()> {
        match self.params.len() {
            0 => Ok(()),
            found => Err(Error::corrupt(field, 0, found, "0 (no parameters)")),
        }
    }

    /// Bytes of a value, for an encoding of numbers of 1, 2, 4 or 8 bytes; `refusal` says what others are, as in
    /// `"values other than numbers of 1, 2, 4 or 8 bytes in tarsia.delta"`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for values of another type.
    pub fn number_bytes(&self, refusal: &'static str) -> Result<usize> {
        match self.value_type {
            ValueType::Fixed(width @ (1 | 2 | 4 | 8)) => Ok(width as usize),
            _ => Err(Error::unsupported(refusal)),
        }
    }

    /// Refuses values that are not of type `wanted`, with the words of `refusal`.
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

/// What a node needs: the types of its children and its shared buffers, both in the encoding's order. The tree must
/// have exactly these; whoever builds a decoder or an encoder from a tree checks that, so encodings need not.
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

    /// The same with shared buffers.
    #[must_use]
    pub fn with_shared(self, shared: &[SharedSpec]) -> Self {
        Self {
            shared: shared.to_vec(),
            ..self
        }
    }
}

/// What a shared buffer is to the nodes that refer to it. An erasure treats each kind in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharedKind {
    /// Entries that codes refer to, each by its number. An erasure wipes the entries that no row refers to any more.
    Dictionary,
    /// A table that every value may have been encoded with (FSST): it is needed whole for as long as any value is left.
    SymbolTable,
    /// What a general-purpose codec starts from (zstd): needed whole, like a symbol table.
    CodecDictionary,
    /// Tokens that values are sequences of (OnPair), each referred to by its number; an erasure wipes them like
    /// entries.
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

    /// The kind's number in files.
    pub fn code(self) -> u8 {
        match self {
            Self::Dictionary => 1,
            Self::SymbolTable => 2,
            Self::CodecDictionary => 3,
            Self::TokenDictionary => 4,
        }
    }

    /// The kind of a number in files.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The kind in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::SymbolTable => "symbol table",
            Self::CodecDictionary => "codec dictionary",
            Self::TokenDictionary => "token dictionary",
        }
    }

    /// Whether each value refers to entries by their numbers, so that an entry to which no value refers can be wiped.
    pub fn has_entries(self) -> bool {
        matches!(self, Self::Dictionary | Self::TokenDictionary)
    }
}

/// A shared buffer as a node asks for it, and as a page lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedSpec {
    /// What it is.
    pub kind: SharedKind,
    /// The type of its values.
    pub value_type: ValueType,
}
