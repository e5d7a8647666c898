//! Measures Tarsia beside Vortex and Parquet: same tables, same machine, same run.
//!
//! This crate is a workspace of its own, so that the peers' dependencies never enter Tarsia's. See
//! the README for the rules.

mod machine;
mod peers;
mod report;
mod sizes;
mod speed;

use clap::{Parser, Subcommand};

/// Measures Tarsia beside Vortex and Parquet: same tables, same machine, same run.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Bytes per column of every flat table in a folder of Parquet files.
    Sizes(sizes::Arguments),
    /// Writing, opening, scanning and random rows of whole tables.
    Speed(speed::Arguments),
    /// One format, told what to do by lines on its input.
    #[command(hide = true)]
    SpeedWorker(speed::WorkerArguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Benchmark::Sizes(arguments) => sizes::run(&arguments),
        Benchmark::Speed(arguments) => speed::run(&arguments),
        Benchmark::SpeedWorker(arguments) => speed::work(&arguments),
    }
}
