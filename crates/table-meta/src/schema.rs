//! The schema of a table: fields with ids, and changes to them.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

use crate::error::{Error, Result};
use crate::ids::FieldId;
use crate::limits::{DEFAULT_BYTES_MAX, FIELDS_MAX, FORMER_NAMES_MAX};

/// Keys in the metadata of fields and schemas that start with it belong to tables.
pub const TABLE_KEY_PREFIX: &str = "table.";

/// A top-level field of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableField {
    /// Names it for ever.
    pub id: FieldId,
    /// Its name, type and metadata.
    pub field: FieldRef,
    /// The value of rows that were written before the field was added: bytes that [`default_array`] reads. `None`:
    /// null.
    pub default: Option<Vec<u8>>,
    /// Names that it had before, the oldest first.
    pub former: Vec<String>,
}

/// A change of a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Alter {
    /// Adds a field.
    Add {
        /// The field, with a new id.
        field: TableField,
        /// The place that it gets, from 0; `None` for the last one.
        place: Option<u32>,
    },
    /// Drops a field.
    Drop {
        /// The field.
        id: FieldId,
    },
    /// Renames a field.
    Rename {
        /// The field.
        id: FieldId,
        /// The new name.
        name: String,
    },
    /// Moves a field.
    Move {
        /// The field.
        id: FieldId,
        /// The place that it gets, from 0; `None` for the last one.
        place: Option<u32>,
    },
    /// Gives a field a type that holds all values of the old one.
    Widen {
        /// The field.
        id: FieldId,
        /// The new type.
        data_type: DataType,
    },
    /// Allows nulls in a field.
    AllowNulls {
        /// The field.
        id: FieldId,
    },
}

impl Alter {
    /// The field that it is about.
    pub fn id(&self) -> FieldId {
        match self {
            Self::Add { field, .. } => field.id,
            Self::Drop { id }
            | Self::Rename { id, .. }
            | Self::Move { id, .. }
            | Self::Widen { id, .. }
            | Self::AllowNulls { id } => *id,
        }
    }

    /// The name that a field gets by it.
    pub fn new_name(&self) -> Option<&str> {
        match self {
            Self::Add { field, .. } => Some(field.field.name()),
            Self::Rename { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// A field that is found by its name.
#[derive(Debug, Clone)]
struct Named(FieldRef);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        self.0.name()
    }
}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().as_str().hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Named {}

/// Fields by place, name and id. No two have the same name.
#[derive(Debug, Clone, Default)]
pub struct TableSchema {
    fields: Vec<TableField>,
    metadata: HashMap<String, String>,
    by_name: HashMap<Named, usize>,
    by_id: HashMap<FieldId, usize>,
}

impl PartialEq for TableSchema {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields && self.metadata == other.metadata
    }
}

impl TableSchema {
    /// A schema of these fields.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for two fields of one name or id, for metadata with keys that start with `table.`, and
    /// for a default that is no value of its field; [`Error::LimitExceeded`].
    pub fn new(fields: Vec<TableField>, metadata: HashMap<String, String>) -> Result<Self> {
        Error::check_limit("FIELDS_MAX", fields.len(), FIELDS_MAX)?;
        let n_fields = fields.len();
        let mut schema = Self {
            fields,
            metadata,
            by_name: HashMap::with_capacity(n_fields),
            by_id: HashMap::with_capacity(n_fields),
        };
        check_keys(None, &schema.metadata)?;
        for (i, field) in schema.fields.iter().enumerate() {
            check_field(field)?;
            let named = Named(field.field.clone());
            if schema.by_name.insert(named, i).is_some() {
                let name = field.field.name();
                let what = format!("two fields have the name `{}`", name.escape_debug());
                return Err(Error::invalid(what));
            }
            if schema.by_id.insert(field.id, i).is_some() {
                return Err(Error::invalid(format!(
                    "two fields have the id {}",
                    field.id
                )));
            }
        }
        Ok(schema)
    }

    /// The fields, by place.
    pub fn fields(&self) -> &[TableField] {
        &self.fields
    }

    /// The metadata of the schema.
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    /// The field of a name.
    pub fn by_name(&self, name: &str) -> Option<&TableField> {
        self.fields.get(*self.by_name.get(name)?)
    }

    /// The field of an id.
    pub fn by_id(&self, id: FieldId) -> Option<&TableField> {
        self.fields.get(*self.by_id.get(&id)?)
    }

    /// The place of the field of an id.
    pub fn place(&self, id: FieldId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The Arrow schema.
    pub fn arrow(&self) -> SchemaRef {
        let fields: Vec<FieldRef> = self.fields.iter().map(|it| it.field.clone()).collect();
        Arc::new(Schema::new_with_metadata(fields, self.metadata.clone()))
    }

    /// The schema after changes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a field that is not there, a name that is there already, a field without nulls that
    /// has no default, and a type that does not hold all values of the old one.
    pub fn altered(&self, alters: &[Alter]) -> Result<Self> {
        let mut fields = self.fields.clone();
        let mut names: HashSet<Named> = self.by_name.keys().cloned().collect();
        for alter in alters {
            apply(&mut fields, &mut names, alter)?;
        }
        Self::new(fields, self.metadata.clone())
    }
}

fn apply(fields: &mut Vec<TableField>, names: &mut HashSet<Named>, alter: &Alter) -> Result<()> {
    if let Some(name) = alter.new_name()
        && names.contains(name)
    {
        let what = format!("there is a field `{}` already", name.escape_debug());
        return Err(Error::invalid(what));
    }
    if let Alter::Add { field, place } = alter {
        if !field.field.is_nullable() && field.default.is_none() {
            let what = format!(
                "field `{}` allows no nulls and has no default: rows that are there need a value",
                field.field.name().escape_debug()
            );
            return Err(Error::invalid(what));
        }
        let at = at_place(*place, fields.len());
        names.insert(Named(field.field.clone()));
        fields.insert(at, field.clone());
        return Ok(());
    }
    let id = alter.id();
    let at = fields.iter().position(|field| field.id == id);
    let missing = || Error::invalid(format!("no field has the id {id}"));
    let at = at.ok_or_else(missing)?;
    let mut field = fields.remove(at);
    let old = field.field.clone();
    let mut back_at = at;
    match alter {
        Alter::Add { .. } => {}
        Alter::Drop { .. } => {
            names.remove(old.name().as_str());
            return Ok(());
        }
        Alter::Rename { name, .. } => {
            names.remove(old.name().as_str());
            field.former.push(old.name().clone());
            let extra = field.former.len().saturating_sub(FORMER_NAMES_MAX);
            field.former.drain(..extra);
            field.field = Arc::new(Field::clone(&old).with_name(name));
            names.insert(Named(field.field.clone()));
        }
        Alter::Move { place, .. } => back_at = at_place(*place, fields.len()),
        Alter::Widen { data_type, .. } => {
            if !is_wider(old.data_type(), data_type) {
                let what = format!(
                    "field `{}`: {data_type} does not hold all values of {}",
                    old.name().escape_debug(),
                    old.data_type()
                );
                return Err(Error::invalid(what));
            }
            if field.default.is_some() {
                let what = format!(
                    "field `{}` has a default, so its type stays",
                    old.name().escape_debug()
                );
                return Err(Error::invalid(what));
            }
            field.field = Arc::new(Field::clone(&old).with_data_type(data_type.clone()));
        }
        Alter::AllowNulls { .. } => {
            field.field = Arc::new(Field::clone(&old).with_nullable(true));
        }
    }
    fields.insert(back_at, field);
    Ok(())
}

fn at_place(place: Option<u32>, end: usize) -> usize {
    place.map_or(end, |place| (place as usize).min(end))
}

/// Whether a type holds all values of another one, and none of them changes.
pub fn is_wider(old: &DataType, new: &DataType) -> bool {
    use DataType as T;
    // Bits of the values, the sign not counted, and whether there is one.
    let integer = |data_type: &T| match data_type {
        T::Int8 => Some((7, true)),
        T::Int16 => Some((15, true)),
        T::Int32 => Some((31, true)),
        T::Int64 => Some((63, true)),
        T::UInt8 => Some((8, false)),
        T::UInt16 => Some((16, false)),
        T::UInt32 => Some((32, false)),
        T::UInt64 => Some((64, false)),
        _ => None,
    };
    if let (Some((old_bits, old_sign)), Some((bits, sign))) = (integer(old), integer(new)) {
        return old_bits < bits && (sign || !old_sign);
    }
    // Bits of whole numbers that a float holds exactly.
    let exact = |data_type: &T| match data_type {
        T::Float16 => Some(11),
        T::Float32 => Some(24),
        T::Float64 => Some(53),
        _ => None,
    };
    if let (Some((bits, _)), Some(exact)) = (integer(old), exact(new)) {
        return bits <= exact;
    }
    match (old, new) {
        (T::Float16, T::Float32 | T::Float64) | (T::Float32, T::Float64) => true,
        (T::Utf8, T::LargeUtf8) | (T::Binary, T::LargeBinary) => true,
        (T::Date32, T::Date64 | T::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, None)) => {
            true
        }
        (T::Decimal32(old, a), T::Decimal32(new, b))
        | (T::Decimal32(old, a), T::Decimal64(new, b))
        | (T::Decimal32(old, a), T::Decimal128(new, b))
        | (T::Decimal64(old, a), T::Decimal64(new, b))
        | (T::Decimal64(old, a), T::Decimal128(new, b))
        | (T::Decimal128(old, a), T::Decimal128(new, b)) => a == b && old < new,
        _ => false,
    }
}

fn check_field(field: &TableField) -> Result<()> {
    let name = field.field.name();
    if name.is_empty() {
        return Err(Error::invalid("a field without a name"));
    }
    check_keys(Some(name), field.field.metadata())?;
    Error::check_limit("FORMER_NAMES_MAX", field.former.len(), FORMER_NAMES_MAX)?;
    default_array(field).map(drop)
}

/// Refuses keys of a field's metadata, or of the schema's, that belong to tables.
fn check_keys(field: Option<&str>, metadata: &HashMap<String, String>) -> Result<()> {
    let mut keys = metadata.keys();
    let Some(key) = keys.find(|key| key.starts_with(TABLE_KEY_PREFIX)) else {
        return Ok(());
    };
    let owner = field.map_or_else(
        || "the schema".to_owned(),
        |name| format!("field `{}`", name.escape_debug()),
    );
    Err(Error::invalid(format!(
        "{owner} has the key `{}` in its metadata: those that start with `{TABLE_KEY_PREFIX}` are reserved",
        key.escape_debug()
    )))
}

/// The bytes of the one value of an array, as the default of a field: numbers little-endian, a boolean as a byte, text
/// and bytes as they are.
///
/// # Errors
/// [`Error::InvalidInput`] for another number of values, a null, and types that have no defaults.
pub fn default_bytes(value: &ArrayRef) -> Result<Vec<u8>> {
    let bad = |why: &str| Error::invalid(format!("a default of type {}: {why}", value.data_type()));
    if value.len() != 1 || value.logical_null_count() > 0 {
        return Err(bad("one value that is not null"));
    }
    let no_value = || bad("the type has no defaults");
    if let Some(width) = value.data_type().primitive_width() {
        let data = value.to_data();
        let start = data.offset() * width;
        let buffer = data.buffers().first().ok_or_else(no_value)?;
        let bytes = buffer.as_slice().get(start..start + width);
        return bytes.map(<[u8]>::to_vec).ok_or_else(no_value);
    }
    use arrow_array::cast::AsArray;
    Ok(match value.data_type() {
        DataType::Boolean => vec![u8::from(value.as_boolean().value(0))],
        DataType::Utf8 => value.as_string::<i32>().value(0).as_bytes().to_vec(),
        DataType::LargeUtf8 => value.as_string::<i64>().value(0).as_bytes().to_vec(),
        DataType::Binary => value.as_binary::<i32>().value(0).to_vec(),
        DataType::LargeBinary => value.as_binary::<i64>().value(0).to_vec(),
        _ => return Err(no_value()),
    })
}

/// The default of a field as an array of one value; null if it has none.
///
/// # Errors
/// [`Error::InvalidInput`] for bytes that are no value of its type.
pub fn default_array(field: &TableField) -> Result<Option<ArrayRef>> {
    let Some(bytes) = &field.default else {
        return Ok(None);
    };
    let data_type = field.field.data_type();
    let bad = |why: String| {
        Error::invalid(format!(
            "the default of field `{}`: {why}",
            field.field.name().escape_debug()
        ))
    };
    Error::check_limit("DEFAULT_BYTES_MAX", bytes.len(), DEFAULT_BYTES_MAX)?;
    let builder = ArrayData::builder(data_type.clone()).len(1);
    let values = Buffer::from(bytes.as_slice());
    let wrong_length = || bad(format!("{} bytes for {data_type}", bytes.len()));
    let data = if let Some(width) = data_type.primitive_width() {
        if bytes.len() != width {
            return Err(wrong_length());
        }
        builder.add_buffer(values).align_buffers(true).build()
    } else {
        match data_type {
            DataType::Boolean if matches!(bytes.as_slice(), [0 | 1]) => {
                builder.add_buffer(values).build()
            }
            DataType::Utf8 | DataType::Binary => {
                let end = i32::try_from(bytes.len()).map_err(|_| wrong_length())?;
                let offsets = Buffer::from_slice_ref([0, end]);
                builder.add_buffer(offsets).add_buffer(values).build()
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let offsets = Buffer::from_slice_ref([0, bytes.len() as i64]);
                builder.add_buffer(offsets).add_buffer(values).build()
            }
            _ => return Err(wrong_length()),
        }
    };
    let array = make_array(data.map_err(|error| bad(error.to_string()))?);
    Ok(Some(array))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BooleanArray, Date32Array, Float64Array, Int32Array, LargeStringArray, ListArray,
        StringArray,
    };

    use super::*;

    fn field(id: u64, name: &str, data_type: DataType) -> TableField {
        TableField {
            id: FieldId(id),
            field: Arc::new(Field::new(name, data_type, true)),
            default: None,
            former: Vec::new(),
        }
    }

    fn schema() -> TableSchema {
        let fields = vec![
            field(1, "a", DataType::Int32),
            field(2, "b", DataType::Utf8),
        ];
        TableSchema::new(fields, HashMap::new()).unwrap()
    }

    fn names(schema: &TableSchema) -> Vec<&str> {
        schema
            .fields()
            .iter()
            .map(|it| it.field.name().as_str())
            .collect()
    }

    #[test]
    fn fields_keep_their_ids() {
        let add = Alter::Add {
            field: field(3, "c", DataType::Int8),
            place: Some(0),
        };
        let alters = [
            add,
            Alter::Rename {
                id: FieldId(1),
                name: "x".to_owned(),
            },
            Alter::Rename {
                id: FieldId(2),
                name: "a".to_owned(),
            },
            Alter::Move {
                id: FieldId(1),
                place: None,
            },
            Alter::Widen {
                id: FieldId(1),
                data_type: DataType::Int64,
            },
        ];
        let altered = schema().altered(&alters).unwrap();
        assert_eq!(names(&altered), ["c", "a", "x"]);
        assert_eq!(altered.by_name("a").unwrap().id, FieldId(2));
        let x = altered.by_id(FieldId(1)).unwrap();
        assert_eq!(
            (x.former.as_slice(), x.field.data_type()),
            (&["a".to_owned()][..], &DataType::Int64)
        );
        let dropped = altered.altered(&[Alter::Drop { id: FieldId(2) }]).unwrap();
        assert_eq!(names(&dropped), ["c", "x"]);
    }

    #[test]
    fn changes_that_contradict_the_schema_are_refused() {
        let with = |alter: Alter| schema().altered(&[alter]).unwrap_err().to_string();
        let rename = |id: u64, name: &str| Alter::Rename {
            id: FieldId(id),
            name: name.to_owned(),
        };
        assert_eq!(with(rename(1, "b")), "there is a field `b` already");
        assert!(with(rename(9, "z")).starts_with("no field has the id"));
        let narrow = Alter::Widen {
            id: FieldId(1),
            data_type: DataType::Int16,
        };
        assert_eq!(
            with(narrow),
            "field `a`: Int16 does not hold all values of Int32"
        );
        let mut required = field(5, "r", DataType::Int8);
        required.field = Arc::new(Field::new("r", DataType::Int8, false));
        let add = Alter::Add {
            field: required.clone(),
            place: None,
        };
        assert!(with(add).contains("has no default"));
        required.default = Some(vec![7]);
        let add = Alter::Add {
            field: required.clone(),
            place: None,
        };
        schema().altered(&[add]).unwrap();
        required.default = Some(vec![7, 7]);
        let add = Alter::Add {
            field: required,
            place: None,
        };
        assert!(with(add).contains("2 bytes for Int8"));
    }

    #[test]
    fn defaults_are_read_back() {
        let arrays: [ArrayRef; 6] = [
            Arc::new(Int32Array::from(vec![-5, 7])),
            Arc::new(Float64Array::from(vec![0.0, f64::NAN])),
            Arc::new(BooleanArray::from(vec![false, true])),
            Arc::new(StringArray::from(vec!["", "käse"])),
            Arc::new(LargeStringArray::from(vec!["x", ""])),
            Arc::new(Date32Array::from(vec![0, 20_000])),
        ];
        for array in arrays {
            let one = array.slice(1, 1);
            let mut field = field(1, "f", array.data_type().clone());
            field.default = Some(default_bytes(&one).unwrap());
            let back = default_array(&field).unwrap().unwrap();
            assert_eq!(back.to_data(), one.to_data(), "{}", array.data_type());
        }
        let null: ArrayRef = Arc::new(Int32Array::from(vec![None]));
        assert!(default_bytes(&null).is_err());
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
        assert!(default_bytes(&(Arc::new(list) as ArrayRef)).is_err());
        let mut text = field(1, "f", DataType::Utf8);
        text.default = Some(vec![0xff]);
        assert!(default_array(&text).is_err());
    }

    #[test]
    fn wider_types_hold_all_values() {
        use DataType as T;
        for (old, new) in [
            (T::Int8, T::Int16),
            (T::UInt8, T::Int16),
            (T::UInt32, T::Int64),
            (T::Int32, T::Float64),
            (T::Float32, T::Float64),
            (T::Decimal128(10, 2), T::Decimal128(12, 2)),
        ] {
            assert!(is_wider(&old, &new), "{old} {new}");
            assert!(!is_wider(&new, &old), "{new} {old}");
        }
        for (old, new) in [
            (T::Int8, T::UInt16),
            (T::UInt64, T::Int64),
            (T::Int64, T::Float64),
            (T::Int32, T::Float32),
            (T::Decimal128(10, 2), T::Decimal128(12, 3)),
            (T::Utf8, T::Binary),
            (T::Int32, T::Int32),
        ] {
            assert!(!is_wider(&old, &new), "{old} {new}");
        }
    }

    #[test]
    fn two_fields_of_one_name_and_reserved_keys_are_refused() {
        let fields = vec![field(1, "a", DataType::Int8), field(2, "a", DataType::Int8)];
        assert!(TableSchema::new(fields, HashMap::new()).is_err());
        let fields = vec![field(1, "a", DataType::Int8), field(1, "b", DataType::Int8)];
        assert!(TableSchema::new(fields, HashMap::new()).is_err());
        let metadata = HashMap::from([("table.id".to_owned(), "5".to_owned())]);
        assert!(TableSchema::new(Vec::new(), metadata).is_err());
    }
}
