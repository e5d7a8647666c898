//! Which columns a read needs, and which fields of nested columns.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use tarsia_arrow::leaf_paths;

use super::catalog::{Catalog, is_missing};
use super::column::{Column, TableField};
use crate::source::{AtHand, Step, all};

/// The columns of a read, and the schema of its batches.
pub(crate) struct Projection {
    pub(crate) fields: Vec<Arc<TableField>>,
    /// The leaf columns of all fields, in order.
    pub(crate) columns: Vec<Arc<Column>>,
    pub(crate) schema: SchemaRef,
}

impl Projection {
    /// The columns of these names, or of the whole table.
    pub(crate) fn new(
        catalog: &Catalog,
        hand: &AtHand<'_>,
        names: Option<&[String]>,
    ) -> Step<Self> {
        let (fields, metadata) = match names {
            Some(names) => {
                let metadata = catalog.schema_metadata(hand);
                (named(catalog, hand, names)?, metadata?.clone())
            }
            None => (
                catalog.all_fields(hand)?.to_vec(),
                catalog.schema(hand)?.metadata().clone(),
            ),
        };
        Ok(Self::of(fields, metadata))
    }

    /// These fields, with the schema's metadata.
    pub(crate) fn of(fields: Vec<Arc<TableField>>, metadata: HashMap<String, String>) -> Self {
        let of_schema: Vec<_> = fields.iter().map(|field| field.field.clone()).collect();
        let columns = fields
            .iter()
            .flat_map(|field| field.columns.iter().cloned());
        Self {
            columns: columns.collect(),
            schema: Arc::new(Schema::new_with_metadata(of_schema, metadata)),
            fields,
        }
    }

    /// Estimate of the decoded bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.row_bytes()).sum()
    }
}

impl TableField {
    /// The column of the field that the numbers of structs' fields lead to; `None` for paths to anything else, and in
    /// packed structs.
    pub(crate) fn column_at(&self, path: &[usize]) -> Option<&Arc<Column>> {
        let is_packed = |column: &Arc<Column>| column.packing.is_some();
        if self.columns.iter().any(is_packed) {
            return None;
        }
        let (mut data_type, mut before) = (self.field.data_type(), 0);
        for number in path {
            let DataType::Struct(fields) = data_type else {
                return None;
            };
            let first = fields.iter().take(*number);
            before += first
                .map(|field| n_leaves(field.data_type()))
                .sum::<usize>();
            data_type = fields.get(*number)?.data_type();
        }
        match n_leaves(data_type) {
            1 => self.columns.get(before),
            _ => None,
        }
    }
}

/// The fields that names lead to. If several names lead into one field, it is there once, at the position of the first
/// name, with all that the names select.
fn named(catalog: &Catalog, hand: &AtHand<'_>, names: &[String]) -> Step<Vec<Arc<TableField>>> {
    let found = all(names.iter().map(|name| found(catalog, hand, name)))?;
    if found.iter().all(|(_, part)| *part == Part::All) {
        // If a name is given twice, its column is there twice.
        return Ok(found.into_iter().map(|(field, _)| field).collect());
    }
    let mut fields: Vec<(Arc<TableField>, Part)> = Vec::with_capacity(found.len());
    let mut places = HashMap::new();
    for (field, part) in found {
        let place = *places.entry(Arc::as_ptr(&field)).or_insert(fields.len());
        match fields.get_mut(place) {
            Some((_, so_far)) if *so_far != Part::All || part != Part::All => so_far.add(part),
            _ => fields.push((field, part)),
        }
    }
    let fields = fields.into_iter().map(|(field, part)| match part {
        Part::All => field,
        part => Arc::new(pruned(&field, &part)),
    });
    Ok(fields.collect())
}

/// The field that a name is, or leads into.
fn found(catalog: &Catalog, hand: &AtHand<'_>, name: &str) -> Step<(Arc<TableField>, Part)> {
    let missing = match catalog.field(hand, name) {
        Ok(field) => return Ok((field, Part::All)),
        Err(stop) if is_missing(&stop) => stop,
        Err(stop) => return Err(stop),
    };
    for (dot, _) in name.match_indices('.') {
        let field = match catalog.field(hand, &name[..dot]) {
            Ok(field) => field,
            Err(stop) if is_missing(&stop) => continue,
            Err(stop) => return Err(stop),
        };
        if let Some(part) = Part::at(field.field.data_type(), &name[dot + 1..]) {
            return Ok((field, part));
        }
    }
    Err(missing)
}

/// The wanted part of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    All,
    /// Parts of some fields of a struct, by the fields' numbers, or of a list's items or a map's entries (number 0).
    Of(BTreeMap<usize, Part>),
}

impl Part {
    /// The part of a type that names joined by dots lead to. A name may contain dots. The items of a list and the
    /// entries of a map need not be named.
    fn at(data_type: &DataType, names: &str) -> Option<Self> {
        if let DataType::Struct(fields) = data_type {
            let below = |(number, field): (usize, &FieldRef)| {
                let part = Self::in_field(field, names)?;
                Some(Self::Of([(number, part)].into()))
            };
            return fields.iter().enumerate().find_map(below);
        }
        let item = list_item(data_type)?;
        let part = Self::in_field(item, names).or_else(|| Self::at(item.data_type(), names))?;
        Some(match part {
            Self::All => Self::All,
            part => Self::Of([(0, part)].into()),
        })
    }

    /// The part of a field whose name comes first.
    fn in_field(field: &Field, names: &str) -> Option<Self> {
        match names.strip_prefix(field.name().as_str())? {
            "" => Some(Self::All),
            rest => Self::at(field.data_type(), rest.strip_prefix('.')?),
        }
    }

    fn add(&mut self, other: Self) {
        match (self, other) {
            (Self::Of(known), Self::Of(more)) => {
                for (number, part) in more {
                    match known.get_mut(&number) {
                        Some(known) => known.add(part),
                        None => {
                            known.insert(number, part);
                        }
                    }
                }
            }
            (part, _) => *part = Self::All,
        }
    }

    /// The type with only this part, and its leaf columns among those of the whole, which begin with `first`.
    fn of_type(&self, data_type: &DataType, first: usize, leaves: &mut Vec<usize>) -> DataType {
        let Self::Of(parts) = self else {
            leaves.extend(first..first + n_leaves(data_type));
            return data_type.clone();
        };
        if let DataType::Struct(fields) = data_type {
            let mut kept = Vec::with_capacity(parts.len());
            let mut first = first;
            for (number, field) in fields.iter().enumerate() {
                if let Some(part) = parts.get(&number) {
                    let of_field = part.of_type(field.data_type(), first, leaves);
                    kept.push(retyped(field, of_field));
                }
                first += n_leaves(field.data_type());
            }
            return DataType::Struct(kept.into());
        }
        let of_item = |item: &FieldRef, leaves: &mut Vec<usize>| {
            let part = parts.get(&0).unwrap_or(&Self::All);
            retyped(item, part.of_type(item.data_type(), first, leaves))
        };
        match data_type {
            DataType::List(item) => DataType::List(of_item(item, leaves)),
            DataType::LargeList(item) => DataType::LargeList(of_item(item, leaves)),
            DataType::ListView(item) => DataType::ListView(of_item(item, leaves)),
            DataType::LargeListView(item) => DataType::LargeListView(of_item(item, leaves)),
            DataType::FixedSizeList(item, length) => {
                DataType::FixedSizeList(of_item(item, leaves), *length)
            }
            DataType::Map(entries, sorted) => {
                let of_map = of_item(entries, leaves);
                match n_fields(of_map.data_type()) == n_fields(entries.data_type()) {
                    true => DataType::Map(of_map, *sorted),
                    // A map has keys and values. What has only one of them is a list of entries.
                    false => DataType::List(of_map),
                }
            }
            other => Self::All.of_type(other, first, leaves),
        }
    }
}

fn n_fields(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.len(),
        _ => 0,
    }
}

/// The names of all fields down to the one that names joined by dots lead to, joined by dots. As for a projection, the
/// items of a list and the entries of a map need not be named; here they are.
pub(crate) fn full_name(data_type: &DataType, names: &str) -> Option<String> {
    let in_field = |field: &Field| match names.strip_prefix(field.name().as_str())? {
        "" => Some(field.name().clone()),
        rest => {
            let below = full_name(field.data_type(), rest.strip_prefix('.')?)?;
            Some(format!("{}.{below}", field.name()))
        }
    };
    if let DataType::Struct(fields) = data_type {
        return fields.iter().find_map(|field| in_field(field));
    }
    let item = list_item(data_type)?;
    let omitted = || {
        let below = full_name(item.data_type(), names)?;
        Some(format!("{}.{below}", item.name()))
    };
    in_field(item).or_else(omitted)
}

/// The items of lists of any kind, and the entries of maps.
pub(crate) fn list_item(data_type: &DataType) -> Option<&FieldRef> {
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

/// Leaf columns of a type that the format stores.
pub(crate) fn n_leaves(data_type: &DataType) -> usize {
    leaf_paths(data_type, true).map_or(0, |paths| paths.len())
}

/// A field with a part of its type. An extension type is dropped, since it describes the whole type.
pub(crate) fn retyped(field: &Field, data_type: DataType) -> FieldRef {
    let mut field = field.clone();
    if &data_type != field.data_type() {
        field.metadata_mut().remove(EXTENSION_TYPE_NAME_KEY);
        field.metadata_mut().remove(EXTENSION_TYPE_METADATA_KEY);
    }
    Arc::new(field.with_data_type(data_type))
}

/// A field with a part of its type, and the leaf columns of that part. A packed struct keeps its one column of whole
/// rows.
fn pruned(field: &TableField, part: &Part) -> TableField {
    let mut leaves = Vec::new();
    let data_type = part.of_type(field.field.data_type(), 0, &mut leaves);
    let is_packed = |column: &Arc<Column>| column.packing.is_some();
    let columns = match field.columns.iter().any(is_packed) {
        true => field.columns.clone(),
        false => {
            let columns = leaves.iter().filter_map(|leaf| field.columns.get(*leaf));
            columns.cloned().collect()
        }
    };
    TableField {
        field: retyped(&field.field, data_type),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, true)
    }

    /// `{a, b.c, b: {c, d}, l: [{x, item: {y}}], m}`
    fn data_type() -> DataType {
        let inner =
            DataType::Struct(vec![field("c", DataType::Int8), field("d", DataType::Utf8)].into());
        let y = DataType::Struct(vec![field("y", DataType::Int16)].into());
        let item = DataType::Struct(vec![field("x", DataType::Int64), field("item", y)].into());
        let list = DataType::List(Arc::new(field("item", item)));
        let entries = DataType::Struct(
            vec![
                Field::new("key", DataType::Utf8, false),
                field("value", DataType::Int8),
            ]
            .into(),
        );
        let map = DataType::Map(Arc::new(Field::new("entries", entries, false)), false);
        DataType::Struct(
            vec![
                field("a", DataType::Int32),
                field("b.c", DataType::Float32),
                field("b", inner),
                field("l", list),
                field("m", map),
            ]
            .into(),
        )
    }

    /// The leaf columns that names lead to, and the fields that are left of the struct.
    fn leaves(names: &[&str]) -> Option<(Vec<usize>, Vec<String>)> {
        let mut all: Option<Part> = None;
        for name in names {
            let part = Part::at(&data_type(), name)?;
            match &mut all {
                Some(all) => all.add(part),
                None => all = Some(part),
            }
        }
        let mut leaves = Vec::new();
        let DataType::Struct(fields) = all?.of_type(&data_type(), 0, &mut leaves) else {
            panic!("no structure");
        };
        let names = fields.iter().map(|field| field.name().clone());
        Some((leaves, names.collect()))
    }

    #[test]
    fn names_lead_to_leaves() {
        let found = |names: &[&str]| leaves(names).map(|(leaves, _)| leaves);
        assert_eq!(found(&["a"]), Some(vec![0]));
        // The field with a dot in its name comes first in the struct.
        assert_eq!(found(&["b.c"]), Some(vec![1]));
        assert_eq!(found(&["b.d"]), Some(vec![3]));
        assert_eq!(found(&["b"]), Some(vec![2, 3]));
        assert_eq!(found(&["l.x"]), Some(vec![4]));
        assert_eq!(found(&["l.item.x"]), Some(vec![4]));
        // What is called as lists call their items.
        assert_eq!(found(&["l.item"]), Some(vec![4, 5]));
        assert_eq!(found(&["l.item.item.y"]), Some(vec![5]));
        assert_eq!(found(&["m"]), Some(vec![6, 7]));
        assert_eq!(found(&["m.key"]), Some(vec![6]));
        assert_eq!(found(&["m.value"]), Some(vec![7]));
        // As the leaves are called.
        assert_eq!(found(&["m.entries.value"]), Some(vec![7]));
        assert_eq!(found(&["m.entries"]), Some(vec![6, 7]));
        for none in [
            "", ".", "a.", "a.b", "b.", "b.e", "l.y", "m.k", "bc", "l.item.", "A",
        ] {
            assert_eq!(found(&[none]), None, "{none}");
        }
    }

    #[test]
    fn a_part_of_a_map_is_a_list_of_entries() {
        let typed = |names: &[&str]| {
            let mut part = Part::at(&data_type(), names[0])?;
            for name in &names[1..] {
                part.add(Part::at(&data_type(), name)?);
            }
            let DataType::Struct(fields) = part.of_type(&data_type(), 0, &mut Vec::new()) else {
                return None;
            };
            Some(fields[0].data_type().clone())
        };
        let DataType::Struct(all) = data_type() else {
            panic!("no structure");
        };
        let map = all[4].data_type().clone();
        for both in [&["m"][..], &["m.value", "m.key"], &["m.entries", "m.key"]] {
            assert_eq!(typed(both), Some(map.clone()), "{both:?}");
        }
        let key = Field::new("key", DataType::Utf8, false);
        let entries = DataType::Struct(vec![key].into());
        let keys = DataType::List(Arc::new(Field::new("entries", entries, false)));
        assert_eq!(typed(&["m.key"]), Some(keys));
    }

    #[test]
    fn parts_of_one_field_are_joined_in_its_order() {
        let (joined, names) = leaves(&["l.item.item", "b.d", "a", "l.x"]).unwrap();
        assert_eq!(joined, [0, 3, 4, 5]);
        assert_eq!(names, ["a", "b", "l"]);
        let (joined, _) = leaves(&["b.d", "b"]).unwrap();
        assert_eq!(joined, [2, 3]);
    }
}
