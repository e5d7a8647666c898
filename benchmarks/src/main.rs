//! Measures Tarsia beside Vortex, Parquet and Lance: same tables, same machine, same run.
//!
//! This crate is a workspace of its own, so that the peers' dependencies never enter Tarsia's. See
//! the README for the rules.

mod encodings;
mod erasure;
mod files;
mod filters;
mod kernels;
mod machine;
mod over_tables;
mod peers;
mod presets;
mod ranges;
mod report;
mod sizes;
mod speed;
mod types;
mod wide;
mod writing;

use clap::{Parser, Subcommand};

/// Measures Tarsia beside Vortex, Parquet and Lance: same tables, same machine, same run.
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
    /// Scans of one column of every flat type, and of `lineitem` of TPC-H.
    Types(types::Arguments),
    /// Cost of decoding by the kernel in the file instead of natively.
    Kernels(over_tables::Arguments),
    /// Each encoding on the column where it gains most: ratio, decoding natively and by a kernel.
    Encodings(over_tables::Arguments),
    /// Writing whole tables beside Parquet, and the part of it that the search for trees of encodings takes.
    Writing(over_tables::Arguments),
    /// Size, scan and writing under each preset, beside Vortex and Parquet.
    Presets(over_tables::Arguments),
    /// Small files written one after the other, with and without a memory, beside Parquet.
    Files(over_tables::Arguments),
    /// Cost of files that rows can be erased from, and of erasing them, beside Parquet written anew.
    Erasure(erasure::Arguments),
    /// Rows by a condition, beside Vortex's and Parquet's filters.
    Filters(filters::Arguments),
    /// Ranges of numbers found in encoded values, for each encoding.
    Ranges(ranges::Arguments),
    /// Writing, opening and scanning tables of thousands of lists and structs.
    Wide(wide::Arguments),
    /// How fast the memory of this machine can be copied and stored to.
    Limits,
    /// `sizes`, then `speed`, then `types`.
    All(speed::Arguments),
    /// One format, told what to do by lines on its input.
    #[command(hide = true)]
    SpeedWorker(speed::WorkerArguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Benchmark::Sizes(arguments) => sizes::run(&arguments),
        Benchmark::Speed(arguments) => speed::run(&arguments),
        Benchmark::Types(arguments) => types::run(&arguments),
        Benchmark::Kernels(arguments) => kernels::run(&arguments),
        Benchmark::Encodings(arguments) => encodings::run(&arguments),
        Benchmark::Writing(arguments) => writing::run(&arguments),
        Benchmark::Presets(arguments) => presets::run(&arguments),
        Benchmark::Files(arguments) => files::run(&arguments),
        Benchmark::Erasure(arguments) => erasure::run(&arguments),
        Benchmark::Filters(arguments) => filters::run(&arguments),
        Benchmark::Ranges(arguments) => ranges::run(&arguments),
        Benchmark::Wide(arguments) => wide::run(&arguments),
        Benchmark::Limits => speed::limits::run(),
        Benchmark::All(arguments) => all(&arguments),
        Benchmark::SpeedWorker(arguments) => speed::work(&arguments),
    }
}

/// Runs all benchmarks. A failure of one is no reason to leave out the others.
fn all(arguments: &speed::Arguments) -> anyhow::Result<()> {
    let sizes = sizes::Arguments::of_all(
        arguments.folder.clone(),
        arguments.table.clone(),
        arguments.no_docs,
    );
    let types = types::Arguments::of_all(arguments);
    let mut results = vec![("sizes", sizes::run(&sizes))];
    println!();
    results.push(("speed", speed::run(arguments)));
    if types.names_something() {
        println!();
        results.push(("types", types::run(&types)));
    }
    let mut failed = None;
    for (name, result) in results {
        if let Err(error) = result {
            failed = Some(match failed {
                None => error.context(name),
                Some(before) => anyhow::anyhow!("{before:#}; and {name}: {error:#}"),
            });
        }
    }
    failed.map_or(Ok(()), Err)
}
