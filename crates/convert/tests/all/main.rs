//! Readers and writers of other formats, through files.

mod arrow_files;
mod categories;
mod files;
mod parquet_files;
mod parquet_types;
mod parquet_wide;
mod run;
mod stated;
mod text_files;
mod times;
