//! Arrow fields and changes of schemas in FlatBuffers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use tarsia_metadata::{build_type, children, format_string};

use crate::error::{Error, Result};
use crate::flat::{Tables, tables};
use crate::generated::table as fb;
use crate::ids::FieldId;
use crate::limits::DEPTH_MAX;
use crate::schema::{Alter, TableField};

const FLAG_SORTED: u8 = 1;
/// The place of a field that is the last one.
const PLACE_LAST: u32 = u32::MAX;

/// Refuses a field that cannot be stored.
pub(crate) fn check_field(field: &Field) -> Result<()> {
    fn check(field: &Field, depth: usize) -> Result<()> {
        let bad = |error: tarsia_metadata::Error| {
            Error::invalid(format!("field `{}`: {error}", field.name().escape_debug()))
        };
        if depth > DEPTH_MAX {
            return Err(Error::invalid(format!(
                "fields nested deeper than {DEPTH_MAX}"
            )));
        }
        format_string(field.data_type()).map_err(bad)?;
        let mut inner = children(field.data_type()).into_iter();
        inner.try_for_each(|child| check(child, depth + 1))
    }
    check(field, 0)
}

/// Writes a field that [`check_field`] accepts.
fn write_field<'a>(builder: &mut FlatBufferBuilder<'a>, field: &Field) -> WIPOffset<fb::Field<'a>> {
    let inner: Vec<FieldRef> = children(field.data_type()).into_iter().cloned().collect();
    let inner = tables(builder, &inner, |builder, child| {
        write_field(builder, child)
    });
    let sorted: Vec<_> = field
        .metadata()
        .iter()
        .collect::<BTreeMap<_, _>>()
        .into_iter()
        .collect();
    let metadata = tables(builder, &sorted, |builder, (key, value)| {
        let args = fb::PairArgs {
            key: Some(builder.create_string(key)),
            value: Some(builder.create_string(value)),
        };
        fb::Pair::create(builder, &args)
    });
    let format = format_string(field.data_type()).unwrap_or_default();
    let args = fb::FieldArgs {
        name: Some(builder.create_string(field.name())),
        format: Some(builder.create_string(&format)),
        nullable: field.is_nullable(),
        flags: u8::from(is_map_sorted(field.data_type())) * FLAG_SORTED,
        metadata,
        children: inner,
    };
    fb::Field::create(builder, &args)
}

fn is_map_sorted(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(_, is_sorted) => *is_sorted,
        DataType::Dictionary(_, values) => is_map_sorted(values),
        _ => false,
    }
}

fn read_field(field: &fb::Field<'_>, depth: usize) -> Result<FieldRef> {
    let bad = |what: String| {
        let name: String = field.name().chars().take(60).collect();
        Error::corrupt("schema", format!("field `{}`: {what}", name.escape_debug()))
    };
    if depth > DEPTH_MAX {
        return Err(bad(format!("nested deeper than {DEPTH_MAX}")));
    }
    let inner = field.children().into_iter().flatten();
    let inner = inner.map(|child| read_field(&child, depth + 1));
    let flags = field.flags();
    if flags > FLAG_SORTED {
        return Err(bad(format!("`flags` {flags}")));
    }
    let data_type = build_type(field.format(), inner.collect::<Result<_>>()?, flags != 0);
    let data_type = data_type.map_err(|error| bad(error.to_string()))?;
    if is_map_sorted(&data_type) != (flags != 0) {
        return Err(bad(format!("`flags` {flags}")));
    }
    let pairs = field.metadata().into_iter().flatten();
    let pairs: Vec<_> = pairs
        .map(|pair| (pair.key().to_owned(), pair.value().to_owned()))
        .collect();
    if !pairs.is_sorted_by(|(one, _), (other, _)| one < other) {
        return Err(bad("`metadata` is not sorted".to_owned()));
    }
    let read = Field::new(field.name(), data_type, field.nullable());
    Ok(Arc::new(read.with_metadata(
        pairs.into_iter().collect::<HashMap<_, _>>(),
    )))
}

/// Refuses a change that cannot be stored.
pub(crate) fn check_alter(alter: &Alter) -> Result<()> {
    match alter {
        Alter::Add { field, .. } => match field.former.is_empty() {
            true => check_field(&field.field),
            false => Err(Error::invalid("a new field with former names")),
        },
        Alter::Widen { data_type, .. } => check_field(&Field::new("", data_type.clone(), true)),
        _ => Ok(()),
    }
}

pub(crate) fn write_alters<'a>(
    builder: &mut FlatBufferBuilder<'a>,
    alters: &[Alter],
) -> Option<WIPOffset<Tables<'a, fb::Alter<'a>>>> {
    tables(builder, alters, |builder, alter| {
        let mut args = fb::AlterArgs {
            id: alter.id().0,
            ..fb::AlterArgs::default()
        };
        match alter {
            Alter::Add { field, place } => {
                args.field = Some(write_field(builder, &field.field));
                args.place = place.unwrap_or(PLACE_LAST);
                let default = field.default.as_ref();
                args.default_value = default.map(|bytes| builder.create_vector(bytes.as_slice()));
            }
            Alter::Drop { .. } => args.kind = 1,
            Alter::Rename { name, .. } => {
                args.kind = 2;
                args.name = Some(builder.create_string(name));
            }
            Alter::Move { place, .. } => {
                args.kind = 3;
                args.place = place.unwrap_or(PLACE_LAST);
            }
            Alter::Widen { data_type, .. } => {
                args.kind = 4;
                let field = Field::new("", data_type.clone(), true);
                args.field = Some(write_field(builder, &field));
            }
            Alter::AllowNulls { .. } => args.kind = 5,
        }
        fb::Alter::create(builder, &args)
    })
}

pub(crate) fn read_alters(alters: Option<Tables<'_, fb::Alter<'_>>>) -> Result<Vec<Alter>> {
    let alters = alters.into_iter().flatten();
    alters.map(|alter| read_alter(&alter)).collect()
}

fn read_alter(alter: &fb::Alter<'_>) -> Result<Alter> {
    let id = FieldId(alter.id());
    let missing = |what| Error::corrupt("schema", format!("a change of field {id} without {what}"));
    let place = Some(alter.place()).filter(|place| *place != PLACE_LAST);
    let field = || {
        let field = alter.field().ok_or_else(|| missing("a field"))?;
        read_field(&field, 0)
    };
    Ok(match alter.kind() {
        0 => Alter::Add {
            field: TableField {
                id,
                field: field()?,
                default: alter.default_value().map(|bytes| bytes.bytes().to_vec()),
                former: Vec::new(),
            },
            place,
        },
        1 => Alter::Drop { id },
        2 => Alter::Rename {
            id,
            name: alter.name().ok_or_else(|| missing("a name"))?.to_owned(),
        },
        3 => Alter::Move { id, place },
        4 => Alter::Widen {
            id,
            data_type: field()?.data_type().clone(),
        },
        5 => Alter::AllowNulls { id },
        other => {
            return Err(Error::corrupt(
                "schema",
                format!("a change of kind {other}"),
            ));
        }
    })
}
