//! Arguments of `tarsia reorder`.

use std::path::PathBuf;

use clap::Args;

use super::selections::{Names, parse_names};
use crate::place::Place;

/// Arguments of `tarsia reorder`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia reorder ads.tarsia sorted.tarsia --columns user_id,label,price
  tarsia reorder ads.tarsia sorted.tarsia --log reads.jsonl

Columns that are read together lie together in the new file, so that reading them takes fewer requests. The rows, the
schema and the order of its columns stay. Nothing is decoded: blocks are copied, and each is checked. Deleted rows stay
deleted. A file whose erasures have moved blocks has to be compacted first.

A line of --log is what was read at a time: [\"user_id\",\"label\"], or {\"columns\":[\"user_id\",\"label\"],\"count\":12}.")]
pub struct Reorder {
    /// Tarsia file to read
    #[arg(value_name = "IN.tarsia")]
    pub input: Place,
    /// File to write; it appears under this name only when it is complete, and replaces what was there; - is the
    /// standard output
    #[arg(value_name = "OUT.tarsia")]
    pub output: Place,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub order: Order,
}

/// Where the order of columns comes from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Order {
    /// Columns, separated by commas, that come first, in this order, or fields inside them: user.address.city; a name
    /// with a comma stands in double quotes, as in CSV
    #[arg(long = "columns", value_name = "A,B", value_parser = parse_names)]
    pub names: Option<Names>,
    /// JSON lines of what was read: columns that were read together will lie together, and first those that were read
    /// most often
    #[arg(long, value_name = "FILE.jsonl")]
    pub log: Option<PathBuf>,
}
