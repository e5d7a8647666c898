//! Schemas with strings as views.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};

/// Whether there are byte strings at any depth.
pub(super) fn has_binary(schema: &SchemaRef) -> bool {
    schema.fields().iter().any(|f| is_binary(f.data_type()))
}

fn is_binary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Binary | DataType::LargeBinary => true,
        DataType::List(item) | DataType::LargeList(item) => is_binary(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|f| is_binary(f.data_type())),
        _ => false,
    }
}

/// The schema with all strings as views.
pub(super) fn schema(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::List(item) => DataType::List(self::field(item)),
        DataType::LargeList(item) => DataType::LargeList(self::field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(self::field).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
