//! Types whose strings are replaced by views.

use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, FieldRef, UnionFields};

/// The field with views instead of strings, except in dictionaries and extension types.
pub(crate) fn field(field: &FieldRef) -> FieldRef {
    // The storage type of an extension type is fixed by the extension.
    if field.metadata().contains_key(EXTENSION_TYPE_NAME_KEY) {
        return field.clone();
    }
    let data_type = data_type(field.data_type());
    match &data_type == field.data_type() {
        true => field.clone(),
        false => Arc::new(field.as_ref().clone().with_data_type(data_type)),
    }
}

fn data_type(stored: &DataType) -> DataType {
    match stored {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::ListView(item) => DataType::ListView(field(item)),
        DataType::LargeListView(item) => DataType::LargeListView(field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        DataType::Union(fields, mode) => {
            let fields = fields.iter().map(|(id, child)| (id, field(child)));
            DataType::Union(fields.collect::<UnionFields>(), *mode)
        }
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(ends.clone(), field(values))
        }
        other => other.clone(),
    }
}
