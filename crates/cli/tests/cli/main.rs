//! Runs the `tarsia` command as scripts do, and the library's readers and writers of other formats.

mod budget;
#[cfg(unix)]
mod certificates;
#[cfg(unix)]
mod changes;
mod commands;
#[cfg(unix)]
mod erasure;
mod errors;
mod filters;
mod imports;
mod ipc_files;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(unix)]
mod many_imports;
mod outputs;
mod parquet;
mod parquet_files;
mod processes;
#[cfg(unix)]
mod reorder;
mod round_trip;
mod rows;
mod run;
#[cfg(unix)]
mod sql;
mod tables;
mod tables_json;
mod text_files;
mod types;
#[cfg(unix)]
mod upkeep;
mod urls;
