//! How the values of a column are compared.

use tarsia_codec::ValueType;

/// How the values of a column are compared, and how many bytes each has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneForm {
    /// Booleans: false is below true. A bound is one byte, 0 or 1.
    Bits,
    /// Unsigned integers of 1, 2, 4 or 8 bytes.
    Unsigned(u8),
    /// Integers in two's complement of 1, 2, 4, 8, 16 or 32 bytes.
    Signed(u8),
    /// IEEE 754 numbers of 2, 4 or 8 bytes, in the order of `totalOrder`. NaNs are counted and are no bounds.
    Float(u8),
    /// UTF-8, byte by byte. A bound that is cut ends with a whole character.
    Text,
    /// Bytes, of any or of one length.
    Binary,
}

impl ZoneForm {
    /// Bytes of a bound; `None` where they differ.
    pub fn fixed_width(self) -> Option<u8> {
        match self {
            Self::Bits => Some(1),
            Self::Unsigned(width) | Self::Signed(width) | Self::Float(width) => Some(width),
            Self::Text | Self::Binary => None,
        }
    }

    /// Whether values can be NaN.
    pub fn has_nans(self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// Whether the values of this physical type can have this form.
    pub fn fits(self, value_type: ValueType) -> bool {
        match (self, value_type) {
            (Self::Bits, ValueType::Bits)
            | (Self::Text | Self::Binary, ValueType::Bytes)
            | (Self::Binary, ValueType::Fixed(_)) => true,
            (Self::Unsigned(width), ValueType::Fixed(bytes)) => {
                matches!(width, 1 | 2 | 4 | 8) && bytes == u32::from(width)
            }
            (Self::Signed(width), ValueType::Fixed(bytes)) => {
                matches!(width, 1 | 2 | 4 | 8 | 16 | 32) && bytes == u32::from(width)
            }
            (Self::Float(width), ValueType::Fixed(bytes)) => {
                matches!(width, 2 | 4 | 8) && bytes == u32::from(width)
            }
            _ => false,
        }
    }
}
