//! Runs every fuzz target on a stable toolchain, or one of them on given inputs.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use tarsia_fuzz::smoke::{Smoke, run_watched, watch};
use tarsia_fuzz::{CANARY, TARGETS, Target};

/// Runs every fuzz target on seeded inputs. A canary with a planted panic must be found, and every target must accept
/// some of its inputs; else the run fails.
#[derive(Debug, Parser)]
#[command(name = "smoke")]
struct Options {
    /// Time of all targets together
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Inputs of a target at most
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    inputs: u64,
    /// Start of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Targets to run [default: all]
    #[arg(long = "target", value_name = "NAME", value_parser = target)]
    targets: Vec<Target>,
    /// Prints the names of the targets
    #[arg(long)]
    list: bool,
    /// Inputs that the one target is run on instead: finds of libFuzzer, or of an earlier run
    files: Vec<PathBuf>,
}

fn target(name: &str) -> Result<Target, String> {
    let all = TARGETS.iter().chain([&CANARY]);
    let found = all.into_iter().find(|(known, _)| *known == name);
    found.copied().ok_or_else(|| format!("no target {name}"))
}

fn run_files(options: &Options) -> Result<bool, String> {
    let [target] = options.targets[..] else {
        return Err("files need one --target".to_owned());
    };
    watch();
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

fn run(options: &Options) -> Result<bool, String> {
    if options.list {
        for (name, _) in TARGETS {
            println!("{name}");
        }
        return Ok(true);
    }
    if !options.files.is_empty() {
        return run_files(options);
    }
    let smoke = Smoke {
        time: Duration::try_from_secs_f64(options.seconds)
            .map_err(|_| "--seconds: a number from 0 on".to_owned())?,
        inputs_max: options.inputs,
        seed: options.seed,
    };
    Ok(match options.targets.is_empty() {
        true => smoke.run_all(),
        false => smoke.run(&options.targets),
    })
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
