//! Runs every fuzz target on a stable toolchain: seeded inputs, no fuzzer. A canary with a planted panic must be found,
//! and every target must accept some of its inputs; else the run fails.
//!
//! ```text
//! smoke [--inputs N] [--seconds S] [--seed N] [--target NAME]... [FILE]...
//! ```
//! With files it runs the named target on each of them instead: a find of libFuzzer, or one of an earlier run.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tarsia_fuzz::{CANARY, Find, TARGETS, Target, minimise, run};
use tarsia_testkit::fuzzing::{n_accepted, smoke_inputs};

/// An input that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(60);

/// A target of so many inputs must have accepted one.
const ACCEPTED_FROM: u64 = 500;

const USAGE: &str =
    "usage: smoke [--inputs N] [--seconds S] [--seed N] [--target NAME]... [FILE]...";

struct Options {
    inputs: u64,
    seconds: f64,
    seed: u64,
    targets: Vec<Target>,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        inputs: 2000,
        seconds: 8.0,
        seed: 1,
        targets: Vec::new(),
        files: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let bad = |value: &str| format!("{word} {value}: not a number");
        match word.as_str() {
            "--inputs" => {
                options.inputs = value().and_then(|text| text.parse().map_err(|_| bad(&text)))?
            }
            "--seconds" => {
                options.seconds = value().and_then(|text| text.parse().map_err(|_| bad(&text)))?
            }
            "--seed" => {
                options.seed = value().and_then(|text| text.parse().map_err(|_| bad(&text)))?
            }
            "--target" => {
                let name = value()?;
                let known = TARGETS
                    .iter()
                    .chain([&CANARY])
                    .find(|(known, _)| *known == name);
                options
                    .targets
                    .push(*known.ok_or_else(|| format!("no target {name}"))?);
            }
            "--list" => {
                for (name, _) in TARGETS {
                    println!("{name}");
                }
                std::process::exit(0);
            }
            flag if flag.starts_with('-') => return Err(format!("no option {flag}")),
            file => options.files.push(file.into()),
        }
    }
    Ok(options)
}

/// The run of the moment, for the watchdog: when it began, of which target, with which input.
static CURRENT: Mutex<Option<(Instant, &str, Vec<u8>)>> = Mutex::new(None);

/// A body that never returns cannot be stopped, so the process says which it is and ends.
fn watch() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let current = CURRENT.lock().expect("no panic while it is held");
            if let Some((start, name, input)) = &*current
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

fn run_watched(target: Target, input: &[u8]) -> Result<(), Find> {
    let set = |current| *CURRENT.lock().expect("no panic while it is held") = current;
    set(Some((Instant::now(), target.0, input.to_vec())));
    let done = run(target.1, input);
    set(None);
    done
}

/// Writes an input where libFuzzer writes its finds, and says how to run it again.
fn keep(name: &str, input: &[u8]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("artifacts")
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

struct Report {
    n_inputs: u64,
    n_accepted: u64,
    elapsed: Duration,
    found: Option<(Vec<u8>, Find)>,
}

fn smoke(target: Target, options: &Options) -> Report {
    let start = Instant::now();
    let before = n_accepted();
    let mut report = Report {
        n_inputs: 0,
        n_accepted: 0,
        elapsed: Duration::ZERO,
        found: None,
    };
    for input in smoke_inputs(seed_of(target.0, options.seed)) {
        if report.n_inputs == options.inputs || start.elapsed().as_secs_f64() > options.seconds {
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
            let small = minimise(body, input, find, 3000);
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

fn run_files(options: &Options) -> Result<bool, String> {
    let [target] = options.targets[..] else {
        return Err("files need one --target".to_owned());
    };
    let mut all_passed = true;
    for path in &options.files {
        let input = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        match run_watched(target, &input) {
            Ok(()) => println!("ok     {}", path.display()),
            Err(find) => {
                println!("FAILED {}\n       {find}", path.display());
                all_passed = false;
            }
        }
    }
    Ok(all_passed)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    watch();
    if !options.files.is_empty() {
        return match run_files(&options) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}\n{USAGE}");
                ExitCode::from(2)
            }
        };
    }
    let targets = match options.targets.is_empty() {
        true => [TARGETS, &[CANARY]].concat(),
        false => options.targets.clone(),
    };
    let (mut n_passed, mut n_failed) = (0, 0);
    for target in targets {
        let report = smoke(target, &options);
        match judge(target, &report) {
            true => n_passed += 1,
            false => n_failed += 1,
        }
    }
    println!("{n_passed} passed, {n_failed} failed");
    match n_failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
