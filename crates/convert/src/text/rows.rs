//! Rows as JSON objects.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema};

use super::cell::cell;
use super::object::Object;
use super::style::Style;

/// The rows of one batch as JSON objects, one key per column.
pub struct JsonRows<'a>(Object<'a>);

impl<'a> JsonRows<'a> {
    /// # Errors
    /// Names the column whose type has no JSON text.
    pub fn new(batch: &'a RecordBatch) -> Result<JsonRows<'a>, String> {
        Self::in_style(Style::Json, batch)
    }

    /// Rows of a file: what has no text is refused.
    ///
    /// # Errors
    /// As [`JsonRows::new`].
    pub fn of_file(batch: &'a RecordBatch) -> Result<JsonRows<'a>, String> {
        Self::in_style(Style::JsonLines, batch)
    }

    fn in_style(style: Style, batch: &'a RecordBatch) -> Result<JsonRows<'a>, String> {
        let mut object = Object::default();
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let values = cell(style, array.as_ref())
                .map_err(|what| format!("column `{}`: {what}", field.name()))?;
            object.push(field.name(), values);
        }
        Ok(JsonRows(object))
    }

    /// Appends the row's object, without a line end.
    ///
    /// # Errors
    /// Says which value has no text, of a row of a file.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
        self.0.write(row, out)
    }
}

/// The first name that a JSON object would have twice: of a column, or of a field inside one, which is given by its
/// path.
#[must_use]
pub fn repeated_name(schema: &Schema) -> Option<String> {
    repeated(&schema.fields().iter().collect::<Vec<_>>())
}

fn repeated(fields: &[&FieldRef]) -> Option<String> {
    let mut seen = HashSet::new();
    let twice = fields.iter().find(|field| !seen.insert(field.name()));
    let inside = |field: &&FieldRef| {
        let path = repeated_inside(field.data_type())?;
        Some(format!("{}.{path}", field.name()))
    };
    match twice {
        Some(field) => Some(field.name().clone()),
        None => fields.iter().find_map(inside),
    }
}

/// Looks into the objects that values of a type are or have. Lists have no names in paths.
fn repeated_inside(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Struct(fields) => repeated(&fields.iter().collect::<Vec<_>>()),
        DataType::Union(fields, _) => {
            repeated(&fields.iter().map(|(_, field)| field).collect::<Vec<_>>())
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => repeated_inside(item.data_type()),
        DataType::Dictionary(_, values) => repeated_inside(values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{Field, UnionFields, UnionMode};

    use super::*;

    #[test]
    fn names_that_are_there_twice_at_any_depth() {
        let field = |name: &str, of: DataType| Field::new(name, of, true);
        let pair = |a: &str, b: &str| {
            DataType::Struct(vec![field(a, DataType::Int8), field(b, DataType::Utf8)].into())
        };
        let list = |of| DataType::List(field("item", of).into());
        let path = |of| {
            repeated_name(&Schema::new(vec![
                field("c", of),
                field("d", DataType::Int8),
            ]))
        };
        assert_eq!(path(pair("k", "k")).as_deref(), Some("c.k"));
        assert_eq!(path(pair("k", "l")), None);
        assert_eq!(path(list(list(pair("k", "k")))).as_deref(), Some("c.k"));
        let outer = DataType::Struct(vec![field("s", list(pair("", "")))].into());
        assert_eq!(path(outer).as_deref(), Some("c.s."));
        let map = DataType::Map(Arc::new(field("entries", pair("v", "v"))), false);
        assert_eq!(path(map).as_deref(), Some("c.v"));
        let fields = vec![field("u", DataType::Int8), field("u", DataType::Utf8)];
        let union = UnionFields::try_new([0, 1], fields).unwrap();
        assert_eq!(
            path(DataType::Union(union, UnionMode::Dense)).as_deref(),
            Some("c.u")
        );
        let twice = Schema::new(vec![field("d", DataType::Int8), field("d", pair("k", "k"))]);
        assert_eq!(repeated_name(&twice).as_deref(), Some("d"));
    }
}
