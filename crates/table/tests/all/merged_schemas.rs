//! Merges of branches again and again that change their schemas.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int16Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use tarsia_filter::{Expr, col};
use tarsia_io::MemoryStore;
use tarsia_table::{AlterField, Compact, ErrorKind, Overlap, Table, TableSpec};

use crate::common::{info, reader};

/// A way to change a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Add,
    AddWithDefault,
    Rename,
    Drop,
    Move,
    Widen,
    AllowNulls,
}

const KINDS: [Kind; 7] = [
    Kind::Add,
    Kind::AddWithDefault,
    Kind::Rename,
    Kind::Drop,
    Kind::Move,
    Kind::Widen,
    Kind::AllowNulls,
];

/// Where a second change is made after a merge of a branch `a` into `main`, and how it gets to the other one.
#[derive(Debug, Clone, Copy)]
enum Way {
    MergeAgain,
    MergeBack,
    RebaseAgain,
    RebaseBack,
}

const WAYS: [Way; 4] = [
    Way::MergeAgain,
    Way::MergeBack,
    Way::RebaseAgain,
    Way::RebaseBack,
];

/// The branch that is compacted between the two changes.
const COMPACTED: [Option<&str>; 3] = [None, Some("main"), Some("a")];

impl Kind {
    /// A change of a field of this name, and the name that it has then. New fields get the name `new`.
    fn of(self, name: &str, new: &str) -> (AlterField, String) {
        let nullable = Field::new(new, DataType::Int16, true);
        let default: ArrayRef = Arc::new(Int16Array::from(vec![7]));
        match self {
            Self::Add => (AlterField::add(nullable), new.to_owned()),
            Self::AddWithDefault => (
                AlterField::add_with_default(nullable.with_nullable(false), default),
                new.to_owned(),
            ),
            Self::Rename => (AlterField::rename(name, new), new.to_owned()),
            // The field beside it is left for the next change.
            Self::Drop => (AlterField::drop(name), "g".to_owned()),
            Self::Move => (AlterField::move_to(name, Some(0)), name.to_owned()),
            Self::Widen => (AlterField::widen(name, DataType::Int32), name.to_owned()),
            Self::AllowNulls => (AlterField::allow_nulls(name), name.to_owned()),
        }
    }
}

/// A table with the fields `n`, `f`, `g`, rows, a branch `a`, and more rows on `main`, so that no merge only sets it.
fn parted_table() -> Table {
    let rows = rows_of(&[("n", 1), ("f", 2), ("g", 3)]);
    let spec = TableSpec::new(rows.schema());
    let table = Table::create(Arc::new(MemoryStore::new()), &spec, &info("made")).unwrap();
    append(&table, "main", &rows);
    table.create_branch("a", "main", &info("")).unwrap();
    append(&table, "main", &rows_of(&[("n", 4), ("f", 5), ("g", 6)]));
    table
}

fn rows_of(values: &[(&str, i16)]) -> RecordBatch {
    let columns = values.iter().map(|(name, value)| {
        let column: ArrayRef = match *name {
            "n" => Arc::new(Int64Array::from(vec![i64::from(*value)])),
            _ => Arc::new(Int16Array::from(vec![*value])),
        };
        (*name, column, false)
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn append(table: &Table, branch: &str, rows: &RecordBatch) {
    let mut txn = table.begin(branch, info("rows")).unwrap();
    txn.append(reader(rows)).unwrap();
    txn.commit().unwrap();
}

fn alter(table: &Table, branch: &str, change: AlterField) {
    let mut txn = table.begin(branch, info("alter")).unwrap();
    txn.alter(&[change]).unwrap();
    txn.commit().unwrap();
}

fn merge(table: &Table, source: &str, target: &str) -> Result<(), tarsia_table::Error> {
    table.merge(source, target, &info("merge")).map(drop)
}

fn rebase(table: &Table, branch: &str, onto: &str) -> Result<(), tarsia_table::Error> {
    table.rebase(branch, onto, &info("rebase")).map(drop)
}

/// Fields of a state and its rows, sorted by `n`.
fn shown(table: &Table, state: &str) -> Vec<String> {
    let scan = table.at(state).unwrap().scan().build().unwrap();
    let schema = scan.schema();
    let batches: Vec<_> = scan.map(Result::unwrap).collect();
    let rows = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    let at = schema.index_of("n").unwrap();
    let row = |i: usize| {
        let values = rows.columns().iter();
        let values = values.map(|it| format!("{:?}", it.slice(i, 1)));
        format!(
            "{:?} {}",
            rows.column(at).slice(i, 1),
            values.collect::<String>()
        )
    };
    let mut shown: Vec<String> = (0..rows.num_rows()).map(row).collect();
    shown.sort();
    shown.insert(0, format!("{:?}", schema.fields()));
    shown
}

/// Changes a branch, merges it, changes one of both again, and brings that to the other one.
fn is_brought(kinds: [Kind; 2], way: Way, compacted: Option<&str>) {
    let what = format!("{kinds:?} {way:?} {compacted:?}");
    let table = parted_table();
    let (first, name) = kinds[0].of("f", "f1");
    alter(&table, "a", first);
    merge(&table, "a", "main").unwrap();
    if let Some(branch) = compacted {
        let compact = Compact::new().branch(branch).small_bytes(u64::MAX);
        table.compact(&compact, &info("compact")).unwrap();
    }
    let second = match kinds {
        // A field with a default keeps its type.
        [Kind::AddWithDefault, Kind::Widen] => kinds[1].of("g", "f2").0,
        [Kind::Widen, Kind::Widen] => AlterField::widen("f", DataType::Int64),
        _ => kinds[1].of(&name, "f2").0,
    };
    let (from, to) = match way {
        Way::MergeAgain | Way::RebaseAgain => ("a", "main"),
        Way::MergeBack | Way::RebaseBack => ("main", "a"),
    };
    alter(&table, from, second);
    let schema = table.at(from).unwrap().arrow_schema();
    match way {
        Way::MergeAgain | Way::MergeBack => {
            merge(&table, from, to).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        Way::RebaseAgain | Way::RebaseBack => {
            rebase(&table, from, to).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(table.at(from).unwrap().arrow_schema(), schema, "{what}");
            merge(&table, from, to).unwrap();
        }
    }
    assert_eq!(table.at(to).unwrap().arrow_schema(), schema, "{what}");
    // Back again: then both have the same rows.
    merge(&table, to, from).unwrap();
    let rows = shown(&table, "main");
    assert_eq!(rows.len(), 3, "{what}");
    assert_eq!(rows, shown(&table, "a"), "{what}");
}

#[test]
fn a_field_is_changed_again_after_a_merge() {
    std::thread::scope(|scope| {
        for way in WAYS {
            scope.spawn(move || {
                for first in KINDS {
                    for second in KINDS {
                        for compacted in COMPACTED {
                            is_brought([first, second], way, compacted);
                        }
                    }
                }
            });
        }
    });
}

/// Merges and rebases in both directions, which all are conflicts with this in their errors.
fn is_refused(table: &Table, part: &str) {
    for (source, target) in [("a", "main"), ("main", "a")] {
        let forced = table.merge_with(source, target, Overlap::Source, &info(""));
        let outcomes = [
            merge(table, source, target),
            rebase(table, source, target),
            forced.map(drop),
        ];
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn what_both_changed_after_a_merge_is_a_conflict() {
    let changes: [(AlterField, AlterField); 6] = [
        (AlterField::rename("f1", "x"), AlterField::rename("f1", "y")),
        (AlterField::rename("f1", "x"), AlterField::rename("f1", "x")),
        (AlterField::drop("f1"), AlterField::rename("f1", "y")),
        (
            AlterField::widen("f1", DataType::Int32),
            AlterField::widen("f1", DataType::Int64),
        ),
        (
            AlterField::move_to("f1", Some(0)),
            AlterField::move_to("f1", None),
        ),
        (
            AlterField::widen("f1", DataType::Int32),
            AlterField::drop("f1"),
        ),
    ];
    for (one, other) in changes {
        for branches in [["main", "a"], ["a", "main"]] {
            let table = parted_table();
            alter(&table, "a", AlterField::rename("f", "f1"));
            merge(&table, "a", "main").unwrap();
            alter(&table, branches[0], one.clone());
            alter(&table, branches[1], other.clone());
            is_refused(&table, "field");
        }
    }
    // One name for two fields, after both have merged a change of a third one.
    let table = parted_table();
    alter(&table, "a", AlterField::rename("f", "f1"));
    merge(&table, "a", "main").unwrap();
    alter(&table, "a", AlterField::rename("f1", "x"));
    alter(&table, "main", AlterField::rename("g", "x"));
    is_refused(&table, "`x`");
}

#[test]
fn a_change_comes_to_a_target_by_a_third_branch() {
    let table = parted_table();
    table.create_branch("b", "main", &info("")).unwrap();
    append(&table, "b", &rows_of(&[("n", 7), ("f", 8), ("g", 9)]));
    alter(&table, "a", AlterField::rename("f", "f1"));
    merge(&table, "a", "b").unwrap();
    merge(&table, "b", "main").unwrap();
    alter(&table, "a", AlterField::rename("f1", "f2"));
    merge(&table, "a", "main").unwrap();
    alter(&table, "main", AlterField::drop("f2"));
    merge(&table, "main", "b").unwrap();
    merge(&table, "main", "a").unwrap();
    assert_eq!(shown(&table, "a"), shown(&table, "main"));
    assert_eq!(shown(&table, "b"), shown(&table, "main"));
    assert_eq!(shown(&table, "main").len(), 4);
    // What `b` changes now is new to both.
    alter(&table, "b", AlterField::rename("g", "g1"));
    alter(&table, "a", AlterField::rename("g", "g2"));
    merge(&table, "b", "main").unwrap();
    is_refused(&table, "field `g");
}

#[test]
fn a_name_that_is_free_again_may_be_given_again() {
    let table = parted_table();
    alter(&table, "a", AlterField::rename("f", "f1"));
    merge(&table, "a", "main").unwrap();
    alter(&table, "a", AlterField::rename("f1", "f2"));
    alter(&table, "a", Kind::Add.of("", "f1").0);
    merge(&table, "a", "main").unwrap();
    alter(&table, "main", AlterField::drop("f1"));
    alter(&table, "main", AlterField::rename("g", "f1"));
    merge(&table, "main", "a").unwrap();
    assert_eq!(shown(&table, "a"), shown(&table, "main"));
}

#[test]
fn a_branch_is_merged_on_either_side_of_a_compaction() {
    let table = parted_table();
    let compact = Compact::new().small_bytes(u64::MAX);
    assert_eq!(table.compact(&compact, &info("")).unwrap().commits.len(), 1);
    alter(&table, "a", Kind::Add.of("", "n6").0);
    merge(&table, "a", "main").unwrap();
    table.create_branch("b", "main", &info("")).unwrap();
    alter(&table, "a", AlterField::rename("n6", "r7"));
    merge(&table, "b", "a").unwrap();
    merge(&table, "a", "b").unwrap();
    assert_eq!(shown(&table, "a"), shown(&table, "b"));
    // All that `b` has is in `a`, but a compaction, which stays: `b` is not set to the commit of `a`.
    assert_ne!(table.at("a").unwrap().id(), table.at("b").unwrap().id());
}

fn update(table: &Table, branch: &str, filter: &Expr, field: &str, value: i64) {
    let mut txn = table.begin(branch, info("update")).unwrap();
    assert!(txn.update_where(filter, &[(field, value.into())]).unwrap() > 0);
    txn.commit().unwrap();
}

fn count(table: &Table, state: &str, filter: Expr) -> u64 {
    let scan = table.at(state).unwrap().scan().filter(filter);
    scan.count().unwrap()
}

/// Merges of updates with what they would conflict with if they were committed at the same time.
#[test]
fn merges_repeat_updates_whatever_they_read() {
    // Each update found its rows by a value that the other one changed.
    let table = parted_table();
    update(&table, "main", &col("f").eq(2), "g", 30);
    update(&table, "a", &col("g").eq(3), "f", 20);
    merge(&table, "a", "main").unwrap();
    let both = col("f").eq(20).and(col("g").eq(30));
    assert_eq!(count(&table, "main", both), 1);
    // An update, and a drop or a wider type of its field, on either side.
    for (one, other) in [("a", "main"), ("main", "a")] {
        for is_rebased in [false, true] {
            let table = parted_table();
            update(&table, one, &col("n").eq(1), "f", 20);
            update(&table, one, &col("n").eq(1), "g", 30);
            alter(&table, other, AlterField::widen("f", DataType::Int32));
            alter(&table, other, AlterField::drop("g"));
            if is_rebased {
                rebase(&table, "a", "main").unwrap();
            }
            merge(&table, "a", "main").unwrap();
            merge(&table, "main", "a").unwrap();
            let check = || {
                assert_eq!(shown(&table, "a"), shown(&table, "main"));
                assert_eq!(count(&table, "main", col("f").eq(20)), 1);
                let schema = table.at("main").unwrap().arrow_schema();
                let names: Vec<_> = schema.fields().iter().map(|it| it.name()).collect();
                assert_eq!(names, ["n", "f"]);
                assert_eq!(schema.field(1).data_type(), &DataType::Int32);
            };
            check();
            let compact = Compact::new().small_bytes(u64::MAX);
            table.compact(&compact, &info("")).unwrap();
            check();
            update(&table, "main", &col("n").eq(1), "f", 70_000);
            assert_eq!(count(&table, "main", col("f").eq(70_000)), 1);
        }
    }
}
