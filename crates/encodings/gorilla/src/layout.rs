//! Fields and checks that decoder and encoder share.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.gorilla";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Values of a group. The first is stored whole.
pub const GROUP_VALUES: usize = 1024;

/// Bytes of an entry of the table in front of the streams.
pub(crate) const END_BYTES: usize = 4;

/// The numbers of leading zeros that a code of Chimp can say, by the number in its field of 3 bits.
pub(crate) const LEADS: [u8; 8] = [0, 8, 12, 16, 18, 20, 22, 24];

/// How a page's codes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Codes say where the bits that differ start and how many they are, or that they lie where those before did. An
    /// equal value takes 1 bit.
    Gorilla,
    /// Leading zeros are rounded down, and trailing zeros are left out only where they are many. An equal value takes 2
    /// bits; most others take fewer than with [`Scheme::Gorilla`].
    Chimp,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Gorilla, Self::Chimp];

    /// The node's parameter.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Gorilla => 0,
            Self::Chimp => 1,
        }
    }

    pub(crate) fn of(node: &Node<'_>) -> Result<Self> {
        let mut reader = ByteReader::new(node.params);
        let found = reader.u8("gorilla.scheme")?;
        let known = Self::ALL.into_iter().find(|it| it.number() == found);
        reader.finish("gorilla.params")?;
        known.ok_or_else(|| Error::corrupt("gorilla.scheme", 0, found, "0 or 1"))
    }
}

/// The tree `gorilla`, which has no children.
pub fn tree(scheme: Scheme) -> Tree {
    Tree::leaf(ID, VERSION, &[scheme.number()])
}

/// Checks a node and returns its needs. Refuses unknown schemes, and values that are not numbers of 4 or 8 bytes.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    value_bytes(node)?;
    Scheme::of(node)?;
    Ok(NodeSpec::LEAF)
}

/// Bytes of a value.
pub(crate) fn value_bytes(node: &Node<'_>) -> Result<usize> {
    match node.value_type {
        ValueType::Fixed(width @ (4 | 8)) => Ok(width as usize),
        _ => Err(Error::unsupported(
            "values other than numbers of 4 or 8 bytes in tarsia.gorilla",
        )),
    }
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// For each group the end of its stream.
    ends: &'a [[u8; END_BYTES]],
    /// The streams of all groups.
    streams: &'a [u8],
}

/// The stream of one group: its first value, then the codes of all others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream<'a> {
    pub(crate) bytes: &'a [u8],
    /// Its place in the unit.
    pub(crate) at_byte: usize,
}

impl<'a> UnitParts<'a> {
    /// The bytes of the table of ends of a unit of `n_values`.
    pub(crate) fn ends_bytes(n_values: u32) -> usize {
        (n_values as usize).div_ceil(GROUP_VALUES) * END_BYTES
    }

    /// Reads only the unit's length and its last end.
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let ends = reader.take(Self::ends_bytes(unit.len), "gorilla.ends")?;
        let streams = reader.rest();
        let (ends, _) = ends.as_chunks();
        let last = ends.last().map_or(0, |end| u32::from_le_bytes(*end));
        reader.take(last as usize, "gorilla.streams")?;
        reader.finish("gorilla.streams")?;
        Ok(Self { ends, streams })
    }

    /// The stream of group `i`, which has at least the bytes of its first value.
    pub(crate) fn stream(&self, i: usize, value_bytes: usize) -> Result<Stream<'a>> {
        let end = |i: usize| self.ends.get(i).map(|it| u32::from_le_bytes(*it) as usize);
        let start = i.checked_sub(1).and_then(end).unwrap_or(0);
        let end = end(i).unwrap_or(0);
        match self.streams.get(start..end) {
            Some(bytes) if bytes.len() >= value_bytes => Ok(Stream {
                bytes,
                at_byte: self.ends.len() * END_BYTES + start,
            }),
            _ => {
                let allowed = "a value or more behind the end before, not behind the last end";
                Err(Error::corrupt("gorilla.ends", i * END_BYTES, end, allowed))
            }
        }
    }
}
