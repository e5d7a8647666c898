//! Rounding of values to what numbers of a format stand for.

use core::fmt;

use tarsia_codec::RoundingError;

use crate::grid::Grid;
use crate::layout::Format;
use crate::numbers::largest;
use crate::small::Small;
use crate::value::Value;

/// Adds one value, and what it became.
#[inline(always)]
fn add(error: &mut RoundingError, before: f64, after: f64) {
    let difference = (after - before).abs();
    if before.is_finite() && difference > 0.0 {
        error.absolute = error.absolute.max(difference);
        error.relative = error.relative.max(difference / before.abs());
    }
}

/// Why values are not rounded. They are unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundError {
    /// The numbers of the format take as many bytes as the values, or more.
    TooWide,
    /// Vectors of no values, or of floating-point numbers, which have no scale.
    Dim,
    /// The values are no whole vectors.
    PartOfVector,
    /// An infinity or a NaN, for which no integer stands.
    NotFinite {
        /// Its place.
        index: usize,
    },
    /// A value of a vector whose scale is above the largest binary32 number.
    TooLarge {
        /// Its place.
        index: usize,
    },
}

impl fmt::Display for RoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooWide => f.write_str("numbers of the format are not smaller than the values"),
            Self::Dim => f.write_str("vectors of no values, or of a format without scales"),
            Self::PartOfVector => f.write_str("the values are no whole vectors"),
            Self::NotFinite { index } => {
                write!(f, "value {index} is not finite: no integer stands for it")
            }
            Self::TooLarge { index } => {
                write!(f, "value {index} is too large for the scale of a vector")
            }
        }
    }
}

impl core::error::Error for RoundError {}

/// Rounds binary16 numbers, whose bits these are, in place: as [`round_f32`].
///
/// # Errors
/// As [`round_f32`].
pub fn round_f16(
    values: &mut [u16],
    format: Format,
    dim: Option<usize>,
) -> Result<RoundingError, RoundError> {
    round(values, format, Scales::of(dim))
}

/// Rounds values in place to the nearest that a number of `format` stands for, of two to the one with the even number.
/// A page of them is held by a node of the format.
///
/// Floating-point formats: a finite value beyond the largest number becomes that, an infinity stays one, or becomes the
/// largest number of [`Format::E4m3`], and every NaN becomes the positive quiet NaN without a payload. The relative
/// difference of values in the range of the format's normal numbers is at most 2^-11 ([`Format::F16`]), 2^-8
/// ([`Format::Bf16`]), 2^-4 ([`Format::E4m3`]) or 2^-3 ([`Format::E5m2`]); the absolute one of smaller values at most
/// 2^-25, 2^-134, 2^-10 or 2^-17.
///
/// Integers: the scale is that of all values, or of each vector of `dim` values. It is the largest magnitude divided by
/// 127 ([`Format::Int8`]) or 7 ([`Format::Int4`]), and at least 2^-126; 1 if all are zero. The difference is at most
/// half of the scale, and half of the last place of the value. Negative zeros become positive ones.
///
/// # Errors
/// [`RoundError`]; the values are unchanged then.
pub fn round_f32(
    values: &mut [f32],
    format: Format,
    dim: Option<usize>,
) -> Result<RoundingError, RoundError> {
    round(values, format, Scales::of(dim))
}

/// Rounds values of 8 bytes in place: as [`round_f32`]. The differences of [`Format::F32`] are at most 2^-24, relative,
/// or 2^-150. The scale of a page is a binary64 number of at least 2^-1022, that of a vector a binary32 number.
///
/// # Errors
/// As [`round_f32`].
pub fn round_f64(
    values: &mut [f64],
    format: Format,
    dim: Option<usize>,
) -> Result<RoundingError, RoundError> {
    round(values, format, Scales::of(dim))
}

/// Which values have a scale in common, if integers stand for them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scales {
    /// All of them.
    Page,
    /// All of them; the scale tells of the largest only coarsely, whose row may be erased.
    CoarsePage,
    /// So many.
    Vectors(usize),
}

impl Scales {
    fn of(dim: Option<usize>) -> Self {
        dim.map_or(Self::Page, Self::Vectors)
    }
}

pub(crate) fn round<V: Value>(
    values: &mut [V],
    format: Format,
    scales: Scales,
) -> Result<RoundingError, RoundError> {
    if format.number_bytes() >= V::BYTES {
        return Err(RoundError::TooWide);
    }
    let Some(grid) = Grid::of(format, matches!(scales, Scales::Vectors(_))) else {
        return match scales {
            Scales::Page | Scales::CoarsePage => Ok(round_floats(values, format)),
            Scales::Vectors(_) => Err(RoundError::Dim),
        };
    };
    if let Some(index) = values.iter().position(|it| it.magnitude() >= V::INFINITY) {
        return Err(RoundError::NotFinite { index });
    }
    let n = match scales {
        Scales::Vectors(0) => return Err(RoundError::Dim),
        Scales::Vectors(dim) if !values.len().is_multiple_of(dim) => {
            return Err(RoundError::PartOfVector);
        }
        Scales::Vectors(dim) => dim,
        Scales::Page | Scales::CoarsePage => values.len().max(1),
    };
    let is_too_large = |it: &V| V::BYTES == 8 && grid.scale_for(*it).is_none();
    if let Some(index) = values.iter().position(is_too_large) {
        return Err(RoundError::TooLarge { index });
    }
    let mut bound = RoundingError::default();
    for vector in values.chunks_mut(n) {
        let Some(largest) = largest(vector.iter().copied()) else {
            continue;
        };
        let scale = match scales {
            Scales::CoarsePage => Some(coarse_scale(vector, grid, largest)),
            Scales::Page | Scales::Vectors(_) => grid.scale_for(largest),
        };
        if let Some(scale) = scale {
            bound = bound.and(round_to_multiples(vector, grid, scale));
        }
    }
    Ok(bound)
}

/// The scale with which values are rounded where rows may be erased. Values that have one of its steps keep it.
fn coarse_scale<V: Value>(values: &[V], grid: Grid, largest: V) -> f64 {
    let is_multiple = |it: &V, scale| {
        let multiple = V::of(grid.nearest(*it, scale), scale);
        multiple.bits() == it.bits()
    };
    let steps = grid.coarse_scales_for(largest);
    let of_all = |scale: &f64| values.iter().all(|it| is_multiple(it, *scale));
    steps.into_iter().find(of_all).unwrap_or(steps[0])
}

fn round_floats<V: Value>(values: &mut [V], format: Format) -> RoundingError {
    // A constant in each case, so that all is computed with constants.
    match format {
        Format::F32 => round_to(values, Small::F32),
        Format::F16 => round_to(values, Small::F16),
        Format::Bf16 => round_to(values, Small::BF16),
        Format::E4m3 => round_to(values, Small::E4M3),
        Format::E5m2 => round_to(values, Small::E5M2),
        Format::Int8 | Format::Int4 => RoundingError::default(),
    }
}

#[inline(always)]
fn round_to<V: Value>(values: &mut [V], small: Small) -> RoundingError {
    let mut bound = RoundingError::default();
    for value in values {
        let code = match value.magnitude() > V::INFINITY {
            true => small.nan(),
            false => value.rounded(small),
        };
        let rounded = V::of_f32(small.to_f32(code));
        add(&mut bound, value.number(), rounded.number());
        *value = rounded;
    }
    bound
}

/// Rounds finite values to multiples of a scale.
pub(crate) fn round_to_multiples<V: Value>(
    values: &mut [V],
    grid: Grid,
    scale: f64,
) -> RoundingError {
    let mut bound = RoundingError::default();
    for value in values {
        let rounded = V::of(grid.nearest(*value, scale), scale);
        add(&mut bound, value.number(), rounded.number());
        *value = rounded;
    }
    bound
}
