//! Fields, parameters and checks that decoder and encoder share.

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZero;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Node, NodeSpec, Result, Tree, Unit, ValueType, Version};

use crate::small::Small;

/// The id of this encoding in files.
pub const ID: &str = "tarsia.quantized";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Bytes of the scale of a vector, and the type of the child that encodes scales.
pub(crate) const SCALE_BYTES: usize = 4;
pub(crate) const SCALES_TYPE: ValueType = ValueType::Fixed(SCALE_BYTES as u32);

/// Bytes in front of the scales of a unit.
pub(crate) const SCALES_LEN_BYTES: usize = 4;

/// Where the parameters have the scale of a page or the number of values of a vector.
const SCALE_AT: usize = 2;

/// The numbers of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE 754 binary32, for values of 8 bytes.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// OCP FP8 E4M3: 4 bits of exponent, 3 of fraction, no infinities, one NaN of each sign.
    E4m3,
    /// OCP FP8 E5M2: the upper half of binary16.
    E5m2,
    /// Integers of -128 to 127, times a scale.
    Int8,
    /// Integers of -8 to 7, times a scale.
    Int4,
}

impl Format {
    /// All of them, each at the place of its number in the parameters.
    pub const ALL: [Self; 7] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::E4m3,
        Self::E5m2,
        Self::Int8,
        Self::Int4,
    ];

    /// The node's first parameter.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Bf16 => 2,
            Self::E4m3 => 3,
            Self::E5m2 => 4,
            Self::Int8 => 5,
            Self::Int4 => 6,
        }
    }

    /// Bytes of a number before the child encodes it.
    pub fn number_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::E4m3 | Self::E5m2 | Self::Int8 | Self::Int4 => 1,
        }
    }

    /// How the bits of a floating-point number are laid out; `None` for integers.
    pub(crate) fn small(self) -> Option<Small> {
        match self {
            Self::F32 => Some(Small::F32),
            Self::F16 => Some(Small::F16),
            Self::Bf16 => Some(Small::BF16),
            Self::E4m3 => Some(Small::E4M3),
            Self::E5m2 => Some(Small::E5M2),
            Self::Int8 | Self::Int4 => None,
        }
    }

    /// The type of the child `numbers`.
    pub(crate) fn value_type(self) -> ValueType {
        ValueType::Fixed(self.number_bytes() as u32)
    }
}

/// The factor that the numbers of a page are multiplied with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// Nothing: they are floating-point numbers.
    None,
    /// One number for the page. That of values of 2 and 4 bytes is a binary32 number.
    Page(f64),
    /// A binary32 number for each vector of so many values.
    Vector(NonZero<u32>),
}

/// The parameters of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Params {
    pub(crate) format: Format,
    pub(crate) scale: Scale,
    /// Bytes of a value: 2, 4 or 8.
    pub(crate) value_bytes: usize,
}

/// The tree `quantized(numbers)` of a format without a scale; `numbers` encodes values of [`Format::number_bytes`].
pub fn tree(format: Format, numbers: Tree) -> Tree {
    Tree::node(ID, VERSION, &[format.number()], vec![numbers])
}

/// The tree of integers times one `scale`, for values of 2 or 4 bytes; `numbers` encodes values of 1 byte.
pub fn page_tree(format: Format, scale: f32, numbers: Tree) -> Tree {
    let params = Params::of_page(format, f64::from(scale), 4);
    Tree::node(ID, VERSION, &params.to_bytes(), vec![numbers])
}

/// The tree of integers times one `scale`, for values of 8 bytes; `numbers` encodes values of 1 byte.
pub fn wide_page_tree(format: Format, scale: f64, numbers: Tree) -> Tree {
    let params = Params::of_page(format, scale, 8);
    Tree::node(ID, VERSION, &params.to_bytes(), vec![numbers])
}

/// The tree of integers times a scale for each vector of `dim` values; `numbers` encodes values of 1 byte, `scales`
/// those of 4 bytes.
pub fn vector_tree(format: Format, dim: NonZero<u32>, numbers: Tree, scales: Tree) -> Tree {
    let params = Params {
        format,
        scale: Scale::Vector(dim),
        value_bytes: 4,
    };
    Tree::node(ID, VERSION, &params.to_bytes(), vec![numbers, scales])
}

impl Params {
    fn of_page(format: Format, scale: f64, value_bytes: usize) -> Self {
        Self {
            format,
            scale: Scale::Page(scale),
            value_bytes,
        }
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.format.number()];
        match self.scale {
            Scale::None => {}
            Scale::Page(scale) => {
                bytes.push(0);
                match self.value_bytes {
                    8 => bytes.extend(scale.to_le_bytes()),
                    _ => bytes.extend((scale as f32).to_le_bytes()),
                }
            }
            Scale::Vector(dim) => {
                bytes.push(1);
                bytes.extend(dim.get().to_le_bytes());
            }
        }
        bytes
    }

    pub(crate) fn parse(node: &Node<'_>) -> Result<Self> {
        let ValueType::Fixed(width @ (2 | 4 | 8)) = node.value_type else {
            return Err(Error::unsupported(
                "values other than numbers of 2, 4 or 8 bytes in tarsia.quantized",
            ));
        };
        let value_bytes = width as usize;
        let mut reader = ByteReader::new(node.params);
        let found = reader.u8("quantized.format")?;
        let Some(format) = Format::ALL.get(usize::from(found)).copied() else {
            return Err(Error::corrupt("quantized.format", 0, found, "0 ..= 6"));
        };
        if format.number_bytes() >= value_bytes {
            let allowed = "a format of fewer bytes than the values";
            return Err(Error::corrupt("quantized.format", 0, found, allowed));
        }
        let scale = match format {
            Format::Int8 | Format::Int4 => Self::parse_scale(&mut reader, value_bytes)?,
            _ => Scale::None,
        };
        reader.finish("quantized.params")?;
        Ok(Self {
            format,
            scale,
            value_bytes,
        })
    }

    fn parse_scale(reader: &mut ByteReader<'_>, value_bytes: usize) -> Result<Scale> {
        let scope = reader.u8("quantized.scope")?;
        match scope {
            0 => {
                let (scale, bits) = match value_bytes {
                    8 => {
                        let bits = reader.u64("quantized.scale")?;
                        (f64::from_bits(bits), bits)
                    }
                    _ => {
                        let bits = reader.u32("quantized.scale")?;
                        (f64::from(f32::from_bits(bits)), bits.into())
                    }
                };
                match is_scale(scale) {
                    true => Ok(Scale::Page(scale)),
                    false => Err(bad_scale(SCALE_AT, bits)),
                }
            }
            1 => {
                let dim = NonZero::new(reader.u32("quantized.dim")?);
                let zero = || Error::corrupt("quantized.dim", SCALE_AT, 0u8, "at least 1");
                dim.map(Scale::Vector).ok_or_else(zero)
            }
            _ => Err(Error::corrupt("quantized.scope", 1, scope, "0 or 1")),
        }
    }

    /// Returns the needs of a node.
    pub(crate) fn spec(&self) -> NodeSpec {
        let numbers = self.format.value_type();
        match self.scale {
            Scale::Vector(_) => NodeSpec::with_children(&[numbers, SCALES_TYPE]),
            _ => NodeSpec::with_children(&[numbers]),
        }
    }

    /// The child's unit of the numbers in these bytes of a unit.
    pub(crate) fn numbers_unit<'a>(&self, bytes: &'a [u8], len: u32) -> Unit<'a> {
        Unit {
            bytes,
            len,
            decoded_bytes: len.saturating_mul(self.format.number_bytes() as u32),
        }
    }
}

/// True for what integers may be multiplied with.
pub(crate) fn is_scale(scale: f64) -> bool {
    scale > 0.0 && scale.is_finite()
}

#[cold]
#[inline(never)]
pub(crate) fn bad_scale(at_byte: usize, bits: u64) -> Error {
    let allowed = "the bits of a finite number above 0";
    Error::corrupt("quantized.scale", at_byte, bits, allowed)
}

/// A unit of vectors taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorParts<'a> {
    pub(crate) numbers: Unit<'a>,
    /// Where that starts.
    pub(crate) numbers_at: usize,
    pub(crate) scales: Unit<'a>,
}

impl<'a> VectorParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>, params: &Params, dim: NonZero<u32>) -> Result<Self> {
        let n_vectors = unit.len / dim;
        if unit.len % dim != 0 {
            let allowed = "a multiple of the values of a vector";
            return Err(Error::corrupt("quantized.n_values", 0, unit.len, allowed));
        }
        let mut reader = ByteReader::new(unit.bytes);
        let scales_len = reader.u32("quantized.scales_len")?;
        let scales = reader.take(scales_len as usize, "quantized.scales")?;
        Ok(Self {
            numbers: params.numbers_unit(reader.rest(), unit.len),
            numbers_at: reader.position(),
            scales: Unit {
                bytes: scales,
                len: n_vectors,
                decoded_bytes: n_vectors.saturating_mul(SCALE_BYTES as u32),
            },
        })
    }
}
