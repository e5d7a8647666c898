//! Arguments of `tarsia table`.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgGroup, Args, Subcommand};

use super::condition::{Condition, OnlyWhere, parse_condition};
use super::said::Said;
use super::selections::{Columns, parse_name, parse_pair};
use super::table_update::{OnOverlap, TableAddColumn, TableCompact, TableUpdate};
use super::table_upkeep::{TableCopy, TableGc, TablePin, TableProtect, TableUnpin};
use super::text::TextOptions;
use crate::place::Place;

/// Arguments of `tarsia table`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table create ads --like april.parquet --partition-by 'day(time)'
  tarsia table append ads april.parquet -m 'clicks of April'
  tarsia table log ads

A table is a folder of many Tarsia files, or a URL such as s3://bucket/ads in the build that knows URLs. A state of it
is named
  main                            the newest of a branch
  main~2                          two commits before that
  main@2026-05-01T00:00:00Z       the one that the branch was at then
  tag:v3                          the one that a tag names
  3f2a91c0                        the commit whose digest begins so, with 8 digits or more")]
pub struct Table {
    /// Operation on the table.
    #[command(subcommand)]
    pub command: TableCommand,
}

/// The commands of `tarsia table`.
#[derive(Debug, Subcommand)]
pub enum TableCommand {
    /// Make a table in a folder that is absent or empty
    Create(TableCreate),
    /// Add the rows of files to a branch, in one commit
    Append(TableAppend),
    /// Show rows of a state, or count them
    Scan(TableScan),
    /// Delete the rows of a branch for which a condition is true
    Delete(TableDelete),
    /// Give rows of a branch new values: those for which a condition is true, or those that a file names
    Update(TableUpdate),
    /// Add a column, with a default for the rows that are there
    AddColumn(TableAddColumn),
    /// Put small data files together, with updates put in and deleted rows left out
    Compact(TableCompact),
    /// Show a state: its commit, files, rows, partitions and columns
    Info(TableInfo),
    /// Show what happened to a branch, the newest first
    Log(TableLog),
    /// List the branches, make one, or delete one
    Branch(TableBranch),
    /// List the tags, or give a state a name that never moves
    Tag(TableTag),
    /// Set a branch to another state
    Reset(TableReset),
    /// Put the changes of a branch on another one
    Merge(TableMerge),
    /// Put the changes of a branch behind those of another state
    Rebase(TableRebase),
    /// Show the changes that one of two states has and the other lacks
    Diff(TableDiff),
    /// Change the columns of a branch
    Alter(TableAlter),
    /// Check that all objects are there and whole
    Fsck(TableFsck),
    /// Delete the objects that no branch, tag or pin keeps
    Gc(TableGc),
    /// List the pins, or keep a state from gc for some days
    Pin(TablePin),
    /// Remove a pin
    Unpin(TableUnpin),
    /// Show or change the policy: rules of branches, and for how long gc keeps states
    Protect(TableProtect),
    /// Copy a table to another place, or what a copy lacks
    Copy(TableCopy),
}

/// Arguments of `tarsia table create`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tarsia table create ads --like april.parquet --partition-by 'day(time),country'"
)]
pub struct TableCreate {
    /// Folder or URL of the table
    pub table: Place,
    /// A file with the columns of the table: .tarsia, .parquet, .arrow, .feather, .csv, .jsonl or .ndjson; its rows are
    /// not added
    #[arg(long, value_name = "FILE")]
    pub like: Place,
    /// Spread rows over files by the values of columns: country, year(time), month(time), day(time), hour(time),
    /// truncate(name, 4); separated by semicolons or by commas outside of parentheses. A name with one of these stands
    /// in double quotes
    #[arg(long, value_name = "A,B")]
    pub partition_by: Option<String>,
    /// Make the table although the folder has other files, which `tarsia table gc` will delete
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub text: TextOptions,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table append`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table append ads april.parquet may.parquet -m 'clicks of spring'

Columns are found by name, and each column of the table must be there. Columns of CSV and JSON lines are read with the
types of the table. If a file fails, nothing is added. With --idempotent nothing is added if a commit
with this number of the application, or a higher one, is in the branch: so a job that is started again adds its rows
once.")]
pub struct TableAppend {
    /// Folder or URL of the table
    pub table: Place,
    /// Files with rows: .tarsia, .parquet, .arrow, .feather, .csv, .jsonl or .ndjson
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<Place>,
    /// Branch to write to
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Name and number of the work, such as postbacks=57
    #[arg(long, value_name = "APPLICATION=NUMBER", value_parser = parse_idempotent)]
    pub idempotent: Option<(String, u64)>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub text: TextOptions,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

fn parse_idempotent(text: &str) -> Result<(String, u64), String> {
    let pair = text.split_once('=');
    let pair = pair.and_then(|(name, number)| Some((name.to_owned(), number.parse().ok()?)));
    let pair = pair.filter(|(name, _)| !name.is_empty());
    pair.ok_or_else(|| "a name, an equals sign and a number".to_owned())
}

/// Arguments of `tarsia table scan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tarsia table scan ads --where \"country = 'NL'\" --columns time,clicks -n 5"
)]
pub struct TableScan {
    /// Folder or URL of the table
    pub table: Place,
    /// State to read
    #[arg(long, value_name = "STATE", default_value = "main")]
    pub at: String,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub columns: Columns,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub only: OnlyWhere,
    /// Say on the standard error how many files, and rows in them, the condition leaves by partitions alone
    #[arg(long, requires = "condition")]
    pub explain_filter: bool,
    /// How many rows, from the first on; unless given, all
    #[arg(short = 'n', long = "number", value_name = "ROWS")]
    pub n_rows: Option<u64>,
    /// Print the number of rows only
    #[arg(long, conflicts_with = "json")]
    pub count: bool,
    /// Print one JSON document: an array of objects, one per row
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia table delete`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").args(["condition", "all"]).required(true)))]
#[command(after_help = "\
Example:
  tarsia table delete ads --where \"user_id = 42\" -m 'by request'
  tarsia table delete ads --all -m 'begin anew'

The values stay in the files of the table, and in older states: this is no erasure. Files of which all rows go are
removed as a whole.")]
pub struct TableDelete {
    /// Folder or URL of the table
    pub table: Place,
    /// Rows to delete: clicks > 5 AND country IN ('NL', 'BE'); @FILE reads the condition from a file
    #[arg(
        long = "where",
        value_name = "CONDITION",
        value_parser = OsStringValueParser::new().try_map(parse_condition)
    )]
    pub condition: Option<Condition>,
    /// Delete all rows of the branch; their columns stay
    #[arg(long)]
    pub all: bool,
    /// Branch to write to
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Say how many rows it would delete, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table info`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia table info ads --at tag:v3")]
pub struct TableInfo {
    /// Folder or URL of the table
    pub table: Place,
    /// State to show
    #[arg(long, value_name = "STATE", default_value = "main")]
    pub at: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia table log`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia table log ads --branch exp")]
pub struct TableLog {
    /// Folder or URL of the table
    pub table: Place,
    /// Branch to show; one that was deleted has its log, too
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia table branch`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tarsia table branch ads exp --at main~1\n  tarsia table branch ads exp --delete"
)]
pub struct TableBranch {
    /// Folder or URL of the table
    pub table: Place,
    /// Branch to make or delete; unless given, all are listed
    pub name: Option<String>,
    /// State at which the branch begins
    #[arg(long, value_name = "STATE", default_value = "main")]
    pub at: String,
    /// Delete the branch; its log stays
    #[arg(long, requires = "name")]
    pub delete: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table tag`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia table tag ads v3 --at main -m 'trained on this'")]
pub struct TableTag {
    /// Folder or URL of the table
    pub table: Place,
    /// Tag to make; unless given, all are listed
    pub name: Option<String>,
    /// State to tag
    #[arg(long, value_name = "STATE", default_value = "main")]
    pub at: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table reset`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table reset ads main~1

The commits that the branch was at stay in its log, so nothing is lost.")]
pub struct TableReset {
    /// Folder or URL of the table
    pub table: Place,
    /// State to set the branch to
    pub state: String,
    /// Branch to set
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table merge ads exp --into main -m 'exp is good'

No data are copied. Changes that the target has are not repeated, however they got there.")]
pub struct TableMerge {
    /// Folder or URL of the table
    pub table: Place,
    /// Branch or state whose changes are taken
    pub source: String,
    /// Branch that gets them
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub into: String,
    /// Treatment of rows of which both changed the same column: merge nothing, take the values of the source, or keep
    /// those of the branch that gets the changes
    #[arg(long, value_enum, value_name = "HOW", default_value = "fail")]
    pub overlap: OnOverlap,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table rebase`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia table rebase ads exp --onto main")]
pub struct TableRebase {
    /// Folder or URL of the table
    pub table: Place,
    /// Branch whose changes are put behind the other ones
    pub branch: String,
    /// State that they are put behind
    #[arg(long, value_name = "STATE", default_value = "main")]
    pub onto: String,
    /// Treatment of rows of which both changed the same column: change nothing, take the values of the branch (source),
    /// or keep those of the state (target)
    #[arg(long, value_enum, value_name = "HOW", default_value = "fail")]
    pub overlap: OnOverlap,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

/// Arguments of `tarsia table diff`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia table diff ads main exp")]
pub struct TableDiff {
    /// Folder or URL of the table
    pub table: Place,
    /// First state
    pub first: String,
    /// Second state
    pub second: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia table fsck`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table fsck ads --digests

Checks all refs, and what they keep from gc: commits, schemas, manifests, and that each file is there with its size; with
--digests each byte of each file, too. Counts the objects that nothing keeps, and temporary files: all, and those of
killed writers, which gc removes. Writes nothing. Exit code 1 if something is wrong.")]
pub struct TableFsck {
    /// Folder or URL of the table
    pub table: Place,
    /// Compare each byte of each file with its digest
    #[arg(long)]
    pub digests: bool,
    /// Do that, and compare each state that is kept with what its commit says of it
    #[arg(long)]
    pub deep: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia table alter`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table alter ads --rename clicks=n_clicks --drop note
  tarsia table alter ads --add-like scores.parquet
  tarsia table alter ads --rename '\"n=1\"=one'

A name with an equals sign stands in double quotes, in which two quotes stand for one. No file is rewritten: rows that
are there have null in new columns.")]
pub struct TableAlter {
    /// Folder or URL of the table
    pub table: Place,
    /// Give a column another name; may be given for several columns
    #[arg(long, value_name = "OLD=NEW", value_parser = parse_rename)]
    pub rename: Vec<(String, String)>,
    /// Drop a column; may be given for several columns
    #[arg(long, value_name = "COLUMN", value_parser = parse_name)]
    pub drop: Vec<String>,
    /// Add the columns of a file that the table does not have
    #[arg(long, value_name = "FILE")]
    pub add_like: Option<Place>,
    /// Branch to write to
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub text: TextOptions,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub said: Said,
}

fn parse_rename(text: &str) -> Result<(String, String), String> {
    let wrong = || "two names with an equals sign between them".to_owned();
    let (old, new) = parse_pair(text)?.ok_or_else(wrong)?;
    let new = parse_name(new)?;
    match old.is_empty() || new.is_empty() {
        true => Err(wrong()),
        false => Ok((old, new)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_columns_may_stand_in_quotes() {
        let pair = |text: &str| parse_rename(text);
        assert_eq!(pair("a=b"), Ok(("a".into(), "b".into())));
        assert_eq!(pair("\"a=b\"=c"), Ok(("a=b".into(), "c".into())));
        assert_eq!(
            pair("a=\"say \"\"hi\"\"\""),
            Ok(("a".into(), "say \"hi\"".into()))
        );
        for wrong in ["", "a", "=b", "a=", "\"a=b", "\"a\"b=c", "a=\"b\"c"] {
            assert!(pair(wrong).is_err(), "{wrong}");
        }
    }
}
