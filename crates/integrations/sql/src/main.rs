//! The command `tarsia-sql`: SQL over Tarsia, Parquet, CSV and JSON files, by DataFusion.
//!
//! | module | job |
//! |---|---|
//! | `args` | the command line |
//! | `session` | a session that knows formats, stores and functions, and what runs statements in it |
//! | `stores` | stores of URLs, with credentials of the environment |
//! | `functions` | `tarsia_metadata` and `tarsia_columns` |
//! | `output` | answers as tables, JSON lines and CSV |
//! | `repl` | statements that a person types |
//! | `failure` | why it stops, and with which exit code |
//!
//! The manual is `docs/sql.md`.
#![forbid(unsafe_code)]

mod args;
mod failure;
mod functions;
mod output;
mod repl;
mod session;
mod stores;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::failure::Failure;
use crate::session::Session;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return report(&Failure::of_usage(&error)),
        Err(help) => {
            // If the standard output is closed, the error cannot be reported.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure),
    }
}

fn run(args: Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Bad(format!("no threads: {error}")))?;
    let session = Session::new(args.partitions)?;
    match args.statements {
        Some(text) => runtime.block_on(session.run(&text, args.format)),
        None if std::io::stdin().is_terminal() => repl::run(&runtime, &session, args.format),
        None => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| Failure::Bad(format!("standard input: {error}")))?;
            runtime.block_on(session.run(&text, args.format))
        }
    }
}

fn report(failure: &Failure) -> ExitCode {
    if let Some(line) = failure.line() {
        // If the standard error is closed, the exit code alone reports the failure.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{line}\n"));
    }
    ExitCode::from(failure.exit_code())
}
