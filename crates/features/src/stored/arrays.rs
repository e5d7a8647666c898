//! Arrays of floats to a small format and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeBinaryArray, Float16Array, Float32Array,
    PrimitiveArray, UInt8Array,
};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field};

use super::fields::{format_of, narrow_field, no_floats, widen_field};
use super::format::Format;
use crate::error::invalid;
use crate::nested::Nested;

/// The floats of an array of `Float32`, `Float64` or lists of them, as numbers of `format`. The result has the type
/// that [`narrow_field`] makes of the array's.
///
/// # Errors
/// Another type, and a number that the format does not have: the text says which of the floats, counted from 0 without
/// those before a slice, and what it is.
pub fn narrow(array: &dyn Array, format: Format) -> Result<ArrayRef, ArrowError> {
    let mut nested = Nested::open(array);
    let floats = bits_of(&nested.leaf)?;
    let visible = nested.visible();
    let is_visible = |i: usize| visible.as_ref().is_none_or(|visible| visible.is_valid(i));
    let mut numbers = Vec::with_capacity(nested.leaf.len());
    for (i, bits) in floats.into_iter().enumerate() {
        numbers.push(match is_visible(i) {
            true => bits
                .and_then(|bits| format.narrow(bits))
                .ok_or_else(|| not_in_format(&nested.leaf, i, format))?,
            false => 0,
        });
    }
    let leaf = column_of(numbers, format, nested.leaf_nulls.clone())?;
    // The items' field says what the numbers are.
    nested.map_items_field(|items| narrow_field(items, format))?;
    nested.close(leaf)
}

/// The floats of a column in a small format as `Float32`. The field says which format it is.
///
/// # Errors
/// A field that is not in a small format, and an array of another type than the field's.
pub fn widen(field: &Field, array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let format = format_of(field)
        .ok_or_else(|| invalid(format!("field {:?} is in no small format", field.name())))?;
    if array.data_type() != field.data_type() {
        return Err(invalid(format!(
            "field {:?} is {}, but the array {}",
            field.name(),
            field.data_type(),
            array.data_type()
        )));
    }
    let mut nested = Nested::open(array);
    let visible = nested.visible();
    let is_visible = |i: usize| visible.as_ref().is_none_or(|visible| visible.is_valid(i));
    let numbers = numbers_of(&nested.leaf);
    let floats = numbers
        .into_iter()
        .enumerate()
        .map(|(i, number)| match is_visible(i) {
            true => format.widen(number),
            false => 0,
        });
    let floats = Buffer::from_vec(floats.collect::<Vec<u32>>()).into();
    let floats = Float32Array::try_new(floats, nested.leaf_nulls.clone())?;
    nested.map_items_field(widen_field)?;
    nested.close(Arc::new(floats))
}

/// The bits of the floats as binary32 numbers; `None` for those that are none.
fn bits_of(leaf: &ArrayRef) -> Result<Vec<Option<u32>>, ArrowError> {
    match leaf.data_type() {
        DataType::Float32 => Ok(bits(leaf.as_primitive::<Float32Type>(), |bits: u32| {
            Some(bits)
        })),
        DataType::Float64 => Ok(bits(leaf.as_primitive::<Float64Type>(), binary32)),
        other => Err(no_floats(other)),
    }
}

/// Bits instead of floats, since some processors change signalling NaN that pass through their float registers.
fn bits<F, B>(floats: &PrimitiveArray<F>, to: impl Fn(B) -> Option<u32>) -> Vec<Option<u32>>
where
    F: ArrowPrimitiveType,
    B: ArrowNativeType,
{
    let bits: ScalarBuffer<B> = floats.values().inner().clone().into();
    bits.iter().map(|bits| to(*bits)).collect()
}

/// The binary32 number that is equal to a binary64 number, NaN with what fits of its payload.
fn binary32(bits: u64) -> Option<u32> {
    const INFINITY: u64 = 0x7FF0_0000_0000_0000;
    let magnitude = bits & (u64::MAX >> 1);
    if magnitude > INFINITY {
        let (sign, payload) = ((bits >> 32) as u32 & 0x8000_0000, bits >> 29);
        let fits = payload << 29 == bits && payload & 0x7F_FFFF != 0;
        return fits.then_some(sign | 0x7F80_0000 | payload as u32 & 0x7F_FFFF);
    }
    let float = f64::from_bits(bits) as f32;
    (f64::from(float).to_bits() == bits).then_some(float.to_bits())
}

fn not_in_format(leaf: &ArrayRef, i: usize, format: Format) -> ArrowError {
    let number = match leaf.as_primitive_opt::<Float32Type>() {
        Some(floats) => f64::from(floats.value(i)),
        None => leaf.as_primitive::<Float64Type>().value(i),
    };
    let name = format.name();
    invalid(format!("float {i} is {number}, which {name} does not have"))
}

fn column_of(
    numbers: Vec<u16>,
    format: Format,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let len = numbers.len();
    Ok(match format {
        Format::F16 => Arc::new(Float16Array::try_new(
            Buffer::from_vec(numbers).into(),
            nulls,
        )?),
        Format::Bf16 => {
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
            let bytes = Buffer::from_vec(bytes.collect::<Vec<u8>>());
            Arc::new(FixedSizeBinaryArray::try_new_with_len(
                2, bytes, nulls, len,
            )?)
        }
        // They are below 256.
        Format::E4M3 | Format::E5M2 => {
            let bytes = numbers.iter().map(|number| *number as u8);
            Arc::new(UInt8Array::try_new(
                bytes.collect::<Vec<u8>>().into(),
                nulls,
            )?)
        }
    })
}

/// The numbers of a leaf whose type is that of a format.
fn numbers_of(leaf: &ArrayRef) -> Vec<u16> {
    if let Some(floats) = leaf.as_primitive_opt::<Float16Type>() {
        let bits: ScalarBuffer<u16> = floats.values().inner().clone().into();
        return bits.to_vec();
    }
    if let Some(bytes) = leaf.as_primitive_opt::<UInt8Type>() {
        return bytes.values().iter().map(|byte| u16::from(*byte)).collect();
    }
    let pairs = leaf.as_fixed_size_binary();
    let number = |i: usize| {
        let bytes = pairs.value(i);
        bytes.try_into().map_or(0, u16::from_le_bytes)
    };
    (0..pairs.len()).map(number).collect()
}
