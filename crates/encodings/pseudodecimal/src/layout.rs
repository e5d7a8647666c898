//! Fields, checks and arithmetic that decoder and encoder share.

use alloc::vec;

use tarsia_codec::toolbox::{ByteReader, ExceptionFields, Exceptions};
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

/// The id of this encoding in files.
pub const ID: &str = "tarsia.pseudodecimal";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes of an exponent.
pub(crate) const EXPONENT_BYTES: usize = 1;

/// The largest exponent: 10^22 is the largest power of ten that a binary64 number holds exactly.
pub(crate) const EXPONENT_MAX: u8 = 22;

/// The power of an exponent that is too large: no number equals a quotient of it.
const NO: f64 = f64::NAN;

/// 10^0 to 10^22, all exact. The rest makes every place of 5 bits one inside, without a check.
const TENS: [f64; 32] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22, NO, NO, NO, NO, NO, NO, NO, NO, NO,
];

/// The tree `pseudodecimal(digits, exponents)`: `digits` encodes integers of the node's own width, `exponents` values
/// of 1 byte.
pub fn tree(digits: Tree, exponents: Tree) -> Tree {
    Tree::node(ID, VERSION, &[], vec![digits, exponents])
}

/// Checks a node and returns its needs. Refuses parameters, and values that are not numbers of 4 or 8 bytes.
pub(crate) fn spec(node: &Node<'_>) -> Result<NodeSpec> {
    node.without_params("pseudodecimal.params_len")?;
    match node.value_type {
        ValueType::Fixed(4 | 8) => {
            let exponents = ValueType::Fixed(EXPONENT_BYTES as u32);
            Ok(NodeSpec::with_children(&[node.value_type, exponents]))
        }
        _ => Err(Error::unsupported(
            "values other than numbers of 4 or 8 bytes in tarsia.pseudodecimal",
        )),
    }
}

/// 10^exponent for an exponent of at most [`EXPONENT_MAX`], not a number for one of less than 32.
#[inline]
pub(crate) fn power(exponent: u8) -> f64 {
    TENS[usize::from(exponent % 32)]
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    pub(crate) exceptions: Exceptions<'a>,
    /// The unit of the child `digits`, one value for each number that is no exception.
    pub(crate) digits: Unit<'a>,
    /// The unit of the child `exponents`, as many values.
    pub(crate) exponents: Unit<'a>,
    /// Where that unit starts.
    pub(crate) exponents_at: usize,
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, value_bytes: usize) -> Result<Self> {
        let mut reader = ByteReader::new(unit.bytes);
        let fields = ExceptionFields {
            count: "pseudodecimal.n_exceptions",
            positions: "pseudodecimal.positions",
            values: "pseudodecimal.exceptions",
        };
        let exceptions = Exceptions::read(&mut reader, unit.len, value_bytes, fields)?;
        let n_decimals = unit.len - exceptions.positions.len() as u32;
        let exponents_len = reader.u32("pseudodecimal.exponents_len")?;
        let exponents_at = reader.position();
        let exponents = reader.take(exponents_len as usize, "pseudodecimal.exponents")?;
        let child = |bytes: &'a [u8], width: usize| Unit {
            bytes,
            len: n_decimals,
            decoded_bytes: n_decimals.saturating_mul(width as u32),
        };
        Ok(Self {
            exceptions,
            digits: child(reader.rest(), value_bytes),
            exponents: child(exponents, EXPONENT_BYTES),
            exponents_at,
        })
    }
}
