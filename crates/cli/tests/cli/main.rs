//! Runs the `tarsia` command as scripts do, and the library's readers and writers of other formats.

mod commands;
mod errors;
mod files;
#[cfg(target_os = "linux")]
mod limits;
mod round_trip;
mod rows;
mod run;
mod types;
