//! Items of arrays in another order.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, PrimitiveArray, RunArray, UInt64Array, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};

use crate::plain::zero_width;

/// The items at `places`, in that order; null where the place is. As Arrow's `take`, which forgets how many values of
/// width 0 there are.
///
/// # Errors
/// What Arrow refuses: places out of range, offsets that overflow.
pub fn reorder(array: &dyn Array, places: &dyn Array) -> Result<ArrayRef, ArrowError> {
    if let DataType::RunEndEncoded(ends, _) = array.data_type() {
        return match ends.data_type() {
            DataType::Int16 => reorder_runs::<Int16Type>(array, places),
            DataType::Int32 => reorder_runs::<Int32Type>(array, places),
            _ => reorder_runs::<Int64Type>(array, places),
        };
    }
    if array.data_type().is_nested()
        || matches!(array.data_type(), DataType::Dictionary(_, v) if v.is_nested())
    {
        return reorder_nested(array, places);
    }
    if array.data_type() != &DataType::FixedSizeBinary(0) {
        return arrow_select::take::take(array, places, None);
    }
    let valid = BooleanArray::from_iter((0..array.len()).map(|i| Some(array.is_valid(i))));
    let picked = arrow_select::take::take(&valid, places, None)?;
    let picked = picked.as_boolean();
    let nulls = picked
        .iter()
        .map(|valid| valid == Some(true))
        .collect::<BooleanBuffer>();
    zero_width(
        places.len(),
        Some(NullBuffer::new(nulls)).filter(|nulls| nulls.null_count() > 0),
    )
}

/// Reorders run-end arrays, of which Arrow's `take` knows neither places that are null nor values that it cannot take
/// itself.
fn reorder_runs<R: RunEndIndexType>(
    array: &dyn Array,
    places: &dyn Array,
) -> Result<ArrayRef, ArrowError> {
    let runs = array.as_run::<R>();
    let places = wide_places(array.len(), places)?;
    let mut ends: Vec<R::Native> = Vec::new();
    let mut picked: Vec<Option<u64>> = Vec::new();
    for (row, place) in places.iter().enumerate() {
        let run = place.map(|place| runs.get_physical_index(place as usize) as u64);
        if picked.last() != Some(&run) {
            picked.push(run);
            ends.push(R::Native::default());
        }
        let end = R::Native::from_usize(row + 1);
        let end = end.ok_or_else(|| ArrowError::ComputeError("run end overflow".into()))?;
        if let Some(last) = ends.last_mut() {
            *last = end;
        }
    }
    let values = reorder(runs.values().as_ref(), &UInt64Array::from(picked))?;
    let ends = PrimitiveArray::<R>::new(ends.into(), None);
    run_array(array.data_type(), &ends, values)
}

/// A run-end array whose fields are named as the type says.
pub(crate) fn run_array<R: RunEndIndexType>(
    data_type: &DataType,
    ends: &PrimitiveArray<R>,
    values: ArrayRef,
) -> Result<ArrayRef, ArrowError> {
    let array = RunArray::<R>::try_new(ends, values.as_ref())?;
    let data = array.into_data().into_builder();
    Ok(make_array(data.data_type(data_type.clone()).build()?))
}

/// Places among `n` rows as u64, checked.
fn wide_places(n: usize, places: &dyn Array) -> Result<UInt64Array, ArrowError> {
    let rows = UInt64Array::from_iter_values(0..n as u64);
    let checked = arrow_select::take::TakeOptions { check_bounds: true };
    let wide = arrow_select::take::take(&rows, places, Some(checked))?;
    Ok(wide.as_primitive::<UInt64Type>().clone())
}

/// Reorders nested arrays, of which Arrow's `take` forgets the length where fixed-size lists are empty.
fn reorder_nested(array: &dyn Array, places: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let wide = wide_places(array.len(), places)?;
    let data = array.to_data();
    let mut picked = MutableArrayData::new(vec![&data], wide.null_count() > 0, wide.len());
    let mut run = 0..0;
    for place in &wide {
        match place.map(|place| place as usize) {
            Some(place) if place == run.end && !run.is_empty() => run.end += 1,
            Some(place) => {
                picked.try_extend(0, run.start, run.end)?;
                run = place..place + 1;
            }
            None => {
                picked.try_extend(0, run.start, run.end)?;
                run = 0..0;
                picked.try_extend_nulls(1)?;
            }
        }
    }
    picked.try_extend(0, run.start, run.end)?;
    Ok(make_array(picked.freeze()))
}
