//! Project tasks: `cargo xtask <task>`.
//!
//! | task | does |
//! |---|---|
//! | `codegen` | regenerates the Rust code of `fbs/` with flatc; needs cmake, about a minute the first time |
//! | `codegen --check` | the same, but only says whether the committed code is what flatc makes |
//! | `codegen --check-digest` | says whether the committed code was made from `fbs/` as it is; needs nothing |
//! | `new-encoding NAME` | the skeleton of an encoding: crate, page of the specification, row of the table, line of the changelog |
//! | `docs` | writes the parts of the docs that are made of the table of encodings |
//! | `docs --check` | the same, but only says whether they are what would be made |
//! | `tidy` | the project's rules; every violation says how to repair it |
//! | `modules [CRATE]` | which file of a crate needs which, in layers, and its circles; all crates without a name |
//! | `deps` | how many crates an encoding alone pulls in |
//! | `build-wasm` | builds the kernels that files carry, and writes them with their digests into `crates/kernels` |
//! | `build-wasm --check` | the same, but only says whether the committed kernels are what would be built |
//! | `wasm` | builds what has to build for the wasm32 targets |
//! | `guard [--bless] [--require]` | instruction counts of fixed operations against `benchmarks/guard/counts.json`; needs valgrind |
//! | `mutate [OPTION]...` | the `tarsia` command on damaged files of every kind that it reads; `--help` lists the options |
//! | `attack [OPTION]...` | rows of random tables erased, and what is left of them looked for; `--help` lists the options |
//! | `ci` | formatting, clippy, rustdoc, `tidy`, `docs --check`, `deps`, `codegen --check-digest` |

mod attack;
mod ci;
mod codegen;
mod deps;
mod docs;
mod guard;
mod kernels;
mod modules;
mod mutate;
mod new_encoding;
mod outcome;
mod passed;
mod process;
mod repository;
mod spec;
mod tidy;
mod toolchain;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outcome::Outcome;

const USAGE: &str = "usage: cargo xtask codegen [--check | --check-digest] | new-encoding NAME | docs [--check] | tidy | modules [CRATE] | deps | wasm | build-wasm [--check] | guard [--bless] [--require] | mutate [OPTION]... | attack [OPTION]... | ci";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let outcome = match args.as_slice() {
        ["codegen"] => codegen::write(&root),
        ["codegen", "--check"] => codegen::check(&root),
        ["codegen", "--check-digest"] => codegen::check_digest(&root),
        ["new-encoding", name] => new_encoding::run(&root, name),
        ["docs"] => docs::write(&root),
        ["docs", "--check"] => docs::check(&root),
        ["tidy"] => tidy::run(&root),
        ["modules"] => modules::print(&root, None),
        ["modules", name] => modules::print(&root, Some(name)),
        ["deps"] => deps::run(&root),
        ["build-wasm"] => kernels::write(&root),
        ["build-wasm", "--check"] => kernels::check(&root),
        ["wasm"] => wasm::run(&root),
        ["guard", options @ ..] => guard::run(&root, options),
        ["mutate", options @ ..] => mutate::run(&root, options),
        ["attack", options @ ..] => attack::run(&root, options),
        ["ci"] => ci::run(&root),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
