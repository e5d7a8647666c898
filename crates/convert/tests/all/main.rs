//! Readers and writers of other formats, through files.

mod arrow_files;
mod categories;
mod files;
mod parquet_types;
mod run;
mod stated;
