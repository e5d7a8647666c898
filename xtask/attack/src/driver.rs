//! Cases within a time, several at once; each kind gets an equal part of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tarsia_testkit::rng::Rng;

use crate::cases::{self, Context};
use crate::interpose::Interpose;
use crate::kind::{KINDS, Kind};
use crate::options::Options;
use crate::report::Report;

/// Which case is next: the one of the kind that has had the least time.
struct Schedule {
    seed: u64,
    /// Time and cases of each kind that runs.
    kinds: BTreeMap<Kind, (Duration, u64)>,
    end: Instant,
}

impl Schedule {
    fn next(&mut self) -> Option<(Kind, u64)> {
        if Instant::now() >= self.end {
            return None;
        }
        let (kind, (_, n_cases)) = self.kinds.iter_mut().min_by_key(|(_, had)| **had)?;
        *n_cases += 1;
        let at = self.seed.wrapping_mul(0x9e37_79b9).wrapping_add(*n_cases);
        let mut rng = Rng::new(at ^ (*kind as u64) << 56);
        Some((*kind, kind.seed(rng.u64())))
    }

    fn add(&mut self, kind: Kind, time: Duration) {
        if let Some((had, _)) = self.kinds.get_mut(&kind) {
            *had += time;
        }
    }
}

/// Runs what the options say; true where nothing is found.
///
/// # Errors
/// Where the command cannot be built, or a folder cannot be made.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    let program = match &options.command {
        Some(path) => path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))?,
        None => tarsia_driving::command::build(options.release)?,
    };
    // Panics of cases are finds, and are told as such.
    std::panic::set_hook(Box::new(|_| {}));
    let interpose = Interpose::build();
    if let Err(why) = &interpose {
        println!("nothing makes the command die at its writes: {why}");
    }
    let with = With {
        program: &program,
        interpose: interpose.as_ref().ok().map(Interpose::library),
    };
    let report = Mutex::new(Report::default());
    match options.replay {
        Some(seed) => replay(seed, with, &report)?,
        None => all(options, with, &report)?,
    }
    let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(report.finish())
}

/// Context that all cases get.
#[derive(Clone, Copy)]
struct With<'a> {
    program: &'a Path,
    interpose: Option<&'a Path>,
}

fn one(seed: u64, with: With<'_>) -> Result<crate::outcome::Outcome, String> {
    let scratch = tarsia_driving::scratch::folder().map_err(|error| error.to_string())?;
    // What stands beside it is no file of the case.
    let folder = scratch.path().join("case");
    std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
    let context = Context {
        command: with.program,
        folder: &folder,
        interpose: with.interpose,
    };
    Ok(cases::run(seed, &context))
}

fn replay(seed: u64, with: With<'_>, report: &Mutex<Report>) -> Result<(), String> {
    let outcome = one(seed, with)?;
    for note in &outcome.notes {
        println!("{note}");
    }
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
    report.show_all();
    report.add(Kind::of_seed(seed), seed, outcome);
    Ok(())
}

fn all(options: &Options, with: With<'_>, report: &Mutex<Report>) -> Result<(), String> {
    let kinds: &[Kind] = match options.only.as_slice() {
        [] => &KINDS,
        only => only,
    };
    let none = |kind: &Kind| (*kind, (Duration::ZERO, 0));
    let schedule = Mutex::new(Schedule {
        seed: options.seed,
        kinds: kinds.iter().map(none).collect(),
        end: Instant::now() + Duration::from_secs(options.seconds),
    });
    let work = || -> Result<(), String> {
        loop {
            let next = schedule
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next();
            let Some((kind, seed)) = next else {
                return Ok(());
            };
            let start = Instant::now();
            let outcome = one(seed, with)?;
            let mut schedule = schedule.lock().unwrap_or_else(PoisonError::into_inner);
            schedule.add(kind, start.elapsed());
            drop(schedule);
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.add(kind, seed, outcome);
        }
    };
    let jobs = match options.jobs {
        Some(jobs) => jobs.max(1),
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|_| Err("a worker panicked".to_owned()))
        };
        workers.into_iter().try_for_each(join)
    })
}
