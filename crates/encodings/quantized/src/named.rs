//! The roundings by which a user names the formats.

use alloc::string::{String, ToString};
use core::num::NonZero;

use tarsia_codec::{Rounding, RoundingError};

use crate::layout::Format;
use crate::round::{RoundError, Scales, round};
use crate::value::Value;

/// A rounding to a format.
struct Named {
    name: &'static str,
    about: &'static str,
    format: Format,
    /// Whether each row has a scale of its own.
    of_rows: bool,
}

/// All of them.
pub(crate) static ROUNDINGS: &[&dyn Rounding] = &[
    &named("f32", "binary32: 24 bits of precision", Format::F32, false),
    &named(
        "f16",
        "binary16: 11 bits of precision, up to 65504",
        Format::F16,
        false,
    ),
    &named(
        "bf16",
        "bfloat16: 8 bits of precision, the range of binary32",
        Format::Bf16,
        false,
    ),
    &named(
        "e4m3",
        "FP8 E4M3: 4 bits of precision, up to 448",
        Format::E4m3,
        false,
    ),
    &named(
        "e5m2",
        "FP8 E5M2: 3 bits of precision, up to 57344",
        Format::E5m2,
        false,
    ),
    &named(
        "int8",
        "multiples of 1/127 of a page's largest",
        Format::Int8,
        false,
    ),
    &named(
        "int4",
        "multiples of 1/7 of a page's largest",
        Format::Int4,
        false,
    ),
    &named(
        "int8-row",
        "multiples of 1/127 of a row's largest",
        Format::Int8,
        true,
    ),
    &named(
        "int4-row",
        "multiples of 1/7 of a row's largest",
        Format::Int4,
        true,
    ),
];

const fn named(name: &'static str, about: &'static str, format: Format, of_rows: bool) -> Named {
    Named {
        name,
        about,
        format,
        of_rows,
    }
}

impl Rounding for Named {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn round(
        &self,
        values: &mut [u8],
        value_bytes: usize,
        row_values: Option<NonZero<usize>>,
        erasable: bool,
    ) -> Result<RoundingError, String> {
        let dim = match (self.of_rows, row_values) {
            (false, _) => None,
            (true, Some(row_values)) => Some(row_values.get()),
            (true, None) => return Err("rows are no fixed-size lists".to_string()),
        };
        let scales = match (dim, erasable) {
            (Some(dim), _) => Scales::Vectors(dim),
            (None, true) => Scales::CoarsePage,
            (None, false) => Scales::Page,
        };
        match value_bytes {
            2 => self.in_place::<u16, 2>(values, scales, u16::from_le_bytes, u16::to_le_bytes),
            4 => self.in_place::<f32, 4>(values, scales, f32::from_le_bytes, f32::to_le_bytes),
            8 => self.in_place::<f64, 8>(values, scales, f64::from_le_bytes, f64::to_le_bytes),
            _ => Err(RoundError::TooWide.to_string()),
        }
    }

    fn depends_on_other_rows(&self) -> bool {
        self.format.small().is_none() && !self.of_rows
    }
}

impl Named {
    fn in_place<V: Value, const S: usize>(
        &self,
        bytes: &mut [u8],
        scales: Scales,
        load: fn([u8; S]) -> V,
        store: fn(V) -> [u8; S],
    ) -> Result<RoundingError, String> {
        let (chunks, _) = bytes.as_chunks_mut::<S>();
        let mut values: alloc::vec::Vec<V> = chunks.iter().map(|chunk| load(*chunk)).collect();
        let error = round(&mut values, self.format, scales).map_err(|error| error.to_string())?;
        for (chunk, value) in chunks.iter_mut().zip(values) {
            *chunk = store(value);
        }
        Ok(error)
    }
}
