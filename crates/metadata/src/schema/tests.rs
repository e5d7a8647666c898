//! Schemas that are written, read and damaged.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, UnionFields, UnionMode};
use proptest::prelude::*;

use super::*;
use crate::leaves::n_leaves_of;
use crate::limits::SCHEMA_DEPTH_MAX;
use crate::reserved::{LAYOUT_KEY, LAYOUT_PACKED};
use crate::types::{FIXED, children};
use crate::{
    Bucket, Buckets, ChildRange, ColumnRecord, ColumnSource, Error, MetaRef, NodeRecord, Records,
    Result, crc32c, encode_path, n_leaves, path_hash, unique_record,
};

const PLACE: u64 = 8192;

fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

fn sample() -> Schema {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
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

fn columns(n: usize) -> Vec<ColumnRecord<'static>> {
    (0..n)
        .map(|i| ColumnRecord {
            zones: None,
            blooms: None,
            level: Default::default(),
            source: ColumnSource::Page {
                meta: MetaRef::Common(0),
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
            let end = start + entry.range_bytes.unwrap() as usize;
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
    assert_eq!((encoded.records.len(), sum), (616, 652_749_828));
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

/// Returns what the equality of fields leaves out, at every depth.
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
    assert_eq!(records.len(), all.len() + 1);
    let mut leaf = 0;
    let mut entries = encoded.entries.iter().skip(1);
    let mut of_path = std::collections::HashMap::new();
    let mut next = encoded.root_bytes as usize;
    for (record, (field, path)) in records.iter().skip(1).zip(all) {
        assert_eq!(record.path, encode_path(&path).unwrap());
        let at = next;
        next += NodeRecord::length(&encoded.records[at..]).unwrap() as usize;
        let of_path: &mut u32 = of_path.entry(record.path).or_default();
        *of_path += 1;
        if *of_path <= crate::limits::ENTRIES_OF_ONE_PATH_MAX {
            let entry = entries.next().unwrap();
            assert_eq!(entry.hash, path_hash(record.path));
            assert_eq!(entry.place, PLACE + at as u64);
        }
        assert_eq!(
            NodeRecord::parse(&encoded.records[at..]).as_ref(),
            Ok(record)
        );
        if let Some(column) = record.column {
            let column_at = at + record.column_at().unwrap();
            let mut bytes = Vec::new();
            column.write_to(&mut bytes).unwrap();
            assert_eq!(encoded.records[column_at..][..bytes.len()], bytes);
            assert_eq!(record.leaf, Some(leaf));
            leaf += 1;
        }
        let range = record.descendants_range().unwrap_or_default();
        let bytes = match range.is_empty() {
            true => &[][..],
            false => &encoded.records[(range.start - PLACE) as usize..(range.end - PLACE) as usize],
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

/// Changes the records of any schema.
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
    let odd = DataType::RunEndEncoded(field("ends", DataType::Int8), field("v", DataType::Int8));
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
        let width = prop::sample::select(vec![DataType::Int16, DataType::Int32, DataType::Int64]);
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
