//! Row numbers, of any Python type that has them.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyRange, PyString};
use pyo3_arrow::input::AnyArray;

use crate::error::{Exception, wrong_type};

const WANTED: &str = "a sequence of row numbers";

/// The most rows of a range that names them one by one. Longer ones, which cost nothing to write down, would fill the
/// memory before the file is asked how many rows it has.
const RANGE_ROWS_MAX: usize = 1 << 28;

/// The row numbers of a list, a range, a NumPy or Arrow array, or anything else that has whole numbers in order.
pub(crate) fn row_numbers(rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if rows.is_instance_of::<PyString>()
        || rows.is_instance_of::<PyBytes>()
        || rows.is_instance_of::<PyByteArray>()
    {
        return Err(wrong_type("rows", WANTED, rows));
    }
    if !rows.is_instance_of::<PyRange>() {
        if let Some(numbers) = of_buffers(rows)? {
            return Ok(numbers);
        }
        if rows.hasattr("__arrow_c_stream__")? || rows.hasattr("__arrow_c_array__")? {
            return of_arrow(rows);
        }
    }
    let Ok(items) = rows.try_iter() else {
        return Err(wrong_type("rows", WANTED, rows));
    };
    // A length that does not fit is an error of Python's.
    if rows.is_instance_of::<PyRange>() && rows.len().unwrap_or(usize::MAX) > RANGE_ROWS_MAX {
        let text = format!("{rows}: more than {RANGE_ROWS_MAX} row numbers");
        return Err(Exception::LimitExceeded.with(text));
    }
    let mut numbers = Vec::with_capacity(rows.len().unwrap_or(0));
    for item in items {
        numbers.push(row_number(&item?)?);
    }
    Ok(numbers)
}

/// One row number.
pub(crate) fn row_number(row: &Bound<'_, PyAny>) -> PyResult<u64> {
    if row.is_instance_of::<PyBool>() || row.is_instance_of::<PyFloat>() {
        return Err(wrong_type("a row number", "an int", row));
    }
    match row.extract::<u64>() {
        Ok(number) => Ok(number),
        Err(error) if error.is_instance_of::<PyOverflowError>(row.py()) => {
            Err(Exception::OutOfRange.with(format!("row {row}: rows count from 0")))
        }
        Err(_) => Err(wrong_type("a row number", "an int", row)),
    }
}

/// The numbers of an object with Python's buffer protocol, such as a NumPy array.
fn of_buffers(rows: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u64>>> {
    macro_rules! of {
        ($($number:ty)*) => {$(
            if let Some(numbers) = of_buffer::<$number>(rows) {
                return checked(numbers).map(Some);
            }
        )*};
    }
    of!(i64 u64 i32 u32 i16 u16 i8);
    Ok(None)
}

fn of_buffer<T: Element>(rows: &Bound<'_, PyAny>) -> Option<Vec<T>> {
    let buffer = PyBuffer::<T>::get(rows).ok()?;
    // Numbers in the other byte order are left to their own iterator.
    let order = buffer.format().to_bytes().first().copied();
    let is_foreign = matches!(order, Some(b'>' | b'!')) && cfg!(target_endian = "little");
    match buffer.dimensions() {
        1 if !is_foreign => buffer.to_vec(rows.py()).ok(),
        _ => None,
    }
}

fn checked<T: Copy + std::fmt::Display>(numbers: Vec<T>) -> PyResult<Vec<u64>>
where
    u64: TryFrom<T>,
{
    let of = |number: T| {
        let row = u64::try_from(number).map_err(|_| number);
        row.map_err(|row| Exception::OutOfRange.with(format!("row {row}: rows count from 0")))
    };
    numbers.into_iter().map(of).collect()
}

fn of_arrow(rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let chunks = rows.extract::<AnyArray>()?.into_chunked_array()?;
    let (chunks, field) = chunks.into_inner();
    if !field.data_type().is_integer() {
        let text = format!("rows are whole numbers, not of type {}", field.data_type());
        return Err(pyo3::exceptions::PyTypeError::new_err(text));
    }
    let mut numbers = Vec::new();
    for chunk in chunks {
        numbers.extend_from_slice(unsigned(&chunk)?.as_primitive::<UInt64Type>().values());
    }
    Ok(numbers)
}

fn unsigned(chunk: &ArrayRef) -> PyResult<ArrayRef> {
    if chunk.null_count() > 0 {
        return Err(Exception::InvalidInput.with("rows: a row number is null"));
    }
    let options = arrow_cast::CastOptions {
        safe: false,
        ..Default::default()
    };
    let cast = arrow_cast::cast_with_options(chunk, &DataType::UInt64, &options);
    cast.map_err(|_| Exception::OutOfRange.with("rows: a row number is negative"))
}
