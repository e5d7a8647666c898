//! Measures tables of many files: Tarsia beside Iceberg, Delta Lake and Lance.
//!
//! The peers are Python packages, run by `peers.py` and `updates.py`. For plans, commits and branches no data file
//! exists: they read and write metadata alone, which each format writes by its own means. Updates and new columns are
//! those of real rows.

mod asked;
mod branches;
mod columns;
mod commits;
mod found;
mod lineitem;
mod machine;
mod made;
mod measure;
mod peers;
mod plans;
#[path = "../../src/report.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "other reports need more"))]
mod report;
mod scale;
mod section;
mod store;
mod tables;
mod updates;

use clap::{Parser, Subcommand};

/// Measures tables of many files: plans, commits, new columns, updates and branches, beside Iceberg, Delta Lake and
/// Lance.
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
    /// One of the processes that commit at the same time.
    #[command(hide = true)]
    Race(commits::Racer),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Race(racer)) => commits::run_racer(&racer),
        None => measure::run(&arguments.measure),
    }
}
