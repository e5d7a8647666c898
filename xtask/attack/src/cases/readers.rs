//! Two erasers and readers at the same time: before, after, busy, or "the file changed", never "damaged".

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use tarsia::io::OnBusy;
use tarsia::{Access, Eraser, ErasureLevel, ErrorKind, File, RowSet};
use tarsia_testkit::rng::Rng;

use super::context::Context;
use crate::outcome::Outcome;
use crate::scene::{open_path, reading};
use crate::users::Users;

/// Erasures of each eraser.
const ROUNDS: usize = 4;

/// Reads of a reader at most.
const READS_MAX: u64 = 400;

/// State that the threads of a case share.
struct Shared<'a> {
    path: &'a Path,
    rows: u64,
    /// Erasers that are not done.
    erasing: AtomicUsize,
    /// Numbers of rows that are gone in any state that there can be.
    states: HashSet<Vec<u64>>,
    finds: Mutex<BTreeSet<String>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Shared<'_> {
    fn find(&self, what: String) {
        let mut finds = self.finds.lock().unwrap_or_else(PoisonError::into_inner);
        finds.insert(what);
    }

    fn count(&self, what: &'static str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(what).or_default() += 1;
    }

    /// An error that a reader or an eraser got while others were at work.
    fn error(&self, who: &str, error: &tarsia::Error) {
        match error.kind() {
            ErrorKind::Busy => self.count("answers: busy"),
            ErrorKind::FileChanged => self.count("answers: the file changed"),
            kind => {
                let text = error.to_string();
                let text = text.replace(&self.path.display().to_string(), "t.tarsia");
                self.find(format!("{who}: {kind:?}: {text}"));
            }
        }
    }
}

/// Runs a case.
pub(super) fn run(seed: u64, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x7265_6164);
    let users = Users {
        rows: rng.between(200, 6000),
        ..Users::any(&mut rng)
    };
    let table = users.table(&mut rng)?;
    let path = context.folder.join("t.tarsia");
    users.write(&table, &path)?;
    // Each eraser has rows of its own: even ones and odd ones.
    let rounds: Vec<Vec<Vec<u64>>> = (0..2)
        .map(|eraser| {
            let round = |rng: &mut Rng| {
                let n = rng.between(1, 40);
                let mut rows: Vec<u64> = (0..n)
                    .map(|_| 2 * rng.below(users.rows / 2) as u64 + eraser)
                    .collect();
                rows.sort_unstable();
                rows.dedup();
                rows
            };
            (0..ROUNDS).map(|_| round(&mut rng)).collect()
        })
        .collect();
    outcome.note(format!("{users:?}, {rounds:?}"));
    let gone = |eraser: usize, n: usize| -> BTreeSet<u64> {
        rounds[eraser][..n].iter().flatten().copied().collect()
    };
    let mut states = HashSet::new();
    for one in 0..=ROUNDS {
        for other in 0..=ROUNDS {
            let mut all = gone(0, one);
            all.extend(gone(1, other));
            states.insert(all.into_iter().collect());
        }
    }
    let shared = Shared {
        path: &path,
        rows: users.rows as u64,
        erasing: AtomicUsize::new(2),
        states,
        finds: Mutex::default(),
        counts: Mutex::default(),
    };
    thread::scope(|scope| {
        for rounds in &rounds {
            scope.spawn(|| erase(&shared, rounds));
        }
        for access in [Access::Read, Access::Read, Access::Map] {
            let shared = &shared;
            scope.spawn(move || read(shared, access));
        }
    });
    let left = shared
        .counts
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    left.into_iter()
        .for_each(|(what, n)| outcome.count(what, n));
    let finds = shared
        .finds
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    finds.into_iter().for_each(|find| outcome.find(find));
    // What is left is what both leave.
    let file = open_path(&path, reading())?;
    file.verify()
        .map_err(|error| format!("verify afterwards: {error}"))?;
    let mut all = gone(0, ROUNDS);
    all.extend(gone(1, ROUNDS));
    let expected: RowSet = all.into_iter().collect();
    if file.deleted_rows() != &expected {
        outcome.find("after both erasers not all of their rows are gone");
    }
    outcome.count("files erased by two at the same time", 1);
    Ok(())
}

/// Erases all rounds; asks again while others are at work.
fn erase(shared: &Shared<'_>, rounds: &[Vec<u64>]) {
    for rows in rounds {
        let rows: RowSet = rows.iter().copied().collect();
        for tries in 0.. {
            let erased = || -> Result<(), tarsia::Error> {
                let eraser = Eraser::open(shared.path, OnBusy::Refuse, reading())?;
                let plan = eraser.plan(&rows, ErasureLevel::Erase)?;
                eraser.commit(plan).map(drop)
            };
            match erased() {
                Ok(()) => {
                    shared.count("erasures");
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Busy && tries < 20_000 => {
                    thread::sleep(std::time::Duration::from_micros(200));
                }
                Err(error) => {
                    shared.error("an eraser", &error);
                    break;
                }
            }
        }
    }
    shared.erasing.fetch_sub(1, Ordering::Relaxed);
}

/// Reads all rows again and again until both erasers are done.
fn read(shared: &Shared<'_>, access: Access) {
    let who = match access {
        Access::Map => "a mapped reader",
        _ => "a reader by position",
    };
    for _ in 0..READS_MAX {
        if shared.erasing.load(Ordering::Relaxed) == 0 {
            break;
        }
        shared.count(match access {
            Access::Map => "reads of a map",
            _ => "reads by position",
        });
        let read = || -> Result<Vec<u64>, tarsia::Error> {
            let file = File::open_with(shared.path, reading().with_access(access))?;
            let mut shown = Vec::new();
            for batch in file.scan().build()? {
                let batch = batch.map_err(tarsia::Error::from)?;
                if let Some(keys) = batch.column_by_name("k") {
                    let keys = keys.as_primitive::<Int64Type>().values().iter();
                    shown.extend(keys.map(|key| *key as u64));
                }
            }
            Ok(shown)
        };
        match read() {
            Ok(shown) => {
                let shown: BTreeSet<u64> = shown.into_iter().collect();
                let gone: Vec<u64> = (0..shared.rows)
                    .filter(|row| !shown.contains(row))
                    .collect();
                shared.count("answers: rows");
                if !shared.states.contains(&gone) {
                    shared.find(format!(
                        "{who} sees a state that never was: {} rows",
                        shown.len()
                    ));
                }
            }
            Err(error) => shared.error(who, &error),
        }
        // A map keeps erasers out while it is there.
        thread::sleep(std::time::Duration::from_micros(match access {
            Access::Map => 3000,
            _ => 100,
        }));
    }
}
