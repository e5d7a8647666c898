//! The smoke run: every target on seeded inputs, without a fuzzer, within a time.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tarsia_testkit::fuzzing::{n_accepted, smoke_inputs};

use crate::{CANARY, Find, TARGETS, Target, minimise, run};

/// An input that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(60);

/// A target of so many inputs must have accepted one.
const ACCEPTED_FROM: u64 = 500;

/// Inputs that find the canary's panic, for any seed that was tried.
const CANARY_INPUTS: u64 = 10_000;

/// Inputs that are tried to make a find small.
const TRIES_MAX: usize = 3000;

/// Which inputs the targets get, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Smoke {
    /// Time of all targets together. A target gets an equal share of what is left when it starts.
    pub time: Duration,
    /// Inputs of a target at most.
    pub inputs_max: u64,
    /// Start of the random choices.
    pub seed: u64,
}

/// A target's run.
struct Report {
    n_inputs: u64,
    n_accepted: u64,
    elapsed: Duration,
    found: Option<(Vec<u8>, Find)>,
}

impl Smoke {
    /// Runs all targets and the canary, prints a line for each and one for all, and returns whether all passed.
    ///
    /// A run fails where a target panics, even if the code catches the panic on its way, where an input takes more than
    /// a minute (this ends the process), where a target accepts no input, and where the planted panic is not found.
    pub fn run_all(&self) -> bool {
        self.run(&[TARGETS, &[CANARY]].concat())
    }

    /// Does what [`Smoke::run_all`] does, for some targets.
    pub fn run(&self, targets: &[Target]) -> bool {
        watch();
        let start = Instant::now();
        let (mut n_passed, mut n_failed, mut n_inputs) = (0, 0, 0);
        for (i, target) in targets.iter().enumerate() {
            let left = self.time.saturating_sub(start.elapsed());
            let n_left = u32::try_from(targets.len() - i).unwrap_or(u32::MAX);
            let report = self.run_one(*target, left / n_left);
            n_inputs += report.n_inputs;
            match judge(*target, &report) {
                true => n_passed += 1,
                false => n_failed += 1,
            }
        }
        println!(
            "smoke run: seed {}, {n_inputs} inputs in {:.0} s; {n_passed} targets passed, {n_failed} failed",
            self.seed,
            start.elapsed().as_secs_f64()
        );
        n_failed == 0
    }

    fn run_one(&self, target: Target, time: Duration) -> Report {
        let start = Instant::now();
        let before = n_accepted();
        // Others may have used up the time, and the canary must be found.
        let least = match target.0 == CANARY.0 {
            true => CANARY_INPUTS,
            false => 1,
        };
        let mut report = Report {
            n_inputs: 0,
            n_accepted: 0,
            elapsed: Duration::ZERO,
            found: None,
        };
        for input in smoke_inputs(seed_of(target.0, self.seed)) {
            let is_late = report.n_inputs >= least && start.elapsed() > time;
            if report.n_inputs == self.inputs_max || is_late {
                break;
            }
            report.n_inputs += 1;
            if let Err(find) = run_watched(target, &input) {
                report.found = Some((input, find));
                break;
            }
        }
        report.n_accepted = n_accepted() - before;
        report.elapsed = start.elapsed();
        report
    }
}

/// The current input, for the watchdog: when it began, its target, its bytes.
static CURRENT: Mutex<Option<(Instant, &str, Vec<u8>)>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<(Instant, &'static str, Vec<u8>)>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the watchdog: a body that never returns cannot be stopped, so the process names it and ends.
pub fn watch() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Some((start, name, input)) = &*current()
                && start.elapsed() > HANG
            {
                println!(
                    "HANG   {name}: an input of {} bytes takes more than {HANG:?}",
                    input.len()
                );
                println!("       {}", keep(name, input));
                println!("a target hangs; the rest was not run");
                std::process::exit(1);
            }
        }
    });
}

/// Runs a target on one input, under the watchdog.
///
/// # Errors
/// The first panic, even one that was caught on its way.
pub fn run_watched(target: Target, input: &[u8]) -> Result<(), Find> {
    *current() = Some((Instant::now(), target.0, input.to_vec()));
    let done = run(target.1, input);
    *current() = None;
    done
}

/// Writes an input where libFuzzer writes its finds, and says how to run it again.
fn keep(name: &str, input: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/artifacts")
        .join(name);
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path = folder.join(format!("smoke-{:016x}", hasher.finish()));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input));
    let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
    match written {
        Ok(()) => format!(
            "again: scripts/fuzz-smoke --target {name} {}   ({hex})",
            path.display()
        ),
        Err(error) => format!("could not be kept ({error}): {hex}"),
    }
}

/// The seed of a target: its own, so that a new target changes the inputs of no other.
fn seed_of(name: &str, seed: u64) -> u64 {
    name.bytes().fold(seed, |hash, byte| {
        hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte)
    })
}

/// Prints the line of a target and says whether it passed.
fn judge(target: Target, report: &Report) -> bool {
    let (name, body) = target;
    let summary = format!(
        "{:>6} inputs, {:>6} accepted, {:5.1} s",
        report.n_inputs,
        report.n_accepted,
        report.elapsed.as_secs_f64()
    );
    match (&report.found, name == CANARY.0) {
        (Some(_), true) => println!("ok     {name:<22} {summary}: the planted panic was found"),
        (None, true) => {
            println!(
                "FAILED {name:<22} {summary}: the planted panic was NOT found, so this run finds nothing"
            );
            return false;
        }
        (Some((input, find)), false) => {
            println!("FAILED {name:<22} {summary}");
            println!("       {find}");
            let small = minimise(body, input, find, TRIES_MAX);
            println!("       {}", keep(name, &small));
            return false;
        }
        (None, false) if report.n_accepted == 0 && report.n_inputs >= ACCEPTED_FROM => {
            println!(
                "FAILED {name:<22} {summary}: no input gets past the checks in front of the code"
            );
            return false;
        }
        (None, false) => println!("ok     {name:<22} {summary}"),
    }
    true
}
