//! Cuts the rows of packed structs, which are decoded whole, to the wanted fields and items.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, StructArray, UInt64Array};
use arrow_schema::{ArrowError, DataType};
use tarsia_arrow::{ArrayParts, reorder};

use crate::error::{Error, ErrorKind, Result};

/// The wanted fields of whole rows of packed structs.
pub(crate) fn narrowed(flat: ArrayParts, to: &DataType) -> Result<ArrayParts> {
    let parts = flat.parts.iter();
    let parts = parts
        .map(|array| narrow(array, to, &[]))
        .collect::<Result<_>>()?;
    Ok(ArrayParts { parts })
}

/// The part of a packed struct's rows that has the type `to`. It may have fewer fields, and fewer items of fixed-size
/// lists: `starts` has the first wanted item of each such list, the outermost list first, and 0 where it ends.
pub(crate) fn narrow(array: &ArrayRef, to: &DataType, starts: &[u32]) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    let misfit = |error: ArrowError| Error::new(ErrorKind::Corrupt, error.to_string());
    let rows = array.len();
    match (array.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let whole = array.as_struct();
            let children = fields.iter().map(|field| {
                let child = whole.column_by_name(field.name());
                let child = child
                    .ok_or_else(|| Error::new(ErrorKind::Corrupt, "a struct without its field"))?;
                narrow(child, field.data_type(), starts)
            });
            let (children, nulls) = (children.collect::<Result<_>>()?, whole.nulls().cloned());
            let narrow = StructArray::try_new_with_length(fields.clone(), children, nulls, rows);
            Ok(Arc::new(narrow.map_err(misfit)?))
        }
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, length)) => {
            let whole = array.as_fixed_size_list();
            let (start, starts) = starts.split_first().unwrap_or((&0, &[]));
            let items = match whole.value_length() == *length {
                true => whole.values().clone(),
                false => {
                    let of_row = |row: usize| {
                        let first = row as u64 * whole.value_length() as u64 + u64::from(*start);
                        first..first + *length as u64
                    };
                    let places: UInt64Array = (0..rows).flat_map(of_row).map(Some).collect();
                    reorder(whole.values().as_ref(), &places).map_err(misfit)?
                }
            };
            let (items, nulls) = (narrow(&items, item.data_type(), starts)?, whole.nulls());
            let (item, nulls) = (item.clone(), nulls.cloned());
            let narrow = FixedSizeListArray::try_new_with_length(item, *length, items, nulls, rows);
            Ok(Arc::new(narrow.map_err(misfit)?))
        }
        (_, other) => Err(Error::new(
            ErrorKind::InvalidInput,
            format!("{other} is no part of a packed struct"),
        )),
    }
}
