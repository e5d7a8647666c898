//! The command `tarsia-sql`: SQL over Tarsia, Parquet, CSV and JSON files, by DataFusion.
//!
//! The manual is `docs/sql.md`, its parts are those of the library beside it.
#![forbid(unsafe_code)]

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use clap::Parser;

use tarsia_sql::{Args, Failure, Session, repl};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return Failure::of_usage(&error).report(),
        Err(help) => {
            // If the standard output is closed, the error cannot be reported.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
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
        None if std::io::stdin().is_terminal() => repl(&runtime, &session, args.format),
        None => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| Failure::Bad(format!("standard input: {error}")))?;
            runtime.block_on(session.run(&text, args.format))
        }
    }
}
