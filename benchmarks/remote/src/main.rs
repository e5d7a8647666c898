//! Measures reading from a slow store: Tarsia beside Parquet and Lance, from one server, in one run.
//!
//! The server is in this process, the formats are in processes of their own ([`worker`], `lance_worker.py`): they read
//! over HTTP by the dialect of S3, and the server says what they asked for.

mod compare;
mod formats;
mod machine;
mod measure;
mod operation;
mod process;
#[path = "../../src/report.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "other reports need more"))]
mod report;
mod section;
mod tables;
mod worker;

use clap::{Parser, Subcommand};

/// Measures reading from a store that answers after 20 ms and sends 200 MB/s: Tarsia beside Parquet and Lance.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    measure: measure::Arguments,
}

#[derive(Subcommand)]
enum Command {
    /// One format, told what to do by lines on its input.
    #[command(hide = true)]
    Worker(worker::Arguments),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Worker(worker)) => worker::run(&worker),
        None => measure::run(&arguments.measure),
    }
}
