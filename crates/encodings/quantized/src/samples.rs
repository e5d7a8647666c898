//! Nodes for tests, and values that they hold.

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZero;

use tarsia_codec::{AlignedBuf, OwnedValues, Sample, ValueType, Values};

use crate::grid::Grid;
use crate::layout::{Format, Params, Scale};
use crate::round::{Scales, round, round_to_multiples};
use crate::value::Value;

/// The scale of pages.
const PAGE_SCALE: f64 = 0.125;

pub(crate) fn all() -> Vec<Sample> {
    let float = |format, value_bytes, fit| of(format, Scale::None, value_bytes, fit);
    let page = |format, value_bytes, fit| of(format, Scale::Page(PAGE_SCALE), value_bytes, fit);
    // Any values are whole vectors of one value.
    let one = Scale::Vector(NonZero::<u32>::MIN);
    let vector = |format, value_bytes, fit| of(format, one, value_bytes, fit);
    vec![
        float(Format::Bf16, 4, |it| rounded(it, Format::Bf16)),
        float(Format::F32, 8, |it| rounded(it, Format::F32)),
        float(Format::F16, 4, |it| rounded(it, Format::F16)),
        float(Format::E4m3, 2, |it| rounded(it, Format::E4m3)),
        float(Format::E5m2, 8, |it| rounded(it, Format::E5m2)),
        page(Format::Int8, 4, |it| multiples(it, Format::Int8)),
        page(Format::Int4, 8, |it| multiples(it, Format::Int4)),
        vector(Format::Int8, 4, |it| rounded(it, Format::Int8)),
        vector(Format::Int4, 2, |it| rounded(it, Format::Int4)),
    ]
}

fn of(
    format: Format,
    scale: Scale,
    value_bytes: usize,
    fit: fn(Values<'_>) -> OwnedValues,
) -> Sample {
    let params = Params {
        format,
        scale,
        value_bytes,
    };
    let value_type = ValueType::Fixed(value_bytes as u32);
    Sample::fitting(value_type, &params.to_bytes(), fit)
}

/// Any values, rounded to a format: to floating-point numbers, or to integers with a scale for each value. A node for
/// values of some bytes is one for those of others, too, so these count.
fn rounded(values: Values<'_>, format: Format) -> OwnedValues {
    fn all<V: Value>(values: Values<'_>, format: Format) -> OwnedValues {
        let scales = match format.small() {
            Some(_) => Scales::Page,
            None => Scales::Vectors(1),
        };
        changed(values, |value: &mut [V]| {
            round(value, format, scales).is_ok()
        })
    }
    match values.value_type() {
        ValueType::Fixed(2) => all::<u16>(values, format),
        ValueType::Fixed(4) => all::<f32>(values, format),
        ValueType::Fixed(8) => all::<f64>(values, format),
        _ => OwnedValues::copy_of(values),
    }
}

/// Any values, rounded to multiples of the scale of pages.
fn multiples(values: Values<'_>, format: Format) -> OwnedValues {
    fn all<V: Value>(values: Values<'_>, format: Format) -> OwnedValues {
        changed(values, |value: &mut [V]| {
            let is_finite = value.iter().all(|it| it.magnitude() < V::INFINITY);
            let grid = Grid::of(format, false).filter(|_| is_finite);
            grid.map(|grid| round_to_multiples(value, grid, PAGE_SCALE))
                .is_some()
        })
    }
    match values.value_type() {
        ValueType::Fixed(2) => all::<u16>(values, format),
        ValueType::Fixed(4) => all::<f32>(values, format),
        ValueType::Fixed(8) => all::<f64>(values, format),
        _ => OwnedValues::copy_of(values),
    }
}

/// The values, each changed by `change`, or zero where that is false.
fn changed<V: Value>(values: Values<'_>, change: impl Fn(&mut [V]) -> bool) -> OwnedValues {
    let Values::Fixed(fixed) = values else {
        return OwnedValues::copy_of(values);
    };
    let mut bytes = Vec::with_capacity(fixed.bytes().len());
    for value in V::all(fixed.bytes()) {
        let mut value = [value];
        let bits = match change(&mut value) {
            true => value[0].bits(),
            false => 0,
        };
        bytes.extend(bits.to_le_bytes().iter().take(V::BYTES));
    }
    OwnedValues::Fixed {
        bytes: AlignedBuf::copy_of(&bytes),
        width: fixed.width(),
        len: fixed.len(),
    }
}
