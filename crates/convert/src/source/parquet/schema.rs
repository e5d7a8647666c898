//! The Arrow schema of a Parquet file: what its own schema says, refined by the Arrow schema that some writers leave in
//! the metadata.
//!
//! The Parquet schema counts. The Arrow schema is a hint: tools that do not know it rename and change columns and leave
//! it as it was. Its fields are found by their names, and its types are taken where the stored ones are the same values
//! in another form.
//!
//! Some types are not read as the file has them, since the reader of the `parquet` crate changes values: it cuts 300 to
//! an Int8 of 44, drops the months of an interval, and reads dictionaries of bytes of fixed size wrongly. These are
//! read as they are stored, and converted here ([`super::values`]).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, PARQUET_FIELD_ID_META_KEY};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::scan::Scan;
use crate::logical::{self, IS_UTC_KEY, LOGICAL_TYPE_KEY};
use crate::source::ipc;
use crate::{Error, Note};

/// Metadata of a whole file, and the Arrow schema among them.
pub(super) struct Embedded {
    pub(super) metadata: HashMap<String, String>,
    pub(super) hint: Option<Schema>,
}

/// Reads the keys and values of a file.
pub(super) fn embedded(file: &FileMetaData, notes: &mut Vec<Note>) -> Embedded {
    let mut metadata: HashMap<String, String> = HashMap::new();
    let mut hint = None;
    for pair in file.key_value_metadata().into_iter().flatten() {
        let Some(value) = &pair.value else {
            let what = format!(
                "the metadata key `{}` has no value and is left out",
                pair.key
            );
            notes.push(Note::new(what));
            continue;
        };
        if pair.key == ARROW_SCHEMA_META_KEY {
            match arrow_schema(value) {
                Ok(schema) => hint = Some(schema),
                Err(what) => notes.push(Note::new(format!(
                    "the Arrow schema is not used, types are those of Parquet: {ARROW_SCHEMA_META_KEY}: {what}"
                ))),
            }
            continue;
        }
        if metadata.get(&pair.key).is_some_and(|other| other != value) {
            let what = format!(
                "the metadata key `{}` is there twice; the last value counts",
                pair.key
            );
            notes.push(Note::new(what));
        }
        metadata.insert(pair.key.clone(), value.clone());
    }
    if let Some(schema) = &hint {
        for (key, value) in schema.metadata() {
            let own = metadata.entry(key.clone());
            own.or_insert_with(|| value.clone());
        }
    }
    Embedded { metadata, hint }
}

fn arrow_schema(value: &str) -> Result<Schema, String> {
    let message = STANDARD.decode(value).map_err(|error| error.to_string())?;
    let message = match message.as_slice() {
        [0xff, 0xff, 0xff, 0xff, _, _, _, _, message @ ..] => message.to_vec(),
        _ => message,
    };
    let message = ipc::readable_message(message)?;
    let schema = ipc::message_of(&message)?.header_as_schema();
    let schema = schema.ok_or("no schema")?;
    match schema.fields() {
        Some(_) => Ok(fb_to_schema(schema)),
        None => Err("a schema without a list of fields".to_owned()),
    }
}

/// The schema in which leaves that are converted here have no annotation, so that they are read as they are stored.
///
/// # Errors
/// The schema is one that the `parquet` crate does not build.
pub(super) fn as_stored(schema: &SchemaDescriptor) -> Result<SchemaDescriptor, ParquetError> {
    let root = schema.root_schema();
    let fields = root.get_fields().iter().map(stored);
    let root = Type::group_type_builder(root.name())
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

fn stored(of: &TypePtr) -> Result<TypePtr, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match of.as_ref() {
        Type::PrimitiveType {
            physical_type,
            type_length,
            ..
        } => {
            if annotated(of).is_none() {
                return Ok(Arc::clone(of));
            }
            let plain = Type::primitive_type_builder(of.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_length(*type_length)
                .with_id(id);
            Ok(Arc::new(plain.build()?))
        }
        Type::GroupType { fields, .. } => {
            let mut children = fields.iter().map(stored).collect::<Result<Vec<_>, _>>()?;
            if let Some(items) = annotated_items(of) {
                children = vec![in_three_levels(items, &children)?];
            }
            if children.iter().zip(fields).all(|(a, b)| Arc::ptr_eq(a, b)) {
                return Ok(Arc::clone(of));
            }
            let group = Type::group_type_builder(of.name())
                .with_fields(children)
                .with_repetition(info.repetition())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            Ok(Arc::new(group.build()?))
        }
    }
}

/// The repeated group of a list in two levels that is a list or a map itself, as Avro's writer makes lists of lists.
/// The rules of Parquet for old files allow it, and the `parquet` crate does not.
fn annotated_items(list: &Type) -> Option<&TypePtr> {
    let annotation = |of: &Type| {
        let info = of.get_basic_info();
        let logical = info.logical_type_ref();
        match (logical, info.converted_type()) {
            (Some(LogicalType::List), _) | (None, ConvertedType::LIST) => Some(true),
            (Some(LogicalType::Map), _)
            | (None, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => Some(false),
            _ => None,
        }
    };
    if annotation(list) != Some(true) {
        return None;
    }
    match list.get_fields() {
        [items] if items.is_group() && annotation(items).is_some() => {
            let info = items.get_basic_info();
            let is_repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
            is_repeated.then_some(items)
        }
        _ => None,
    }
}

/// A repeated group in two levels that has the same levels and the same leaves: its name is that of the items.
fn in_three_levels(items: &TypePtr, stored: &[TypePtr]) -> Result<TypePtr, ParquetError> {
    let [stored] = stored else {
        return Ok(Arc::clone(items));
    };
    let info = stored.get_basic_info();
    let item = Type::group_type_builder(stored.name())
        .with_fields(stored.get_fields().to_vec())
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()));
    let list = Type::group_type_builder("list")
        .with_fields(vec![Arc::new(item.build()?)])
        .with_repetition(Repetition::REPEATED);
    Ok(Arc::new(list.build()?))
}

/// The type that the annotation of a leaf says, where it is one that is converted here.
fn annotated(leaf: &Type) -> Option<DataType> {
    let info = leaf.get_basic_info();
    let integer = |bits, signed| match (bits, signed) {
        (8, true) => Some(DataType::Int8),
        (16, true) => Some(DataType::Int16),
        (8, false) => Some(DataType::UInt8),
        (16, false) => Some(DataType::UInt16),
        _ => None,
    };
    match (
        leaf.get_physical_type(),
        info.logical_type_ref(),
        info.converted_type(),
    ) {
        (Physical::INT32, Some(LogicalType::Integer(of)), _) => integer(of.bit_width, of.is_signed),
        (Physical::INT32, None, ConvertedType::INT_8) => integer(8, true),
        (Physical::INT32, None, ConvertedType::INT_16) => integer(16, true),
        (Physical::INT32, None, ConvertedType::UINT_8) => integer(8, false),
        (Physical::INT32, None, ConvertedType::UINT_16) => integer(16, false),
        (Physical::FIXED_LEN_BYTE_ARRAY, None, ConvertedType::INTERVAL) => {
            Some(DataType::Interval(IntervalUnit::MonthDayNano))
        }
        _ => None,
    }
}

/// A field as it is read, and as it is then.
struct Pair {
    read: Field,
    made: Field,
}

/// The fields of a file: as they are read, and as they are after the conversion.
pub(super) struct Resolved {
    pub(super) read: Fields,
    pub(super) made: Fields,
}

/// State while the fields are looked for.
struct Resolver<'a> {
    columns: &'a dyn Scan,
    /// The leaves of the file, and how many were seen so far.
    leaves: &'a SchemaDescriptor,
    n_seen: usize,
    notes: Vec<Note>,
    /// The first error of reading a column before.
    error: Option<Error>,
}

/// Finds the fields of a file with this schema. Without a hint they are `plain`.
///
/// # Errors
/// A column that has to be read before is bad.
pub(super) fn resolve(
    schema: &SchemaDescriptor,
    plain: &Fields,
    hint: Option<&Fields>,
    columns: &dyn Scan,
    notes: &mut Vec<Note>,
) -> Result<Resolved, Error> {
    let mut resolver = Resolver {
        columns,
        leaves: schema,
        n_seen: 0,
        notes: Vec::new(),
        error: None,
    };
    let resolved = resolver.fields(plain, schema.root_schema().get_fields(), hint);
    notes.append(&mut resolver.notes);
    match resolver.error {
        Some(error) => Err(error),
        None => Ok(resolved),
    }
}

impl Resolver<'_> {
    /// The fields of a file whose schema without a hint is `plain`.
    fn fields(&mut self, plain: &Fields, types: &[TypePtr], hint: Option<&Fields>) -> Resolved {
        let mut found = Vec::new();
        for (i, field) in plain.iter().enumerate() {
            let of_field = hint.and_then(|hint| named(hint, i, field.name()));
            if hint.is_some() && of_field.is_none() {
                self.notes.push(Note::on_column(
                    field.name(),
                    "the Arrow schema does not name it; its type is that of Parquet",
                ));
            }
            found.push(self.field(field, types.get(i), of_field));
        }
        Resolved {
            read: found
                .iter()
                .map(|pair| Arc::new(pair.read.clone()))
                .collect(),
            made: found.into_iter().map(|pair| Arc::new(pair.made)).collect(),
        }
    }

    /// One field. `of` is its type in Parquet, where that can be told from its place.
    fn field(&mut self, plain: &Field, of: Option<&TypePtr>, hint: Option<&Field>) -> Pair {
        let (read, made) = self.types(plain.data_type(), of, hint);
        let mut metadata = match hint {
            Some(hint) => hint.metadata().clone(),
            None => plain.metadata().clone(),
        };
        if hint.is_none()
            && let Some(of) = of
        {
            describe(of, &mut metadata);
        }
        let with = |of: DataType, metadata: HashMap<String, String>| {
            let field = Field::new(plain.name(), of, plain.is_nullable()).with_metadata(metadata);
            match hint.and_then(Field::dict_is_ordered) {
                Some(ordered) => field.with_dict_is_ordered(ordered),
                None => field,
            }
        };
        Pair {
            read: with(read, HashMap::new()),
            made: with(made, metadata),
        }
    }

    fn types(
        &mut self,
        plain: &DataType,
        of: Option<&TypePtr>,
        hint: Option<&Field>,
    ) -> (DataType, DataType) {
        let hinted = hint.map(Field::data_type);
        match plain {
            DataType::Struct(fields) => {
                let hints = match hinted {
                    Some(DataType::Struct(hints)) => Some(hints),
                    _ => None,
                };
                let types = of.filter(|of| of.is_group()).map(|of| of.get_fields());
                let types = types.filter(|types| types.len() == fields.len());
                let resolved = self.fields(fields, types.unwrap_or_default(), hints);
                (
                    DataType::Struct(resolved.read),
                    DataType::Struct(resolved.made),
                )
            }
            DataType::List(item) => {
                let item_hint = match hinted {
                    Some(
                        DataType::List(item)
                        | DataType::LargeList(item)
                        | DataType::FixedSizeList(item, _)
                        | DataType::ListView(item)
                        | DataType::LargeListView(item),
                    ) => Some(item.as_ref()),
                    _ => None,
                };
                let of = of.and_then(item_type);
                let pair = self.field(item, of, item_hint);
                let list = |item: Field| {
                    let item = Arc::new(item);
                    match hinted {
                        Some(DataType::LargeList(_)) => DataType::LargeList(item),
                        Some(DataType::FixedSizeList(_, n)) => DataType::FixedSizeList(item, *n),
                        Some(DataType::ListView(_)) => DataType::ListView(item),
                        Some(DataType::LargeListView(_)) => DataType::LargeListView(item),
                        _ => DataType::List(item),
                    }
                };
                // Exports may name items by the rule of Parquet. Items of other files have the names that readers give.
                let name = item_hint
                    .filter(|_| self.columns.is_of_own_writer())
                    .map_or(pair.made.name(), |hint| hint.name())
                    .clone();
                (list(pair.read), list(pair.made.with_name(name)))
            }
            DataType::Map(entries, sorted) => {
                let (entries_hint, sorted) = match hinted {
                    Some(DataType::Map(entries, sorted)) => (Some(entries.as_ref()), *sorted),
                    _ => (None, *sorted),
                };
                let of = of
                    .filter(|of| of.is_group())
                    .and_then(|of| of.get_fields().first());
                let pair = self.entries(entries, of, entries_hint);
                let map = |entries: Field| DataType::Map(Arc::new(entries), sorted);
                (map(pair.read), map(pair.made))
            }
            _ => {
                let leaf = self.n_seen;
                self.n_seen += 1;
                self.leaf(plain, leaf, hint)
            }
        }
    }

    /// The entries of a map, whose fields are found by their places: writers name them in many ways.
    fn entries(&mut self, plain: &Field, of: Option<&TypePtr>, hint: Option<&Field>) -> Pair {
        let (DataType::Struct(fields), hint) = (plain.data_type(), hint) else {
            return self.field(plain, of, hint);
        };
        let hints = match hint.map(Field::data_type) {
            Some(DataType::Struct(hints)) if hints.len() == fields.len() => Some(hints),
            _ => None,
        };
        let types = of.filter(|of| of.is_group()).map(|of| of.get_fields());
        let (mut read, mut made) = (Vec::new(), Vec::new());
        for (i, field) in fields.iter().enumerate() {
            let of = types.and_then(|types| types.get(i));
            let hint = hints.map(|hints| hints[i].as_ref());
            let pair = self.field(field, of, hint);
            read.push(pair.read);
            let name = hint.map_or(field.name(), |hint| hint.name()).clone();
            made.push(pair.made.with_name(name));
        }
        let metadata = hint.map(|hint| hint.metadata().clone()).unwrap_or_default();
        let name = hint.map_or(plain.name(), |hint| hint.name()).clone();
        Pair {
            read: Field::new(
                plain.name(),
                DataType::Struct(read.into()),
                plain.is_nullable(),
            ),
            made: Field::new(name, DataType::Struct(made.into()), plain.is_nullable())
                .with_metadata(metadata),
        }
    }

    /// The types of a leaf as it is read and as it is then.
    fn leaf(
        &mut self,
        plain: &DataType,
        ordinal: usize,
        hint: Option<&Field>,
    ) -> (DataType, DataType) {
        if ordinal >= self.leaves.num_columns() {
            return (plain.clone(), plain.clone());
        }
        let of = self.leaves.column(ordinal).self_type_ptr();
        let of = of.as_ref();
        if let (Physical::INT96, DataType::Timestamp(unit, zone)) = (of.get_physical_type(), plain)
        {
            let (unit, zone) = match hint.map(Field::data_type) {
                Some(DataType::Timestamp(unit, zone)) => (unit, zone),
                _ => (unit, zone),
            };
            let unit = self.columns.unit(ordinal, *unit);
            let unit = unit.unwrap_or_else(|error| {
                self.error.get_or_insert(error);
                TimeUnit::Nanosecond
            });
            let of = DataType::Timestamp(unit, zone.clone());
            return (of.clone(), of);
        }
        let own = annotated(of).unwrap_or_else(|| plain.clone());
        let Some(hint) = hint else {
            return (plain.clone(), own);
        };
        let (read, made) = self.hinted(plain, &own, of, ordinal, hint.data_type());
        if &made != hint.data_type() && !matches!(hint.data_type(), DataType::RunEndEncoded(..)) {
            self.notes.push(Note::on_column(
                hint.name(),
                format!(
                    "the Arrow schema says {}, Parquet's schema {made}, which counts",
                    hint.data_type()
                ),
            ));
        }
        (read, made)
    }

    fn has_whole_seconds(&mut self, leaf: usize) -> bool {
        self.columns
            .has_whole_seconds(leaf)
            .unwrap_or_else(|error| {
                self.error.get_or_insert(error);
                false
            })
    }

    /// The types of a leaf for which the Arrow schema says `hint`. `own` is what Parquet says, `plain` what is read
    /// without a hint.
    fn hinted(
        &mut self,
        plain: &DataType,
        own: &DataType,
        of: &Type,
        ordinal: usize,
        hint: &DataType,
    ) -> (DataType, DataType) {
        use DataType::*;
        let physical = of.get_physical_type();
        let stored = || (plain.clone(), own.clone());
        let both = || (hint.clone(), hint.clone());
        // Bytes that a decimal is stored in, at most.
        let n_bytes = match (physical, of) {
            (Physical::INT32, _) => 4,
            (Physical::INT64, _) => 8,
            (Physical::FIXED_LEN_BYTE_ARRAY, Type::PrimitiveType { type_length, .. }) => {
                *type_length
            }
            _ => i32::MAX,
        };
        match (own, hint) {
            (own, hint) if own == hint => (plain.clone(), own.clone()),
            (_, Dictionary(key, values)) => {
                let (read, made) = self.hinted(plain, own, of, ordinal, values);
                if made != **values {
                    return (read, made);
                }
                let dictionary = Dictionary(key.clone(), Box::new(made.clone()));
                match read == made && physical == Physical::BYTE_ARRAY {
                    true => (dictionary.clone(), dictionary),
                    false => (read, dictionary),
                }
            }
            (Interval(_), Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime)) => {
                (plain.clone(), hint.clone())
            }
            // No annotation says these.
            (Int64, Timestamp(..) | Date64 | Duration(_) | Time64(_))
            | (Int32, Time32(_))
            | (Date32, Date64) => both(),
            (Timestamp(TimeUnit::Millisecond, zone), Timestamp(TimeUnit::Second, hint_zone))
                if zone.is_some() == hint_zone.is_some() && self.has_whole_seconds(ordinal) =>
            {
                (
                    Timestamp(TimeUnit::Millisecond, hint_zone.clone()),
                    hint.clone(),
                )
            }
            (Time32(TimeUnit::Millisecond), Time32(TimeUnit::Second))
                if self.has_whole_seconds(ordinal) =>
            {
                (plain.clone(), hint.clone())
            }
            (Timestamp(unit, Some(_)), Timestamp(hint_unit, Some(_))) if unit == hint_unit => {
                both()
            }
            (Timestamp(unit, None), Timestamp(hint_unit, Some(_)))
                if unit == hint_unit && physical != Physical::INT96 =>
            {
                both()
            }
            (Utf8, LargeUtf8 | Utf8View) | (Binary, LargeBinary | BinaryView) => both(),
            (Decimal128(p, s), Decimal256(q, t)) if (p, s) == (q, t) => both(),
            (Decimal128(p, s), Decimal64(q, t)) if (p, s) == (q, t) && n_bytes <= 8 && *p <= 18 => {
                both()
            }
            (Decimal128(p, s), Decimal32(q, t)) if (p, s) == (q, t) && n_bytes <= 4 && *p <= 9 => {
                both()
            }
            _ => stored(),
        }
    }
}

/// The field of this name: that at the same place, or else the only one.
fn named<'a>(fields: &'a Fields, i: usize, name: &str) -> Option<&'a Field> {
    let is_named = |field: &&FieldRef| field.name() == name;
    if let Some(field) = fields.get(i).filter(is_named) {
        return Some(field.as_ref());
    }
    let mut found = fields.iter().filter(is_named);
    match (found.next(), found.next()) {
        (Some(field), None) => Some(field.as_ref()),
        _ => None,
    }
}

/// The type of a list's items, where the list has the usual three levels.
fn item_type(list: &TypePtr) -> Option<&TypePtr> {
    if let Some(items) = annotated_items(list) {
        return Some(items);
    }
    let inner = |of: &'_ TypePtr| of.is_group() && of.get_fields().len() == 1;
    if !inner(list) {
        return None;
    }
    let repeated = list.get_fields().first()?;
    match inner(repeated) {
        true => repeated.get_fields().first(),
        false => None,
    }
}

/// Adds what the Parquet schema says of a field and no Arrow type does.
fn describe(of: &Type, metadata: &mut HashMap<String, String>) {
    let info = of.get_basic_info();
    if info.has_id() {
        metadata.insert(PARQUET_FIELD_ID_META_KEY.to_owned(), info.id().to_string());
    }
    if let Some(name) = logical::extension_of(of) {
        metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned());
        metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), String::new());
    }
    if let Some(text) = logical::text_of(of) {
        metadata.insert(LOGICAL_TYPE_KEY.to_owned(), text);
    }
    if logical::is_utc_time(of) {
        metadata.insert(IS_UTC_KEY.to_owned(), "true".to_owned());
    }
}
