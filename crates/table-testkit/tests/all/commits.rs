//! The commit protocol of tables as a toy, in all interleavings: a numbered log whose entries are created if absent.
//!
//! Writers read the newest entry n and create n + 1. After an error they read n + 1 back: theirs is a success,
//! another's starts again, none is put again. Nothing is lost or doubled. Two variants are known to be wrong: entries
//! that a collector deletes, and writers that start again after an error without reading back.

use std::sync::Arc;

use tarsia_table_testkit::explore::{
    Actor, Answer, Explorer, Mishap, Objects, Observer, Query, Request, Step, World,
};

/// Entries that a writer finds taken before it gives up.
const TRIES_MAX: u8 = 4;

/// Key of entry n. The newest comes first in a list.
fn entry(n: u8) -> String {
    format!("log/{:02x}", u8::MAX - n)
}

fn number(key: &str) -> u8 {
    u8::MAX - u8::from_str_radix(key.strip_prefix("log/").unwrap(), 16).unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Start,
    Put { tip: u8 },
    ReadBack { tip: u8 },
    Acknowledged,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Writer {
    id: u8,
    at: At,
    tries: u8,
    /// A wrong variant: takes an error for "not done".
    is_blind: bool,
}

/// Deletes all entries but the newest, once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Collector {
    Looks,
    Deletes(Vec<String>),
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Toy {
    Writer(Writer),
    Collector(Collector),
}

fn list_all() -> Request {
    Request::List(Query {
        prefix: "log/".to_owned(),
        start_after: None,
        folders: false,
        page_max: 100,
    })
}

impl Writer {
    fn name(&self) -> Arc<Vec<u8>> {
        Arc::new(format!("w{}", self.id).into_bytes())
    }

    fn step(&self) -> Step {
        Step::Ask(vec![match self.at {
            At::Start => Request::List(Query {
                prefix: "log/".to_owned(),
                start_after: None,
                folders: false,
                page_max: 1,
            }),
            At::Put { tip } => Request::PutIfAbsent(entry(tip + 1), self.name()),
            At::ReadBack { tip } => Request::Get(entry(tip + 1)),
            At::Acknowledged | At::Unknown => return Step::Done,
        }])
    }

    fn starts_again(&mut self) {
        self.tries += 1;
        self.at = match self.tries > TRIES_MAX {
            true => At::Unknown,
            false => At::Start,
        };
    }

    fn take(&mut self, answer: &Answer) {
        match (self.at, answer) {
            (At::Start, Answer::Listed(page)) => {
                let tip = number(&page.objects[0].key);
                self.at = At::Put { tip };
            }
            (At::Put { .. }, Answer::Created) => self.at = At::Acknowledged,
            (At::Put { .. }, _) if self.is_blind => self.starts_again(),
            (At::Put { tip }, _) => self.at = At::ReadBack { tip },
            (At::ReadBack { .. }, Answer::Got(owner)) if *owner == self.name() => {
                self.at = At::Acknowledged;
            }
            (At::ReadBack { .. }, Answer::Got(_)) => self.starts_again(),
            (At::ReadBack { tip }, Answer::Absent) => self.at = At::Put { tip },
            // A read that failed is asked again.
            (At::Start | At::ReadBack { .. }, Answer::Failed(_)) => {}
            (at, answer) => panic!("{answer:?} at {at:?}"),
        }
    }
}

impl Actor for Toy {
    fn step(&self) -> Step {
        match self {
            Self::Writer(writer) => writer.step(),
            Self::Collector(Collector::Looks) => Step::Ask(vec![list_all()]),
            // In any order: a wave.
            Self::Collector(Collector::Deletes(keys)) => {
                Step::Ask(keys.iter().cloned().map(Request::Delete).collect())
            }
            Self::Collector(Collector::Done) => Step::Done,
        }
    }

    fn take(&mut self, answers: Vec<Answer>) {
        match self {
            Self::Writer(writer) => writer.take(&answers[0]),
            Self::Collector(collector) => {
                *collector = match &answers[0] {
                    Answer::Listed(page) if page.objects.len() > 1 => {
                        let old = page.objects[1..].iter().map(|listed| listed.key.clone());
                        Collector::Deletes(old.collect())
                    }
                    _ => Collector::Done,
                };
            }
        }
    }
}

/// Owners of the entries that were the newest ones, in their order: what the log says of the past, whatever is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Chain(Vec<Vec<u8>>);

impl Observer for Chain {
    fn see(&mut self, request: &Request, answer: &Answer, objects: &Objects) {
        if let (Request::PutIfAbsent(key, bytes), Answer::Created) = (request, answer)
            && objects
                .iter()
                .next()
                .is_some_and(|(newest, _)| newest == key)
        {
            self.0.push(bytes.to_vec());
        }
    }
}

/// At rest: an acknowledged commit is in the chain, and none is there twice.
fn check(world: &World<Toy, Chain>, is_at_rest: bool) -> Result<(), String> {
    if !is_at_rest {
        return Ok(());
    }
    for actor in &world.actors {
        let Toy::Writer(writer) = actor else { continue };
        let owned = world
            .observer
            .0
            .iter()
            .filter(|owner| **owner == *writer.name());
        match (owned.count(), writer.at) {
            (0, At::Acknowledged) => return Err(format!("the commit of w{} is lost", writer.id)),
            (0 | 1, _) => {}
            (n, _) => return Err(format!("the commit of w{} is there {n} times", writer.id)),
        }
    }
    Ok(())
}

const MISHAPS: [Mishap; 3] = [Mishap::LostAnswer, Mishap::Dropped, Mishap::Late];

fn explorer(
    n_writers: u8,
    faults: usize,
    has_collector: bool,
    is_blind: bool,
) -> Explorer<Toy, Chain> {
    let mut actors: Vec<Toy> = (0..n_writers)
        .map(|id| {
            Toy::Writer(Writer {
                id,
                at: At::Start,
                tries: 0,
                is_blind,
            })
        })
        .collect();
    if has_collector {
        actors.push(Toy::Collector(Collector::Looks));
    }
    let mut objects = Objects::default();
    objects.apply(&Request::Put(entry(0), Arc::new(b"init".to_vec())));
    Explorer::new(actors, objects, Chain::default(), faults).mishaps(&MISHAPS)
}

#[test]
fn no_commit_is_lost_or_doubled_in_any_interleaving() {
    for (n_writers, faults) in [(2, 2), (2, 3), (3, 1), (3, 2)] {
        match explorer(n_writers, faults, false, false).run(check) {
            Ok(explored) => {
                println!("{n_writers} writers, {faults} faults: {explored:?}");
                assert!(
                    explored.n_states > 300 && explored.n_ends > 1,
                    "{explored:?}"
                );
            }
            Err(violation) => panic!("{n_writers} writers, {faults} faults: {violation}"),
        }
    }
}

#[test]
fn refused_requests_change_nothing() {
    let explorer = explorer(2, 3, false, false).mishaps(&Mishap::ALL);
    explorer.run(check).map_err(|it| it.to_string()).unwrap();
}

/// A late put lands under a name that was freed.
#[test]
fn entries_that_are_deleted_lose_or_double_commits() {
    let violation = explorer(2, 2, true, false).run(check).unwrap_err();
    println!("{violation}");
    assert!(
        violation
            .schedule
            .iter()
            .any(|event| event.contains("delete")),
        "{violation}"
    );
}

/// A lost answer is taken for a put that was not done.
#[test]
fn writers_that_do_not_read_back_double_commits() {
    let violation = explorer(2, 1, false, true).run(check).unwrap_err();
    println!("{violation}");
    assert!(violation.what.ends_with("is there 2 times"), "{violation}");
    // The fewest: one writer looks, creates, loses the answer, looks and creates again; the other looks and creates.
    assert_eq!(violation.schedule.len(), 6, "{violation}");
    let text = violation.to_string();
    assert!(text.contains("done, its answer is lost"), "{text}");
}
