//! Objects of tables: the input's bytes, or changed copies of what was written. What parses can be written again, and
//! reads the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use tarsia_table_meta::key::KeyType;
use tarsia_table_meta::{
    Alter, Change, Commit, Entry, EntryKind, EntryOp, FieldId, FileId, ManifestRow, ObjectId,
    Operation, Partition, PartitionField, PartitionSpec, RefEntry, RefOp, SchemaObject, TableField,
    TableId, TableRoot, Tag, Target, Transform, TxnId, entries_from_bytes, entries_to_bytes, names,
};
use tarsia_testkit::fuzzing::{Input, accepted};

use crate::metadata::{bytes_of, parse};

const TABLE: TableId = TableId([9; 16]);

fn entry(input: &mut Input<'_>) -> Entry {
    let kind = *input.pick(&EntryKind::ALL);
    let is_delete = kind == EntryKind::Deletes;
    let rows = 1 + input.number() % 1000;
    let seq = input.number();
    let target = Target {
        file: FileId([input.u8(); 16]),
        first_row: 0,
        rows,
        dense: !is_delete && input.one_in(2),
        row_set: None,
    };
    Entry {
        op: EntryOp::Add,
        kind,
        partition: Partition {
            spec: u32::from(input.u8()),
            values: vec![input.u8(); input.below(9)],
        },
        file: FileId([input.u8(); 16]),
        rows,
        bytes: 1 + input.number() % 100_000,
        root: Some(ObjectId([input.u8(); 32])),
        epoch: input.number(),
        seq,
        low: seq / 2,
        folded: input.one_in(2),
        ordinal: input.u32(),
        schema: (!is_delete).then(|| ObjectId([input.u8(); 32])),
        fields: match kind {
            EntryKind::Update => vec![FieldId(0), FieldId(1 + input.number() % 99)],
            _ => Vec::new(),
        },
        targets: match kind {
            EntryKind::Data => Vec::new(),
            _ => vec![target],
        },
        origins: Vec::new(),
    }
}

fn alters() -> Vec<Alter> {
    let nested = DataType::new_list(DataType::Utf8, true);
    let field = TableField {
        id: FieldId(77),
        field: Arc::new(Field::new("f", nested, true)),
        default: None,
        former: Vec::new(),
    };
    let id = FieldId(3);
    vec![
        Alter::Add {
            field,
            place: Some(2),
        },
        Alter::Rename {
            id,
            name: "new".to_owned(),
        },
        Alter::Widen {
            id,
            data_type: DataType::Decimal128(12, 2),
        },
        Alter::Drop { id },
    ]
}

/// A commit.
pub fn commit(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let entries: Vec<Entry> = (0..input.below(4)).map(|_| entry(&mut input)).collect();
    let manifest = ManifestRow {
        id: ObjectId([5; 32]),
        tier: 1,
        entries: 300,
        bytes: 9000,
        first: Partition::default(),
        last: Partition {
            spec: 1,
            values: vec![1, 9],
        },
        seq_base: 0,
        seq_low: 1,
        seq_high: 2,
        kinds: 5,
    };
    let source = FieldId(3);
    let written = Commit {
        table: TABLE,
        parents: vec![ObjectId([1; 32])],
        generation: 3,
        seq: u64::MAX,
        schema: ObjectId([4; 32]),
        specs: vec![PartitionSpec {
            id: 1,
            fields: vec![PartitionField {
                source,
                transform: Transform::Truncate(8),
            }],
        }],
        txn: TxnId([6; 16]),
        changes: vec![Change {
            txn: TxnId([6; 16]),
            op: *input.pick(&Operation::ALL),
            seq: 4,
            alters: alters(),
        }],
        own_manifests: vec![manifest.clone()],
        own_entries: entries.clone(),
        manifests: vec![manifest],
        entries,
        idempotence: BTreeMap::from([("a".to_owned(), 5)]),
        files: 3,
        rows: 7,
        message: "message".to_owned(),
        author: "ada".to_owned(),
        tool: "fuzz".to_owned(),
        time: 5,
    };
    let written = written.to_bytes().expect("a commit within its limits");
    let bytes = bytes_of(&mut input, &written);
    let Ok(commit) = parse(bytes.len(), || Commit::parse(&bytes, &TABLE)) else {
        return;
    };
    accepted();
    let again = commit.to_bytes().expect("what was read can be written");
    assert_eq!(Commit::parse(&again, &TABLE), Ok(commit));
}

/// Changes of a schema.
pub fn schema(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let written = SchemaObject::Changes {
        base: ObjectId([3; 32]),
        alters: alters(),
    };
    let written = written.to_bytes().expect("few changes");
    let bytes = bytes_of(&mut input, &written);
    let Ok(object) = SchemaObject::parse(&bytes) else {
        return;
    };
    accepted();
    let again = object.to_bytes().expect("what was read can be written");
    assert_eq!(SchemaObject::parse(&again), Ok(object));
}

/// Entries that were sent by a task: a manifest.
pub fn entries(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let n_entries = input.below(30);
    let mut written: Vec<Entry> = (0..n_entries).map(|_| entry(&mut input)).collect();
    written.sort_by(Entry::order);
    let whole = entries_to_bytes(&written).expect("sorted entries");
    assert_eq!(entries_from_bytes(&whole), Ok(written.clone()));
    let bytes = bytes_of(&mut input, &whole);
    if let Ok(entries) = entries_from_bytes(&bytes) {
        accepted();
        let again = entries_to_bytes(&entries).expect("what was read can be written");
        assert_eq!(entries_from_bytes(&again), Ok(entries));
    }
}

/// Ref entries, tags and `TABLE`, which carry a digest of their fields.
pub fn json(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let n = input.number();
    let entry = RefEntry {
        n,
        commit: ObjectId([input.u8(); 32]),
        before: None,
        schemas: vec![ObjectId([input.u8(); 32])],
        op: RefOp::Commit,
        txn: TxnId([input.u8(); 16]),
        source: None,
        author: "ada".to_owned(),
        time: input.number(),
        tool: "fuzz".to_owned(),
    };
    let written = entry.to_bytes("main").expect("short texts");
    let bytes = bytes_of(&mut input, &written);
    if let Ok(found) = RefEntry::parse(&bytes, "main", n) {
        accepted();
        // Nobody makes another entry of the same digest.
        assert!(found == entry || !bytes.starts_with(&written[..written.len() / 2]));
    }
    let _ = Tag::parse(&bytes, "v1");
    let _ = TableRoot::parse(&bytes);
    if let Ok(text) = str::from_utf8(&bytes) {
        let name = names::decode_name(text);
        assert!(name.is_err() || names::encode_name(&name.unwrap()).as_deref() == Ok(text));
        let _ = (
            names::ref_of_key(text),
            names::object_of_key(text),
            names::tag_of_key(text),
        );
    }
}

/// Values in key encoding.
pub fn key(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let types = [
        DataType::Int8,
        DataType::UInt64,
        DataType::Decimal128(38, 0),
        DataType::Utf8,
        DataType::FixedSizeBinary(3),
    ];
    let key_type = KeyType::of(input.pick(&types)).expect("a type with an encoding");
    let mut rest = input.rest();
    while let Ok((value, after)) = key_type.decode(rest) {
        accepted();
        let mut again = Vec::new();
        key_type.encode(&value, &mut again);
        assert_eq!(again, rest[..rest.len() - after.len()]);
        rest = after;
    }
}
