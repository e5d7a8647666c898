//! The commit protocol under all orders of the steps of several writers, with requests that go wrong.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tarsia_io::{Store, StoreError, StoreErrorKind};
use tarsia_table::meta::{ObjectId, RefEntry, TxnId, names};
use tarsia_table::{Answer, Committed, Entries, Error, ErrorKind, Need, Step, Steps, Table};
use tarsia_table_testkit::explore::{self, Actor, Explorer, Objects, Query, Request, World};
use tarsia_table_testkit::store::SimulatedStore;
use tarsia_testkit::rng::Rng;

use crate::common::{append, batch, info, numbers_at, reader, table};

/// A writer that commits one change: the real steps, from the beginning, with the answers so far. So it can be copied.
#[derive(Clone)]
struct Writer {
    start: Arc<Start>,
    txn: TxnId,
    answers: Vec<Vec<Answer>>,
    asked: Vec<Need>,
    outcome: Option<Result<Committed, ErrorKind>>,
    /// After an error it begins again as another transaction, as the protocol does not.
    is_blind: bool,
}

/// A table, and what a writer adds to it.
struct Start {
    store: Arc<dyn Store>,
    entries: BTreeMap<TxnId, Vec<u8>>,
}

impl Writer {
    fn new(start: Arc<Start>, txn: TxnId) -> Self {
        let mut writer = Self {
            start,
            txn,
            answers: Vec::new(),
            asked: Vec::new(),
            outcome: None,
            is_blind: false,
        };
        writer.run();
        writer
    }

    /// Names the same work under another transaction.
    fn again(txn: TxnId) -> TxnId {
        let [first, ..] = txn.0;
        TxnId([first | 0x80; 16])
    }

    fn steps(&self) -> Steps<Result<Committed, Error>> {
        // Opened anew, so that nothing is remembered from another order of events.
        let table = Table::open(self.start.store.clone()).unwrap();
        let mut txn = table.begin("main", info("x").txn(self.txn)).unwrap();
        let [first, ..] = self.txn.0;
        let entries = self.start.entries[&TxnId([first & 0x7f; 16])].clone();
        txn.add(&Entries::from_bytes(entries)).unwrap();
        txn.commit_steps().unwrap()
    }

    /// Runs to the next request to the store; nobody waits here.
    fn run(&mut self) {
        let mut steps = self.steps();
        let mut given = self.answers.iter().cloned();
        let mut next = Vec::new();
        loop {
            match steps.next(next) {
                Step::Done(outcome) => {
                    self.outcome = Some(outcome.map_err(|error| error.kind()));
                    return;
                }
                Step::Needs(needs) if matches!(needs[..], [Need::Wait(_)]) => {
                    next = vec![Answer::Done]
                }
                Step::Needs(needs) => match given.next() {
                    Some(answers) => next = answers,
                    None => {
                        self.asked = needs;
                        return;
                    }
                },
            }
        }
    }
}

impl PartialEq for Writer {
    fn eq(&self, other: &Self) -> bool {
        self.txn == other.txn && self.answers == other.answers
    }
}

impl Eq for Writer {}

impl Hash for Writer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.txn.hash(state);
        format!("{:?}", self.answers).hash(state);
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.txn, self.outcome)
    }
}

impl Actor for Writer {
    fn step(&self) -> explore::Step {
        if self.outcome.is_some() {
            return explore::Step::Done;
        }
        let request = |need: &Need| match need {
            Need::Get { key, .. } => Request::Get(key.clone()),
            Need::Put { key, bytes } => Request::Put(key.clone(), bytes.clone()),
            Need::PutIfAbsent { key, bytes } => Request::PutIfAbsent(key.clone(), bytes.clone()),
            Need::List(list) => Request::List(Query::from(list)),
            Need::Wait(_) => panic!("waits are not asked of the store"),
        };
        explore::Step::Ask(self.asked.iter().map(request).collect())
    }

    fn take(&mut self, answers: Vec<explore::Answer>) {
        let answer = |answer| match answer {
            explore::Answer::Got(bytes) => Answer::Got(Some(bytes.to_vec())),
            explore::Answer::Absent => Answer::Got(None),
            explore::Answer::Listed(page) => Answer::Listed(page),
            explore::Answer::Done | explore::Answer::Created => Answer::Done,
            explore::Answer::Exists => Answer::Exists,
            explore::Answer::Failed(kind) => Answer::Failed(StoreError::new(kind, "x", "no")),
        };
        let answers: Vec<_> = answers.into_iter().map(answer).collect();
        let is_create = matches!(self.asked[..], [Need::PutIfAbsent { .. }]);
        if self.is_blind && is_create && matches!(answers[..], [Answer::Failed(_)]) {
            self.txn = Self::again(self.txn);
            self.answers.clear();
        } else {
            self.answers.push(answers);
        }
        self.run();
    }
}

/// A writer, or somebody who deletes the first ref entry that writers made, once there is a later one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Party {
    Writer(Writer),
    Collector { is_done: bool },
}

impl Actor for Party {
    fn step(&self) -> explore::Step {
        match self {
            Self::Writer(writer) => writer.step(),
            Self::Collector { is_done: true } => explore::Step::Done,
            Self::Collector { is_done: false } => {
                let key = names::ref_key("main", 2).unwrap();
                explore::Step::Ask(vec![Request::Delete(key)])
            }
        }
    }

    fn take(&mut self, answers: Vec<explore::Answer>) {
        match self {
            Self::Writer(writer) => writer.take(answers),
            Self::Collector { is_done } => *is_done = true,
        }
    }
}

/// Transactions of the ref entries that were created, in their order, whether they were deleted since or not.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Created(Vec<TxnId>);

impl explore::Observer for Created {
    fn see(&mut self, request: &Request, answer: &explore::Answer, _: &Objects) {
        let (Request::PutIfAbsent(key, bytes), explore::Answer::Created) = (request, answer) else {
            return;
        };
        let (branch, n) = names::ref_of_key(key).unwrap();
        self.0.push(RefEntry::parse(bytes, &branch, n).unwrap().txn);
    }
}

/// Finds work that was done twice.
fn check_created(world: &World<Party, Created>, _: bool) -> Result<(), String> {
    let created = &world.observer.0;
    for txn in created {
        let is_same = |other: &&TxnId| *other == txn || **other == Writer::again(*txn);
        if created.iter().filter(is_same).count() > 1 {
            return Err(format!("{txn} is there twice"));
        }
    }
    Ok(())
}

fn start(n_writers: u8) -> (Arc<Start>, Vec<TxnId>, Objects) {
    let table = table(&[]);
    append(&table, "main", &[(0, "x")]);
    let txns: Vec<_> = (1..=n_writers).map(|i| TxnId([i; 16])).collect();
    let entries = txns.iter().map(|txn| {
        let mut writer = table.begin("main", info("x")).unwrap();
        let entries = writer
            .write_entries(reader(&batch(&[(txn.0[0].into(), "x")])))
            .unwrap();
        (*txn, entries.as_bytes().to_vec())
    });
    let entries = entries.collect();
    let store = table.store().clone();
    let mut objects = Objects::default();
    let listed = tarsia_io::Listing::new(&*store, tarsia_io::List::new(""));
    for key in listed
        .map(|it| it.unwrap().key)
        .filter(|key| !key.starts_with("data/"))
    {
        let whole = tarsia_io::GetRange::Whole { bytes_max: 1 << 20 };
        let got = tarsia_io::block_on(store.get(tarsia_io::Get::new(key.as_str(), whole))).unwrap();
        objects.apply(&Request::Put(key, Arc::new(got.bytes)));
    }
    (Arc::new(Start { store, entries }), txns, objects)
}

/// The ref entries of `main`, the oldest first, which must form a chain.
fn chain(objects: &Objects) -> Result<Vec<RefEntry>, String> {
    let mut entries: Vec<RefEntry> = Vec::new();
    while let Some(bytes) = objects.get(&names::ref_key("main", entries.len() as u64).unwrap()) {
        let entry = RefEntry::parse(bytes, "main", entries.len() as u64)
            .map_err(|error| error.to_string())?;
        if entry.before != entries.last().map(|last| last.commit) {
            return Err(format!("entry {} does not follow the one before", entry.n));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn check(world: &World<Writer, ()>, is_at_rest: bool) -> Result<(), String> {
    let entries = chain(&world.objects)?;
    for writer in &world.actors {
        let n_found = entries
            .iter()
            .filter(|entry| entry.txn == writer.txn)
            .count();
        let commit = |id: ObjectId| entries.iter().any(|entry| entry.commit == id);
        match (&writer.outcome, n_found) {
            (_, 2..) => return Err(format!("{} is there twice", writer.txn)),
            (Some(Ok(committed)), 0) => {
                return Err(format!("{} is lost: {committed:?}", writer.txn));
            }
            (Some(Ok(committed)), _) if !commit(committed.commit) => {
                return Err(format!("{} names another commit", writer.txn));
            }
            (Some(Err(ErrorKind::Unknown)) | None, _) => {}
            (Some(Err(kind)), 1) if is_at_rest => {
                return Err(format!("{} is there although it said {kind:?}", writer.txn));
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn two_writers_and_two_faults_lose_and_double_nothing() {
    let (start, txns, objects) = start(2);
    let writers = txns
        .iter()
        .map(|txn| Writer::new(start.clone(), *txn))
        .collect();
    let explored = Explorer::new(writers, objects, (), 2)
        .states_max(400_000)
        .run(check);
    let explored = explored.unwrap_or_else(|violation| panic!("{violation}"));
    assert!(
        explored.n_states > 1_000 && explored.n_ends > 10,
        "{explored:?}"
    );
}

#[test]
fn three_writers_lose_and_double_nothing() {
    let (start, txns, objects) = start(3);
    let writers = txns
        .iter()
        .map(|txn| Writer::new(start.clone(), *txn))
        .collect();
    let explored = Explorer::new(writers, objects, (), 0)
        .states_max(400_000)
        .run(check);
    let explored = explored.unwrap_or_else(|violation| panic!("{violation}"));
    assert!(explored.n_ends > 1, "{explored:?}");
}

/// A protocol whose ref entries are deleted, and one that begins again blindly, fail: so the tests would find it.
#[test]
fn known_bad_variants_do_work_twice() {
    let (start, txns, objects) = start(2);
    let writers = |is_blind: bool| {
        let writer = |txn: &TxnId| {
            Party::Writer(Writer {
                is_blind,
                ..Writer::new(start.clone(), *txn)
            })
        };
        txns.iter().map(writer).collect::<Vec<_>>()
    };
    let run = |parties: Vec<Party>| {
        let explorer = Explorer::new(parties, objects.clone(), Created::default(), 1);
        let late = [explore::Mishap::Late, explore::Mishap::LostAnswer];
        explorer
            .mishaps(&late)
            .states_max(400_000)
            .run(check_created)
    };
    run(writers(false)).unwrap_or_else(|violation| panic!("{violation}"));
    let mut parties = writers(false);
    parties.push(Party::Collector { is_done: false });
    assert!(run(parties).unwrap_err().what.contains("twice"));
    assert!(run(writers(true)).unwrap_err().what.contains("twice"));
}

/// Writers one after the other over a store that fails often: what is acknowledged is there, once.
#[test]
fn a_store_that_fails_often_loses_nothing() {
    for seed in 0..60 {
        let store = SimulatedStore::new();
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        let spec = tarsia_table::TableSpec::new(batch(&[]).schema());
        Table::create(shared, &spec, &info("")).unwrap();
        let faulty = SimulatedStore::seeded(seed, 12);
        for (key, bytes) in store.objects() {
            while tarsia_io::block_on(faulty.put(&key, bytes.clone())).is_err() {}
        }
        faulty.land_late();
        let mut rng = Rng::new(seed);
        let (mut sure, mut unknown) = (Vec::new(), Vec::new());
        for n in 0..12 {
            let attempt = || -> Result<Result<Committed, Error>, Error> {
                let table = Table::open(Arc::new(faulty.clone()))?;
                let mut txn = table.begin("main", info("x"))?;
                txn.append(reader(&batch(&[(n, "x")])))?;
                Ok(txn.commit())
            };
            match attempt() {
                Ok(Ok(_)) => sure.push(n),
                Ok(Err(error)) if error.kind() == ErrorKind::Unknown => unknown.push(n),
                Ok(Err(_)) | Err(_) => {}
            }
            if rng.percent(30) {
                faulty.land_late();
            }
        }
        faulty.land_late();
        faulty.script(|_| tarsia_table_testkit::store::Fault::None);
        let table = Table::open(Arc::new(faulty.clone())).unwrap();
        let found = numbers_at(&table, "main");
        assert!(found.is_sorted_by(|a, b| a < b), "seed {seed}: {found:?}");
        for n in &sure {
            assert!(found.contains(n), "seed {seed}: {n} is lost of {found:?}");
        }
        for n in &found {
            assert!(
                sure.contains(n) || unknown.contains(n),
                "seed {seed}: {n} was said to have failed"
            );
        }
    }
}

#[test]
fn an_error_that_says_nothing_was_done_is_returned_at_once() {
    let store = SimulatedStore::new();
    let spec = tarsia_table::TableSpec::new(batch(&[]).schema());
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    let mut txn = table.begin("main", info("x")).unwrap();
    txn.append(reader(&batch(&[(1, "x")]))).unwrap();
    let mut steps = txn.commit_steps().unwrap();
    let mut answers = Vec::new();
    let error = loop {
        match steps.next(answers) {
            Step::Done(outcome) => break outcome.unwrap_err(),
            Step::Needs(needs) => {
                let answer = |need: &Need| match need {
                    Need::PutIfAbsent { .. } => Answer::Failed(StoreError::new(
                        StoreErrorKind::Permission,
                        "x",
                        "read only",
                    )),
                    Need::Put { .. } => Answer::Done,
                    _ => panic!("nothing else is needed"),
                };
                answers = needs.iter().map(answer).collect();
            }
        }
    };
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.to_string().contains("read only"), "{error}");
}

/// An entry that is read may be gone after a loss of power. That a store says that it exists means that it is not.
#[test]
fn an_entry_behind_a_lost_answer_is_created_once_more() {
    let store = SimulatedStore::new();
    let spec = tarsia_table::TableSpec::new(batch(&[]).schema());
    let table = Table::create(Arc::new(store.clone()), &spec, &info("")).unwrap();
    let mut txn = table.begin("main", info("x")).unwrap();
    txn.append(reader(&batch(&[(1, "x")]))).unwrap();
    let mut steps = txn.commit_steps().unwrap();
    let (mut answers, mut created, mut n_creates) = (Vec::new(), None, 0);
    let committed = loop {
        match steps.next(answers) {
            Step::Done(outcome) => break outcome.unwrap(),
            Step::Needs(needs) => {
                let answer = |need: &Need| match need {
                    Need::PutIfAbsent { bytes, .. } => {
                        n_creates += 1;
                        match created.replace(bytes.clone()) {
                            None => Answer::Failed(StoreError::new(
                                StoreErrorKind::Unknown,
                                "x",
                                "the folder was not synced",
                            )),
                            Some(before) => {
                                assert_eq!(before, *bytes);
                                Answer::Exists
                            }
                        }
                    }
                    Need::Get { .. } => Answer::Got(created.as_ref().map(|bytes| bytes.to_vec())),
                    Need::Put { .. } | Need::Wait(_) => Answer::Done,
                    _ => panic!("nothing else is needed"),
                };
                answers = needs.iter().map(answer).collect();
            }
        }
    };
    assert_eq!((committed.n, committed.was_there, n_creates), (1, false, 2));
}
