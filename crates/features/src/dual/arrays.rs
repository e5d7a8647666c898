//! Arrays to halves and back.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt16Type};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::ArrowError;

use super::fields::{HIGH, LOW, halves_of, whole_type, widened};
use super::halves;
use crate::error::invalid;
use crate::nested::Nested;

/// The halves of an array of `Float32`, `Float64` or lists of them: a struct of the fields `high` and `low`.
///
/// # Errors
/// Other types.
pub fn split(array: &dyn Array) -> Result<StructArray, ArrowError> {
    let fields = halves_of(array.data_type())?;
    let nested = Nested::open(array);
    let halves = match nested.leaf.as_primitive_opt::<Float32Type>() {
        Some(floats) => halves::split(floats)?,
        None => halves::split(nested.leaf.as_primitive::<Float64Type>())?,
    };
    let halves = vec![nested.close(halves.high)?, nested.close(halves.low)?];
    StructArray::try_new_with_length(fields, halves, array.nulls().cloned(), array.len())
}

/// The floats whose halves `dual` holds, with the bits that they had. `high` and `low` may be in any order.
///
/// # Errors
/// A struct of other fields or without `low`, halves of different types, halves with lists of different lengths.
pub fn join(dual: &StructArray) -> Result<ArrayRef, ArrowError> {
    let mut whole = open_high(dual)?;
    let low = dual.column_by_name(LOW).ok_or_else(|| {
        invalid("the struct has no field `low`; `widen_high` makes rounded floats of `high` alone")
    })?;
    let low = Nested::open(low);
    whole.unite_nulls(&low)?;
    let (high, nulls) = (&whole.leaf, whole.leaf_nulls.clone());
    let floats = match high.as_primitive_opt::<UInt16Type>() {
        Some(high) => halves::join::<Float32Type>(high, low.leaf.as_primitive(), nulls)?,
        None => halves::join::<Float64Type>(high.as_primitive(), low.leaf.as_primitive(), nulls)?,
    };
    whole.close(floats)
}

/// The rounded floats that `high` alone is, as floats of the whole width whose lower half is 0. `high` is that field of
/// a dual column, or the struct itself, also without its field `low`.
///
/// # Errors
/// Other types: only `UInt16`, `UInt32`, lists of them and structs as in [`join`] are taken.
pub fn widen_high(high: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let nested = match high.as_struct_opt() {
        Some(dual) => open_high(dual)?,
        None => {
            widened(high.data_type())?;
            Nested::open(high)
        }
    };
    let (high, nulls) = (&nested.leaf, nested.leaf_nulls.clone());
    let floats = match high.as_primitive_opt::<UInt16Type>() {
        Some(high) => halves::widen::<Float32Type>(high, nulls)?,
        None => halves::widen::<Float64Type>(high.as_primitive(), nulls)?,
    };
    nested.close(floats)
}

/// The field `high` of a struct whose fields are those of a dual column, with the nulls of the struct.
fn open_high(dual: &StructArray) -> Result<Nested, ArrowError> {
    whole_type(dual.fields())?;
    let high = dual.column_by_name(HIGH);
    let high = high.ok_or_else(|| invalid("the struct has no field `high`"))?;
    let mut nested = Nested::open(high);
    nested.add_nulls(dual.nulls());
    Ok(nested)
}
