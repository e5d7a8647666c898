//! Fields and checks that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.window";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The type of the numbers that describe steps.
pub(crate) const NUMBERS: ValueType = ValueType::Fixed(4);

/// Bytes before the first child's unit.
#[cfg(feature = "encode")]
pub(crate) const HEADER_BYTES: usize = 20;

/// The number from which the distances of a page are stored as a difference, so that most differences are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The number of values that the step copies. Lists that lose values at the head and get new ones at the tail copy
    /// all that is left.
    Copied,
    /// The new values of the step and all values of the step before. Lists that get new values at the head copy from
    /// the start of the list before.
    Step,
    /// The new values of the step and the distance of the last step that copies. Lists with new values in the middle
    /// copy on where they left off.
    Distance,
}

impl Reference {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Copied, Self::Step, Self::Distance];

    /// The node's parameter.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Copied => 0,
            Self::Step => 1,
            Self::Distance => 2,
        }
    }

    pub(crate) fn of(node: &Node<'_>) -> Result<Self> {
        let mut reader = ByteReader::new(node.params);
        let found = reader.u8("window.reference")?;
        let known = Self::ALL.into_iter().find(|it| it.number() == found);
        reader.finish("window.params")?;
        known.ok_or_else(|| Error::corrupt("window.reference", 0, found, "0, 1 or 2"))
    }
}

/// Facts about the steps before one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Before {
    /// New and copied values of the step before.
    pub(crate) values: u32,
    /// The distance of the last step that copies.
    pub(crate) distance: u32,
}

impl Before {
    /// Returns the number from which a step's distance is stored as a difference.
    #[inline]
    pub(crate) fn expected(self, reference: Reference, n_new: u32, n_copied: u32) -> i64 {
        match reference {
            Reference::Copied => n_copied.into(),
            Reference::Step => i64::from(n_new) + i64::from(self.values),
            Reference::Distance => i64::from(n_new) + i64::from(self.distance),
        }
    }
}

/// The tree `window(new, steps, distances, values)`: three children for numbers of 4 bytes, and `values` for those of
/// the node's own type.
pub fn tree(reference: Reference, new: Tree, steps: Tree, distances: Tree, values: Tree) -> Tree {
    let children = vec![new, steps, distances, values];
    Tree::node(ID, VERSION, &[reference.number()], children)
}

/// Checks a node and returns its needs. Refuses bits, byte strings, and values of no bytes.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    Reference::of(node)?;
    match node.value_type {
        ValueType::Fixed(1..) => {
            let children = [NUMBERS, NUMBERS, NUMBERS, node.value_type];
            Ok(NodeSpec::with_children(&children))
        }
        _ => Err(Error::unsupported(
            "values other than those of one fixed width in tarsia.window",
        )),
    }
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    /// Children 0 to 2: one number for each step.
    pub(crate) numbers: [Unit<'a>; 3],
    /// Child 3: the new values of all steps.
    pub(crate) values: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, width: u32) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let n_steps = reader.u32("window.n_steps")?;
        let n_new = reader.u32("window.n_new")?;
        if n_steps > unit.len || (n_steps == 0) != (unit.len == 0) {
            let allowed = "1 ..= number of values, 0 without values";
            return Err(Error::corrupt("window.n_steps", 0, n_steps, allowed));
        }
        if n_new > unit.len || (n_new == 0) != (unit.len == 0) {
            let allowed = "1 ..= number of values, 0 without values";
            return Err(Error::corrupt("window.n_new", 4, n_new, allowed));
        }
        let mut lens = [0; 3];
        for len in &mut lens {
            *len = reader.u32("window.lens")? as usize;
        }
        let mut of_steps = |len: usize, field: &'static str| -> Result<Unit<'a>> {
            Ok(Unit {
                bytes: reader.take(len, field)?,
                len: n_steps,
                decoded_bytes: n_steps.saturating_mul(4),
            })
        };
        Ok(Self {
            numbers: [
                of_steps(lens[0], "window.new")?,
                of_steps(lens[1], "window.steps")?,
                of_steps(lens[2], "window.distances")?,
            ],
            values: Unit {
                bytes: reader.rest(),
                len: n_new,
                decoded_bytes: n_new.saturating_mul(width),
            },
        })
    }
}

/// Signed differences as small unsigned numbers.
#[cfg(feature = "encode")]
pub(crate) fn zigzag(difference: i32) -> u32 {
    ((difference << 1) ^ (difference >> 31)) as u32
}

#[inline]
pub(crate) fn unzigzag(stored: u32) -> i64 {
    i64::from((stored >> 1) as i32 ^ -((stored & 1) as i32))
}

/// Writes the numbers in front of a unit: steps, new values, and bytes of the first three children.
#[cfg(feature = "encode")]
pub(crate) fn write_header(out: &mut [u8], unit_at: usize, fields: &[u32; 5]) {
    let header = out.get_mut(unit_at..unit_at + HEADER_BYTES);
    let header = header.unwrap_or_default().chunks_exact_mut(4);
    for (to, field) in header.zip(fields) {
        to.copy_from_slice(&field.to_le_bytes());
    }
}
