//! From a schema to its records.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, FieldRef, Schema};

use crate::bucket::{BucketEntry, Buckets, path_hash};
use crate::child_range::ChildRange;
use crate::column::ColumnRecord;
use crate::error::{Error, Result};
use crate::leaves::n_leaves;
use crate::limits::{ENTRIES_OF_ONE_PATH_MAX, HEADER_BYTES};
use crate::path::{check_depth, encode_metadata, push_string};
use crate::record::NodeRecord;
use crate::reserved::is_packed;
use crate::schema::in_field::in_field;
use crate::types::{FORMAT_STRUCT, NodeType, children};

/// The records of a schema, and what the buckets and the footer say about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncodedSchema {
    /// All records, back to back, to be stored at the given offset.
    pub records: Vec<u8>,
    /// One per node in pre-order, for [`crate::Buckets::build`]; of the nodes of one path the first two.
    pub entries: Vec<BucketEntry>,
    /// Bytes of the root's record, the first.
    pub root_bytes: u32,
    /// Nodes, the root counted.
    pub n_nodes: u32,
    /// Nodes with a column.
    pub n_leaves: u32,
}

/// The records of `schema`, to be stored at the offset `place` (a multiple of 8). `columns` are those of all leaves in
/// pre-order: each field takes as many as [`crate::n_leaves`] says.
///
/// # Errors
/// What [`crate::format_string`] refuses and children that a type cannot have, with the field's path;
/// [`Error::InvalidInput`] where leaves and columns differ in number or the place is not aligned;
/// [`Error::LimitExceeded`] for strings of 4 GiB and nesting deeper than [`crate::limits::SCHEMA_DEPTH_MAX`].
pub fn write_schema(
    schema: &Schema,
    columns: &[ColumnRecord<'_>],
    place: u64,
) -> Result<EncodedSchema> {
    if !place.is_multiple_of(8) {
        return Err(Error::invalid("records start at a multiple of 8"));
    }
    let mut writer = Writer {
        encoded: EncodedSchema::default(),
        of_path: HashMap::new(),
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
    let at = Position {
        depth: 0,
        is_stored: true,
    };
    writer.node(root, &fields, None, at)?;
    if columns.len() != writer.encoded.n_leaves as usize {
        return Err(wrong_columns());
    }
    Ok(writer.encoded)
}

/// Checks that a table with this schema can be written, before any of it is.
///
/// # Errors
/// As [`write_schema`] and [`Buckets::build`].
pub fn check_schema(schema: &Schema) -> Result<()> {
    let n_leaves = schema.fields().iter().map(|field| n_leaves(field) as usize);
    let columns = vec![ColumnRecord::EMPTY; n_leaves.sum()];
    let encoded = write_schema(schema, &columns, HEADER_BYTES as u64)?;
    Buckets::build(encoded.entries).map(drop)
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

/// Where a node is in the schema.
#[derive(Clone, Copy)]
struct Position {
    /// 0 for the root, 1 for a top-level field.
    depth: usize,
    /// False inside of packed structs and for run ends: no node there has a column.
    is_stored: bool,
}

struct Writer<'a> {
    encoded: EncodedSchema,
    /// Nodes of each path so far.
    of_path: HashMap<Box<[u8]>, u32>,
    columns: &'a [ColumnRecord<'a>],
    place: u64,
}

impl Writer<'_> {
    /// Writes a record, whose children are not filled in yet, and the records of all descendants. `of` is `None` for
    /// the root.
    fn node(
        &mut self,
        mut record: NodeRecord<'_>,
        children: &[&FieldRef],
        of: Option<&NodeType>,
        at: Position,
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
        let start = self.encoded.records.len();
        let own_place = self.place.saturating_add(start as u64);
        let of_path = self.of_path.entry(record.path.into()).or_default();
        *of_path = of_path.saturating_add(1);
        let entry_at = (*of_path <= ENTRIES_OF_ONE_PATH_MAX).then_some(self.encoded.entries.len());
        // The length is known once all descendants are written.
        let entry = BucketEntry::new(path_hash(record.path), own_place, None);
        self.encoded.entries.extend(entry_at.map(|_| entry));
        // Room for the record. It is written after those of its descendants, which it describes.
        let behind = start.saturating_add(bytes as usize);
        self.encoded.records.resize(behind, 0);

        let first_leaf = self.encoded.n_leaves;
        for (i, child) in children.iter().enumerate() {
            let is_run_ends = of.is_some_and(|of| of.is_run_ends(i));
            let below = Position {
                depth: at.depth + 1,
                is_stored: at.is_stored && !is_run_ends,
            };
            self.field(child, record.path, below)?;
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
        if let Some(entry) = entry_at.and_then(|at| self.encoded.entries.get_mut(at)) {
            *entry = BucketEntry::new(entry.hash, entry.place, record.range_bytes(bytes));
        }
        let mut written = Vec::with_capacity(bytes as usize);
        record.write_to(&mut written)?;
        match self.encoded.records.get_mut(start..behind) {
            Some(room) if room.len() == written.len() => room.copy_from_slice(&written),
            _ => return Err(Error::invalid("a record of another length than counted")),
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, parent_path: &[u8], at: Position) -> Result<()> {
        check_depth(at.depth)?;
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
        let is_packed = at.depth == 1 && is_packed(field);
        if at.is_stored && (is_packed || node.has_column(children.len())) {
            let leaf = self.encoded.n_leaves;
            let column = self.columns.get(leaf as usize).ok_or_else(wrong_columns)?;
            record.leaf = Some(leaf);
            record.column = Some(*column);
            // There are fewer leaves than nodes.
            self.encoded.n_leaves = leaf.saturating_add(1);
        }
        let at = Position {
            depth: at.depth,
            is_stored: at.is_stored && !is_packed,
        };
        self.node(record, &children, Some(&node), at)
    }
}
