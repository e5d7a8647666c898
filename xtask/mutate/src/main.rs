//! The mutation driver, `cargo xtask mutate`: damaged files of every kind that the `tarsia` command reads, and the
//! command run on each, within limits on time and memory.
//!
//! | module | job |
//! |---|---|
//! | `corpus` | the sound files that are damaged: made at start with the project's own code and the command itself |
//! | `mutation` | the damage, of bytes and of text |
//! | `process` | one run of the command within limits |
//! | `trial` | the commands that a damaged file goes through, and what is a find |
//! | `report` | finds by cause, counts by kind |
//!
//! A run is one damaged file. The seed and the number of a run decide all of it, so each find is repeated alone.

#[cfg(target_os = "linux")]
mod corpus;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod kind;
#[cfg(target_os = "linux")]
mod mutation;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod trial;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let options = <options::Options as clap::Parser>::parse();
    match driver::run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Limits are those of Linux: other systems have none on memory, or do not hold to them.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("cargo xtask mutate needs Linux, for its limits on memory");
    ExitCode::FAILURE
}
