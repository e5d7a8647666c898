//! Logical values become run-end arrays: equal neighbours are one run.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, UInt64Array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use tarsia_codec::{Error, Result};

use crate::reorder::{reorder, run_array};
use crate::row_bytes::RowBytes;

/// Why no array was built.
pub(crate) enum RunsError {
    /// For the integers that number them.
    TooManyRows,
    Error(Error),
}

impl From<Error> for RunsError {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<arrow_schema::ArrowError> for RunsError {
    fn from(_: arrow_schema::ArrowError) -> Self {
        // What Arrow checks once more was checked before, but for nulls in fields without.
        Self::Error(corrupt("levels that make no array of the type"))
    }
}

pub(crate) type Build<T = ArrayRef> = Result<T, RunsError>;

#[cold]
pub(crate) fn corrupt(what: &'static str) -> Error {
    Error::corrupt(what, 0, 0u32, "what the columns of one field agree on")
}

#[cold]
pub(crate) fn misfit() -> Error {
    Error::invalid("columns that are not the field's")
}

/// Run-end arrays that hold rows in order: several where the type of the ends cannot number them.
pub(crate) fn run_arrays(
    data_type: &DataType,
    ends: &DataType,
    logical: &ArrayRef,
) -> Result<Vec<ArrayRef>> {
    let (most, build): (usize, fn(&DataType, &ArrayRef) -> Build) = match ends {
        DataType::Int16 => (i16::MAX as usize, runs::<Int16Type>),
        DataType::Int32 => (i32::MAX as usize, runs::<Int32Type>),
        _ => (usize::MAX, runs::<Int64Type>),
    };
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let n = (logical.len() - start).min(most);
        match build(data_type, &logical.slice(start, n)) {
            Ok(part) => parts.push(part),
            Err(RunsError::Error(error)) => return Err(error),
            Err(RunsError::TooManyRows) => return Err(misfit()),
        }
        start += n;
        if start >= logical.len() {
            return Ok(parts);
        }
    }
}

/// A run-end array of these rows: equal neighbours are one run.
pub(crate) fn runs<R: RunEndIndexType>(data_type: &DataType, logical: &ArrayRef) -> Build {
    let n = logical.len();
    let data = logical.to_data();
    let same = |a: usize, b: usize| {
        logical.is_valid(a) == logical.is_valid(b)
            && (logical.is_null(a) || data.slice(a, 1) == data.slice(b, 1))
    };
    let same = flat_equality(logical).unwrap_or_else(|| Box::new(same));
    let mut ends = Vec::new();
    let mut starts = Vec::new();
    for row in 0..n {
        if row == 0 || !same(row - 1, row) {
            starts.push(row as u64);
            if row > 0 {
                ends.push(R::Native::from_usize(row).ok_or(RunsError::TooManyRows)?);
            }
        }
    }
    if n > 0 {
        ends.push(R::Native::from_usize(n).ok_or(RunsError::TooManyRows)?);
    }
    let values = reorder(logical.as_ref(), &UInt64Array::from(starts))?;
    let ends = PrimitiveArray::<R>::new(ends.into(), None);
    Ok(run_array(data_type, &ends, values)?)
}

/// Equality of rows of a flat array, nulls being equal.
fn flat_equality(array: &ArrayRef) -> Option<Box<dyn Fn(usize, usize) -> bool + '_>> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        // Their entries are all different, as they were just made.
        let flat = !dictionary.values().data_type().is_nested();
        let keys = match dictionary.values().is_empty() {
            // All null.
            true => vec![0; array.len()],
            false => flat.then(|| dictionary.normalized_keys())?,
        };
        return Some(Box::new(move |a, b| {
            array.is_valid(a) == array.is_valid(b) && (array.is_null(a) || keys[a] == keys[b])
        }));
    }
    let bytes = RowBytes::of(array.as_ref()).ok()?;
    Some(Box::new(move |a, b| {
        array.is_valid(a) == array.is_valid(b) && (array.is_null(a) || bytes.get(a) == bytes.get(b))
    }))
}
