//! Fields and checks that decoder and encoder share.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{BitSlice, Error, ErrorKind, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.roaring";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Values of a container, but for the last of a unit: positions in it have 16 bits.
pub const CONTAINER_VALUES: usize = 1 << 16;

/// Bytes of a container's kind and count.
pub(crate) const HEAD_BYTES: usize = 3;

/// Bytes of a position, and of the two that are a run.
pub(crate) const POSITION_BYTES: usize = 2;
pub(crate) const RUN_BYTES: usize = 4;

/// The tree `roaring`.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[])
}

/// Refuses parameters and values that are not bits.
pub(crate) fn check_node(node: &Node<'_>) -> Result<()> {
    node.without_params("roaring.params_len")?;
    node.only(ValueType::Bits, "values other than bits in tarsia.roaring")
}

/// The content of a container. `of` is the bit whose places are stored; all others are its opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Positions { of: bool },
    Runs { of: bool },
    Bitmap,
}

impl Kind {
    fn of_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Positions { of: true },
            1 => Self::Positions { of: false },
            2 => Self::Runs { of: true },
            3 => Self::Runs { of: false },
            4 => Self::Bitmap,
            _ => return None,
        })
    }

    #[cfg(feature = "encode")]
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Positions { of: true } => 0,
            Self::Positions { of: false } => 1,
            Self::Runs { of: true } => 2,
            Self::Runs { of: false } => 3,
            Self::Bitmap => 4,
        }
    }
}

/// The body of a container.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    /// Places of bits that are `of`, little-endian. Not checked.
    Positions {
        of: bool,
        all: &'a [[u8; POSITION_BYTES]],
    },
    /// The first and the last place of each run of bits that are `of`, little-endian. Not checked.
    Runs {
        of: bool,
        all: &'a [[u8; RUN_BYTES]],
    },
    Bitmap(BitSlice<'a>),
}

/// A container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Container<'a> {
    /// Number of values, at most [`CONTAINER_VALUES`].
    pub(crate) len: u32,
    /// Where the body begins in the unit, for errors.
    pub(crate) at: usize,
    pub(crate) body: Body<'a>,
}

/// The containers of a unit, from first to last.
#[derive(Debug)]
pub(crate) struct Containers<'a> {
    heads: ByteReader<'a>,
    /// All bytes of the unit; stands in the bodies.
    bodies: ByteReader<'a>,
    n_values_left: u32,
}

impl<'a> Containers<'a> {
    pub(crate) fn of(unit: &Unit<'a>) -> Result<Self> {
        let n = (unit.len as usize).div_ceil(CONTAINER_VALUES);
        let mut bodies = ByteReader::new(unit.bytes);
        let heads = bodies.take(n.saturating_mul(HEAD_BYTES), "roaring.heads")?;
        Ok(Self {
            heads: ByteReader::new(heads),
            bodies,
            n_values_left: unit.len,
        })
    }

    /// The next container. `None` after the last, behind which there are no bytes.
    pub(crate) fn next(&mut self) -> Result<Option<Container<'a>>> {
        let len = self.n_values_left.min(CONTAINER_VALUES as u32);
        if len == 0 {
            self.bodies.finish("roaring.bodies")?;
            return Ok(None);
        }
        self.n_values_left -= len;
        let kind_at = self.heads.position();
        let code = self.heads.u8("roaring.kind")?;
        let count = self.heads.u16("roaring.count")?;
        let Some(kind) = Kind::of_code(code) else {
            return Err(Error::corrupt("roaring.kind", kind_at, code, "0 ..= 4"));
        };
        let at = self.bodies.position();
        let mut take = |bytes: usize, field| self.bodies.take(bytes, field);
        // At most 65,535 x 4 bytes, so no product overflows.
        let count = usize::from(count);
        let body = match kind {
            Kind::Positions { of } => {
                let bytes = take(count * POSITION_BYTES, "roaring.positions")?;
                let (all, _) = bytes.as_chunks();
                Body::Positions { of, all }
            }
            Kind::Runs { of } => {
                let bytes = take(count * RUN_BYTES, "roaring.runs")?;
                let (all, _) = bytes.as_chunks();
                Body::Runs { of, all }
            }
            Kind::Bitmap if count > 0 => {
                let allowed = "0 (a bitmap has no count)";
                return Err(Error::corrupt("roaring.count", kind_at + 1, count, allowed));
            }
            Kind::Bitmap => {
                let bytes = take(len.div_ceil(8) as usize, "roaring.bits")?;
                Body::Bitmap(bitmap(bytes, len, at)?)
            }
        };
        Ok(Some(Container { len, at, body }))
    }
}

/// The bits of a bitmap at byte `at` of its unit. Refuses spare bits that are set.
fn bitmap(bytes: &[u8], len: u32, at: usize) -> Result<BitSlice<'_>> {
    let of_container = Unit {
        bytes,
        len,
        decoded_bytes: 0,
    };
    let bits = of_container.bitmap("roaring.bits", "roaring.spare_bits");
    bits.map_err(|error| match error.into_kind() {
        ErrorKind::Corrupt {
            field,
            at_byte,
            found,
            allowed,
        } => Error::from(ErrorKind::Corrupt {
            field,
            at_byte: at_byte.saturating_add(at as u64),
            found,
            allowed,
        }),
        kind => Error::from(kind),
    })
}
