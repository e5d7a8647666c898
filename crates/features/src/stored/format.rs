//! The formats, and the bits of their numbers.

use std::sync::LazyLock;

use arrow_schema::DataType;

/// A format of floating-point numbers of 16 or 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32 number.
    Bf16,
    /// OFP8 E4M3: 4 bits of exponent, 3 of fraction, no infinity, one NaN of each sign.
    E4M3,
    /// OFP8 E5M2: 5 bits of exponent, 2 of fraction, which is the upper half of a binary16 number.
    E5M2,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Format::F16, Format::Bf16, Format::E4M3, Format::E5M2];

    /// The name by which writers round to the format: `f16`, `bf16`, `e4m3` or `e5m2`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::F16 => "f16",
            Format::Bf16 => "bf16",
            Format::E4M3 => "e4m3",
            Format::E5M2 => "e5m2",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The type of a column of such numbers, without lists around them.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Format::F16 => DataType::Float16,
            Format::Bf16 => DataType::FixedSizeBinary(2),
            Format::E4M3 | Format::E5M2 => DataType::UInt8,
        }
    }

    /// The name of the Arrow extension type of such a column; `None` for the type that Arrow itself has.
    #[must_use]
    pub fn extension_name(self) -> Option<&'static str> {
        match self {
            Format::F16 => None,
            Format::Bf16 => Some("lance.bfloat16"),
            Format::E4M3 => Some("tarsia.float8_e4m3fn"),
            Format::E5M2 => Some("tarsia.float8_e5m2"),
        }
    }

    /// The number of this format, which for those of 8 bits is below 256, that has the bits of a binary32 number;
    /// `None` if there is none.
    pub(super) fn narrow(self, bits: u32) -> Option<u16> {
        let narrowed = match self {
            Format::F16 => to_binary16(bits),
            Format::Bf16 => (bits >> 16) as u16,
            Format::E4M3 => to_e4m3(bits)?,
            Format::E5M2 => to_binary16(bits) >> 8,
        };
        (self.widen(narrowed) == bits).then_some(narrowed)
    }

    /// The bits of the binary32 number that is equal to this one.
    pub(super) fn widen(self, bits: u16) -> u32 {
        match self {
            Format::F16 => of_binary16(bits),
            Format::Bf16 => u32::from(bits) << 16,
            Format::E4M3 => of_e4m3(bits),
            Format::E5M2 => of_binary16(bits << 8),
        }
    }
}

const INFINITY: u32 = 0x7F80_0000;

/// Right if there is such a number. A NaN keeps what fits of its payload: conversions of processors make it quiet.
fn to_binary16(bits: u32) -> u16 {
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7FFF_FFFF;
    if magnitude > INFINITY {
        return sign | 0x7C00 | (bits >> 13) as u16 & 0x03FF;
    }
    half::f16::from_f32_const(f32::from_bits(bits)).to_bits()
}

fn of_binary16(bits: u16) -> u32 {
    let sign = u32::from(bits & 0x8000) << 16;
    if bits & 0x7C00 == 0x7C00 {
        return sign | INFINITY | u32::from(bits & 0x03FF) << 13;
    }
    half::f16::from_bits(bits).to_f32_const().to_bits()
}

const E4M3_NAN: u16 = 0x7F;

/// The magnitudes of all numbers that are not negative, as the bits of binary32 numbers, in order. The last is NaN.
static E4M3_MAGNITUDES: LazyLock<Vec<u32>> =
    LazyLock::new(|| (0..=E4M3_NAN).map(of_e4m3).collect());

fn to_e4m3(bits: u32) -> Option<u16> {
    let sign = (bits >> 24) as u16 & 0x80;
    let place = E4M3_MAGNITUDES.binary_search(&(bits & 0x7FFF_FFFF)).ok()?;
    Some(sign | u16::try_from(place).ok()?)
}

fn of_e4m3(bits: u16) -> u32 {
    let sign = u32::from(bits & 0x80) << 24;
    let (exponent, fraction) = (i32::from(bits >> 3 & 0xF), f32::from(bits & 7));
    let magnitude = match exponent {
        _ if bits & E4M3_NAN == E4M3_NAN => f32::NAN,
        0 => fraction / 512.0,
        _ => (1.0 + fraction / 8.0) * 2_f32.powi(exponent - 7),
    };
    sign | magnitude.to_bits() & 0x7FFF_FFFF
}
