//! The `tarsia` command as a library: what `main` runs, so that tests can reach the parts.
//!
//! | module | job |
//! |---|---|
//! | [`args`] | the command line: commands, options, lists of rows and columns |
//! | [`failure`] | why a command stops, and with which exit code |
//! | [`matching`] | the rows of a file that pass a condition |
//! | [`budget`] | how much memory and time reading them may take |
//! | [`destination`] | where files are written: regular files, pipes, the standard output |
//! | [`shown`] | one Arrow value in a table on a terminal |
//! | [`command`] | one function per command |
//!
//! What the command promises about files is in `docs/command.md`.
//!
//! # Exit codes
//! 0: done. 1: a file or its data is bad, missing or refused; one line on the standard error says which file, column,
//! page and block, and why. 2: the command line asks for what does not exist: an unknown option or file extension, a
//! malformed range, a column or a row that the file does not have. A reader that closes our standard output is no
//! failure.
//!
//! # What this crate does not do
//! It knows no file format: the crate `tarsia` reads and writes every byte of a Tarsia file, and `tarsia-convert` those
//! of Parquet, Arrow IPC, CSV and JSON lines.

pub mod args;
pub mod budget;
pub mod destination;
pub mod failure;
pub mod matching;
pub mod shown;

pub mod command;

mod progress;
mod ranges;
mod stop;

pub use stop::report_large_files;
