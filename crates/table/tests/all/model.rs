//! Random histories over branches and writers, compared with rows that are kept in memory.
//!
//! The model knows no files, commits and manifests: a state is a list of changes, and its rows are what they make one
//! after the other. A failing seed is printed; `SEEDS` has those that were found.

mod merges;
mod updates;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use tarsia_filter::{Expr, col};
use tarsia_io::Store;
use tarsia_table::meta::{FileId, ObjectId, TxnId};
use tarsia_table::{
    AlterField, CommitInfo, Depth, ErrorKind, Gc, Origin, Scan, Table, TableSpec, Transaction,
};
use tarsia_table_testkit::store::SimulatedStore;
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::rng::Rng;

use crate::common::reader;

/// Seeds of histories that failed once.
const SEEDS: [u64; 0] = [];
const STEPS: usize = 25;
const TEXTS: [&str; 4] = ["a", "b", "c", "dd"];

/// Values of the fields that were added, by their number. A field that is not there has its default.
type Values = BTreeMap<u64, Option<i64>>;

/// A row by its identity, which its field `n` has: the text, and values of fields that were added.
type Rows = BTreeMap<i64, (String, Values)>;

/// A field that is updated: the text, whose values are numbers of `TEXTS`, or one that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Updated {
    Text,
    Field(u64),
}

#[derive(Debug, Clone)]
enum Change {
    Append(Vec<(i64, &'static str, Values)>),
    Delete(BTreeSet<i64>),
    /// New values of one field, by row.
    Update(Updated, BTreeMap<i64, Option<i64>>),
    /// A new field, with the value that older rows have.
    Add {
        field: u64,
        name: String,
        default: Option<i64>,
    },
    Rename {
        field: u64,
        name: String,
    },
    Drop {
        field: u64,
    },
    /// Several at once.
    Both(Vec<Change>),
}

#[derive(Debug, Clone)]
struct Logged {
    txn: TxnId,
    change: Change,
}

/// Fields that were added: number, name, value of older rows.
type Fields = Vec<(u64, String, Option<i64>)>;

fn fold(changes: &[Logged]) -> (Rows, Fields) {
    fn apply(change: &Change, rows: &mut Rows, fields: &mut Fields) {
        match change {
            Change::Append(new) => {
                for (n, text, values) in new {
                    rows.insert(*n, ((*text).to_owned(), values.clone()));
                }
            }
            Change::Delete(gone) => rows.retain(|n, _| !gone.contains(n)),
            Change::Update(updated, values) => {
                for (n, value) in values {
                    let Some(row) = rows.get_mut(n) else { continue };
                    match updated {
                        Updated::Text => row.0 = TEXTS[value.unwrap() as usize].to_owned(),
                        Updated::Field(field) => {
                            row.1.insert(*field, *value);
                        }
                    }
                }
            }
            Change::Add {
                field,
                name,
                default,
            } => fields.push((*field, name.clone(), *default)),
            Change::Rename { field, name } => {
                for known in fields.iter_mut().filter(|known| known.0 == *field) {
                    known.1.clone_from(name);
                }
            }
            Change::Drop { field } => fields.retain(|known| known.0 != *field),
            Change::Both(all) => all.iter().for_each(|change| apply(change, rows, fields)),
        }
    }
    let (mut rows, mut fields) = (Rows::new(), Fields::new());
    for logged in changes {
        apply(&logged.change, &mut rows, &mut fields);
    }
    (rows, fields)
}

type Changes = Rc<Vec<Logged>>;

/// A condition as the model has it: on the number and the text of a row.
type Passes = Box<dyn Fn(i64, &str) -> bool>;

/// A transaction that was begun and not committed yet.
struct Pending {
    txn: Transaction,
    branch: String,
    logged: Logged,
}

struct History {
    rng: Rng,
    store: Arc<dyn Store>,
    clock: SimulatedStore,
    /// Whether states may be gone.
    is_collected: bool,
    table: Table,
    /// Changes of each commit that was made.
    known: HashMap<ObjectId, Changes>,
    branches: Vec<String>,
    pending: Vec<Pending>,
    n_txns: u64,
    next_row: i64,
    next_field: u64,
    n_conflicts: usize,
    /// Whether rows are partitioned by their text.
    is_by_text: bool,
    /// Names of rows, which never change.
    names: BTreeMap<i64, Origin>,
    n_compactions: usize,
    /// Most entries of a commit; more lie in manifests.
    n_inline: usize,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let schema = Schema::new(vec![
            Field::new("n", DataType::Int64, false),
            Field::new("t", DataType::Utf8, true),
        ]);
        let spec = TableSpec::new(Arc::new(schema));
        let by = rng.below(4);
        let spec = match by {
            0 => spec,
            1 => spec.partition_by(["t"]),
            2 => spec.partition_by(["truncate(t, 1)", "truncate(n, 8)"]),
            _ => spec.partition_by(["truncate(n, 4)"]),
        };
        let clock = SimulatedStore::new();
        // A thread for each scan is a fifth of the time.
        clock.set_local(rng.below(8) > 0);
        let store: Arc<dyn Store> = Arc::new(clock.clone());
        // Histories are too short for commits of so many entries that manifests are needed.
        let n_inline = [256, 256, 256, 256, 256, 256, 0, 3][rng.below(8)];
        let table = Table::create(store.clone(), &spec, &CommitInfo::new("m", "made")).unwrap();
        let table = table.inline_entries_max(n_inline);
        let first = table.at("main").unwrap().id();
        Self {
            rng,
            store,
            clock,
            is_collected: false,
            table,
            known: HashMap::from([(first, Changes::default())]),
            branches: vec!["main".to_owned()],
            pending: Vec::new(),
            n_txns: 0,
            next_row: 0,
            next_field: 0,
            n_conflicts: 0,
            is_by_text: by == 1 || by == 2,
            names: BTreeMap::new(),
            n_compactions: 0,
            n_inline,
        }
    }

    fn info(&mut self) -> (CommitInfo, TxnId) {
        self.n_txns += 1;
        let mut id = [7; 16];
        id[..8].copy_from_slice(&self.n_txns.to_be_bytes());
        let txn = TxnId(id);
        (CommitInfo::new("m", "step").txn(txn), txn)
    }

    fn branch(&mut self) -> String {
        let at = self.rng.below(self.branches.len());
        self.branches[at].clone()
    }

    fn head(&self, branch: &str) -> ObjectId {
        self.table.at(branch).unwrap().id()
    }

    fn new_rows(&mut self, fields: &Fields) -> (RecordBatch, Change) {
        let mut rows = Vec::new();
        for _ in 0..1 + self.rng.below(6) {
            let text = TEXTS[self.rng.below(TEXTS.len())];
            let values = fields
                .iter()
                .map(|(field, ..)| (*field, Some(self.rng.below(10) as i64)));
            let values = values.collect();
            rows.push((self.next_row, text, values));
            self.next_row += 1;
        }
        let mut columns: Vec<(String, ArrayRef, bool)> = vec![
            (
                "n".to_owned(),
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|it| it.0))),
                false,
            ),
            (
                "t".to_owned(),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|it| it.1))),
                true,
            ),
        ];
        for (field, name, _) in fields {
            let values: Int64Array = rows
                .iter()
                .map(|(_, _, values): &(_, _, Values)| values.get(field).copied().flatten())
                .collect();
            columns.push((name.clone(), Arc::new(values), true));
        }
        // Fields are found by name.
        if self.rng.flip() {
            columns.reverse();
        }
        (
            RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
            Change::Append(rows),
        )
    }

    fn condition(&mut self) -> (Expr, Passes) {
        let limit = self.rng.below(self.next_row as usize + 2) as i64;
        let text = TEXTS[self.rng.below(TEXTS.len())];
        match self.rng.below(5) {
            0 => (col("t").eq(text), Box::new(move |_, t| t == text)),
            1 => (col("n").lt(limit), Box::new(move |n, _| n < limit)),
            2 => (
                col("n").between(limit, limit + 7),
                Box::new(move |n, _| (limit..=limit + 7).contains(&n)),
            ),
            3 => (
                col("t").eq(text).and(col("n").gt_eq(limit)),
                Box::new(move |n, t| t == text && n >= limit),
            ),
            _ => (
                col("t").gt("b").or(col("n").eq(limit)),
                Box::new(move |n, t| t > "b" || n == limit),
            ),
        }
    }

    /// Begins a transaction and does something in it.
    fn begin(&mut self) -> Option<Pending> {
        let branch = self.branch();
        let (info, id) = self.info();
        let mut txn = self.table.begin(&branch, info).unwrap();
        let (rows, fields) = fold(&self.known[&txn.snapshot().id()]);
        let change = match self.rng.below(16) {
            10..=15 => self.update(&mut txn, &rows, &fields)?,
            0..=3 => {
                let (batch, change) = self.new_rows(&fields);
                txn.append(reader(&batch)).unwrap();
                change
            }
            4 | 5 => {
                let (filter, passes) = self.condition();
                let gone: BTreeSet<_> = rows
                    .iter()
                    .filter(|(n, row)| passes(**n, &row.0))
                    .map(|(n, _)| *n)
                    .collect();
                assert_eq!(txn.delete_where(&filter).unwrap(), gone.len() as u64);
                Change::Delete(gone)
            }
            6 => {
                let origins = origins(&txn);
                let mut gone = BTreeSet::new();
                let mut names = Vec::new();
                for (n, origin) in origins {
                    if self.rng.percent(30) {
                        gone.insert(n);
                        names.push(origin);
                    }
                }
                assert_eq!(txn.delete_rows(&names).unwrap(), names.len() as u64);
                Change::Delete(gone)
            }
            7 => {
                let (filter, passes) = self.condition();
                let gone: BTreeSet<_> = rows
                    .iter()
                    .filter(|(n, row)| passes(**n, &row.0))
                    .map(|(n, _)| *n)
                    .collect();
                let (batch, change) = self.new_rows(&fields);
                txn.replace_where(&filter, reader(&batch)).unwrap();
                Change::Both(vec![Change::Delete(gone), change])
            }
            _ => self.alter(&mut txn, &fields)?,
        };
        let is_empty = txn.is_empty();
        let logged = Logged { txn: id, change };
        (!is_empty).then_some(Pending {
            txn,
            branch,
            logged,
        })
    }

    fn alter(&mut self, txn: &mut Transaction, fields: &Fields) -> Option<Change> {
        self.next_field += 1;
        let field = self.next_field;
        let name = format!("f{}", self.rng.below(6));
        let known = fields.get(self.rng.below(fields.len().max(1)));
        let is_taken = fields.iter().any(|known| known.1 == name);
        let (wish, change) = match (self.rng.below(4), known) {
            (0, Some((field, old, _))) => (
                AlterField::drop(old.as_str()),
                Change::Drop { field: *field },
            ),
            (1, Some((field, old, _))) => {
                let wish = AlterField::rename(old.as_str(), name.as_str());
                (
                    wish,
                    Change::Rename {
                        field: *field,
                        name,
                    },
                )
            }
            (2, _) => {
                let default = self.rng.below(10) as i64;
                let value: ArrayRef = Arc::new(Int64Array::from(vec![default]));
                let wish =
                    AlterField::add_with_default(Field::new(&name, DataType::Int64, true), value);
                (
                    wish,
                    Change::Add {
                        field,
                        name,
                        default: Some(default),
                    },
                )
            }
            _ => {
                let wish = AlterField::add(Field::new(&name, DataType::Int64, true));
                (
                    wish,
                    Change::Add {
                        field,
                        name,
                        default: None,
                    },
                )
            }
        };
        let altered = txn.alter(&[wish]);
        match (&change, is_taken) {
            (Change::Drop { .. }, _) | (_, false) => altered.unwrap(),
            _ => {
                assert_eq!(altered.unwrap_err().kind(), ErrorKind::InvalidInput);
                return None;
            }
        }
        Some(change)
    }

    /// Commits a transaction, on whatever the branch is by now.
    fn commit(&mut self, pending: Pending) {
        if !self.branches.contains(&pending.branch) {
            assert_eq!(
                pending.txn.commit().unwrap_err().kind(),
                ErrorKind::NotFound
            );
            return;
        }
        let before = self.known[&self.head(&pending.branch)].clone();
        match pending.txn.commit() {
            Ok(committed) => {
                assert!(!committed.was_there);
                let mut changes = (*before).clone();
                changes.push(pending.logged);
                self.known.insert(committed.commit, Rc::new(changes));
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                self.n_conflicts += 1;
            }
        }
    }

    fn step(&mut self) {
        let (info, _) = self.info();
        match self.rng.below(100) {
            0..=3 => self.repeated_merges(),
            4..=49 => {
                if let Some(pending) = self.begin() {
                    self.commit(pending);
                }
            }
            50..=61 => {
                let begun = self.begin();
                self.pending.extend(begun);
            }
            62..=71 if !self.pending.is_empty() => {
                let at = self.rng.below(self.pending.len());
                let pending = self.pending.swap_remove(at);
                self.commit(pending);
            }
            72..=77 if self.branches.len() < 4 => {
                let name = format!("B{}", self.rng.below(4));
                let source = self.branch();
                match self.table.create_branch(&name, &source, &info) {
                    Ok(()) => self.branches.push(name),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Exists),
                }
            }
            78..=80 if self.branches.len() > 1 => {
                let at = 1 + self.rng.below(self.branches.len() - 1);
                let name = self.branches.swap_remove(at);
                self.table.delete_branch(&name, &info).unwrap();
            }
            81..=83 => {
                let branch = self.branch();
                let back = format!("{branch}~{}", self.rng.below(3));
                if self.table.at(&back).is_ok()
                    && let Err(error) = self.table.reset(&branch, &back, &info)
                {
                    // A commit inside a rebase never was the newest of a branch.
                    assert_eq!(error.kind(), ErrorKind::TooOld, "{error}");
                }
            }
            84..=92 => {
                let (source, target) = (self.branch(), self.branch());
                self.merge(&source, &target);
            }
            93..=94 => {
                let (branch, onto) = (self.branch(), self.branch());
                self.rebase(&branch, &onto);
            }
            95..=96 => self.compact(),
            97 => self.compact_metadata(),
            98 => self.collect(),
            _ => self.table = self.opened(),
        }
    }

    fn opened(&self) -> Table {
        let table = Table::open(self.store.clone()).unwrap();
        table.inline_entries_max(self.n_inline)
    }

    /// Lets days pass, in which transactions grow too old, and deletes what nothing keeps.
    fn collect(&mut self) {
        self.pending.clear();
        self.is_collected = true;
        let hours = 24 * self.rng.below(14) as u64;
        self.clock.advance(Duration::from_secs(hours * 3600));
        self.table.gc(&Gc::new()).unwrap();
        // Opened anew, so that nothing is remembered.
        self.table = self.opened();
        if self.rng.percent(20) {
            let report = self.table.fsck(Depth::Deep).unwrap();
            assert_eq!(report.findings, []);
        }
    }

    /// Compares a state with its model: all of it, and parts.
    fn check(&mut self, state: &str) {
        let snapshot = self.table.at(state).unwrap();
        let (rows, fields) = fold(&self.known[&snapshot.id()]);
        self.check_names(&snapshot, &rows);
        let found = rows_of(snapshot.scan().build().unwrap());
        let expect: Vec<_> = rows
            .iter()
            .map(|(n, row)| shown(*n, row, &fields))
            .collect();
        let mut sorted = found.clone();
        sorted.sort();
        let mut expect_sorted = expect;
        expect_sorted.sort();
        assert_eq!(sorted, expect_sorted, "{state}");
        assert_eq!(snapshot.scan().count().unwrap(), rows.len() as u64);
        let (filter, passes) = self.condition();
        let n_passing = rows.iter().filter(|(n, row)| passes(**n, &row.0)).count();
        assert_eq!(
            snapshot.scan().filter(filter.clone()).count().unwrap(),
            n_passing as u64,
            "{filter}"
        );
        let filtered = rows_of(snapshot.scan().filter(filter.clone()).build().unwrap());
        assert_eq!(filtered.len(), n_passing, "{filter}");
        if let Some((field, name, _)) = fields.get(self.rng.below(fields.len().max(1))) {
            let limit = self.rng.below(10) as i64;
            let value = |row: &(String, Values)| value_of(row, *field, &fields);
            let expect = rows
                .values()
                .filter(|row| value(row).is_some_and(|value| value <= limit))
                .count();
            let filter = col(name.as_str()).lt_eq(limit);
            assert_eq!(
                snapshot.scan().filter(filter).count().unwrap(),
                expect as u64
            );
        }
        let start = self.rng.below(rows.len() + 1);
        let end = start + self.rng.below(rows.len() - start + 1);
        let part = snapshot
            .scan()
            .rows(start as u64..end as u64)
            .build()
            .unwrap();
        assert_eq!(rows_of(part), found[start..end]);
    }
}

fn value_of(row: &(String, Values), field: u64, fields: &Fields) -> Option<i64> {
    let default = fields
        .iter()
        .find(|known| known.0 == field)
        .and_then(|known| known.2);
    row.1.get(&field).copied().unwrap_or(default)
}

fn shown(n: i64, row: &(String, Values), fields: &Fields) -> String {
    let mut values: Vec<_> = fields
        .iter()
        .map(|(field, name, _)| format!("{name}={:?}", value_of(row, *field, fields)))
        .collect();
    values.sort();
    format!("{n} {} {}", row.0, values.join(" "))
}

fn rows_of(scan: Scan) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let texts = batch.column(1).as_string::<i32>();
        for i in 0..batch.num_rows() {
            let schema = batch.schema();
            let others = schema.fields().iter().zip(batch.columns()).skip(2);
            let mut values: Vec<_> = others
                .map(|(field, column)| {
                    let value = column.as_primitive::<Int64Type>().iter().nth(i).flatten();
                    format!("{}={value:?}", field.name())
                })
                .collect();
            values.sort();
            rows.push(format!(
                "{} {} {}",
                numbers.value(i),
                texts.value(i),
                values.join(" ")
            ));
        }
    }
    rows
}

fn origins(txn: &Transaction) -> Vec<(i64, Origin)> {
    let scan = txn
        .snapshot()
        .scan()
        .columns(&["n"])
        .with_origins()
        .build()
        .unwrap();
    origins_in(scan)
}

/// Numbers of rows and their names.
fn origins_in(scan: Scan) -> Vec<(i64, Origin)> {
    let mut origins = Vec::new();
    for batch in scan {
        let batch = batch.unwrap();
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let files = batch.column(1).as_fixed_size_binary();
        let positions = batch.column(2).as_primitive::<UInt64Type>();
        for i in 0..batch.num_rows() {
            let origin = Origin {
                file: FileId(files.value(i).try_into().unwrap()),
                position: positions.value(i),
            };
            origins.push((numbers.value(i), origin));
        }
    }
    origins
}

fn run(seed: u64) -> usize {
    let mut history = History::new(seed);
    for _ in 0..STEPS {
        history.step();
        let branch = history.branch();
        if history.rng.percent(40) {
            history.check(&branch);
        }
    }
    for branch in history.branches.clone() {
        history.check(&branch);
    }
    // Old states are what they were.
    let mut ids: Vec<_> = history.known.keys().copied().collect();
    ids.sort();
    let id = ids[history.rng.below(ids.len())];
    if !history.is_collected {
        history.check(&id.to_string());
    }
    history.n_conflicts
}

#[test]
fn histories_are_those_of_the_model() {
    let n_histories = some_or_all(2_000, 200_000);
    let n_threads = std::thread::available_parallelism()
        .map_or(2, |n| n.get() as u64)
        .min(4);
    let run_some = |first: u64| {
        let mut n_conflicts = 0;
        for seed in (first..n_histories).step_by(n_threads as usize) {
            let outcome = std::panic::catch_unwind(|| run(seed));
            match outcome {
                Ok(n) => n_conflicts += n,
                Err(panic) => {
                    eprintln!("the history of seed {seed} fails");
                    std::panic::resume_unwind(panic);
                }
            }
        }
        n_conflicts
    };
    let n_conflicts: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|first| scope.spawn(move || run_some(first)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    // Else what may not happen at the same time was never tried.
    assert!(n_conflicts > n_histories as usize / 50, "{n_conflicts}");
}

#[test]
fn histories_that_failed_once_pass() {
    for seed in SEEDS {
        run(seed);
    }
}
