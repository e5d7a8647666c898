//! Fields, parameters and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    Error, Node, NodeSpec, Result, SharedKind, SharedSpec, Tree, Unit, ValueType, Version,
};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.dict";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes in front of the codes of scope 0: number of entries, bytes of codes, decoded bytes of entries.
pub(crate) const HEADER_BYTES: usize = 12;

/// The entries of scope 0 start at a multiple of this from the unit's start.
pub(crate) const VALUES_ALIGN: usize = 8;

#[cfg(feature = "encode")]
const CODES_LEN_AT: usize = 4;
const ENTRIES_BYTES_AT: usize = 8;
const _: () = assert!(ENTRIES_BYTES_AT + size_of::<u32>() == HEADER_BYTES);

/// The width of a code before the child encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeBytes {
    /// Up to 256 entries.
    One,
    /// Up to 65,536 entries.
    Two,
    /// Up to 2^32 entries.
    Four,
}

impl CodeBytes {
    /// The smallest width for this many entries.
    pub fn for_entries(n_entries: usize) -> Self {
        match n_entries {
            0..=0x100 => Self::One,
            0x101..=0x1_0000 => Self::Two,
            _ => Self::Four,
        }
    }

    /// Bytes of a code.
    pub fn bytes(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// The most entries that codes of this width can refer to.
    pub fn entries_max(self) -> u64 {
        1 << (8 * self.bytes())
    }

    /// The type of the child `codes`.
    pub(crate) fn value_type(self) -> ValueType {
        ValueType::Fixed(self.bytes().into())
    }
}

/// The tree of a dictionary inside each block: `codes` encodes values of `code_bytes` bytes, `values` those of the
/// node.
pub fn block_tree(code_bytes: CodeBytes, codes: Tree, values: Tree) -> Tree {
    let params = params(Scope::Block, code_bytes);
    Tree::node(ID, VERSION, &params, vec![codes, values])
}

/// The tree of a dictionary that is the page's shared buffer 0. Use [`Tree::with_shared`] for another number.
pub fn page_tree(code_bytes: CodeBytes, codes: Tree) -> Tree {
    let params = params(Scope::Page, code_bytes);
    Tree::node(ID, VERSION, &params, vec![codes]).with_shared(&[0])
}

/// The parameters of a node.
pub(crate) fn params(scope: Scope, code_bytes: CodeBytes) -> [u8; 2] {
    [scope as u8, code_bytes.bytes()]
}

/// Where the entries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In each block.
    Block = 0,
    /// In a shared buffer of the page.
    Page = 1,
}

/// The parameters of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    pub(crate) scope: Scope,
    pub(crate) code_bytes: CodeBytes,
}

impl Params {
    /// Parses the parameters of a node. Refuses types of values that the encoding does not hold.
    pub(crate) fn parse(node: &Node<'_>) -> Result<Self> {
        match node.value_type.validate()? {
            ValueType::Bytes => {}
            ValueType::Fixed(width) if width > 0 => {}
            ValueType::Fixed(_) | ValueType::Bits => {
                return Err(Error::unsupported(
                    "bits or values without bytes in tarsia.dict",
                ));
            }
        }
        let mut reader = ByteReader::new(node.params);
        let scope = match reader.u8("dict.scope")? {
            0 => Scope::Block,
            1 => Scope::Page,
            found => {
                let allowed = "0 (block) or 1 (page)";
                return Err(Error::corrupt("dict.scope", 0, found, allowed));
            }
        };
        let code_bytes = match reader.u8("dict.code_bytes")? {
            1 => CodeBytes::One,
            2 => CodeBytes::Two,
            4 => CodeBytes::Four,
            found => return Err(Error::corrupt("dict.code_bytes", 1, found, "1, 2 or 4")),
        };
        reader.finish("dict.params")?;
        Ok(Self { scope, code_bytes })
    }

    /// Returns the needs of the node. Scope 0: children for the codes and the values. Scope 1: a child for the codes,
    /// and a shared buffer for the values.
    pub(crate) fn spec(&self, value_type: ValueType) -> NodeSpec {
        let codes = self.code_bytes.value_type();
        match self.scope {
            Scope::Block => NodeSpec::with_children(&[codes, value_type]),
            Scope::Page => NodeSpec::with_children(&[codes]).with_shared(&[SharedSpec {
                kind: SharedKind::Dictionary,
                value_type,
            }]),
        }
    }
}

/// The unit of the codes of `n_values`.
pub(crate) fn codes_unit(bytes: &[u8], n_values: u32, code_bytes: CodeBytes) -> Unit<'_> {
    Unit {
        bytes,
        len: n_values,
        decoded_bytes: n_values.saturating_mul(code_bytes.bytes().into()),
    }
}

/// A unit of scope 0 taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockParts<'a> {
    pub(crate) codes: Unit<'a>,
    pub(crate) values: Unit<'a>,
}

impl<'a> BlockParts<'a> {
    pub(crate) fn parse(
        unit: &Unit<'a>,
        code_bytes: CodeBytes,
        value_type: ValueType,
    ) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let n_entries = reader.u32("dict.n_entries")?;
        let codes_len = reader.u32("dict.codes_len")?;
        let entries_bytes = reader.u32("dict.entries_bytes")?;
        if n_entries > unit.len {
            let allowed = "0 ..= number of values";
            return Err(Error::corrupt("dict.n_entries", 0, n_entries, allowed));
        }
        let (is_allowed, allowed) = match value_type {
            ValueType::Fixed(width) => {
                let expected = u64::from(n_entries) * u64::from(width);
                let allowed = "n_entries x width, below 2^32";
                (expected == u64::from(entries_bytes), allowed)
            }
            // Every entry occurs in at least one value.
            _ => (
                entries_bytes <= unit.decoded_bytes,
                "at most the unit's decoded bytes",
            ),
        };
        if !is_allowed {
            let found = entries_bytes;
            return Err(Error::corrupt(
                "dict.entries_bytes",
                ENTRIES_BYTES_AT,
                found,
                allowed,
            ));
        }
        let codes_len = usize::try_from(codes_len).unwrap_or(usize::MAX);
        let codes = reader.take(codes_len, "dict.codes")?;
        reader.pad_to(VALUES_ALIGN, "dict.padding")?;
        Ok(Self {
            codes: codes_unit(codes, unit.len, code_bytes),
            values: Unit {
                bytes: reader.rest(),
                len: n_entries,
                decoded_bytes: entries_bytes,
            },
        })
    }
}

/// Writes the header that [`BlockParts::parse`] reads. The unit starts at `out[unit_at]`.
#[cfg(feature = "encode")]
pub(crate) fn write_header(
    out: &mut [u8],
    unit_at: usize,
    n_entries: u32,
    codes_len: u32,
    entries_bytes: u32,
) {
    let fields = [
        (0, n_entries),
        (CODES_LEN_AT, codes_len),
        (ENTRIES_BYTES_AT, entries_bytes),
    ];
    for (at, value) in fields {
        let at = unit_at + at;
        if let Some(field) = out.get_mut(at..at + size_of::<u32>()) {
            field.copy_from_slice(&value.to_le_bytes());
        }
    }
}

/// Bits of a code for `n_entries`.
#[cfg(feature = "encode")]
pub(crate) fn code_bits(n_entries: usize) -> u32 {
    match n_entries {
        0 | 1 => 0,
        n => (n - 1).ilog2() + 1,
    }
}
