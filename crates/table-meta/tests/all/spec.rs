//! The examples of the specification are what this crate writes. `TARSIA_BLESS=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use arrow_schema::DataType;
use tarsia_table_meta::key::{KeyType, KeyValue};
use tarsia_table_meta::{
    Change, Commit, Entry, EntryKind, EntryOp, FileId, ObjectId, Operation, Partition,
    PartitionSpec, Pin, Policy, RefEntry, RefOp, Rule, TableId, TableRoot, TxnId,
};

fn check(page: &str, name: &str, example: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec/table");
    let path = folder.join(page);
    let text = fs::read_to_string(&path).unwrap();
    let start = format!("<!-- generated: {name} -->\n");
    let (before, rest) = text.split_once(&start).unwrap();
    let (committed, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("TARSIA_BLESS").is_some() {
        fs::write(
            &path,
            format!("{before}{start}{example}<!-- end -->{after}"),
        )
        .unwrap();
        return;
    }
    assert_eq!(
        committed, example,
        "{page}: set TARSIA_BLESS=1 to write it anew"
    );
}

fn json(bytes: &[u8]) -> String {
    // A line of prose has at most 119 characters.
    let text = str::from_utf8(bytes).unwrap().replace(",\"", ",\n\"");
    format!("One object, with line ends for readability:\n\n```json\n{text}\n```\n")
}

#[test]
fn objects_of_json() {
    let root = TableRoot {
        id: TableId([0x1d; 16]),
        time: 1_777_593_600_000,
        features: Vec::new(),
    };
    check("refs.md", "table", &json(&root.to_bytes().unwrap()));
    let entry = RefEntry {
        n: 5,
        commit: ObjectId::of(b"commit 5"),
        before: Some(ObjectId::of(b"commit 4")),
        schemas: vec![ObjectId::of(b"schema 2"), ObjectId::of(b"schema 1")],
        op: RefOp::Commit,
        txn: TxnId([0x77; 16]),
        source: None,
        author: "ada".to_owned(),
        time: 1_777_593_600_000,
        tool: "tarsia 0.1.0".to_owned(),
    };
    check(
        "refs.md",
        "ref entry",
        &json(&entry.to_bytes("main").unwrap()),
    );
    let id = TxnId([0x0f; 16]);
    let pin = Pin {
        commit: ObjectId::of(b"commit 5"),
        time: 1_777_593_600_000,
        end: 1_778_198_400_000,
        since: None,
        message: "training run 5".to_owned(),
        author: "ada".to_owned(),
    };
    check("refs.md", "pin", &json(&pin.to_bytes(&id).unwrap()));
    let rules = BTreeSet::from([Rule::MergeOnly, Rule::NoReset]);
    let policy = Policy {
        n: 1,
        keep_days: 30,
        keep_from: 1_776_988_800_000,
        branches: BTreeMap::from([("main".to_owned(), rules)]),
        author: "ada".to_owned(),
        time: 1_777_593_600_000,
    };
    check("refs.md", "policy", &json(&policy.to_bytes().unwrap()));
}

#[test]
fn keys() {
    let text = |text: &str| KeyValue::Bytes(text.as_bytes().to_vec());
    let cases = [
        (DataType::Int32, KeyValue::Integer(-1)),
        (DataType::Int32, KeyValue::Integer(1)),
        (DataType::UInt16, KeyValue::Integer(258)),
        (DataType::Boolean, KeyValue::Integer(1)),
        (DataType::Utf8, text("ab")),
        (DataType::Utf8, text("a\0b")),
        (DataType::FixedSizeBinary(2), KeyValue::Bytes(vec![0, 7])),
        (DataType::Date32, KeyValue::Null),
    ];
    let mut table = "| type | value | bytes |\n|---|---|---|\n".to_owned();
    for (data_type, value) in cases {
        let mut bytes = Vec::new();
        KeyType::of(&data_type).unwrap().encode(&value, &mut bytes);
        let shown = match &value {
            KeyValue::Null => "null".to_owned(),
            KeyValue::Integer(number) => number.to_string(),
            KeyValue::Bytes(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
        };
        let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(table, "| {data_type} | `{shown}` | `{}` |", bytes.join(" ")).unwrap();
    }
    check("keys.md", "keys", &table);
}

#[test]
fn commits() {
    let commit = Commit {
        table: TableId([0x1d; 16]),
        parents: vec![ObjectId::of(b"commit 4")],
        generation: 1,
        seq: 1,
        schema: ObjectId::of(b"schema"),
        specs: vec![PartitionSpec::default()],
        txn: TxnId([0x77; 16]),
        changes: vec![Change {
            txn: TxnId([0x77; 16]),
            op: Operation::Append,
            seq: 1,
            alters: Vec::new(),
        }],
        own_manifests: Vec::new(),
        own_entries: vec![Entry {
            op: EntryOp::Add,
            kind: EntryKind::Data,
            partition: Partition::default(),
            file: FileId([0xf1; 16]),
            rows: 1_000,
            bytes: 8_192,
            root: Some(ObjectId::of(b"root")),
            epoch: 1,
            seq: 1,
            low: 1,
            folded: false,
            ordinal: 0,
            schema: Some(ObjectId::of(b"schema")),
            fields: Vec::new(),
            targets: Vec::new(),
            origins: Vec::new(),
        }],
        manifests: Vec::new(),
        entries: Vec::new(),
        idempotence: BTreeMap::new(),
        files: 1,
        rows: 1_000,
        message: "first".to_owned(),
        author: "ada".to_owned(),
        tool: "tarsia 0.1.0".to_owned(),
        time: 1_777_593_600_000,
    };
    let bytes = commit.to_bytes().unwrap();
    let mut dump = "```text\n".to_owned();
    for (line, place) in bytes.chunks(32).zip((0..).step_by(32)) {
        let digits: Vec<_> = line
            .chunks(4)
            .map(|four| {
                four.iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>()
            })
            .collect();
        writeln!(dump, "{place:>4}  {}", digits.join(" ")).unwrap();
    }
    dump.push_str("```\n");
    check("commits.md", "commit", &dump);
}
