//! The command line.

use clap::{Parser, ValueEnum};

const HELP: &str = "\
Example:
  tarsia-sql \"select country, count(*) from 'clicks.tarsia' group by country\"

Files stand in quotes where a table stands: 'a.tarsia', 'b.parquet', 'c.csv', 'd.json' (JSON lines), a folder of them
with a slash behind it, or a URL (s3://BUCKET/KEY, gs://, az://, https://), with credentials from the environment.
EXPLAIN ANALYZE shows how many rows were pruned, proved and evaluated. COPY (SELECT ...) TO 'x.tarsia' writes a file.
tarsia_metadata('file') and tarsia_columns('file') are tables of what a Tarsia file says of itself.

Without STATEMENTS, they are read from the standard input; from a terminal one after another, each up to its semicolon.

Exit codes:
  0  done (also when the reader of a pipe closes it)
  1  a file or its data is bad, missing or refused
  2  wrong usage: an unknown option, a statement that makes no sense, a column that there is not";

/// Ask Tarsia, Parquet, CSV and JSON files questions in SQL.
#[derive(Debug, Parser)]
#[command(name = "tarsia-sql", version, after_help = HELP)]
pub struct Args {
    /// Statements, with semicolons between them
    pub statements: Option<String>,
    /// How answers are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Partitions that work at the same time; by default one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub partitions: Option<u16>,
}

/// Formats of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// A JSON object on each line, with nulls
    Json,
    /// CSV with a header line
    Csv,
}
