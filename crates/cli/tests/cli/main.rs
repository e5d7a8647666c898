//! Runs the `tarsia` command as scripts do, and the library's readers and writers of other formats.

mod commands;
mod errors;
mod files;
mod parquet;
mod round_trip;
mod run;
