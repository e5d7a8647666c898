//! Commits with everything in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use proptest::prelude::*;
use tarsia_compliance::RowSet;
use tarsia_table_meta::{
    Alter, Change, Commit, Entry, EntryKind, EntryOp, FieldId, FileId, ManifestRow, ObjectId,
    Operation, Partition, PartitionField, PartitionSpec, TableField, TableId, Target, Transform,
    TxnId, limits,
};

const TABLE: TableId = TableId([9; 16]);

fn entry(kind: EntryKind, seed: u8, seq: u64) -> Entry {
    let is_delete = kind == EntryKind::Deletes;
    let mut rows = RowSet::new();
    rows.insert_range(3..8);
    let target = Target {
        file: FileId([seed; 16]),
        first_row: 0,
        rows: 5,
        dense: !is_delete,
        row_set: is_delete.then(|| rows.to_bytes()),
    };
    Entry {
        op: EntryOp::Add,
        kind,
        partition: Partition {
            spec: 1,
            values: vec![1, seed],
        },
        file: FileId([seed.wrapping_add(100); 16]),
        rows: 5,
        bytes: if is_delete { 0 } else { 700 },
        root: (!is_delete).then_some(ObjectId([seed; 32])),
        epoch: 1,
        seq,
        low: seq.saturating_sub(1),
        folded: seed.is_multiple_of(2),
        ordinal: seed.into(),
        schema: (!is_delete).then_some(ObjectId([seed; 32])),
        fields: match kind {
            EntryKind::Update => vec![FieldId(1), FieldId(seed.into()).max(FieldId(2))],
            _ => Vec::new(),
        },
        targets: match kind {
            EntryKind::Data => Vec::new(),
            EntryKind::Update | EntryKind::Deletes => vec![target],
        },
        origins: match kind {
            EntryKind::Data => vec![FileId([seed; 16])],
            EntryKind::Update | EntryKind::Deletes => Vec::new(),
        },
    }
}

fn commit() -> Commit {
    let entries: Vec<_> = EntryKind::ALL.map(|kind| entry(kind, 7, 4)).into();
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
        seq_base: 2,
        seq_low: 2,
        seq_high: 4,
        kinds: 5,
    };
    let field = TableField {
        id: FieldId(77),
        field: Arc::new(Field::new(
            "f",
            DataType::new_list(DataType::Utf8, true),
            true,
        )),
        default: None,
        former: Vec::new(),
    };
    let fields = [
        Transform::Identity,
        Transform::Year,
        Transform::Month,
        Transform::Day,
        Transform::Hour,
        Transform::Truncate(8),
    ];
    let fields = fields.map(|transform| PartitionField {
        source: FieldId(3),
        transform,
    });
    Commit {
        table: TABLE,
        parents: vec![ObjectId([1; 32]), ObjectId([2; 32])],
        generation: 3,
        seq: 5,
        schema: ObjectId([4; 32]),
        specs: vec![
            PartitionSpec::default(),
            PartitionSpec {
                id: 1,
                fields: fields.into(),
            },
        ],
        txn: TxnId([6; 16]),
        changes: vec![
            Change {
                txn: TxnId([6; 16]),
                op: Operation::Append,
                seq: 4,
                alters: Vec::new(),
            },
            Change {
                txn: TxnId([7; 16]),
                op: Operation::Alter,
                seq: 5,
                alters: vec![Alter::Add { field, place: None }],
            },
        ],
        own_manifests: vec![manifest.clone()],
        own_entries: entries.clone(),
        manifests: vec![manifest],
        entries: vec![entries[0].removal(5)],
        idempotence: BTreeMap::from([("a".to_owned(), 5), ("b".to_owned(), u64::MAX)]),
        files: 300,
        rows: 1500,
        message: "postbacks of May".to_owned(),
        author: "ada".to_owned(),
        tool: "test".to_owned(),
        time: 1_780_000_000_000,
    }
}

#[test]
fn commits_are_read_back_and_are_a_function_of_their_parts() {
    let commit = commit();
    let bytes = commit.to_bytes().unwrap();
    assert_eq!(Commit::parse(&bytes, &TABLE), Ok(commit.clone()));
    assert_eq!(commit.to_bytes().unwrap(), bytes);
    let error = Commit::parse(&bytes, &TableId([8; 16])).unwrap_err();
    assert!(error.to_string().contains("belongs to table"), "{error}");
}

#[test]
fn what_readers_refuse_writers_refuse() {
    let refused = |change: fn(&mut Commit), why: &str| {
        let mut commit = commit();
        change(&mut commit);
        let error = commit.to_bytes().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(|it| it.parents.clear(), "`generation`");
    refused(|it| it.generation = 0, "`generation`");
    refused(|it| it.specs.clear(), "`specs`");
    refused(|it| it.seq = 4, "higher `seq`");
    refused(|it| it.changes.swap(0, 1), "`changes`");
    refused(|it| it.own_entries[0].low = 9, "`low`");
    refused(|it| it.own_entries[0].schema = None, "`schema`");
    refused(|it| it.own_entries[1].fields.clear(), "`fields`");
    refused(|it| it.own_entries[1].targets[0].rows = 4, "`targets`");
    refused(|it| it.own_entries[2].targets[0].rows = 4, "`row_set`");
    refused(
        |it| it.own_entries[2].targets[0].row_set = None,
        "nothing names",
    );
    refused(|it| it.manifests[0].entries = 0, "`entries`");
    refused(|it| it.manifests[0].kinds = 8, "`kinds`");
    refused(|it| it.message = "x".repeat(9000), "MESSAGE_BYTES_MAX");
    refused(|it| it.author = "x".repeat(2000), "author");
    let many = |it: &mut Commit| {
        let entry = it.entries[0].clone();
        it.entries = vec![entry; limits::INLINE_ENTRIES_MAX + 1];
    };
    refused(many, "INLINE_ENTRIES_MAX");
}

/// A full list of entries leaves room for all else in a commit.
#[test]
fn a_commit_with_all_entries_inside_is_within_its_limit() {
    let mut commit = commit();
    commit.entries = (0..=255).map(|i| entry(EntryKind::Data, i, 4)).collect();
    commit.own_entries = commit.entries.clone();
    let n_bytes = commit.to_bytes().unwrap().len();
    assert!(n_bytes < limits::COMMIT_BYTES_MAX / 2, "{n_bytes}");
    let bound: usize = commit.entries.iter().map(Entry::inline_bytes).sum();
    let mut without = commit.clone();
    without.entries.clear();
    let n_bytes = n_bytes - without.to_bytes().unwrap().len();
    assert!(n_bytes <= bound, "{n_bytes} of {bound}");
}

proptest! {
    #[test]
    fn damaged_commits_are_refused_or_well_formed(place: prop::sample::Index, value: u8, more: Option<(prop::sample::Index, u8)>) {
        let mut bytes = commit().to_bytes().unwrap();
        let n = bytes.len();
        bytes[place.index(n)] = value;
        if let Some((place, value)) = more {
            bytes[place.index(n)] ^= value;
        }
        if let Ok(commit) = Commit::parse(&bytes, &TABLE) {
            // Whatever is accepted can be written again, and reads the same.
            let again = commit.to_bytes().unwrap();
            prop_assert_eq!(Commit::parse(&again, &TABLE), Ok(commit));
        }
    }
}

#[test]
fn cut_commits_are_refused() {
    let commit = commit();
    let bytes = commit.to_bytes().unwrap();
    for end in 0..bytes.len() {
        let parsed = Commit::parse(&bytes[..end], &TABLE);
        // A FlatBuffer may end with padding.
        assert!(parsed.is_err() || parsed.as_ref() == Ok(&commit), "{end}");
    }
}
