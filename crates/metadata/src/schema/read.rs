//! From records to the schema, or to one field of it.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema};

use crate::child_range::ChildRange;
use crate::column::ColumnRecord;
use crate::error::{Error, Result};
use crate::limits::{COLUMN_RECORD_BYTES, RECORD_HEADER_BYTES};
use crate::path::is_child;
use crate::record::NodeRecord;
use crate::records::Records;
use crate::schema::in_field::in_field;
use crate::types::{KeysOrdered, NodeType};

/// A schema and where its columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema<'a> {
    /// All fields in order, with all metadata.
    pub schema: Schema,
    /// One per leaf in pre-order: each field has as many as [`crate::n_leaves`] says.
    pub columns: Vec<ColumnRecord<'a>>,
}

/// Rebuilds the schema from all records. `bytes` lie at the offset `place` ([`crate::Footer::records_range`]).
///
/// # Errors
/// [`Error::Truncated`], [`Error::Crc`], [`Error::Corrupt`] with offsets in the file, [`Error::LimitExceeded`] for
/// nesting deeper than [`crate::limits::SCHEMA_DEPTH_MAX`], [`Error::Unsupported`] for types of a later version, with
/// the field's path.
pub fn read_schema(bytes: &[u8], place: u64, n_nodes: u32) -> Result<TableSchema<'_>> {
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
        Some(children) => {
            let parent = Parent {
                record: &root,
                place: root_place,
                node: None,
                is_stored: true,
            };
            walk.children(&parent, &children)?
        }
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
pub struct FieldColumns<'a> {
    /// The field with all its descendants, with all metadata.
    pub field: Field,
    /// Number of the first of its columns, counted over the whole schema in pre-order; 0 for run ends, which have none.
    pub first_leaf: u32,
    /// Its columns in pre-order, as many as [`crate::n_leaves`] says; none for run ends.
    pub columns: Vec<ColumnRecord<'a>>,
}

/// Rebuilds the field of one node. `descendants` are the records of all its descendants, empty where it has none, and
/// lie at `place`: the bytes and the start of [`NodeRecord::descendants_range`].
///
/// # Errors
/// As [`read_schema`]; [`Error::InvalidInput`] for the root, and if `descendants` or `place` are not those of the
/// node's descendants.
pub fn read_field<'a>(
    record: &NodeRecord<'a>,
    descendants: &'a [u8],
    place: u64,
) -> Result<FieldColumns<'a>> {
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
    // False for run ends and for fields inside packed structs.
    let below = record.children.map_or(0, |children| children.n_leaves);
    let is_stored = record.column.is_some() || below > 0;
    // The start of the record itself is not known, only its end.
    let field = walk.field(record, 0, is_stored)?;
    // All bytes were read: the record says how many there are, and the walk found neither more nor fewer.
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

/// A node whose children come next.
struct Parent<'p, 'a> {
    record: &'p NodeRecord<'a>,
    /// Offset of its record.
    place: u64,
    /// `None` for the root.
    node: Option<&'p NodeType>,
    /// True if the children can have columns.
    is_stored: bool,
}

/// Records in pre-order, checked against each other. What it allocates is bounded by the records it has seen.
struct Walk<'a> {
    records: Records<'a>,
    /// Offset of the records' first byte.
    place: u64,
    /// Number of the next column.
    first_leaf: u32,
    columns: Vec<ColumnRecord<'a>>,
}

impl<'a> Walk<'a> {
    /// The offset of the next record.
    fn position(&self) -> u64 {
        self.place.saturating_add(self.records.position() as u64)
    }

    fn next_leaf(&self) -> u32 {
        let seen = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
        self.first_leaf.saturating_add(seen)
    }

    /// The next record and its offset.
    fn next_record(&mut self) -> Result<(NodeRecord<'a>, u64)> {
        let place = self.position();
        match self.records.next() {
            Some(record) => Ok((record.map_err(|error| error.at(self.place))?, place)),
            None => Err(
                Error::corrupt("record.n_children", 0, 0_u32, "the nodes of the file").at(place),
            ),
        }
    }

    /// The fields of a node's children, whose records come next.
    fn children(&mut self, parent: &Parent<'_, '_>, range: &ChildRange) -> Result<Vec<FieldRef>> {
        let bad = |field, at, found: u64, allowed| {
            Err(Error::corrupt(field, RECORD_HEADER_BYTES + at, found, allowed).at(parent.place))
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
            if !is_child(record.path, parent.record.path) {
                return Err(Error::corrupt(
                    "record.path",
                    16,
                    record.path.len() as u64,
                    "the parent's path and a name",
                )
                .at(place));
            }
            let is_run_ends = parent.node.is_some_and(|of| of.is_run_ends(i as usize));
            let is_stored = parent.is_stored && !is_run_ends;
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
        if parent.record.ordinal != 0 && range.descendants_bytes != below {
            return bad(
                "record.descendants_length",
                12,
                range.descendants_bytes.into(),
                "the bytes of the descendants",
            );
        }
        Ok(fields)
    }

    /// The field of a record at the offset `place`. The records of its descendants come next.
    ///
    /// Recursion ends: a path has at most [`crate::limits::SCHEMA_DEPTH_MAX`] components, and that of a child has one
    /// more.
    fn field(&mut self, record: &NodeRecord<'a>, place: u64, is_stored: bool) -> Result<Field> {
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
                let parent = Parent {
                    record,
                    place,
                    node: Some(&node),
                    is_stored: is_stored && !is_packed,
                };
                self.children(&parent, range)?
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
