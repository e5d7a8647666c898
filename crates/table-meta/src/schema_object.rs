//! Schema objects: a Tarsia file without rows, or changes to such a file.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use flatbuffers::FlatBufferBuilder;
use tarsia::{EmbedKernels, File, OpenOptions, Threads, WriteOptions, Writer};
use tarsia_metadata::MAGIC;

use crate::error::{Error, Result};
use crate::flat::digest_of;
use crate::flat_schema::{check_alter, check_field, read_alters, write_alters};
use crate::generated::table as fb;
use crate::ids::{FieldId, ObjectId};
use crate::limits::{ALTERS_MAX, DEFAULT_BYTES_MAX, FIELDS_MAX};
use crate::schema::{Alter, TableField, TableSchema};
use crate::verifier::root_of;

const OBJECT: &str = "schema";

/// Key of a field's id in the field's metadata: 16 lower-case hex digits.
pub const ID_KEY: &str = "table.id";
/// Key of a field's default: lower-case hex digits.
pub const DEFAULT_KEY: &str = "table.default";
/// Key of a field's former names: a list in JSON.
pub const FORMER_KEY: &str = "table.former";

/// Content of a schema object.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaObject {
    /// All fields.
    Whole(Arc<TableSchema>),
    /// Changes to another object, which is whole.
    Changes {
        /// The other object.
        base: ObjectId,
        /// The changes, the oldest first.
        alters: Vec<Alter>,
    },
}

impl SchemaObject {
    /// The object's bytes, which are a function of the schema.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for types that files do not store; [`Error::LimitExceeded`]; [`Error::File`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Whole(schema) => whole_bytes(schema),
            Self::Changes { base, alters } => {
                Error::check_limit("ALTERS_MAX", alters.len(), ALTERS_MAX)?;
                if alters.is_empty() {
                    return Err(Error::invalid("no change of a schema"));
                }
                alters.iter().try_for_each(check_alter)?;
                let mut builder = FlatBufferBuilder::new();
                let alters = write_alters(&mut builder, alters);
                let args = fb::SchemaChangesArgs {
                    base: Some(&fb::Digest::new(&base.0)),
                    alters,
                };
                let root = fb::SchemaChanges::create(&mut builder, &args);
                builder.finish(root, None);
                Ok(builder.finished_data().to_vec())
            }
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::File`], [`Error::LimitExceeded`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(&MAGIC) {
            return Ok(Self::Whole(Arc::new(parse_whole(bytes)?)));
        }
        let changes = root_of::<fb::SchemaChanges<'_>>(OBJECT, bytes)?;
        let n_alters = changes.alters().len();
        if n_alters == 0 || n_alters > ALTERS_MAX {
            return Err(Error::corrupt(OBJECT, format!("{n_alters} changes")));
        }
        Ok(Self::Changes {
            base: digest_of(changes.base()),
            alters: read_alters(Some(changes.alters()))?,
        })
    }
}

fn whole_bytes(schema: &TableSchema) -> Result<Vec<u8>> {
    let mut fields = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        check_field(&field.field)?;
        let mut metadata = field.field.metadata().clone();
        metadata.insert(ID_KEY.to_owned(), field.id.to_string());
        if let Some(default) = &field.default {
            metadata.insert(DEFAULT_KEY.to_owned(), hex::encode(default));
        }
        if !field.former.is_empty() {
            let names = serde_json::Value::from(field.former.clone());
            metadata.insert(FORMER_KEY.to_owned(), names.to_string());
        }
        fields.push(Field::clone(&field.field).with_metadata(metadata));
    }
    let arrow = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let options = WriteOptions::new()
        .with_deterministic(true)
        .with_embed_kernels(EmbedKernels::Omit)
        .with_threads(Threads::One);
    let written = Writer::new(Vec::new(), arrow, options).and_then(Writer::finish_into);
    Ok(written.map_err(of_file)?.0)
}

fn of_file(error: tarsia::Error) -> Error {
    Error::File {
        object: OBJECT,
        reason: error.to_string(),
    }
}

fn parse_whole(bytes: &[u8]) -> Result<TableSchema> {
    let options = OpenOptions::new().with_threads(Threads::One);
    let file = File::from_bytes(bytes.to_vec(), options).map_err(of_file)?;
    if file.num_rows() != 0 || file.num_columns() as usize > FIELDS_MAX {
        let what = format!("{} rows of {} fields", file.num_rows(), file.num_columns());
        return Err(Error::corrupt(OBJECT, what));
    }
    let arrow = file.schema().map_err(of_file)?;
    let fields = arrow.fields().iter().map(|field| parse_field(field));
    let fields = fields.collect::<Result<_>>()?;
    TableSchema::new(fields, arrow.metadata().clone())
        .map_err(|error| Error::corrupt(OBJECT, error.to_string()))
}

fn parse_field(parsed: &Field) -> Result<TableField> {
    let bad = |key: &str| {
        let what = format!("field `{}`: `{key}`", parsed.name().escape_debug());
        Error::corrupt(OBJECT, what)
    };
    let mut field = parsed.clone();
    let metadata = field.metadata_mut();
    let id = metadata.remove(ID_KEY).filter(|id| id.len() == 16);
    let id = id.and_then(|id| {
        let number = u64::from_str_radix(&id, 16).ok()?;
        (FieldId(number).to_string() == id).then_some(FieldId(number))
    });
    let default = metadata.remove(DEFAULT_KEY).map(|digits| {
        let bytes = hex::decode(&digits).ok();
        let bytes = bytes.filter(|it| it.len() <= DEFAULT_BYTES_MAX && hex::encode(it) == digits);
        bytes.ok_or_else(|| bad(DEFAULT_KEY))
    });
    let former = metadata
        .remove(FORMER_KEY)
        .map(|names| serde_json::from_str::<Vec<String>>(&names).map_err(|_| bad(FORMER_KEY)));
    Ok(TableField {
        id: id.ok_or_else(|| bad(ID_KEY))?,
        field: Arc::new(field),
        default: default.transpose()?,
        former: former.transpose()?.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_schema::DataType;

    use super::*;

    fn schema() -> TableSchema {
        let entries = Field::new_map(
            "m",
            "entries",
            Field::new("k", DataType::Utf8, false),
            Field::new("v", DataType::Int8, true),
            true,
            true,
        );
        let list = Field::new("l", DataType::new_list(DataType::Int32, true), false);
        let list = list.with_metadata(HashMap::from([("unit".to_owned(), "m".to_owned())]));
        let plain = Field::new("p", DataType::Int64, false);
        let fields = [entries, list, plain].into_iter().zip(1..);
        let fields = fields.map(|(field, id)| TableField {
            id: FieldId(id),
            field: Arc::new(field),
            default: (id == 3).then(|| 5_i64.to_le_bytes().to_vec()),
            former: match id {
                2 => vec!["o\"ld".to_owned()],
                _ => Vec::new(),
            },
        });
        let metadata = HashMap::from([("of".to_owned(), "x".to_owned())]);
        TableSchema::new(fields.collect(), metadata).unwrap()
    }

    fn changes() -> SchemaObject {
        let schema = schema();
        let alters = schema.fields().iter().map(|field| Alter::Add {
            field: TableField {
                former: Vec::new(),
                ..field.clone()
            },
            place: (field.id.0 == 1).then_some(4),
        });
        let mut alters: Vec<_> = alters.collect();
        let id = FieldId(7);
        alters.push(Alter::Drop { id });
        alters.push(Alter::Move { id, place: None });
        alters.push(Alter::AllowNulls { id });
        alters.push(Alter::Rename {
            id,
            name: "käse".to_owned(),
        });
        alters.push(Alter::Widen {
            id,
            data_type: DataType::Decimal128(12, 2),
        });
        SchemaObject::Changes {
            base: ObjectId([3; 32]),
            alters,
        }
    }

    #[test]
    fn objects_are_read_back_and_are_a_function_of_the_schema() {
        for object in [SchemaObject::Whole(Arc::new(schema())), changes()] {
            let bytes = object.to_bytes().unwrap();
            assert_eq!(SchemaObject::parse(&bytes), Ok(object.clone()));
            assert_eq!(object.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn one_more_field_takes_few_bytes() {
        let alters = vec![Alter::Add {
            field: TableField {
                id: FieldId(9),
                field: Arc::new(Field::new("feature_20000", DataType::Float32, true)),
                default: None,
                former: Vec::new(),
            },
            place: None,
        }];
        let base = ObjectId([3; 32]);
        let bytes = SchemaObject::Changes { base, alters }.to_bytes().unwrap();
        assert!(bytes.len() <= 200, "{}", bytes.len());
    }

    #[test]
    fn damaged_objects_are_refused_without_a_panic() {
        for object in [SchemaObject::Whole(Arc::new(schema())), changes()] {
            let bytes = object.to_bytes().unwrap();
            for end in 0..bytes.len() {
                let parsed = SchemaObject::parse(&bytes[..end]);
                // A FlatBuffer may end with padding.
                assert!(parsed.is_err() || parsed.as_ref() == Ok(&object), "{end}");
            }
            for place in 0..bytes.len().min(2000) {
                for value in [0, 1, 0x7f, 0xff] {
                    let mut changed = bytes.clone();
                    changed[place] = value;
                    let _ = SchemaObject::parse(&changed);
                }
            }
        }
    }
}
