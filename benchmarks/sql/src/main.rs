//! Measures SQL: the 22 queries of TPC-H by DataFusion on Tarsia, Parquet and Vortex files, and by DuckDB on Parquet.
//!
//! Each query runs in every system before the next query begins, and each answer is compared with that on Tarsia.

mod answer;
mod duckdb;
mod engines;
mod far;
#[path = "../../shared/machine.rs"]
mod machine;
mod measure;
#[path = "../../src/report.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "other reports need more"))]
mod report;
mod section;
mod tables;

use clap::Parser;

// As the program of DataFusion has it: the system's allocator gives memory of large batches back each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    measure::run(&measure::Arguments::parse())
}
