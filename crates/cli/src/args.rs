//! The command line.

use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tarsia::LAYOUTS;

const CODES: &str = "\
Exit codes:
  0  done (also when the reader of a pipe closes it)
  1  a file or its data is bad, missing or refused; one line on stderr says which file, column, page and block, and why
  2  wrong usage: an unknown option or file extension, a malformed range, a column or row that the file does not have";

/// Store tables in Tarsia files: import, export, read, look into and verify them.
#[derive(Debug, Parser)]
#[command(name = "tarsia", version, after_help = CODES, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a Tarsia file of a Parquet, Arrow IPC, CSV or JSON lines file
    Import(Import),
    /// Write a Tarsia file, or a part of it, as Parquet, Arrow IPC, CSV or JSON lines
    Export(Export),
    /// Show the columns with their types and metadata
    Schema(Schema),
    /// Show the first rows
    Head(Head),
    /// Show single rows, in the order asked for, repeats too
    Take(Take),
    /// Decode rows and columns and say how fast that was
    Scan(Scan),
    /// Show how the file is laid out and how each column is encoded
    Inspect(Inspect),
    /// Check every checksum and digest, and decode everything
    Verify(Verify),
    /// Show which trees of encodings a writer weighs for the columns of a table, with their sizes and speeds
    Explain(Explain),
    /// Show the encodings that this program reads and writes, and the kernels that decode them
    Encodings(Encodings),
}

/// Arguments of `tarsia encodings`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia encodings --json")]
pub struct Encodings {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia import trips.parquet trips.tarsia --preset compact

Types: Parquet and Arrow files keep theirs, with all metadata. The types of CSV and JSON lines come from the first 10,000
rows; a later value that does not fit, or a key that was not there, is an error with its line. Objects of JSON are
structures, arrays are lists. CSV has a header line; an empty field is null, \"\" an empty text. Columns of CSV become Boolean, Int64, UInt64, Float64, Date32, Timestamp
(microseconds; nanoseconds where needed; UTC where values have an offset) or Utf8.")]
pub struct Import {
    /// File to read: .parquet, .arrow or .feather (Arrow IPC file or stream), .csv, .jsonl or .ndjson
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; it appears under this name only when it is complete, and replaces what was there
    #[arg(value_name = "OUT.tarsia")]
    pub output: PathBuf,
    /// What matters more: time to write, or size
    #[arg(long, value_enum, default_value_t = Preset::Balanced)]
    pub preset: Preset,
    /// Whether the file carries a decoder for itself
    #[arg(long, value_enum, default_value_t = Kernels::Embed)]
    pub kernels: Kernels,
    /// How a column is stored, instead of what the writer would choose: full-zip (row by row), mini-block, or packed (a
    /// struct whose rows are one value each, so that all fields of a row are read at once); may be given for several
    /// columns
    #[arg(long = "layout", value_name = "COLUMN=LAYOUT", value_parser = parse_layout)]
    pub layouts: Vec<ColumnLayout>,
    /// The encodings of a column, or of a field inside it, where the writer is not to choose them:
    /// city=dict(runend), user.age=*(bitpack); `*` is any, and what is left out is chosen, as are pages that the
    /// encodings do not suit; may be given for several columns
    #[arg(long = "encode", value_name = "COLUMN=TREE", value_parser = parse_encode)]
    pub encodings: Vec<ColumnEncoding>,
    /// Round the floating-point numbers of a column, or of a field inside it, to those that a smaller format has:
    /// embedding=bf16; f32, f16, bf16, e4m3, e5m2, or multiples of a scale: int8, int4, int8-row, int4-row (of each
    /// row's list). `tarsia inspect` shows the largest errors; may be given for several columns
    #[arg(long = "round", value_name = "COLUMN=FORMAT", value_parser = parse_round)]
    pub roundings: Vec<ColumnRounding>,
    /// A Tarsia file with columns of the same names: they get its encodings and layouts without a search, unless
    /// --encode or --layout says otherwise; pages that the encodings do not suit are searched
    #[arg(long, value_name = "FILE.tarsia")]
    pub like: Option<PathBuf>,
}

/// A column and the encodings of its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnEncoding {
    /// The column's name, or the path of one of its leaves.
    pub column: String,
    /// Its encodings.
    pub outline: tarsia::choose::Outline,
}

/// A name may hold `=`, a tree does not.
fn parse_encode(text: &str) -> Result<ColumnEncoding, String> {
    let (column, outline) = text
        .rsplit_once('=')
        .ok_or("a column, `=` and a tree such as dict(bitpack)")?;
    Ok(ColumnEncoding {
        column: column.to_owned(),
        outline: outline
            .parse()
            .map_err(|error: tarsia::codec::Error| error.to_string())?,
    })
}

/// A column and what its numbers are rounded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRounding {
    /// The column's name, or the path of one of its leaves.
    pub column: String,
    /// The name of the rounding.
    pub rounding: String,
}

/// A name may hold `=`, a rounding does not.
fn parse_round(text: &str) -> Result<ColumnRounding, String> {
    let (column, rounding) = text
        .rsplit_once('=')
        .ok_or("a column, `=` and a format such as bf16")?;
    Ok(ColumnRounding {
        column: column.to_owned(),
        rounding: rounding.to_owned(),
    })
}

/// Arguments of `tarsia explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia explain trips.parquet --column distance

For each column one line per tree of encodings that was a candidate, the cheapest first: the bytes that the search
expected of its first page, those that the column took when it was written so, and how fast it was read on one thread, in
10^9 bytes of Arrow arrays per second. `tarsia import --encode` takes a tree as it is shown.")]
pub struct Explain {
    /// File to read: .parquet, .arrow or .feather (Arrow IPC file or stream), .csv, .jsonl or .ndjson
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// Only this column
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// How many rows, from the first on
    #[arg(long = "rows", value_name = "ROWS", default_value_t = 131_072)]
    pub n_rows: u64,
    /// What matters more: time to write, or size
    #[arg(long, value_enum, default_value_t = Preset::Balanced)]
    pub preset: Preset,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A column and its layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLayout {
    /// The column's name.
    pub column: String,
    /// A value of [`LAYOUTS`].
    pub layout: String,
}

/// The name of a column may contain `=`, that of a layout does not.
fn parse_layout(text: &str) -> Result<ColumnLayout, String> {
    match text.rsplit_once('=') {
        Some((column, layout)) if LAYOUTS.contains(&layout) => Ok(ColumnLayout {
            column: column.to_owned(),
            layout: layout.to_owned(),
        }),
        Some((_, other)) => Err(format!(
            "no layout `{other}`; there are {}",
            LAYOUTS.join(", ")
        )),
        None => Err("a column, `=` and a layout".to_owned()),
    }
}

/// Whether a file carries a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kernels {
    /// The file carries a Wasm module that decodes its pages
    Embed,
    /// The file carries no module and is smaller; only programs that know its encodings can read it
    Omit,
}

impl From<Kernels> for tarsia::EmbedKernels {
    fn from(kernels: Kernels) -> tarsia::EmbedKernels {
        match kernels {
            Kernels::Embed => tarsia::EmbedKernels::Embed,
            Kernels::Omit => tarsia::EmbedKernels::Omit,
        }
    }
}

/// The presets of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Write fast
    Fast,
    /// A good size in reasonable time
    Balanced,
    /// Small, however long it takes
    Compact,
}

impl From<Preset> for tarsia::Preset {
    fn from(preset: Preset) -> tarsia::Preset {
        match preset {
            Preset::Fast => tarsia::Preset::Fast,
            Preset::Balanced => tarsia::Preset::Balanced,
            Preset::Compact => tarsia::Preset::Compact,
        }
    }
}

/// Arguments of `tarsia export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia export trips.tarsia part.parquet --columns pickup,distance --rows 1000..2000

A type that the target cannot hold is an error that names the column. Parquet (compressed with zstd) and Arrow keep types
and metadata. JSON lines write decimals and dates as text, binary as base64, and NaN and infinities as \"NaN\", \"Infinity\" and
\"-Infinity\". CSV writes null as an empty field and an empty text as \"\".")]
pub struct Export {
    /// Tarsia file to read
    #[arg(value_name = "IN.tarsia")]
    pub input: PathBuf,
    /// File to write: .parquet, .arrow or .feather, .csv, .jsonl or .ndjson; it appears under this name only when it is
    /// complete, and replaces what was there
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
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
    pub rows: Rows,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
}

/// The option `--trust-kernel` of commands that decode.
#[derive(Debug, Default, Args)]
pub struct Trust {
    /// Run the file's kernel with this BLAKE3 digest, which `tarsia inspect` shows, if this program does not know an
    /// encoding; may be given several times. The kernels that this program ships are always trusted
    #[arg(long = "trust-kernel", value_name = "DIGEST", value_parser = parse_digest)]
    pub kernels: Vec<[u8; 32]>,
}

/// The option `--columns`.
#[derive(Debug, Args)]
pub struct Columns {
    /// Columns, separated by commas, in the order wanted, or fields inside them: user.address.city; a name with a comma
    /// stands in double quotes, as in CSV
    #[arg(long = "columns", value_name = "A,B", value_parser = parse_names)]
    pub names: Option<Names>,
}

/// The option `--rows` of commands that read a run of rows.
#[derive(Debug, Args)]
pub struct Rows {
    /// Rows, counted from 0, from the first to before the last: 10..20, 10.. or ..20
    #[arg(long = "rows", value_name = "FROM..TO")]
    pub range: Option<RowRange>,
}

/// Arguments of `tarsia schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia schema trips.tarsia --json")]
pub struct Schema {
    /// Tarsia file
    pub file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia head`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tarsia head trips.tarsia -n 3\n\nThe table cuts long values short; --json does not."
)]
pub struct Head {
    /// Tarsia file
    pub file: PathBuf,
    /// How many rows
    #[arg(
        short = 'n',
        long = "number",
        value_name = "ROWS",
        default_value_t = 10
    )]
    pub n_rows: u64,
    /// Print one JSON document: an array of objects, one per row
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
}

/// Arguments of `tarsia take`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia take trips.tarsia --rows 5,1,1,99 --columns pickup,distance
  tarsia take videos.tarsia --rows 5 --element frames[3]

An element is named by the column, then `.field` of structs and `[3]` or `[2..5]` of lists, counted from 0; a row without it
gives null. Only its columns are read, and of their blocks only the element is decoded. The table cuts long values short; --json does not.")]
pub struct Take {
    /// Tarsia file
    pub file: PathBuf,
    /// Rows, counted from 0, separated by commas
    #[arg(long, value_name = "5,1,1,99", value_parser = parse_rows)]
    pub rows: RowList,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub columns: Columns,
    /// Print one JSON document: an array of objects, one per row
    #[arg(long)]
    pub json: bool,
    /// Read one element of nested rows instead: fields by name, items of lists by number or range
    #[arg(long, value_name = "user.ids[3]", conflicts_with = "names")]
    pub element: Option<tarsia::ElementPath>,
    /// Print on standard error what was read of the file; one JSON object with --json
    #[arg(long)]
    pub stats: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
}

/// Arguments of `tarsia scan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia scan trips.tarsia --columns distance --rows 10..20 --json

Bytes are those of the decoded Arrow arrays; GB are 10^9 bytes.")]
pub struct Scan {
    /// Tarsia file
    pub file: PathBuf,
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
    pub rows: Rows,
    /// Decode, and print the number of rows only
    #[arg(long, conflicts_with = "json")]
    pub count: bool,
    /// Print the rows only, as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Decode with the file's kernel instead of this program's own decoders
    #[arg(long)]
    pub force_kernels: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
}

/// Arguments of `tarsia inspect`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tarsia inspect trips.tarsia --column distance")]
pub struct Inspect {
    /// Tarsia file
    pub file: PathBuf,
    /// Only this column
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia verify trips.tarsia --column distance --page 0

Compares every byte with its digest, decodes every value, and checks what the file says of them, also where somebody
computed the digests again. Where it finds nothing, every other command can read the file.

Stops at the first thing that is bad: exit code 1 and one line on stderr that names it; with --json also a document on
stdout with \"ok\": false.")]
pub struct Verify {
    /// Tarsia file
    pub file: PathBuf,
    /// Only this column
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// Only this page of the column, counted from 0
    #[arg(long, value_name = "N", requires = "column")]
    pub page: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
}

/// Names of columns, in the order asked for; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

/// Rows in the order asked for; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowList(pub Vec<u64>);

/// A half-open range of rows, open at either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRange {
    /// First row; the file's first when `None`.
    pub start: Option<u64>,
    /// The row after the last one; the file's end when `None`.
    pub end: Option<u64>,
}

impl RowRange {
    /// The rows of this range in a file of `n_rows` rows; `None` when they reach beyond its end.
    ///
    /// ```
    /// use tarsia_cli::args::RowRange;
    /// let range: RowRange = "10..".parse().unwrap();
    /// assert_eq!(range.within(15), Some(10..15));
    /// assert_eq!(range.within(9), None);
    /// ```
    #[must_use]
    pub fn within(self, n_rows: u64) -> Option<Range<u64>> {
        let start = self.start.unwrap_or(0);
        let end = self.end.unwrap_or(n_rows);
        (start <= end && end <= n_rows).then_some(start..end)
    }
}

impl std::fmt::Display for RowRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(start) = self.start {
            write!(f, "{start}")?;
        }
        f.write_str("..")?;
        if let Some(end) = self.end {
            write!(f, "{end}")?;
        }
        Ok(())
    }
}

impl FromStr for RowRange {
    type Err = String;

    fn from_str(text: &str) -> Result<RowRange, String> {
        let (start, end) = text
            .split_once("..")
            .ok_or("a range has the form 10..20, 10.. or ..20")?;
        let bound = |text: &str| -> Result<Option<u64>, String> {
            if text.is_empty() {
                Ok(None)
            } else {
                parse_row(text).map(Some)
            }
        };
        let range = RowRange {
            start: bound(start)?,
            end: bound(end)?,
        };
        if let (Some(start), Some(end)) = (range.start, range.end)
            && start > end
        {
            return Err(format!("the range starts at {start}, after its end {end}"));
        }
        Ok(range)
    }
}

fn parse_digest(text: &str) -> Result<[u8; 32], String> {
    let what = || format!("`{text}` is no BLAKE3 digest: 64 hexadecimal digits");
    let (digits, []) = text.as_bytes().as_chunks::<2>() else {
        return Err(what());
    };
    let byte = |pair: &[u8; 2]| {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        Some((high? << 4 | low?) as u8)
    };
    let bytes: Option<Vec<u8>> = digits.iter().map(byte).collect();
    bytes.and_then(|it| it.try_into().ok()).ok_or_else(what)
}

/// Digits only: `u64::from_str` alone would take a plus sign.
fn parse_row(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("`{text}` is no row number"));
    }
    text.parse()
        .map_err(|_| format!("`{text}` is too large for a row number"))
}

fn parse_rows(text: &str) -> Result<RowList, String> {
    text.split(',')
        .map(|row| parse_row(row.trim()))
        .collect::<Result<_, _>>()
        .map(RowList)
}

fn parse_names(text: &str) -> Result<Names, String> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                if name.is_empty() {
                    return Err("a column name is missing (an empty name is written \"\")".into());
                }
                (name.to_owned(), after)
            }
        };
        names.push(name);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(Names(names)),
            None => return Err("a comma is missing after a closing quote".into()),
        }
    }
}

/// A name up to its closing quote, and what follows it. Two quotes stand for one.
fn quoted_name(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"').ok_or("a closing quote is missing")?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Ok((name, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains(&format!("Example:\n  tarsia {} ", command.get_name())),
                "{}",
                command.get_name()
            );
        }
    }

    #[test]
    fn ranges_are_half_open() {
        let range = |text: &str| text.parse::<RowRange>();
        assert_eq!(
            range("10..20"),
            Ok(RowRange {
                start: Some(10),
                end: Some(20)
            })
        );
        assert_eq!(range("10..20").unwrap().within(20), Some(10..20));
        assert_eq!(range("10..20").unwrap().within(19), None);
        assert_eq!(range("7..7").unwrap().within(7), Some(7..7));
        assert_eq!(range("..").unwrap().within(3), Some(0..3));
        assert_eq!(range("..2").unwrap().within(3), Some(0..2));
        for wrong in [
            "",
            "5",
            "20..10",
            "10..=20",
            "-1..4",
            "+1..4",
            "a..b",
            "1...4",
            "1..2..3",
            "99999999999999999999..",
        ] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(range("3..").unwrap().to_string(), "3..");
    }

    #[test]
    fn rows_keep_their_order_and_repeats() {
        assert_eq!(parse_rows("5,1,1,99"), Ok(RowList(vec![5, 1, 1, 99])));
        assert_eq!(parse_rows("5, 1"), Ok(RowList(vec![5, 1])));
        for wrong in ["", ",", "1,,2", "1,", "x", "1..3", "-1"] {
            assert!(parse_rows(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_may_be_quoted() {
        let names = |text: &str| parse_names(text).map(|names| names.0);
        assert_eq!(names("a,b"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(names("\"a,b\",c"), Ok(vec!["a,b".into(), "c".into()]));
        assert_eq!(names("\"say \"\"hi\"\"\""), Ok(vec!["say \"hi\"".into()]));
        assert_eq!(names("\"\""), Ok(vec![String::new()]));
        assert_eq!(names(" a b "), Ok(vec![" a b ".into()]));
        for wrong in ["", ",", "a,", ",a", "\"a", "\"a\"b"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }
}
