//! The Arrow schema as records, in pre-order: the root, then each field with its descendants directly behind it.
//!
//! The columns are the *leaves*, numbered in pre-order; [`crate::n_leaves`] says which nodes have one. The format strings are
//! in [`crate::format_string`].

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};

use crate::limits::{COLUMN_RECORD_BYTES, RECORD_HEADER_BYTES};
use crate::record::{FORMAT_STRUCT, check_depth, display_path, is_child, push_string};
use crate::types::{KeysOrdered, NodeType, children, is_packed};
use crate::{
    BucketEntry, ChildRange, ColumnRecord, Error, NodeRecord, Records, Result, encode_metadata,
    path_hash,
};

/// The records of a schema, and what the buckets and the footer say about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncodedSchema {
    /// All records, back to back; they belong at the place given.
    pub records: Vec<u8>,
    /// One per node in pre-order, for [`crate::Buckets::build`].
    pub entries: Vec<BucketEntry>,
    /// Bytes of the root's record, the first.
    pub root_bytes: u32,
    /// Nodes, the root counted.
    pub n_nodes: u32,
    /// Nodes with a column.
    pub n_leaves: u32,
}

/// The records of `schema`, to be stored at `place` (a multiple of 8). `columns` are those of all leaves in pre-order: each
/// field takes as many as [`crate::n_leaves`] says.
///
/// # Errors
/// What [`crate::format_string`] refuses and children that a type cannot have, with the field's path;
/// [`Error::InvalidInput`] where leaves and columns differ in number or the place is not aligned; [`Error::LimitExceeded`]
/// for strings of 4 GiB and nesting deeper than [`crate::limits::SCHEMA_DEPTH_MAX`].
pub fn write_schema(
    schema: &Schema,
    columns: &[ColumnRecord],
    place: u64,
) -> Result<EncodedSchema> {
    if !place.is_multiple_of(8) {
        return Err(Error::invalid("records start at a multiple of 8"));
    }
    let mut writer = Writer {
        encoded: EncodedSchema::default(),
        columns,
        place,
    };
    let metadata = encode_metadata(schema.metadata())?;
    let root = NodeRecord {
        ordinal: 0,
        nullable: false,
        keys_ordered: false,
        value_keys_ordered: false,
        children: Some(NO_CHILDREN),
        leaf: None,
        column: None,
        format: FORMAT_STRUCT,
        path: &[],
        metadata: &metadata,
    };
    writer.encoded.root_bytes = root.stored_bytes()?;
    let fields: Vec<_> = schema.fields().iter().collect();
    writer.node(root, &fields, None, (0, true))?;
    if columns.len() != writer.encoded.n_leaves as usize {
        return Err(wrong_columns());
    }
    Ok(writer.encoded)
}

const NO_CHILDREN: ChildRange = ChildRange {
    n_children: 0,
    first_leaf: 0,
    n_leaves: 0,
    descendants_bytes: 0,
    first_child_place: 0,
};

fn wrong_columns() -> Error {
    Error::invalid("a schema has as many columns as its fields have leaves")
}

struct Writer<'a> {
    encoded: EncodedSchema,
    columns: &'a [ColumnRecord],
    place: u64,
}

impl Writer<'_> {
    /// Writes a record, which lacks its children, and those of all descendants. `of` is `None` for the root.
    fn node(
        &mut self,
        mut record: NodeRecord<'_>,
        children: &[&FieldRef],
        of: Option<&NodeType>,
        (depth, is_stored): (usize, bool),
    ) -> Result<()> {
        let n_nodes = self.encoded.n_nodes.checked_add(1);
        self.encoded.n_nodes =
            n_nodes.ok_or_else(|| Error::limit("schema nodes", 1 << 32, u32::MAX.into()))?;
        let n_children = u32::try_from(children.len())
            .map_err(|_| Error::limit("children", children.len() as u64, u32::MAX.into()))?;
        if n_children > 0 {
            record.children = Some(NO_CHILDREN);
        }
        let bytes = record.stored_bytes()?;
        let at = self.encoded.records.len();
        let own_place = self.place.saturating_add(at as u64);
        let entry = BucketEntry::new(path_hash(record.path), own_place, bytes);
        self.encoded.entries.push(entry);
        // Room for the record: what it says of its descendants is known behind them.
        let behind = at.saturating_add(bytes as usize);
        self.encoded.records.resize(behind, 0);

        let first_leaf = self.encoded.n_leaves;
        for (i, child) in children.iter().enumerate() {
            let is_run_ends = of.is_some_and(|of| of.is_run_ends(i));
            let place = (depth + 1, is_stored && !is_run_ends);
            self.field(child, record.path, place)?;
        }
        if let Some(range) = &mut record.children
            && n_children > 0
        {
            let below = self.encoded.records.len().saturating_sub(behind);
            *range = ChildRange {
                n_children,
                first_leaf,
                n_leaves: self.encoded.n_leaves.saturating_sub(first_leaf),
                descendants_bytes: match record.ordinal {
                    0 => 0,
                    _ => ChildRange::stored_bytes(below as u64),
                },
                first_child_place: own_place.saturating_add(bytes.into()),
            };
        }
        let mut written = Vec::with_capacity(bytes as usize);
        record.write_to(&mut written)?;
        match self.encoded.records.get_mut(at..behind) {
            Some(room) if room.len() == written.len() => room.copy_from_slice(&written),
            _ => return Err(Error::invalid("a record of another length than counted")),
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        parent_path: &[u8],
        (depth, is_stored): (usize, bool),
    ) -> Result<()> {
        check_depth(depth)?;
        let mut path = parent_path.to_vec();
        push_string(&mut path, field.name())?;
        let node = NodeType::of(field.data_type());
        let children = children(field.data_type());
        let format = node.spell().map_err(|error| in_field(&path, error))?;
        node.check_children(&children)
            .map_err(|allowed| in_field(&path, Error::invalid(format!("not {allowed}"))))?;
        let metadata = encode_metadata(field.metadata())?;
        let mut record = NodeRecord {
            ordinal: self.encoded.n_nodes,
            nullable: field.is_nullable(),
            keys_ordered: field.dict_is_ordered().unwrap_or(false),
            value_keys_ordered: false,
            children: None,
            leaf: None,
            column: None,
            format: &format,
            path: &path,
            metadata: &metadata,
        };
        match field.data_type() {
            DataType::Map(_, sorted) => record.keys_ordered = *sorted,
            DataType::Dictionary(_, value) => {
                record.value_keys_ordered = matches!(**value, DataType::Map(_, true));
            }
            _ => {}
        }
        let is_packed = depth == 1 && is_packed(field);
        if is_stored && (is_packed || node.has_column(children.len())) {
            let leaf = self.encoded.n_leaves;
            let column = self.columns.get(leaf as usize).ok_or_else(wrong_columns)?;
            record.leaf = Some(leaf);
            record.column = Some(*column);
            // There are fewer leaves than nodes.
            self.encoded.n_leaves = leaf.saturating_add(1);
        }
        let below = (depth, is_stored && !is_packed);
        self.node(record, &children, Some(&node), below)
    }
}

fn in_field(path: &[u8], error: Error) -> Error {
    let name = display_path(path);
    match error {
        Error::Unsupported { what } => Error::Unsupported {
            what: format!("field {name:?}: {what}"),
        },
        Error::InvalidInput { what } => Error::invalid(format!("field {name:?}: {what}")),
        other => other,
    }
}

/// A schema and where its columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// All fields in order, with all metadata.
    pub schema: Schema,
    /// One per leaf in pre-order: each field has as many as [`crate::n_leaves`] says.
    pub columns: Vec<ColumnRecord>,
}

/// Rebuilds the schema from all records; `bytes` lie at `place` ([`crate::Footer::records_range`]).
///
/// # Errors
/// [`Error::Truncated`], [`Error::Crc`], [`Error::Corrupt`] with places in the file, [`Error::LimitExceeded`] for nesting
/// deeper than [`crate::limits::SCHEMA_DEPTH_MAX`], [`Error::Unsupported`] for types of a later version, with the field's
/// path.
pub fn read_schema(bytes: &[u8], place: u64, n_nodes: u32) -> Result<TableSchema> {
    let mut walk = Walk {
        records: Records::new(bytes, n_nodes),
        place,
        first_leaf: 0,
        columns: Vec::with_capacity((n_nodes as usize).min(bytes.len() / LEAF_BYTES_MIN)),
    };
    if n_nodes == 0 {
        return Err(Error::invalid("a schema has at least its root"));
    }
    let (root, root_place) = walk.next_record()?;
    let fields = match root.children {
        Some(children) => walk.children(&root, root_place, &children, (None, true))?,
        None => Vec::new(),
    };
    if let Some(more) = walk.records.next() {
        more.map_err(|error| error.at(place))?;
        return Err(Error::corrupt("record", 0, n_nodes, "children of a node before").at(place));
    }
    Ok(TableSchema {
        schema: Schema::new_with_metadata(fields, root.metadata_map()),
        columns: walk.columns,
    })
}

/// A field at any depth, and where its columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldColumns {
    /// The field with all its descendants, with all metadata.
    pub field: Field,
    /// Number of the first of its columns, counted over the whole schema in pre-order; 0 for run ends, which have none.
    pub first_leaf: u32,
    /// Its columns in pre-order, as many as [`crate::n_leaves`] says; none for run ends.
    pub columns: Vec<ColumnRecord>,
}

/// Rebuilds the field of one node. `descendants` are the records of all its descendants, empty where it has none, and lie at
/// `place`: the bytes and the start of [`NodeRecord::descendants_range`].
///
/// # Errors
/// As [`read_schema`]; [`Error::InvalidInput`] for the root, for other bytes than the descendants', and for another place.
pub fn read_field(record: &NodeRecord<'_>, descendants: &[u8], place: u64) -> Result<FieldColumns> {
    if record.ordinal == 0 {
        return Err(Error::invalid("the root is a schema, not a field"));
    }
    let expected = record.descendants_range();
    if expected.is_none() && record.children.is_some() {
        return Err(Error::Unsupported {
            what: format!(
                "field {:?}: descendants of 4 GiB or more; read the whole schema",
                record.display_path()
            ),
        });
    }
    let given = place..place.saturating_add(descendants.len() as u64);
    if expected
        .as_ref()
        .map_or(!descendants.is_empty(), |expected| *expected != given)
    {
        return Err(Error::invalid(format!(
            "field {:?}: its descendants lie at {expected:?}, given are {given:?}",
            record.display_path()
        )));
    }
    let of_children = record.children.map_or(0, |children| children.first_leaf);
    let first_leaf = record.leaf.unwrap_or(of_children);
    let mut walk = Walk {
        records: Records::below(descendants, record.ordinal),
        place,
        first_leaf,
        columns: Vec::new(),
    };
    // Run ends and what is in packed structs.
    let below = record.children.map_or(0, |children| children.n_leaves);
    let is_stored = record.column.is_some() || below > 0;
    // Where the record itself lies is not known, only where it ends.
    let field = walk.field(record, 0, is_stored)?;
    // All bytes were seen: the record says how many there are, and that was compared both ways.
    Ok(FieldColumns {
        field,
        first_leaf,
        columns: walk.columns,
    })
}

impl NodeRecord<'_> {
    /// The Arrow field of a node without children, with its metadata; [`read_field`] is for all nodes.
    ///
    /// # Errors
    /// As [`read_field`].
    pub fn to_field(&self) -> Result<Field> {
        Ok(read_field(self, &[], 0)?.field)
    }
}

/// Bytes of the shortest record with a column.
const LEAF_BYTES_MIN: usize = RECORD_HEADER_BYTES + COLUMN_RECORD_BYTES;

/// Records in pre-order, checked against each other. What it allocates is bounded by the records it has seen.
struct Walk<'a> {
    records: Records<'a>,
    /// Of the records' first byte.
    place: u64,
    /// Number of the first column to come.
    first_leaf: u32,
    columns: Vec<ColumnRecord>,
}

impl<'a> Walk<'a> {
    /// The place of the next record.
    fn position(&self) -> u64 {
        self.place.saturating_add(self.records.position() as u64)
    }

    fn next_leaf(&self) -> u32 {
        let seen = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
        self.first_leaf.saturating_add(seen)
    }

    /// The next record and its place.
    fn next_record(&mut self) -> Result<(NodeRecord<'a>, u64)> {
        let place = self.position();
        match self.records.next() {
            Some(record) => Ok((record.map_err(|error| error.at(self.place))?, place)),
            None => Err(
                Error::corrupt("record.n_children", 0, 0_u32, "the nodes of the file").at(place),
            ),
        }
    }

    /// The fields of a node's children, whose records come next, and whether they have columns. `of` is `None` for the root.
    fn children(
        &mut self,
        parent: &NodeRecord<'_>,
        parent_place: u64,
        range: &ChildRange,
        (of, is_stored): (Option<&NodeType>, bool),
    ) -> Result<Vec<FieldRef>> {
        let bad = |field, at, found: u64, allowed| {
            Err(Error::corrupt(field, RECORD_HEADER_BYTES + at, found, allowed).at(parent_place))
        };
        let start = self.position();
        let first_leaf = self.next_leaf();
        if range.n_children > 0 && range.first_child_place != start {
            return bad(
                "record.first_child_place",
                16,
                range.first_child_place,
                "the record behind",
            );
        }
        if range.first_leaf != first_leaf {
            return bad(
                "record.first_leaf",
                4,
                range.first_leaf.into(),
                "the columns before",
            );
        }
        let mut fields = Vec::new();
        for i in 0..range.n_children {
            let (record, place) = self.next_record()?;
            if !is_child(record.path, parent.path) {
                return Err(Error::corrupt(
                    "record.path",
                    16,
                    record.path.len() as u64,
                    "the parent's path and a name",
                )
                .at(place));
            }
            let is_run_ends = of.is_some_and(|of| of.is_run_ends(i as usize));
            let is_stored = is_stored && !is_run_ends;
            fields.push(Arc::new(self.field(&record, place, is_stored)?));
        }
        if range.n_leaves != self.next_leaf().saturating_sub(first_leaf) {
            return bad(
                "record.n_leaves",
                8,
                range.n_leaves.into(),
                "the columns of the children",
            );
        }
        let below = ChildRange::stored_bytes(self.position().saturating_sub(start));
        if parent.ordinal != 0 && range.descendants_bytes != below {
            return bad(
                "record.descendants_length",
                12,
                range.descendants_bytes.into(),
                "the bytes of the descendants",
            );
        }
        Ok(fields)
    }

    /// The field of a record at `place`; the descendants' records come next.
    ///
    /// Recursion ends: a path has at most [`crate::limits::SCHEMA_DEPTH_MAX`] components, each child's one more.
    fn field(&mut self, record: &NodeRecord<'_>, place: u64, is_stored: bool) -> Result<Field> {
        let node = NodeType::parse(record.format).map_err(|error| in_field(record.path, error))?;
        let n_children = record.children.map_or(0, |range| range.n_children);
        let is_packed = record.is_packed();
        let has_column = is_stored && (is_packed || node.has_column(n_children as usize));
        if record.column.is_some() != has_column {
            let allowed = "2 exactly for types that store a column";
            return Err(Error::corrupt("record.flags", 12, 2_u32, allowed).at(place));
        }
        if let (Some(column), leaf) = (record.column, record.leaf) {
            if leaf != Some(self.next_leaf()) {
                let found = leaf.map_or(u64::MAX, u64::from);
                let allowed = "columns in order";
                return Err(Error::corrupt("record.leaf", 12, found, allowed).at(place));
            }
            self.columns.push(column);
        }
        let fields = match &record.children {
            Some(range) => {
                let below = (Some(&node), is_stored && !is_packed);
                self.children(record, place, range, below)?
            }
            None => Vec::new(),
        };
        let ordered = KeysOrdered {
            own: record.keys_ordered,
            value: record.value_keys_ordered,
        };
        let data_type = node.build(fields, ordered).map_err(|allowed| {
            Error::corrupt(
                "record.n_children",
                RECORD_HEADER_BYTES,
                n_children,
                allowed,
            )
            .at(place)
        })?;
        Ok(Field::new(record.name(), data_type, record.nullable)
            .with_dict_is_ordered(record.keys_ordered)
            .with_metadata(record.metadata_map()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SCHEMA_DEPTH_MAX;
    use crate::types::{FIXED, LAYOUT_KEY, LAYOUT_PACKED, n_leaves_of};
    use crate::{Bucket, Buckets, ColumnSource, crc32c, encode_path, n_leaves, unique_record};
    use arrow_schema::{UnionFields, UnionMode};
    use proptest::prelude::*;
    use std::collections::HashMap;

    const PLACE: u64 = 8192;

    fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn sample() -> Schema {
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        Schema::new_with_metadata(
            vec![
                Field::new("id", DataType::UInt64, false),
                Field::new("", DataType::Utf8View, true).with_metadata(metadata(&[("k", "v")])),
                Field::new("ordered", dictionary.clone(), true).with_dict_is_ordered(true),
                Field::new("id", dictionary, true),
                Field::new("a.b", DataType::Null, true),
            ],
            metadata(&[("z", "1"), ("a", "2")]),
        )
    }

    fn columns(n: usize) -> Vec<ColumnRecord> {
        (0..n)
            .map(|i| ColumnRecord {
                source: ColumnSource::Page {
                    meta: 0,
                    n_blocks: 1,
                    place: 192 + i as u64 * 48,
                    length: 48,
                    null_count: 0,
                    side_place: 0,
                    side_length: 0,
                },
                digest: [i as u8; 32],
            })
            .collect()
    }

    #[test]
    fn the_schema_comes_back_with_order_metadata_and_flags() {
        let schema = sample();
        let encoded = write_schema(&schema, &columns(5), PLACE).unwrap();
        assert_eq!((encoded.n_nodes, encoded.n_leaves), (6, 5));
        let table = read_schema(&encoded.records, PLACE, 6).unwrap();
        assert_eq!(table.schema, schema);
        assert_eq!(table.columns, columns(5));
        let ordered: Vec<_> = table
            .schema
            .fields()
            .iter()
            .map(|field| field.dict_is_ordered())
            .collect();
        assert_eq!(ordered, [None, None, Some(true), Some(false), None]);
        assert_eq!(write_schema(&schema, &columns(5), PLACE), Ok(encoded));
    }

    #[test]
    fn a_schema_without_fields_comes_back() {
        let schema = Schema::new_with_metadata(Vec::<Field>::new(), metadata(&[("a", "b")]));
        let encoded = write_schema(&schema, &[], PLACE).unwrap();
        let table = read_schema(&encoded.records, PLACE, 1).unwrap();
        assert_eq!(table.schema, schema);
        assert_eq!(encoded.entries.len(), 1);
    }

    #[test]
    fn fields_are_found_by_path_and_a_shared_path_is_ambiguous() {
        let encoded = write_schema(&sample(), &columns(5), PLACE).unwrap();
        let (log2, bytes) = Buckets::build(encoded.entries.clone()).unwrap();
        let bucket_place = PLACE + encoded.records.len() as u64;
        let end = bucket_place + bytes.len() as u64;
        let buckets = Buckets::new(log2, bucket_place, end).unwrap();
        let bucket = Bucket::parse(&bytes, &buckets, 0).unwrap();
        let find = |path: &[u8]| {
            let records = bucket.lookup(path_hash(path)).map(|entry| {
                let start = (entry.place - PLACE) as usize;
                let end = start + entry.record_bytes.unwrap() as usize;
                NodeRecord::parse(&encoded.records[start..end]).unwrap()
            });
            unique_record(path, records).map(|found| found.map(|record| record.ordinal))
        };
        let path = |name| encode_path([name]).unwrap();
        assert_eq!(find(&[]), Ok(Some(0)));
        assert_eq!(find(&path("")), Ok(Some(2)));
        assert_eq!(find(&path("a.b")), Ok(Some(5)));
        assert_eq!(find(&encode_path(["a", "b"]).unwrap()), Ok(None));
        assert_eq!(
            find(&path("id")),
            Err(Error::AmbiguousPath { path: "id".into() })
        );
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_found() {
        let encoded = write_schema(&sample(), &columns(5), PLACE).unwrap();
        let bytes = encoded.records;
        for len in 0..bytes.len() {
            assert!(read_schema(&bytes[..len], PLACE, 6).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read_schema(&bad, PLACE, 6).is_err(), "bit {bit}");
        }
        for n_nodes in [0, 1, 5, 7, u32::MAX] {
            assert!(read_schema(&bytes, PLACE, n_nodes).is_err(), "{n_nodes}");
        }
        assert!(read_schema(&bytes, PLACE + 8, 6).is_err());
    }

    #[test]
    fn the_bytes_of_a_flat_schema_are_those_of_the_first_version() {
        let encoded = write_schema(&sample(), &columns(5), PLACE).unwrap();
        let sum = crc32c(&[&encoded.records]);
        assert_eq!((encoded.records.len(), sum), (616, 0xddfb70a4));
    }

    #[test]
    fn columns_are_as_many_as_leaves_and_the_place_is_aligned() {
        assert!(write_schema(&sample(), &columns(4), PLACE).is_err());
        assert!(write_schema(&sample(), &columns(6), PLACE).is_err());
        assert!(write_schema(&sample(), &columns(5), PLACE + 1).is_err());
        assert!(write_schema(&nested(), &columns(NESTED_LEAVES - 1), PLACE).is_err());
        assert!(write_schema(&nested(), &columns(NESTED_LEAVES + 1), PLACE).is_err());
    }

    fn field(name: &str, data_type: DataType) -> FieldRef {
        Arc::new(Field::new(name, data_type, true))
    }

    fn structure(fields: Vec<FieldRef>) -> DataType {
        DataType::Struct(fields.into())
    }

    fn dictionary(value: DataType) -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(value))
    }

    fn map(sorted: bool) -> DataType {
        let pair = vec![field("k", DataType::Utf8), field("v", DataType::Int8)];
        let entries = Field::new("entries", structure(pair), false);
        DataType::Map(
            Arc::new(entries.with_metadata(metadata(&[("e", "1")]))),
            sorted,
        )
    }

    fn run_ends(of: DataType) -> FieldRef {
        let run_ends = Field::new("run_ends", of, false);
        Arc::new(run_ends.with_metadata(metadata(&[("r", "")])))
    }

    /// Nodes with their paths, in pre-order: what has a column, and which.
    const NESTED: [(&str, Option<u32>); 31] = [
        ("flat", Some(0)),
        ("s", None),
        ("s.x", Some(1)),
        ("s.x", None),
        ("s.x.item", Some(2)),
        ("s.empty", Some(3)),
        ("u", Some(4)),
        ("u.a", Some(5)),
        ("u.b", Some(6)),
        ("none", Some(7)),
        ("r", None),
        ("r.run_ends", None),
        ("r.values", None),
        ("r.values.p", Some(8)),
        ("r.values.q", Some(9)),
        ("m", None),
        ("m.entries", None),
        ("m.entries.k", Some(10)),
        ("m.entries.v", Some(11)),
        ("dm", None),
        ("dm.entries", None),
        ("dm.entries.k", Some(12)),
        ("dm.entries.v", Some(13)),
        ("dl", None),
        ("dl.item", None),
        ("dl.item.item", Some(14)),
        ("de", Some(15)),
        ("du", Some(16)),
        ("du.x", Some(17)),
        ("du.y", Some(18)),
        ("last", Some(19)),
    ];
    const NESTED_LEAVES: usize = 20;

    fn nested() -> Schema {
        let list = field(
            "x",
            DataType::List(Arc::new(
                Field::new("item", dictionary(DataType::Utf8), false)
                    .with_dict_is_ordered(true)
                    .with_metadata(metadata(&[("ARROW:extension:name", "x"), ("a", "b")])),
            )),
        );
        let empty = field("empty", structure(vec![]));
        let union = |a, b, mode| {
            let fields = UnionFields::try_new(
                vec![7, 3],
                vec![field(a, DataType::Int8), field(b, DataType::Utf8)],
            );
            DataType::Union(fields.unwrap(), mode)
        };
        let values = structure(vec![field("p", DataType::Null), field("q", DataType::Int8)]);
        let lists = DataType::FixedSizeList(field("item", DataType::Float16), 3);
        let lists = DataType::LargeListView(field("item", lists));
        let fields = vec![
            field("flat", DataType::Int32),
            field(
                "s",
                structure(vec![field("x", DataType::Int8), list, empty]),
            ),
            field("u", union("a", "b", UnionMode::Dense)),
            field(
                "none",
                DataType::Union(UnionFields::empty(), UnionMode::Sparse),
            ),
            field(
                "r",
                DataType::RunEndEncoded(run_ends(DataType::Int16), field("values", values)),
            ),
            field("m", map(true)),
            Arc::new(Field::new("dm", dictionary(map(true)), true).with_dict_is_ordered(false)),
            Arc::new(Field::new("dl", dictionary(lists), false).with_dict_is_ordered(true)),
            field("de", dictionary(structure(vec![]))),
            field("du", dictionary(union("x", "y", UnionMode::Sparse))),
            field("last", DataType::Boolean),
        ];
        Schema::new_with_metadata(fields, metadata(&[("z", "1")]))
    }

    /// What the equality of fields leaves out, at every level.
    fn ordered(fields: &[FieldRef]) -> Vec<Option<bool>> {
        let mut out = Vec::new();
        for field in fields {
            out.push(field.dict_is_ordered());
            let children: Vec<_> = children(field.data_type()).into_iter().cloned().collect();
            out.extend(ordered(&children));
        }
        out
    }

    fn n_all_leaves(schema: &Schema) -> usize {
        let leaves = schema.fields().iter().map(|field| n_leaves(field));
        leaves.sum::<u32>() as usize
    }

    /// Writes a schema, reads it back whole and each node by itself.
    fn check_round_trip(schema: &Schema) {
        let n = n_all_leaves(schema);
        let all_columns = columns(n);
        let encoded = write_schema(schema, &all_columns, PLACE).unwrap();
        assert_eq!(encoded.n_leaves as usize, n);
        let table = read_schema(&encoded.records, PLACE, encoded.n_nodes).unwrap();
        assert_eq!(&table.schema, schema);
        assert_eq!(ordered(table.schema.fields()), ordered(schema.fields()));
        assert_eq!(table.columns, all_columns);

        let all = walk_fields(schema.fields());
        let records: Vec<_> = Records::new(&encoded.records, encoded.n_nodes)
            .collect::<Result<_>>()
            .unwrap();
        assert_eq!(encoded.entries.len(), records.len());
        assert_eq!(records.len(), all.len() + 1);
        let mut leaf = 0;
        for ((record, entry), (field, path)) in
            records.iter().zip(&encoded.entries).skip(1).zip(all)
        {
            assert_eq!(record.path, encode_path(&path).unwrap());
            assert_eq!(entry.hash, path_hash(record.path));
            let at = (entry.place - PLACE) as usize;
            assert_eq!(
                NodeRecord::parse(&encoded.records[at..]).as_ref(),
                Ok(record)
            );
            if let Some(column) = record.column {
                let column_at = at + record.column_at().unwrap();
                let mut bytes = Vec::new();
                column.write_to(&mut bytes);
                assert_eq!(encoded.records[column_at..][..bytes.len()], bytes);
                assert_eq!(record.leaf, Some(leaf));
                leaf += 1;
            }
            let range = record.descendants_range().unwrap_or_default();
            let bytes = match range.is_empty() {
                true => &[][..],
                false => {
                    &encoded.records[(range.start - PLACE) as usize..(range.end - PLACE) as usize]
                }
            };
            let got = read_field(record, bytes, range.start).unwrap();
            assert_eq!(got.field, **field);
            let below = record.children.map_or(0, |children| children.n_leaves);
            if record.column.is_some() || below > 0 {
                let n = match path.len() {
                    1 => n_leaves(field),
                    _ => n_leaves_of(field.data_type()),
                } as usize;
                assert_eq!(got.columns, all_columns[got.first_leaf as usize..][..n]);
            } else {
                assert!(got.columns.is_empty());
            }
        }
        assert_eq!(leaf as usize, n);
    }

    /// All fields in pre-order, with their paths.
    fn walk_fields(fields: &[FieldRef]) -> Vec<(&FieldRef, Vec<String>)> {
        fn walk<'a>(
            field: &'a FieldRef,
            parent: &[String],
            out: &mut Vec<(&'a FieldRef, Vec<String>)>,
        ) {
            let mut path = parent.to_vec();
            path.push(field.name().clone());
            out.push((field, path.clone()));
            for child in children(field.data_type()) {
                walk(child, &path, out);
            }
        }
        let mut out = Vec::new();
        for field in fields {
            walk(field, &[], &mut out);
        }
        out
    }

    /// All nodes but the root: their paths, and their columns.
    fn nodes(encoded: &EncodedSchema) -> Vec<(String, Option<u32>)> {
        Records::new(&encoded.records, encoded.n_nodes)
            .skip(1)
            .map(|record| record.map(|record| (record.display_path(), record.leaf)))
            .collect::<Result<_>>()
            .unwrap()
    }

    #[test]
    fn a_nested_schema_comes_back_whole_and_by_field() {
        check_round_trip(&nested());
        let encoded = write_schema(&nested(), &columns(NESTED_LEAVES), PLACE).unwrap();
        let got = nodes(&encoded);
        let want = NESTED.map(|(path, leaf)| (path.to_owned(), leaf));
        assert_eq!(got, want);
    }

    /// Two packed structs around a flat field; what is packed inside, and of another type, is not.
    fn packed() -> Schema {
        let as_packed = |field: FieldRef| {
            let layout = metadata(&[(LAYOUT_KEY, LAYOUT_PACKED), ("z", "1")]);
            Arc::new(field.as_ref().clone().with_metadata(layout))
        };
        let pair = || structure(vec![field("x", DataType::Int8), field("y", DataType::Utf8)]);
        let inner = vec![as_packed(field("in", pair())), field("n", DataType::Null)];
        Schema::new(vec![
            as_packed(field("p", structure(inner))),
            as_packed(field("flat", DataType::Int32)),
            as_packed(field("l", DataType::List(as_packed(field("item", pair()))))),
            as_packed(field("q", pair())),
        ])
    }

    #[test]
    fn a_packed_struct_has_one_column_and_its_fields_none() {
        check_round_trip(&packed());
        let encoded = write_schema(&packed(), &columns(5), PLACE).unwrap();
        let got = nodes(&encoded);
        let want = [
            ("p", Some(0)),
            ("p.in", None),
            ("p.in.x", None),
            ("p.in.y", None),
            ("p.n", None),
            ("flat", Some(1)),
            ("l", None),
            ("l.item", None),
            ("l.item.x", Some(2)),
            ("l.item.y", Some(3)),
            ("q", Some(4)),
            ("q.x", None),
            ("q.y", None),
        ];
        assert_eq!(got, want.map(|(path, leaf)| (path.to_owned(), leaf)));
    }

    #[test]
    fn a_packed_struct_whose_records_disagree_is_corrupt() {
        type Change = fn(&mut NodeRecord<'_>);
        let cases: [(&str, usize, Change); 5] = [
            ("a column inside", 3, |r| {
                (r.leaf, r.column) = (Some(1), Some(columns(2)[1]));
            }),
            ("no column of its own", 1, |r| {
                (r.leaf, r.column) = (None, None)
            }),
            ("not packed after all", 1, |r| r.metadata = &[]),
            ("a list", 1, |r| r.format = "+l"),
            ("columns below", 1, |r| {
                r.children.as_mut().unwrap().n_leaves = 1;
            }),
        ];
        let encoded = write_schema(&packed(), &columns(5), PLACE).unwrap();
        for (what, ordinal, change) in cases {
            let out = changed(&encoded, ordinal, change).expect(what);
            assert!(read_schema(&out, PLACE, encoded.n_nodes).is_err(), "{what}");
        }
    }

    #[test]
    fn a_union_counts_its_own_column_apart() {
        let encoded = write_schema(&nested(), &columns(NESTED_LEAVES), PLACE).unwrap();
        let mut records = Records::new(&encoded.records, encoded.n_nodes);
        let union = records.nth(7).unwrap().unwrap();
        assert_eq!((union.format, union.leaf), ("+ud:7,3", Some(4)));
        let below = union.children.unwrap();
        assert_eq!(
            (below.n_children, below.first_leaf, below.n_leaves),
            (2, 5, 2)
        );
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_of_a_nested_schema_is_found() {
        let encoded = write_schema(&nested(), &columns(NESTED_LEAVES), PLACE).unwrap();
        let n_nodes = encoded.n_nodes;
        let bytes = encoded.records;
        for len in 0..bytes.len() {
            assert!(read_schema(&bytes[..len], PLACE, n_nodes).is_err(), "{len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read_schema(&bad, PLACE, n_nodes).is_err(), "bit {bit}");
        }
        for other in (0..n_nodes).chain([n_nodes + 1, u32::MAX]) {
            assert!(read_schema(&bytes, PLACE, other).is_err(), "{other}");
        }
        assert!(read_schema(&bytes, PLACE + 8, n_nodes).is_err());
    }

    #[test]
    fn descendants_are_those_of_the_record() {
        let encoded = write_schema(&nested(), &columns(NESTED_LEAVES), PLACE).unwrap();
        let mut records = Records::new(&encoded.records, encoded.n_nodes);
        let record = records.nth(2).unwrap().unwrap();
        let place = record.descendants_range().unwrap().start;
        let range = record.descendants_range().unwrap();
        let bytes = &encoded.records[(range.start - PLACE) as usize..(range.end - PLACE) as usize];
        assert!(read_field(&record, bytes, place).is_ok());
        assert!(read_field(&record, bytes, place + 8).is_err());
        assert!(read_field(&record, &[], place).is_err());
        assert!(read_field(&record, &bytes[..bytes.len() - 8], place).is_err());
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(read_field(&record, &bad, place).is_err(), "bit {bit}");
        }
        let mut long = record;
        long.children.as_mut().unwrap().descendants_bytes = ChildRange::stored_bytes(1 << 32);
        assert_eq!(long.descendants_range(), None);
        let got = read_field(&long, bytes, place);
        assert!(matches!(got, Err(Error::Unsupported { .. })), "{got:?}");
        let flat = Records::new(&encoded.records, encoded.n_nodes).nth(1);
        let flat = flat.unwrap().unwrap();
        assert!(read_field(&flat, &[], 0).is_ok());
        assert!(read_field(&flat, bytes, place).is_err());
        let root = Records::new(&encoded.records, encoded.n_nodes).next();
        assert!(read_field(&root.unwrap().unwrap(), &[], 0).is_err());
    }

    /// The records of a nested schema, one of them changed and written with a right checksum.
    fn with_change(ordinal: usize, change: impl FnOnce(&mut NodeRecord<'_>)) -> Option<Vec<u8>> {
        let encoded = write_schema(&nested(), &columns(NESTED_LEAVES), PLACE).unwrap();
        changed(&encoded, ordinal, change)
    }

    /// The same for any schema's records.
    fn changed(
        encoded: &EncodedSchema,
        ordinal: usize,
        change: impl FnOnce(&mut NodeRecord<'_>),
    ) -> Option<Vec<u8>> {
        let records: Vec<_> = Records::new(&encoded.records, encoded.n_nodes)
            .collect::<Result<_>>()
            .unwrap();
        let mut out = Vec::new();
        let mut change = Some(change);
        for (i, mut record) in records.into_iter().enumerate() {
            if i == ordinal {
                change.take().unwrap()(&mut record);
            }
            record.write_to(&mut out).ok()?;
        }
        Some(out)
    }

    #[test]
    fn records_that_do_not_fit_together_are_corrupt() {
        type Change = fn(&mut NodeRecord<'_>);
        fn range<'a>(record: &'a mut NodeRecord<'_>) -> &'a mut ChildRange {
            record.children.as_mut().unwrap()
        }
        let cases: [(&str, &str, usize, Change); 25] = [
            ("nullable run ends", "run ends", 12, |r| r.nullable = true),
            ("run ends of strings", "run ends", 12, |r| r.format = "u"),
            ("root: fewer", "children of a node before", 0, |r| {
                range(r).n_children -= 1;
                range(r).n_leaves -= 1;
            }),
            ("root: more", "record.n_children", 0, |r| {
                range(r).n_children += 1
            }),
            ("root: leaves", "record.n_leaves", 0, |r| {
                range(r).n_leaves -= 1
            }),
            ("root: first", "record.first_leaf", 0, |r| {
                range(r).first_leaf += 1
            }),
            ("more children", "record.path", 2, |r| {
                range(r).n_children += 1
            }),
            ("fewer children", "record.n_leaves", 2, |r| {
                range(r).n_children -= 1
            }),
            ("first leaf", "record.first_leaf", 2, |r| {
                range(r).first_leaf += 1
            }),
            ("leaves", "record.n_leaves", 2, |r| range(r).n_leaves += 1),
            ("descendants", "record.descendants_length", 2, |r| {
                range(r).descendants_bytes += 8
            }),
            ("long", "record.descendants_length", 2, |r| {
                range(r).descendants_bytes = u32::MAX
            }),
            ("place", "record.first_child_place", 2, |r| {
                range(r).first_child_place += 8
            }),
            ("struct as list", "one child of a list", 2, |r| {
                r.format = "+l"
            }),
            ("leaf", "record.leaf", 3, |r| r.leaf = Some(0)),
            ("stranger", "record.path", 3, |r| {
                r.path = b"\x01\0\0\0t\x01\0\0\0x"
            }),
            ("descendant", "record.path", 3, |r| {
                r.path = b"\x01\0\0\0s\0\0\0\0\0\0\0\0"
            }),
            ("parent", "record.path", 3, |r| r.path = b"\x01\0\0\0s"),
            ("type", "\"s.x\"", 4, |r| r.format = "+x"),
            ("empty struct as list", "record.flags", 6, |r| {
                r.format = "+l"
            }),
            ("fewer type ids", "as many children", 7, |r| {
                r.format = "+ud:127"
            }),
            ("more type ids", "as many children", 10, |r| {
                r.format = "+us:0"
            }),
            ("dictionary of entries", "entries of a map", 17, |r| {
                r.format = "Dc,+s"
            }),
            ("union as struct", "record.flags", 28, |r| {
                r.format = "Dc,+s"
            }),
            ("run ends as values", "record.flags", 11, |r| {
                r.format = "+s"
            }),
        ];
        let n_nodes = NESTED.len() as u32 + 1;
        let good = with_change(0, |_| {}).unwrap();
        assert!(read_schema(&good, PLACE, n_nodes).is_ok());
        for (what, field, ordinal, change) in cases {
            let bad = with_change(ordinal, change).expect(what);
            let error = read_schema(&bad, PLACE, n_nodes).unwrap_err().to_string();
            assert!(error.contains(field), "{what}: {error}");
        }
        // What one record alone shows is not even written.
        let cases: [(&str, usize, Change); 6] = [
            ("run ends at the top", 12, |r| r.path = b"\x01\0\0\0r"),
            ("a leaf without column", 12, |r| r.leaf = Some(1)),
            ("a column without leaf", 3, |r| r.leaf = None),
            ("a leaf behind the nodes", 3, |r| r.leaf = Some(3)),
            ("no children but their part", 2, |r| range(r).n_children = 0),
            ("ordered keys of a struct", 2, |r| r.keys_ordered = true),
        ];
        for (what, ordinal, change) in cases {
            assert_eq!(with_change(ordinal, change), None, "{what}");
        }
        assert_eq!(with_change(16, |r| r.value_keys_ordered = true), None);
        assert_eq!(with_change(24, |r| r.value_keys_ordered = true), None);
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let nest = |depth: usize| {
            let list = |of, _| DataType::List(field("item", of));
            let data_type = (1..depth).fold(DataType::Int8, list);
            Schema::new(vec![field("deep", data_type)])
        };
        check_round_trip(&nest(SCHEMA_DEPTH_MAX));
        let got = write_schema(&nest(SCHEMA_DEPTH_MAX + 1), &columns(1), PLACE);
        assert!(matches!(got, Err(Error::LimitExceeded { .. })), "{got:?}");
        let deep = encode_path(vec!["x"; SCHEMA_DEPTH_MAX + 1]).unwrap();
        let got = with_change(3, |record| {
            // Leaked, since the record's strings outlive the closure.
            record.path = deep.clone().leak();
        });
        assert_eq!(got, None);
    }

    #[test]
    fn what_a_type_cannot_have_is_refused_with_its_path() {
        let odd =
            DataType::RunEndEncoded(field("ends", DataType::Int8), field("v", DataType::Int8));
        for (inner, what) in [
            (odd, "run ends"),
            (
                DataType::Map(field("e", structure(vec![])), false),
                "entries",
            ),
            (
                DataType::FixedSizeList(field("i", DataType::Int8), -1),
                "-1",
            ),
            (dictionary(dictionary(DataType::Utf8)), "Dictionary"),
        ] {
            let data_type = structure(vec![field("in", inner)]);
            let schema = Schema::new(vec![field("out", data_type)]);
            let error = write_schema(&schema, &columns(1), PLACE).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("\"out.in\"") && error.contains(what),
                "{error}"
            );
        }
    }

    fn any_metadata() -> impl Strategy<Value = HashMap<String, String>> {
        prop::collection::hash_map(".{0,3}", ".{0,4}", 0..3)
    }

    fn any_field(data_type: impl Strategy<Value = DataType>) -> impl Strategy<Value = FieldRef> {
        let parts = (
            "[ab]?|.{0,3}",
            data_type,
            any::<(bool, bool)>(),
            any_metadata(),
        );
        parts.prop_map(|(name, data_type, (nullable, ordered), metadata)| {
            Arc::new(
                Field::new(name, data_type, nullable)
                    .with_dict_is_ordered(ordered)
                    .with_metadata(metadata),
            )
        })
    }

    fn any_type() -> impl Strategy<Value = DataType> {
        let flat = (0..FIXED.len(), any::<bool>()).prop_map(|(i, in_dictionary)| {
            match (FIXED[i].0.clone(), in_dictionary) {
                (flat, true) => dictionary(flat),
                (flat, false) => flat,
            }
        });
        let nested = |inner: BoxedStrategy<DataType>| {
            let item = || any_field(inner.clone());
            let items = |n| prop::collection::vec(any_field(inner.clone()), 0..n);
            let list = (item(), 0..5, 0..i32::MAX).prop_map(|(item, kind, n)| match kind {
                0 => DataType::List(item),
                1 => DataType::LargeList(item),
                2 => DataType::ListView(item),
                3 => DataType::LargeListView(item),
                _ => DataType::FixedSizeList(item, n),
            });
            let map = ([item(), item()], any::<(bool, bool)>(), any_metadata());
            let map = map.prop_map(|(pair, (nullable, sorted), metadata)| {
                let pair = DataType::Struct(pair.into_iter().collect());
                let entries = Field::new("entries", pair, nullable).with_metadata(metadata);
                DataType::Map(Arc::new(entries), sorted)
            });
            let union = (items(4), 0..120_i8, any::<bool>()).prop_map(|(fields, first, dense)| {
                let ids = (first..).take(fields.len());
                let mode = if dense {
                    UnionMode::Dense
                } else {
                    UnionMode::Sparse
                };
                DataType::Union(UnionFields::try_new(ids, fields).unwrap(), mode)
            });
            let width =
                prop::sample::select(vec![DataType::Int16, DataType::Int32, DataType::Int64]);
            let runs = (width, item());
            prop_oneof![
                list,
                map,
                union,
                items(4).prop_map(structure),
                runs.prop_map(|(of, values)| DataType::RunEndEncoded(run_ends(of), values)),
            ]
        };
        flat.prop_recursive(4, 24, 3, move |inner| {
            let of_nested = nested(inner.boxed());
            (of_nested, any::<bool>()).prop_map(|(nested, in_dictionary)| match in_dictionary {
                true => dictionary(nested),
                false => nested,
            })
        })
    }

    /// A record's bytes with a right checksum.
    fn reseal(bytes: &mut [u8]) {
        let sum = crc32c(&[&bytes[8..]]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    }

    proptest! {
        #[test]
        fn any_flat_schema_comes_back(
            fields in prop::collection::vec((".{0,8}", 0..FIXED.len(), any::<bool>()), 0..40),
            pairs in prop::collection::hash_map(".{0,6}", ".{0,9}", 0..4),
        ) {
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(name, i, nullable)| Field::new(name, FIXED[i].0.clone(), nullable))
                .collect();
            let n = fields.len();
            let schema = Schema::new_with_metadata(fields, pairs);
            let encoded = write_schema(&schema, &columns(n), PLACE).unwrap();
            let table = read_schema(&encoded.records, PLACE, n as u32 + 1).unwrap();
            prop_assert_eq!(table.schema, schema);
        }

        #[test]
        fn any_nested_schema_comes_back(
            fields in prop::collection::vec(any_field(any_type()), 0..4),
            metadata in any_metadata(),
        ) {
            check_round_trip(&Schema::new_with_metadata(fields, metadata));
        }

        #[test]
        fn changed_bytes_under_right_checksums_are_refused_or_another_schema(
            pick: prop::sample::Index,
            at: prop::sample::Index,
            change in 1..=255_u8,
        ) {
            let encoded = write_schema(&nested(), &columns(NESTED_LEAVES), PLACE).unwrap();
            let mut bytes = encoded.records;
            let start = (pick.get(&encoded.entries).place - PLACE) as usize;
            let end = start + NodeRecord::length(&bytes[start..]).unwrap() as usize;
            bytes[start + 8 + at.index(end - start - 8)] ^= change;
            reseal(&mut bytes[start..end]);
            if let Ok(table) = read_schema(&bytes, PLACE, encoded.n_nodes) {
                // Each schema has one spelling.
                let again = write_schema(&table.schema, &table.columns, PLACE).unwrap();
                prop_assert!(again.records == bytes);
            }
        }
    }
}
