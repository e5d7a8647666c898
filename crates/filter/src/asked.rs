//! Tests as predicates that decoders answer.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float16Array, Float32Array, Float64Array, Scalar};
use arrow_schema::DataType;
use half::f16;
use tarsia_codec::{NumberRange, Order, OwnedPredicate};

use crate::range::{Range, order_of};
use crate::set::strings_of;
use crate::test::{Kind, Test};

/// Most members of a set that decoders are asked for. Each of them is compared with every value, which for more takes
/// longer than to look all values up.
const MEMBERS_MAX: usize = 8;

impl Test {
    /// The predicate on the bytes of values that are not null; `None` if they have to be decoded.
    pub(crate) fn predicate(&self, is_negated: bool) -> Option<OwnedPredicate> {
        let no_nans = self.nan_is_unknown && order_of(&self.values) == Some(Order::Float);
        if no_nans && is_negated {
            return None;
        }
        let numbers = match &self.kind {
            Kind::Equal(value) if order_of(&self.values).is_some() => {
                Range::of(value).numbers(&self.values)
            }
            Kind::Equal(value) => return strings_in(arrow_array::Datum::get(value).0),
            Kind::Range(range) => range.numbers(&self.values),
            // Its negation is true of nothing.
            Kind::In { or_unknown, .. } if *or_unknown && is_negated => return None,
            Kind::In { set, .. } => {
                let members = set.sorted()?;
                return match members.len() <= MEMBERS_MAX {
                    true => numbers_in(members).or_else(|| strings_in(members)),
                    false => None,
                };
            }
            Kind::Like(pattern) => {
                let text = pattern.prefix()?.as_bytes();
                return match (pattern.is_prefix(), pattern.is_text()) {
                    (true, _) => Some(OwnedPredicate::StartsWith(text.to_vec())),
                    (_, true) => OwnedPredicate::in_strings([text]),
                    _ => None,
                };
            }
            _ => return None,
        };
        let mut numbers = numbers.ok()??;
        if no_nans {
            numbers = numbers.and(&no_nan(&self.values)?);
        }
        Some(OwnedPredicate::Within(numbers))
    }
}

/// Values that equal one of these strings.
fn strings_in(strings: &dyn Array) -> Option<OwnedPredicate> {
    OwnedPredicate::in_strings(strings_of(strings)?)
}

/// Values that equal one of these numbers. Equal bytes are equal numbers.
fn numbers_in(numbers: &ArrayRef) -> Option<OwnedPredicate> {
    order_of(numbers.data_type())?;
    let width = numbers.data_type().primitive_width()?;
    let data = numbers.to_data();
    let bytes = data.buffers().first()?.as_slice();
    let start = data.offset() * width;
    let bytes = bytes.get(start..start + data.len() * width)?.to_vec();
    Some(OwnedPredicate::InFixed { width, bytes })
}

/// The range of the floating-point values of a type that are numbers.
fn no_nan(data_type: &DataType) -> Option<NumberRange> {
    let [low, high]: [ArrayRef; 2] = match data_type {
        DataType::Float16 => {
            let ends = [f16::NEG_INFINITY, f16::INFINITY];
            ends.map(|end| Arc::new(Float16Array::from(vec![end])) as ArrayRef)
        }
        DataType::Float32 => {
            let ends = [f32::NEG_INFINITY, f32::INFINITY];
            ends.map(|end| Arc::new(Float32Array::from(vec![end])) as ArrayRef)
        }
        DataType::Float64 => {
            let ends = [f64::NEG_INFINITY, f64::INFINITY];
            ends.map(|end| Arc::new(Float64Array::from(vec![end])) as ArrayRef)
        }
        _ => return None,
    };
    let range = Range {
        low: Range::of(&Scalar::new(low)).low,
        high: Range::of(&Scalar::new(high)).high,
    };
    range.numbers(data_type).ok().flatten()
}
