//! Fields of dual columns.

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{ArrowError, DataType, Field, Fields};

use crate::error::invalid;
use crate::nested::{leaf_type, with_leaf};

/// The name of the Arrow extension type that dual fields have, so that programs recognise them.
pub const EXTENSION_NAME: &str = "tarsia.dual";

pub(super) const HIGH: &str = "high";
pub(super) const LOW: &str = "low";

/// Where the extension type of the whole field is kept, since a field has one only: key there, key in the dual field.
const KEPT_KEYS: [(&str, &str); 2] = [
    (EXTENSION_TYPE_NAME_KEY, "tarsia.dual:extension:name"),
    (
        EXTENSION_TYPE_METADATA_KEY,
        "tarsia.dual:extension:metadata",
    ),
];

/// The field of the halves of `field`, whose type is `Float32`, `Float64` or lists of them: a struct with the same
/// name, nullability and metadata, marked as an extension type. An extension type of `field` is kept in the metadata.
///
/// # Errors
/// Other types, and metadata with a key that the extension type of `field` would be kept under.
pub fn dual_field(field: &Field) -> Result<Field, ArrowError> {
    let halves = halves_of(field.data_type())?;
    let mut metadata = field.metadata().clone();
    for (key, kept_key) in KEPT_KEYS {
        if metadata.contains_key(kept_key) {
            return Err(invalid(format!(
                "field {:?} has metadata named {kept_key:?}, which dual fields need",
                field.name()
            )));
        }
        if let Some(value) = metadata.remove(key) {
            metadata.insert(kept_key.to_owned(), value);
        }
    }
    metadata.insert(
        EXTENSION_TYPE_NAME_KEY.to_owned(),
        EXTENSION_NAME.to_owned(),
    );
    let dual = Field::new_struct(field.name(), halves, field.is_nullable());
    Ok(dual.with_metadata(metadata))
}

/// The field that [`dual_field`] makes `field` of. A projection to `high` alone has enough to tell.
///
/// # Errors
/// A field that is not marked as dual, or whose type is not that of halves.
pub fn whole_field(field: &Field) -> Result<Field, ArrowError> {
    let DataType::Struct(fields) = field.data_type() else {
        return Err(not_dual(field, "its type is no struct"));
    };
    if !is_dual(field) {
        return Err(not_dual(field, "it has no such extension type"));
    }
    let whole = whole_type(fields)?;
    let mut metadata = field.metadata().clone();
    metadata.remove(EXTENSION_TYPE_NAME_KEY);
    for (key, kept_key) in KEPT_KEYS {
        if let Some(value) = metadata.remove(kept_key) {
            metadata.insert(key.to_owned(), value);
        }
    }
    Ok(Field::new(field.name(), whole, field.is_nullable()).with_metadata(metadata))
}

/// True if `field` is marked as dual: its extension type is [`EXTENSION_NAME`]. Whether the type fits is up to
/// [`whole_field`].
pub fn is_dual(field: &Field) -> bool {
    field.extension_type_name() == Some(EXTENSION_NAME)
}

fn not_dual(field: &Field, why: &str) -> ArrowError {
    invalid(format!(
        "field {:?} is no {EXTENSION_NAME}: {why}",
        field.name()
    ))
}

/// The fields `high` and `low`. They are nullable, so that each has the nulls that it has in the struct.
pub(super) fn halves_of(whole: &DataType) -> Result<Fields, ArrowError> {
    let leaf = match leaf_type(whole) {
        DataType::Float32 => DataType::UInt16,
        DataType::Float64 => DataType::UInt32,
        _ => {
            return Err(invalid(format!(
                "{whole} has no halves: only Float32, Float64 and lists of them do"
            )));
        }
    };
    let half = with_leaf(whole, &leaf);
    Ok([HIGH, LOW]
        .map(|name| Field::new(name, half.clone(), true))
        .into_iter()
        .collect())
}

/// The type of the floats whose halves the fields of a struct are: `high` and `low` in any order, or `high` alone.
pub(super) fn whole_type(fields: &Fields) -> Result<DataType, ArrowError> {
    let type_of = |name: &str| Some(fields.find(name)?.1.data_type());
    let high = type_of(HIGH).ok_or_else(|| invalid("the struct has no field `high`"))?;
    let low = type_of(LOW);
    if fields.len() != 1 + usize::from(low.is_some()) {
        return Err(invalid(
            "the struct has fields other than one `high` and one `low`",
        ));
    }
    if let Some(low) = low.filter(|low| *low != high) {
        return Err(invalid(format!("`high` is {high}, but `low` is {low}")));
    }
    widened(high)
}

/// The type of the floats whose upper halves are of type `high`.
pub(super) fn widened(high: &DataType) -> Result<DataType, ArrowError> {
    let leaf = match leaf_type(high) {
        DataType::UInt16 => DataType::Float32,
        DataType::UInt32 => DataType::Float64,
        _ => {
            return Err(invalid(format!(
                "{high} is no half: only UInt16, UInt32 and lists of them are"
            )));
        }
    };
    Ok(with_leaf(high, &leaf))
}
