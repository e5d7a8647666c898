//! The `tarsia` command; everything but the process itself is in the library.

use std::process::ExitCode;

use clap::Parser;
use tarsia_cli::budget::CountingAllocator;
use tarsia_cli::failure::Failure;
use tarsia_cli::{args, command};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    tarsia_convert::quiet_foreign_panics();
    tarsia_cli::report_large_files();
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
    match command::run(cli.command) {
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
