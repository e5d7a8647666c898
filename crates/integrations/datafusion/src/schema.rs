//! One schema for several files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::common::plan_err;
use datafusion::error::Result;

/// The schema that files of all of these are read as: their fields by name, in the order in which they first appear.
/// Fields that a file lacks may be null. Numbers get the type that holds the values of all files.
///
/// # Errors
/// Types that have no common one; the files are named.
pub(crate) fn merged(files: &[(String, SchemaRef)]) -> Result<SchemaRef> {
    let Some(((_, first), rest)) = files.split_first() else {
        return Ok(Arc::new(Schema::empty()));
    };
    if rest.iter().all(|(_, schema)| schema == first) {
        return Ok(Arc::clone(first));
    }
    let mut fields: Vec<(FieldRef, &str)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, schema) in files {
        for field in schema.fields() {
            let known = places.get(field.name().as_str());
            match known.and_then(|place| fields.get_mut(*place)) {
                Some((known, of)) => {
                    let Some(both) = merged_field(known, field) else {
                        return plan_err!(
                            "column `{}` is {} in {of} and {} in {name}, which have no common type",
                            field.name(),
                            known.data_type(),
                            field.data_type()
                        );
                    };
                    *known = Arc::new(both);
                }
                None => {
                    places.insert(field.name(), fields.len());
                    fields.push((Arc::clone(field), name));
                }
            }
        }
    }
    let is_everywhere = |field: &FieldRef| {
        let mut schemas = files.iter().map(|(_, schema)| schema);
        schemas.all(|schema| schema.field_with_name(field.name()).is_ok())
    };
    let fields = fields
        .into_iter()
        .map(|(field, _)| match is_everywhere(&field) {
            true => field,
            false => Arc::new(Field::clone(&field).with_nullable(true)),
        });
    let fields: Fields = fields.collect();
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        first.metadata().clone(),
    )))
}

fn merged_field(one: &Field, other: &Field) -> Option<Field> {
    let data_type = common(one.data_type(), other.data_type())?;
    let is_nullable = one.is_nullable() || other.is_nullable();
    let field = Field::clone(one).with_data_type(data_type);
    Some(field.with_nullable(is_nullable))
}

/// The type that holds the values of both.
fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, Null, Struct};
    if one == other {
        return Some(one.clone());
    }
    let are = |pair: &dyn Fn(&DataType) -> bool| pair(one) && pair(other);
    match (one, other) {
        (Null, known) | (known, Null) => Some(known.clone()),
        (Struct(fields), Struct(others)) => merged_structs(fields, others).map(Struct),
        (DataType::List(item), DataType::List(of)) => {
            Some(DataType::List(Arc::new(merged_field(item, of)?)))
        }
        (DataType::LargeList(item), DataType::LargeList(of)) => {
            Some(DataType::LargeList(Arc::new(merged_field(item, of)?)))
        }
        (DataType::Decimal128(p, s), DataType::Decimal128(q, t)) => {
            let scale = *s.max(t);
            let whole = (i16::from(*p) - i16::from(*s)).max(i16::from(*q) - i16::from(*t));
            let precision = u8::try_from(whole + i16::from(scale)).ok()?;
            (precision <= 38).then_some(DataType::Decimal128(precision, scale))
        }
        _ if are(&DataType::is_signed_integer) || are(&DataType::is_unsigned_integer) => {
            let is_wider = one.primitive_width() >= other.primitive_width();
            Some(if is_wider { one } else { other }.clone())
        }
        _ if are(&DataType::is_integer) => {
            let (signed, unsigned) = match one.is_signed_integer() {
                true => (one, other),
                false => (other, one),
            };
            let wide = unsigned.primitive_width()? * 2;
            match wide.max(signed.primitive_width()?) {
                2 => Some(Int16),
                4 => Some(Int32),
                8 => Some(Int64),
                _ => None,
            }
        }
        (Float16 | Float32 | Float64, Float16 | Float32 | Float64) => {
            let is_wider = one.primitive_width() >= other.primitive_width();
            Some(if is_wider { one } else { other }.clone())
        }
        // All integers of these fit into its 53 bits.
        (Float32 | Float64, Int8 | Int16 | Int32) | (Int8 | Int16 | Int32, Float32 | Float64) => {
            Some(Float64)
        }
        (DataType::Dictionary(_, values), plain) | (plain, DataType::Dictionary(_, values)) => {
            common(values, plain)
        }
        (DataType::Date32, DataType::Date64) | (DataType::Date64, DataType::Date32) => {
            Some(DataType::Date64)
        }
        _ => None,
    }
}

/// As [`merged`], of structs.
fn merged_structs(one: &Fields, other: &Fields) -> Option<Fields> {
    let mut fields = Vec::with_capacity(one.len());
    for field in one {
        fields.push(match other.find(field.name()) {
            Some((_, also)) => Arc::new(merged_field(field, also)?),
            None => Arc::new(Field::clone(field).with_nullable(true)),
        });
    }
    let added = other
        .iter()
        .filter(|field| one.find(field.name()).is_none());
    fields.extend(added.map(|field| Arc::new(Field::clone(field).with_nullable(true))));
    Some(fields.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, fields: Vec<Field>) -> (String, SchemaRef) {
        (name.to_owned(), Arc::new(Schema::new(fields)))
    }

    #[test]
    fn columns_are_added_widened_and_may_be_missing() {
        let one = file(
            "one",
            vec![
                Field::new("a", DataType::Int32, false),
                Field::new("b", DataType::Utf8View, false),
            ],
        );
        let two = file(
            "two",
            vec![
                Field::new("c", DataType::Float32, false),
                Field::new("a", DataType::Int64, false),
            ],
        );
        let merged = merged(&[one, two]).unwrap();
        let expected = Schema::new(vec![
            Field::new("a", DataType::Int64, false),
            Field::new("b", DataType::Utf8View, true),
            Field::new("c", DataType::Float32, true),
        ]);
        assert_eq!(*merged, expected);
    }

    #[test]
    fn types_without_a_common_one_are_refused_by_name() {
        let one = file("one", vec![Field::new("a", DataType::Int32, true)]);
        let two = file("two", vec![Field::new("a", DataType::Utf8View, true)]);
        let error = merged(&[one, two]).unwrap_err().to_string();
        assert!(
            error.contains("column `a` is Int32 in one and Utf8View in two"),
            "{error}"
        );
    }

    #[test]
    fn common_types_hold_all_values() {
        let both = |one, other| common(&one, &other);
        use DataType::{Decimal128, Float32, Float64, Int8, Int32, Int64, UInt8, UInt32, UInt64};
        assert_eq!(both(Int8, UInt8), Some(DataType::Int16));
        assert_eq!(both(UInt32, Int32), Some(Int64));
        assert_eq!(both(UInt64, Int64), None);
        assert_eq!(both(Int32, Float32), Some(Float64));
        assert_eq!(both(Int64, Float64), None);
        assert_eq!(
            both(Decimal128(9, 2), Decimal128(9, 4)),
            Some(Decimal128(11, 4))
        );
        assert_eq!(both(Decimal128(38, 0), Decimal128(38, 4)), None);
    }
}
