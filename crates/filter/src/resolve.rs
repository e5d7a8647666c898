//! Names to columns of a schema.

use arrow_schema::{DataType, Field, Schema};

/// Where a flat column is in a schema.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The number of the top-level field.
    pub(crate) field: usize,
    /// The numbers of the fields of structs below it, from the outermost struct.
    pub(crate) path: Vec<usize>,
    pub(crate) data_type: &'a DataType,
}

/// The flat column of this name: the top-level field of the whole name, or else the field of structs that the names
/// joined by dots lead to.
///
/// # Errors
/// Says what is wrong: there is no such column, or it is nested, or it lies inside of a list or map.
pub(crate) fn resolve<'a>(schema: &'a Schema, name: &str) -> Result<Place<'a>, String> {
    let place = find(schema, name)?;
    let data_type = place.data_type;
    if !data_type.is_nested() {
        return Ok(place);
    }
    let hint = match data_type {
        DataType::Struct(fields) => match fields.iter().find(|it| !it.data_type().is_nested()) {
            Some(field) => format!(", such as its field `{name}.{}`", field.name()),
            None => String::new(),
        },
        _ => String::new(),
    };
    Err(format!(
        "column `{name}` is nested ({data_type}); only flat columns can be tested{hint}"
    ))
}

fn find<'a>(schema: &'a Schema, name: &str) -> Result<Place<'a>, String> {
    let top = |name: &str| {
        let mut of_name = (0..)
            .zip(schema.fields())
            .filter(|(_, it)| it.name() == name);
        match (of_name.next(), of_name.next()) {
            (Some(_), Some(_)) => Err(format!(
                "several columns are named `{name}`, so the name leads to none of them"
            )),
            (first, _) => Ok(first.map(|(number, _): (usize, _)| number)),
        }
    };
    if let Some(field) = top(name)? {
        return Ok(Place {
            field,
            path: Vec::new(),
            data_type: schema.field(field).data_type(),
        });
    }
    let mut is_in_list = false;
    for (dot, _) in name.match_indices('.') {
        let (Some(outer), Some(inner)) = (name.get(..dot), name.get(dot + 1..)) else {
            continue;
        };
        let Some(field) = top(outer)? else {
            continue;
        };
        let mut path = Vec::new();
        match below(schema.field(field).data_type(), inner, &mut path) {
            Below::Field(data_type) => {
                return Ok(Place {
                    field,
                    path,
                    data_type,
                });
            }
            Below::InList => is_in_list = true,
            Below::Nothing => {}
        }
    }
    Err(match is_in_list {
        true => format!(
            "column `{name}` lies inside of a list or map, where a row has any number of values; only flat columns \
             and fields of structs can be tested"
        ),
        false => format!("no column `{name}`"),
    })
}

/// Where names joined by dots lead.
enum Below<'a> {
    Field(&'a DataType),
    /// To something inside of a list or map.
    InList,
    Nothing,
}

/// Follows names joined by dots from a type; `path` gets the numbers of the fields. A name may contain dots.
fn below<'a>(data_type: &'a DataType, names: &str, path: &mut Vec<usize>) -> Below<'a> {
    let DataType::Struct(fields) = data_type else {
        return match item(data_type) {
            Some(_) => Below::InList,
            None => Below::Nothing,
        };
    };
    let mut found = Below::Nothing;
    for (number, field) in fields.iter().enumerate() {
        let Some(rest) = names.strip_prefix(field.name().as_str()) else {
            continue;
        };
        path.push(number);
        let in_field = match (rest, rest.strip_prefix('.')) {
            ("", _) => Below::Field(field.data_type()),
            (_, Some(rest)) => below(field.data_type(), rest, path),
            (_, None) => Below::Nothing,
        };
        match in_field {
            Below::Field(_) => return in_field,
            Below::InList => found = Below::InList,
            Below::Nothing => {}
        }
        path.pop();
    }
    found
}

/// The items of lists of any kind, and the entries of maps.
fn item(data_type: &DataType) -> Option<&Field> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => Some(item),
        _ => None,
    }
}
