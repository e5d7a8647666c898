//! The command line.

mod condition;
mod erase;
mod of_columns;
mod reorder;
mod said;
mod selections;
mod table;
mod table_update;
mod table_upkeep;
mod text;
mod trust;

use bytesize::ByteSize;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::budget::Limit;
use crate::place::Place;

pub use condition::{Condition, OnlyWhere, Where};
pub use erase::{
    Audit, Certificate, Compact, Erase, EraseLevel, Erasure, ErasureLevels, Recover, ToErase,
    VerifyCertificate,
};
pub use of_columns::{ColumnEncoding, ColumnLayout, ColumnRounding, ColumnType};
use of_columns::{parse_encode, parse_layout, parse_round};
pub use reorder::{Order, Reorder};
pub use said::Said;
pub(crate) use selections::parse_row;
pub use selections::{Columns, Names, RowItem, RowItems, RowList, RowRange};
use selections::{parse_names, parse_row_list};
pub use table::{
    Table, TableAlter, TableAppend, TableBranch, TableCommand, TableCreate, TableDelete, TableDiff,
    TableFsck, TableInfo, TableLog, TableMerge, TableRebase, TableReset, TableScan, TableTag,
};
pub use table_update::{OnOverlap, Partitions, TableAddColumn, TableCompact, TableUpdate};
pub use table_upkeep::{BranchRule, TableCopy, TableGc, TablePin, TableProtect, TableUnpin};
pub use text::{InferRows, TextOptions};
pub use trust::Trust;

const CODES: &str = "\
Exit codes:
  0  done (also when the reader of a pipe closes it)
  1  a file or its data is bad, missing or refused; one line on stderr says which file, column, page and block, and why
  2  wrong usage: an unknown option or file extension, a malformed range, a column or row that the file does not have
  3  verify-certificate: all is right, but no key that --signed-by names has signed the certificate";

/// Store tables in Tarsia files: import, export, read, look into and verify them.
///
/// Tarsia files, and files that are written, may be URLs: file:///PATH in every build; s3://BUCKET/KEY,
/// gs://BUCKET/KEY, az://CONTAINER/KEY and https://HOST/PATH in the build of crates/integrations/command, with
/// credentials from the environment.
#[derive(Debug, Parser)]
#[command(name = "tarsia", version, after_help = CODES, disable_help_subcommand = true)]
pub struct Cli {
    /// The command to run.
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
    /// Erase rows in place: hide them, or remove their bytes
    Erase(Erase),
    /// Finish or drop an erasure that was interrupted
    Recover(Recover),
    /// Show which rows were deleted, and whether the file still holds their values
    Audit(Audit),
    /// Write the rows that were not deleted into a new file
    Compact(Compact),
    /// Write a file anew in which columns that are read together lie together
    Reorder(Reorder),
    /// Compare the certificate of an erasure with the file
    VerifyCertificate(VerifyCertificate),
    /// Tables of many files: rows, commits, branches
    Table(Table),
    /// Ask files questions in SQL, by the program tarsia-sql
    Sql(Sql),
    /// Show the encodings that this program reads and writes, and the kernels that decode them
    Encodings(Encodings),
}

/// Arguments of `tarsia sql`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia sql \"select country, count(*) from 'clicks.tarsia' group by country\"

All arguments are those of tarsia-sql, which lies beside this program or on the PATH; docs/sql.md is its manual.
`cargo install --path crates/integrations/sql` builds it.")]
pub struct Sql {
    /// Arguments of tarsia-sql
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub arguments: Vec<std::ffi::OsString>,
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

Types: Parquet and Arrow files keep theirs, with all metadata; a value of metadata that is no UTF-8 becomes base64,
and its key gets the suffix .base64; such a key becomes base64 behind base64:. INT96 timestamps of Parquet become
nanoseconds, or microseconds where nanoseconds do not reach; an INTERVAL has months, days and nanoseconds. What a file
says and the table cannot hold is a note on the standard error. The types of CSV and JSON lines come from the first
10,000 rows (--infer-rows); a later value that does not fit, or a key that was not there, is an error with its line.
Objects of JSON are structures, arrays are lists. CSV has a header line (--no-header: none); an empty field is null,
\"\" an empty text, or null where the column is no text; lines end as the first one does. Columns of CSV become
Boolean, Int64, UInt64, Float64, Date32, Timestamp (microseconds; nanoseconds where needed; UTC where values have an
offset) or Utf8; --types asks for another type. A column with leading zeros (00501) or plus signs (+49) is Utf8. A
file of JSON lines without rows has the columns that --types names.

Numbers: an import never changes a whole number. A column is Utf8, with its numbers as they are written, where its first
rows have a whole number of more than 64 bits, one that a Float64 does not hold exactly beside decimals (most beyond
2^53), or a decimal beyond the largest Float64 (1e400). A later one is an error. Decimals are rounded to the nearest
Float64; --types price=decimal(18,2) keeps every digit.")]
pub struct Import {
    /// Files to read: .parquet, .arrow or .feather (Arrow IPC file or stream), .csv, .jsonl or .ndjson
    #[arg(value_name = "IN", required = true, num_args = 1..)]
    pub inputs: Vec<Place>,
    /// File to write; it appears under this name only when it is complete, and replaces what was there; - is the
    /// standard output; or a folder, or a URL that ends with /: each file of IN becomes a file of its name with the
    /// extension .tarsia there, and the first that is refused ends the command. What is found out about a file makes
    /// those after it that are alike faster
    #[arg(value_name = "OUT.tarsia|FOLDER")]
    pub output: Place,
    /// Whether time to write or size matters more
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
    /// Columns, separated by commas, whose pages lie together in the file, in this order and before those of other
    /// columns, or fields inside them; the order holds among pages that are written at a time
    #[arg(long, value_name = "A,B", value_parser = parse_names)]
    pub column_order: Option<Names>,
    /// Leave out the zones: the smallest and the largest value of runs of blocks, by which filters pass over blocks
    #[arg(long)]
    pub no_zones: bool,
    /// Columns, separated by commas, or fields inside them, that get bloom filters: 10 bits for each row, by which a
    /// condition that compares the column with values (id = 7, id IN (7, 9)) passes over runs of at most 65,536 rows
    /// that hold none of them; for keys and other values that are rare and in no order. Integers, dates, times,
    /// timestamps, durations, decimals, text and binary data have some
    #[arg(long, value_name = "A,B", value_parser = parse_names)]
    pub bloom: Option<Names>,
    /// A Tarsia file with columns of the same names: they get its encodings and layouts without a search, unless
    /// --encode or --layout says otherwise; pages that the encodings do not suit are searched
    #[arg(long, value_name = "FILE.tarsia")]
    pub like: Option<Place>,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub erasure: ErasureLevels,
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
    pub limits: Limits,
}

/// Limits on reading the file of another format.
#[derive(Debug, Args)]
pub struct Limits {
    /// Memory beyond which the command ends with an error, such as 8GiB, or none for no limit; unless given 1 GiB, and
    /// more for a large input and many columns
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<Limit<ByteSize>>,
    /// Seconds of processor time in which the input must give rows, or none for no limit; unless given 60, and more for
    /// a large input
    #[arg(long, value_name = "SECONDS")]
    pub time_limit: Option<Limit<u64>>,
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
    pub input: Place,
    /// Only this column
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// How many rows, from the first on
    #[arg(long = "rows", value_name = "ROWS", default_value_t = 131_072)]
    pub n_rows: u64,
    /// Whether time to write or size matters more
    #[arg(long, value_enum, default_value_t = Preset::Balanced)]
    pub preset: Preset,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub limits: Limits,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub text: TextOptions,
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

/// The formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Apache Parquet
    Parquet,
    /// Arrow IPC file
    Arrow,
    /// Comma-separated values with a header line (RFC 4180)
    Csv,
    /// One JSON object per line
    #[value(name = "jsonl")]
    JsonLines,
}

impl From<Format> for tarsia_convert::Format {
    fn from(format: Format) -> tarsia_convert::Format {
        match format {
            Format::Parquet => tarsia_convert::Format::Parquet,
            Format::Arrow => tarsia_convert::Format::Arrow,
            Format::Csv => tarsia_convert::Format::Csv,
            Format::JsonLines => tarsia_convert::Format::JsonLines,
        }
    }
}

/// Arguments of `tarsia export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia export trips.tarsia part.parquet --columns pickup,distance --rows 1000..2000

A type or a value that the target cannot hold is an error that names the column. Parquet (compressed with zstd) and Arrow
keep types and metadata; in Parquet, seconds are stored as milliseconds, and a date in milliseconds must be a whole day.
What a target cannot carry beside the values is a note on the standard error. JSON lines write decimals and dates as text, binary as base64, NaN and infinities as \"NaN\", \"Infinity\" and
\"-Infinity\", maps as arrays of entries, and unions as objects of one key, the name of the field that was chosen. CSV writes
null as an empty field and an empty text as \"\"; it holds no binary, lists, structures, maps or unions.")]
pub struct Export {
    /// Tarsia file to read
    #[arg(value_name = "IN.tarsia")]
    pub input: Place,
    /// File to write: .parquet, .arrow or .feather, .csv, .jsonl or .ndjson; it appears under this name only when it is
    /// complete, and replaces what was there; - is the standard output
    #[arg(value_name = "OUT")]
    pub output: Place,
    /// Format to write, whatever the name ends in
    #[arg(long, value_enum)]
    pub format: Option<Format>,
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
    pub filter: Where,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
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
    pub file: Place,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia head`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia head trips.tarsia -n 3 --columns pickup,distance

The table cuts long values short; --json does not. Values are written as `tarsia export` writes them to JSON lines.")]
pub struct Head {
    /// Tarsia file
    pub file: Place,
    /// How many rows
    #[arg(
        short = 'n',
        long = "number",
        value_name = "ROWS",
        default_value_t = 10
    )]
    pub n_rows: u64,
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
    pub filter: Where,
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
  tarsia take trips.tarsia --rows @rows.txt --json
  tarsia take videos.tarsia --rows 5 --element frames[3]

An element is named by the column, then `.field` of structs and `[3]` or `[2..5]` of lists, counted from 0; a row without it
gives null. A name with dots or brackets is put in double quotes: '\"x[1]\"[0]'. A map is a list of entries with a key and a value: tags[0].value. A field of a list is a list of this field of
each item: tags.key, events[2..5].time. Only its columns are read, and of their blocks only the element is decoded. The table cuts long values short; --json does not.")]
pub struct Take {
    /// Tarsia file
    pub file: Place,
    /// Rows, counted from 0, separated by commas; @FILE reads them from a file, - from standard input, where spaces and
    /// line ends separate them too
    #[arg(long, value_name = "5,1,1,99", value_parser = OsStringValueParser::new().try_map(parse_row_list))]
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
  tarsia scan trips.tarsia --where \"distance > 20 AND tip IS NULL\" --count

Bytes are those of the decoded Arrow arrays; GB are 10^9 bytes. Time is in proportion to the rows, however few bytes a file
has: many equal rows take few.")]
pub struct Scan {
    /// Tarsia file
    pub file: Place,
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
    pub filter: Where,
    /// Print the number of rows only; columns and rows are checked, but nothing is decoded beside what a condition
    /// looks at: whether all can be is what `tarsia verify` says
    #[arg(long, conflicts_with_all = ["json", "force_kernels"])]
    pub count: bool,
    /// Print the rows only, as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Decode with the file's kernel instead of this program's own decoders
    #[arg(long)]
    pub force_kernels: bool,
    /// Map the file into memory: faster, but another program that cuts the file short meanwhile ends this one by a
    /// signal (SIGBUS), and rows of a file that is overwritten meanwhile are mixed until the end says so
    #[arg(long)]
    pub map: bool,
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
    pub file: Place,
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
computed the digests again. Where it finds nothing, every other command can read the file. It does not look for values of
erased rows: what stands under nulls, and entries of dictionaries that nothing refers to, are what `tarsia audit` looks
at.

Stops at the first thing that is bad: exit code 1 and one line on stderr that names it; with --json also a document on
stdout with \"ok\": false.")]
pub struct Verify {
    /// Tarsia file
    pub file: Place,
    /// Only this column
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// Only this page of the column, counted from 0
    #[arg(long, value_name = "N", requires = "column")]
    pub page: Option<u64>,
    /// Compare checksums and digests only and decode nothing: finds every byte that changed, several times as fast
    #[arg(long, conflicts_with_all = ["column", "page"])]
    pub digests: bool,
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
}
