//! The `tarsia` command as a library, so that tests can reach the parts, and for builds that can open more than local
//! files: `crates/integrations/command` is one. A build is a program whose allocator is
//! [`CountingAllocator`](budget::CountingAllocator), and which calls [`main`] with its [`Places`].
//!
//! | module | job |
//! |---|---|
//! | [`args`] | the command line: commands, options, lists of rows and columns |
//! | [`place`] | local paths and URLs, and the trait of what opens URLs |
//! | [`failure`] | why a command stops, and with which exit code |
//! | [`matching`] | the rows of a file that pass a condition |
//! | [`budget`] | how much memory and time reading them may take |
//! | [`destination`] | where files are written: regular files, pipes, the standard output |
//! | [`shown`] | one Arrow value in a table on a terminal |
//! | [`command`] | one function per command |
//!
//! What the command promises about files is in `docs/command.md`.
//!
//! # Exit codes
//! 0: done. 1: a file or its data is bad, missing or refused; one line on the standard error says which file, column,
//! page and block, and why. 2: the command line asks for what does not exist: an unknown option or file extension, a
//! malformed range, a column or a row that the file does not have. A reader that closes our standard output is no
//! failure.
//!
//! # What this crate does not do
//! It knows no file format: the crate `tarsia` reads and writes every byte of a Tarsia file, and `tarsia-convert` those
//! of Parquet, Arrow IPC, CSV and JSON lines.

pub mod args;
pub mod budget;
pub mod destination;
pub mod failure;
pub mod matching;
pub mod place;
pub mod shown;

pub mod command;

mod progress;
mod ranges;
mod stop;

use std::process::ExitCode;

use clap::Parser;
use failure::Failure;
use place::Places;

/// Runs the command line of this process. `places` opens what it names by URLs.
pub fn main(places: &dyn Places) -> ExitCode {
    tarsia_convert::quiet_foreign_panics();
    stop::report_large_files();
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            return match Failure::of_usage(&error) {
                Some(failure) => report(&failure),
                None => {
                    // Help and version go to the standard output. If that is closed, the error cannot be reported.
                    let _ = error.print();
                    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
                }
            };
        }
    };
    match command::run(cli.command, places) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn report(failure: &Failure) -> ExitCode {
    if let Some(line) = failure.line() {
        // If the standard error is closed, the exit code alone reports the failure.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n"));
    }
    ExitCode::from(failure.exit_code())
}
