//! Arguments of the commands of `tarsia table` that write new values or new files for the rows that are there.

use arrow_schema::DataType;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use tarsia_convert::source::parse_type;
use tarsia_filter::{Comparison, Expr, Literal};

use super::condition::{Condition, parse_condition};
use super::said::Said;
use super::selections::{Names, parse_name, parse_names, parse_pair};
use super::text::TextOptions;
use crate::place::Place;

/// Arguments of `tarsia table update`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").args(["condition", "all"])))]
#[command(after_help = "\
Example:
  tarsia table update ads --set clicks=0 --set \"note='bot'\" --where \"user_id = 42\" -m 'no clicks of bots'
  tarsia table update ads --set reviewed=FALSE --all
  tarsia table update ads --by ad_id --from scores.parquet -m 'scores of May'

Values are written as in conditions: numbers, 'text', TRUE, FALSE, X'0aff', DATE '2026-05-01'; NULL takes a value away.
With --by the rows whose values of these columns are those of a row of the file get its other columns. No data file is
rewritten: the new values lie in a file of their own, and a scan joins both.")]
pub struct TableUpdate {
    /// Folder or URL of the table
    pub table: Place,
    /// A column and its new value; may be given for several columns
    #[arg(
        long,
        required_unless_present = "by",
        requires = "which",
        value_name = "COLUMN=VALUE",
        value_parser = parse_assignment
    )]
    pub set: Vec<(String, Literal)>,
    /// Rows to update: clicks > 5 AND country IN ('NL', 'BE'); @FILE reads the condition from a file
    #[arg(
        long = "where",
        requires = "set",
        value_name = "CONDITION",
        value_parser = OsStringValueParser::new().try_map(parse_condition)
    )]
    pub condition: Option<Condition>,
    /// Update all rows of the branch
    #[arg(long, requires = "set")]
    pub all: bool,
    /// Columns that name rows, such as ad_id or user,day: each row of the file is about the rows of the table that have
    /// the same values
    #[arg(
        long,
        value_name = "A,B",
        requires = "from",
        conflicts_with_all = ["set", "which"],
        value_parser = parse_names
    )]
    pub by: Option<Names>,
    /// A file with these columns and new values of others: .tarsia, .parquet, .arrow, .feather, .csv, .jsonl or .ndjson
    #[arg(long, value_name = "FILE", requires = "by")]
    pub from: Option<Place>,
    /// Leave out rows of the file that no row of the table matches; unless given, they are an error
    #[arg(long, requires = "by")]
    pub skip_unmatched: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub text: TextOptions,
    /// Branch to write to
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Say how many rows it would update, and change nothing
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

/// Arguments of `tarsia table add-column`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table add-column ads score --type float32
  tarsia table add-column ads reviewed --type bool --default FALSE
  tarsia table add-column ads score --from scores.parquet --by ad_id

Types are those of `tarsia import --types`, in any case: int64, utf8, date32, timestamp-us-utc, decimal(10,2); and those
that Arrow spells, such as List(Int64). Rows that are there have the default, or null, and no file is written for them;
with --from they have the values of the file, in a file of their own. No data file is rewritten.")]
pub struct TableAddColumn {
    /// Folder or URL of the table
    pub table: Place,
    /// Name of the column
    #[arg(value_parser = parse_name)]
    pub name: String,
    /// Type of its values; with --from unless given, that of the file's column
    #[arg(
        long = "type",
        value_name = "TYPE",
        required_unless_present = "from",
        value_parser = parse_any_type
    )]
    pub data_type: Option<DataType>,
    /// Value of rows that are there, written as in conditions
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, value_parser = parse_value)]
    pub default: Option<Literal>,
    /// A file with a column of this name, whose values the rows get: .tarsia, .parquet, .arrow, .feather, .csv, .jsonl
    /// or .ndjson
    #[arg(long, value_name = "FILE", requires = "by")]
    pub from: Option<Place>,
    /// Columns that name rows, such as ad_id or user,day: each row of the file is about the rows of the table that have
    /// the same values
    #[arg(long, value_name = "A,B", requires = "from", value_parser = parse_names)]
    pub by: Option<Names>,
    /// Leave out rows of the file that no row of the table matches; unless given, they are an error
    #[arg(long, requires = "from")]
    pub skip_unmatched: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub text: TextOptions,
    /// Branch to write to
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Say whether the column can be added, and change nothing
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

/// Arguments of `tarsia table compact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia table compact ads --max-bytes 10737418240
  tarsia table compact ads --metadata

Small data files of a partition become one, with updates put in and deleted rows left out. No row changes. The files
that are replaced stay for older states. With --metadata no data file is read: the descriptions of all files become one
sorted run, so that a plan of one partition reads one or two objects.")]
pub struct TableCompact {
    /// Folder or URL of the table
    pub table: Place,
    /// Branch to compact
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub branch: String,
    /// Put the descriptions of all files into one sorted run, and leave the files as they are
    #[arg(long, conflicts_with_all = ["max_bytes", "small_bytes", "condition"])]
    pub metadata: bool,
    /// Read at most so many bytes of data files, and leave the rest for another time
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<u64>,
    /// Files of fewer bytes are small; unless given, 64 MiB
    #[arg(long, value_name = "BYTES")]
    pub small_bytes: Option<u64>,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub partitions: Partitions,
    /// Say what it would do, and change nothing
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

/// Partitions that a command is about.
#[derive(Debug, Args)]
pub struct Partitions {
    /// Only partitions that a condition does not rule out: country = 'NL'
    #[arg(
        long = "partition",
        value_name = "CONDITION",
        value_parser = OsStringValueParser::new().try_map(parse_condition)
    )]
    pub condition: Option<Condition>,
}

/// Treatment of rows of which two branches changed the same column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnOverlap {
    /// Merge nothing.
    Fail,
    /// Take the values of the branch that is merged.
    Source,
    /// Keep the values of the branch that is merged into.
    Target,
}

/// A column and a literal, with an equals sign between them.
fn parse_assignment(text: &str) -> Result<(String, Literal), String> {
    let pair = parse_pair(text.trim_start())?.filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or("a column and a value with an equals sign between them")?;
    Ok((name, parse_value(value)?))
}

/// A type as `tarsia import --types` names it, or as Arrow spells it.
fn parse_any_type(text: &str) -> Result<DataType, String> {
    parse_type(text).or_else(|unknown| {
        let of_arrow = text.parse::<DataType>();
        of_arrow.map_err(|_| format!("{unknown}; and those that Arrow spells, such as List(Int64)"))
    })
}

fn parse_value(text: &str) -> Result<Literal, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("null") {
        return Ok(Literal::null());
    }
    // A literal is what may stand at the right of a comparison.
    let refused = || {
        format!(
            "`{text}` is no literal such as 5, 'text', TRUE or NULL; text stands in single quotes"
        )
    };
    match format!("x = {text}").parse::<Expr>() {
        Ok(Expr::Compare {
            comparison: Comparison::Equal,
            literal,
            ..
        }) => Ok(literal),
        _ => Err(refused()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_in_any_case() {
        for (text, wanted) in [
            ("int64", DataType::Int64),
            ("Int64", DataType::Int64),
            ("BOOL", DataType::Boolean),
            ("Boolean", DataType::Boolean),
            ("Decimal(10,2)", DataType::Decimal128(10, 2)),
            ("Decimal128(10, 2)", DataType::Decimal128(10, 2)),
        ] {
            assert_eq!(parse_any_type(text), Ok(wanted), "{text}");
        }
        let list = parse_any_type("List(Int64)").unwrap();
        assert!(matches!(list, DataType::List(_)), "{list}");
        let unknown = parse_any_type("int128").unwrap_err();
        assert!(
            unknown.contains("no type `int128`; there are bool"),
            "{unknown}"
        );
    }

    #[test]
    fn assignments_have_literals() {
        let (name, value) = parse_assignment("n = 'a=b'").unwrap();
        assert_eq!((name.as_str(), value), ("n", Literal::from("a=b")));
        assert_eq!(parse_assignment("n=-5").unwrap().1, Literal::from(-5));
        assert_eq!(parse_assignment("n=null").unwrap().1, Literal::null());
        assert_eq!(parse_assignment("\"a=b\" = 1").unwrap().0, "a=b");
        for bad in ["n", "=5", "n=m", "n=1 OR x = 2", "n=", "n=1 AND y = 1"] {
            assert!(parse_assignment(bad).is_err(), "{bad}");
        }
    }
}
