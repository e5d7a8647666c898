//! Fields of columns in a small format.

use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{ArrowError, DataType, Field};

use super::format::Format;
use crate::error::invalid;

/// The field of the column that [`narrow`](super::narrow) makes of `field`'s.
///
/// # Errors
/// A field of other than `Float32`, `Float64` or lists of them, and one whose floats have an extension type already.
pub fn narrow_field(field: &Field, format: Format) -> Result<Field, ArrowError> {
    map_leaf(field, &|leaf| {
        if !matches!(leaf.data_type(), DataType::Float32 | DataType::Float64) {
            return Err(no_floats(leaf.data_type()));
        }
        if let Some(name) = leaf.extension_type_name() {
            return Err(invalid(format!(
                "field {:?} has the extension type {name:?} already",
                field.name()
            )));
        }
        let mut metadata = leaf.metadata().clone();
        if let Some(name) = format.extension_name() {
            metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned());
        }
        let narrowed = leaf.clone().with_data_type(format.data_type());
        Ok(narrowed.with_metadata(metadata))
    })
}

/// The field of the column of `Float32` that [`widen`](super::widen) makes of `field`'s.
///
/// # Errors
/// A field that is not in a small format.
pub fn widen_field(field: &Field) -> Result<Field, ArrowError> {
    if format_of(field).is_none() {
        return Err(invalid(format!(
            "field {:?} of type {} is in no small format",
            field.name(),
            field.data_type()
        )));
    }
    map_leaf(field, &|leaf| {
        let mut metadata = leaf.metadata().clone();
        if leaf.data_type() != &DataType::Float16 {
            metadata.remove(EXTENSION_TYPE_NAME_KEY);
            metadata.remove(EXTENSION_TYPE_METADATA_KEY);
        }
        let widened = leaf.clone().with_data_type(DataType::Float32);
        Ok(widened.with_metadata(metadata))
    })
}

/// The format that a field's leaf says it has.
pub(super) fn format_of(field: &Field) -> Option<Format> {
    let leaf = leaf_of(field);
    let of_leaf = |format: &Format| {
        leaf.data_type() == &format.data_type()
            && match format.extension_name() {
                Some(name) => leaf.extension_type_name() == Some(name),
                None => true,
            }
    };
    Format::ALL.into_iter().find(of_leaf)
}

pub(super) fn no_floats(data_type: &DataType) -> ArrowError {
    invalid(format!(
        "{data_type} has no smaller format here: only Float32, Float64 and lists of them do"
    ))
}

/// The field inside all lists.
fn leaf_of(field: &Field) -> &Field {
    match field.data_type() {
        DataType::List(items) | DataType::LargeList(items) | DataType::FixedSizeList(items, _) => {
            leaf_of(items)
        }
        _ => field,
    }
}

/// Puts the same lists around another leaf.
fn map_leaf(
    field: &Field,
    map: &impl Fn(&Field) -> Result<Field, ArrowError>,
) -> Result<Field, ArrowError> {
    let data_type = match field.data_type() {
        DataType::List(items) => DataType::List(Arc::new(map_leaf(items, map)?)),
        DataType::LargeList(items) => DataType::LargeList(Arc::new(map_leaf(items, map)?)),
        DataType::FixedSizeList(items, size) => {
            DataType::FixedSizeList(Arc::new(map_leaf(items, map)?), *size)
        }
        _ => return map(field),
    };
    Ok(field.clone().with_data_type(data_type))
}
