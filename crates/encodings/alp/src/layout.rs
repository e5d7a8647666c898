//! Fields, parameters and arithmetic that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::{ByteReader, ExceptionFields, Exceptions};
use tarsia_codec::{Error, Node, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.alp";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// The most decimals: 10^22 is the largest power of ten that a binary64 number holds exactly.
pub(crate) const DECIMALS_MAX: u8 = 22;

/// 10^0 to 10^22, all exact.
const TENS: [f64; DECIMALS_MAX as usize + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Added to an integer and taken from the number whose bits that makes: 2^52 + 2^51. Conversions of 64-bit integers
/// have no instruction before AVX-512.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The bits of 2^52, whose fraction is a whole number.
const MAGIC_EXPONENT: u64 = 0x4330_0000_0000_0000;

/// Half of the integers that [`MAGIC`] converts: -2^51 to 2^51 - 1.
pub(crate) const INTEGER_MAX: i64 = 1 << 51;

/// The tree `alp(integers)` for numbers with so many decimals, at most 22; `integers` encodes values of the node's own
/// type.
pub fn tree(decimals: u8, integers: Tree) -> Tree {
    Tree::node(ID, VERSION, &[decimals], vec![integers])
}

/// Parses the parameters of a node. Refuses types of values that the encoding does not hold.
pub(crate) fn parse_scale(node: &Node<'_>) -> Result<Scale> {
    let (ValueType::Fixed(4) | ValueType::Fixed(8)) = node.value_type else {
        return Err(Error::unsupported(
            "values other than numbers of 4 or 8 bytes in tarsia.alp",
        ));
    };
    let mut reader = ByteReader::new(node.params);
    let decimals = reader.u8("alp.decimals")?;
    let scale = Scale::of(decimals);
    let scale = scale.ok_or_else(|| Error::corrupt("alp.decimals", 0, decimals, "0 ..= 22"))?;
    reader.finish("alp.params")?;
    Ok(scale)
}

/// The power of ten that the integers of a node are multiples of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// Decimals of the numbers.
    #[cfg(feature = "encode")]
    pub(crate) decimals: u8,
    /// 10^decimals
    pub(crate) divisor: f64,
}

impl Scale {
    /// The scale for so many decimals; `None` for too many.
    pub(crate) fn of(decimals: u8) -> Option<Self> {
        let divisor = *TENS.get(usize::from(decimals))?;
        Some(Self {
            #[cfg(feature = "encode")]
            decimals,
            divisor,
        })
    }

    /// The number of 8 bytes that an integer stands for. Of integers larger than [`INTEGER_MAX`] only the lowest 52
    /// bits count.
    #[inline]
    pub(crate) fn wide(self, integer: u64) -> f64 {
        let shifted = integer.wrapping_add(INTEGER_MAX as u64) & ((1 << 52) - 1);
        (f64::from_bits(shifted | MAGIC_EXPONENT) - MAGIC) / self.divisor
    }

    /// The number of 4 bytes that an integer stands for.
    #[inline]
    pub(crate) fn narrow(self, integer: u32) -> f32 {
        (f64::from(integer as i32) / self.divisor) as f32
    }
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    pub(crate) exceptions: Exceptions<'a>,
    /// The child's unit.
    pub(crate) integers: Unit<'a>,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, value_bytes: usize) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let fields = ExceptionFields {
            count: "alp.n_exceptions",
            positions: "alp.positions",
            values: "alp.exceptions",
        };
        let exceptions = Exceptions::read(&mut reader, unit.len, value_bytes, fields)?;
        Ok(Self {
            exceptions,
            integers: Unit {
                bytes: reader.rest(),
                len: unit.len,
                decoded_bytes: unit.len.saturating_mul(value_bytes as u32),
            },
        })
    }
}
