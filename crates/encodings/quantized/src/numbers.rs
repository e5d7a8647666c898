//! Values to the numbers that stand for them, if numbers do.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::num::NonZero;

use tarsia_codec::{AlignedBuf, FixedSlice, OwnedValues};

use crate::grid::Grid;
use crate::layout::{Format, Params, SCALE_BYTES, Scale};
use crate::small::Small;
use crate::value::Value;

/// Values that are converted before it is looked whether numbers stand for all of them.
const CHUNK: usize = 64;

/// Values of a page that are looked at before all of them.
const LOOKED_AT: usize = 512;

/// The numbers that stand for all values of a page or block.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) params: Params,
    /// One for each value.
    pub(crate) numbers: Rc<OwnedValues>,
    /// One for each vector, if there are vectors.
    pub(crate) scales: Option<Rc<OwnedValues>>,
}

/// Calls a function for the type of the values.
macro_rules! of_type {
    ($values:ident, $function:ident($($argument:expr),*)) => {
        match $values.width() {
            2 => $function::<u16>($values.bytes(), $($argument),*),
            4 => $function::<f32>($values.bytes(), $($argument),*),
            _ => $function::<f64>($values.bytes(), $($argument),*),
        }
    };
}

/// The numbers under a node; `None` if it does not hold all of the values.
pub(crate) fn under(params: Params, values: &FixedSlice<'_>) -> Option<Numbers> {
    let Params { format, scale, .. } = params;
    match scale {
        Scale::None => floats(values, &[format]).pop(),
        Scale::Vector(dim) => vectors(values, format, dim),
        Scale::Page(scale) => {
            let grid = Grid::of(format, false)?;
            let mut codes = Vec::new();
            let is_held = of_type!(values, append_multiples(grid, scale, &mut codes));
            is_held.then(|| Numbers::new(params, &codes))
        }
    }
}

/// The numbers of each of some formats of floating-point numbers that hold all of the values. All are tried in one
/// pass, which ends when none is left.
pub(crate) fn floats(values: &FixedSlice<'_>, formats: &[Format]) -> Vec<Numbers> {
    let smaller = |it: &&Format| it.number_bytes() < values.width();
    let formats = formats.iter().filter(smaller).copied();
    let mut found: Vec<Floats> = formats.map(Floats::new).collect();
    of_type!(values, append_floats(&mut found));
    let numbers = found.iter().map(|it| {
        let params = Params {
            format: it.format,
            scale: Scale::None,
            value_bytes: values.width(),
        };
        Numbers::new(params, &it.codes)
    });
    numbers.collect()
}

/// The integers of a page whose scale is found; `None` if it is not, or if they do not stand for all of the values.
/// Where rows may be erased, the scale is one that says little of the largest value.
pub(crate) fn page(values: &FixedSlice<'_>, format: Format, erasable: bool) -> Option<Numbers> {
    let grid = Grid::of(format, false)?;
    if !of_type!(values, may_be_multiples(grid)) {
        return None;
    }
    let mut codes = Vec::new();
    let scale = match erasable {
        true => of_type!(values, find_coarse_scale(grid, &mut codes))?,
        false => of_type!(values, find_scale(grid, &mut codes))?,
    };
    let params = Params {
        format,
        scale: Scale::Page(scale),
        value_bytes: values.width(),
    };
    Some(Numbers::new(params, &codes))
}

/// The integers of vectors whose scales are found; `None` if one is not, if they do not stand for all of the values, or
/// if these are no whole vectors.
pub(crate) fn vectors(
    values: &FixedSlice<'_>,
    format: Format,
    dim: NonZero<u32>,
) -> Option<Numbers> {
    let grid = Grid::of(format, true)?;
    let vector_bytes = (dim.get() as usize).checked_mul(values.width())?;
    if !values.bytes().len().is_multiple_of(vector_bytes) {
        return None;
    }
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for vector in values.bytes().chunks_exact(vector_bytes) {
        let vector = FixedSlice::new(vector, values.width(), dim.get() as usize).ok()?;
        let scale = of_type!(vector, find_scale(grid, &mut codes))?;
        scales.extend((scale as f32).to_le_bytes());
    }
    let params = Params {
        format,
        scale: Scale::Vector(dim),
        value_bytes: values.width(),
    };
    Some(Numbers {
        scales: Some(owned(&scales, SCALE_BYTES)),
        ..Numbers::new(params, &codes)
    })
}

impl Numbers {
    fn new(params: Params, codes: &[u8]) -> Self {
        Self {
            params,
            numbers: owned(codes, params.format.number_bytes()),
            scales: None,
        }
    }
}

fn owned(bytes: &[u8], width: usize) -> Rc<OwnedValues> {
    Rc::new(OwnedValues::Fixed {
        bytes: AlignedBuf::copy_of(bytes),
        width,
        len: bytes.len() / width,
    })
}

/// The numbers of one format, of the values so far.
struct Floats {
    format: Format,
    codes: Vec<u8>,
}

impl Floats {
    fn new(format: Format) -> Self {
        Self {
            format,
            codes: Vec::new(),
        }
    }

    /// Appends the numbers of some values. False if the format does not hold one of them.
    fn append<V: Value>(&mut self, values: &[u8]) -> bool {
        let codes = &mut self.codes;
        // A constant in each case, so that all is computed with constants.
        match self.format {
            Format::F32 => append_codes::<V, 4>(values, Small::F32, codes),
            Format::F16 => append_codes::<V, 2>(values, Small::F16, codes),
            Format::Bf16 => append_codes::<V, 2>(values, Small::BF16, codes),
            Format::E4m3 => append_codes::<V, 1>(values, Small::E4M3, codes),
            Format::E5m2 => append_codes::<V, 1>(values, Small::E5M2, codes),
            Format::Int8 | Format::Int4 => false,
        }
    }
}

fn append_floats<V: Value>(values: &[u8], found: &mut Vec<Floats>) {
    for chunk in values.chunks(CHUNK * V::BYTES) {
        found.retain_mut(|it| it.append::<V>(chunk));
        if found.is_empty() {
            return;
        }
    }
}

/// Appends the numbers of up to [`CHUNK`] values, `W` bytes each. False if the format does not hold one of them.
#[inline(always)]
fn append_codes<V: Value, const W: usize>(
    values: &[u8],
    small: Small,
    codes: &mut Vec<u8>,
) -> bool {
    let mut chunk = [[0; W]; CHUNK];
    let mut differs = 0;
    for (to, value) in chunk.iter_mut().zip(V::all(values)) {
        let code = value.rounded(small);
        differs |= V::of_f32(small.to_f32(code)).bits() ^ value.bits();
        let bytes = code.to_le_bytes();
        to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    }
    let n_bytes = values.len() / V::BYTES * W;
    let chunk = chunk.as_flattened().get(..n_bytes);
    codes.extend_from_slice(chunk.unwrap_or_default());
    differs == 0
}

/// Appends the integers that stand for values with this scale. False, and nothing is appended, if they do not for one.
fn append_multiples<V: Value>(values: &[u8], grid: Grid, scale: f64, codes: &mut Vec<u8>) -> bool {
    let start = codes.len();
    for values in values.chunks(CHUNK * V::BYTES) {
        let mut chunk = [0; CHUNK];
        let mut differs = 0;
        for (to, value) in chunk.iter_mut().zip(V::all(values)) {
            let q = grid.nearest_of_all(value, scale);
            differs |= V::of(q, scale).bits() ^ value.bits();
            *to = q as u8;
        }
        if differs != 0 {
            codes.truncate(start);
            return false;
        }
        let chunk = chunk.get(..values.len() / V::BYTES);
        codes.extend_from_slice(chunk.unwrap_or_default());
    }
    true
}

/// Finds the scale with which integers stand for the values, and appends these.
fn find_scale<V: Value>(values: &[u8], grid: Grid, codes: &mut Vec<u8>) -> Option<f64> {
    let scale = grid.scale_for(largest::<V>(V::all(values))?)?;
    append_multiples::<V>(values, grid, scale, codes).then_some(scale)
}

/// Finds one of the scales that values have where rows may be erased.
fn find_coarse_scale<V: Value>(values: &[u8], grid: Grid, codes: &mut Vec<u8>) -> Option<f64> {
    let mut steps = grid
        .coarse_scales_for(largest::<V>(V::all(values))?)
        .into_iter();
    steps.find(|scale| append_multiples::<V>(values, grid, *scale, codes))
}

/// False if the first values have more magnitudes than integers have. That is so for nearly all values that were not
/// rounded, and it is found out without looking at all of them for the largest.
fn may_be_multiples<V: Value>(values: &[u8], grid: Grid) -> bool {
    let first = V::all(values).take(LOOKED_AT);
    let mut magnitudes: Vec<u64> = first.map(V::magnitude).collect();
    magnitudes.sort_unstable();
    magnitudes.dedup();
    magnitudes.len() <= grid.n_magnitudes()
}

/// The value of the largest magnitude, zero of none; `None` if one is not finite.
pub(crate) fn largest<V: Value>(values: impl Iterator<Item = V>) -> Option<V> {
    let zero = V::of_f32(0);
    let largest = values.fold(zero, |largest, it| {
        match it.magnitude() > largest.magnitude() {
            true => it,
            false => largest,
        }
    });
    (largest.magnitude() < V::INFINITY).then_some(largest)
}
