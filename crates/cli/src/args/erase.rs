//! Arguments of the commands that erase rows, and of what prepares files for it.

use std::collections::BTreeMap;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::condition::{Condition, parse_condition};
use super::selections::{Names, RowItems, parse_names, parse_row_items};
use super::trust::Trust;
use crate::failure::Failure;
use crate::place::Place;

/// Arguments of `tarsia erase`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia erase users.tarsia --rows 1,2,5..9 --dry-run
  tarsia erase users.tarsia --where \"user_id = 42\" --certificate 4711.json --key key.pem --note \"request 4711\"
  tarsia erase users.tarsia --rows @rows.txt
  tarsia erase users.tarsia --where @condition.txt

A condition compares columns with values: =, <>, <, <=, >, >=, [NOT] IN (value, value), [NOT] BETWEEN value AND value,
[NOT] LIKE 'a%' (% is any text, _ one character, and a character after \\ is itself), IS [NOT] NULL. AND, OR, NOT and
parentheses join comparisons. Values are numbers, 'text' ('' is a quote inside), true, false and X'0aff' for bytes; dates,
times and timestamps are text: '2026-01-31', '23:59:59', '2026-01-31T23:59:59Z'. A name that is no word stands in double
quotes. Columns are flat, or flat fields of structs: address.city. A value that the column's type does not hold is an
error. Null passes IS NULL alone, and neither a comparison nor its NOT; nor does NaN. @FILE reads the condition from a
file, where lines may end anywhere between its words.

The file is changed in place. A crash leaves it as it was, or leaves a journal with which the next reader or `tarsia
recover` completes the erasure. Copies, snapshots and backups of the file are not changed. An erasure that adds nothing
to what is deleted and erased already changes no byte.

At level 2 the rows are erased from the columns at level 2 alone: what is printed, and the certificate, name the columns
that still hold their values. The certificate is on the disk before the file changes, and gets its name before the
erasure is acknowledged; if that is interrupted, `tarsia recover --certificate` writes it.")]
pub struct Erase {
    /// Tarsia file to change
    pub file: Place,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub rows: ToErase,
    /// How the rows are erased
    #[arg(long, value_enum, default_value_t = EraseLevel::Two)]
    pub level: EraseLevel,
    /// Say what would change, and change nothing
    #[arg(long, conflicts_with = "path")]
    pub dry_run: bool,
    /// Write a new file without the rows and leave this one as it is: where a store has no writes in place. What the
    /// erasure does not change is copied without being decoded
    #[arg(long, value_name = "OUT.tarsia", conflicts_with = "dry_run")]
    pub rewrite: Option<Place>,
    /// Wait until others who map or change the file are done, instead of refusing
    #[arg(long)]
    pub wait: bool,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub certifying: Certificate,
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

/// The certificate of an erasure, of `tarsia erase` and of `tarsia recover`.
#[derive(Debug, Args)]
pub struct Certificate {
    /// Write the certificate of the erasure to this file: which rows were deleted and erased, which columns still hold
    /// their values, which blocks changed, with their digests before and after
    #[arg(long = "certificate", value_name = "OUT.json")]
    pub path: Option<Place>,
    /// Sign the certificate with the Ed25519 key in this file: 32 bytes, 64 hexadecimal digits, or PEM as `openssl
    /// genpkey -algorithm ed25519` writes it
    #[arg(long, value_name = "KEYFILE", requires = "path")]
    pub key: Option<Place>,
    /// Note in the certificate, such as the number of a request
    #[arg(long, value_name = "TEXT", requires = "path")]
    pub note: Option<String>,
}

/// Which rows `tarsia erase` erases: one of its options must be given.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ToErase {
    /// Rows, counted from 0, and ranges from the first to before the last, separated by commas; without an end a range
    /// reaches to the table's; @FILE reads them from a file, - from standard input, where spaces and line ends separate
    /// them too
    #[arg(
        id = "rows_to_erase",
        long = "rows",
        value_name = "1,2,5..9",
        value_parser = OsStringValueParser::new().try_map(parse_row_items)
    )]
    pub items: Option<RowItems>,
    /// All rows that pass a condition: user_id = 42; @FILE reads it from a file
    #[arg(
        long = "where",
        value_name = "CONDITION",
        value_parser = OsStringValueParser::new().try_map(parse_condition)
    )]
    pub condition: Option<Condition>,
}

/// How rows are erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum EraseLevel {
    /// Readers leave the rows out; their values stay in the file
    #[value(name = "1")]
    One,
    /// Nothing that is left in the file depends on their values, but for the residue that `tarsia audit` names
    #[value(name = "2")]
    Two,
}

impl EraseLevel {
    /// The level's number.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            EraseLevel::One => 1,
            EraseLevel::Two => 2,
        }
    }
}

impl From<EraseLevel> for tarsia::ErasureLevel {
    fn from(level: EraseLevel) -> tarsia::ErasureLevel {
        match level {
            EraseLevel::One => tarsia::ErasureLevel::Hide,
            EraseLevel::Two => tarsia::ErasureLevel::Erase,
        }
    }
}

/// Arguments of `tarsia recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia recover users.tarsia
  tarsia recover users.tarsia --certificate 4711.json

Completes an erasure that a crash interrupted, or removes what it had not yet begun to apply. A file without one is not
changed. If the erasure was to have a certificate, --certificate writes it, with the note and the signature that it has;
--note and --key replace them. Without --certificate it is lost, which is said.")]
pub struct Recover {
    /// Tarsia file to change
    pub file: Place,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub certifying: Certificate,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tarsia audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia audit users.tarsia --json

Verifies the file as `tarsia verify` does, and looks where that does not: at the filler under nulls, at the entries of
dictionaries, and at how strict columns are laid out. Says what is left of deleted rows, and which residue each column
at level 2 leaves; docs/spec/residue.md says what that tells.")]
pub struct Audit {
    /// Tarsia file
    pub file: Place,
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

/// Arguments of `tarsia compact`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia compact users.tarsia smaller.tarsia

Writes the rows that are left, with the same encodings and levels of erasure, into a new file. The old one is not
changed.")]
pub struct Compact {
    /// Tarsia file to read
    #[arg(value_name = "IN.tarsia")]
    pub input: Place,
    /// File to write; it appears under this name only when it is complete, and replaces what was there; - is the
    /// standard output
    #[arg(value_name = "OUT.tarsia")]
    pub output: Place,
    /// Columns, separated by commas, whose pages lie together in the file, in this order and before those of other
    /// columns, or fields inside them; the order holds among pages that are written at a time
    #[arg(long, value_name = "A,B", value_parser = parse_names)]
    pub column_order: Option<Names>,
    #[expect(
        missing_docs,
        reason = "a doc comment here would be taken as help text"
    )]
    #[command(flatten)]
    pub trust: Trust,
}

/// Arguments of `tarsia verify-certificate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  tarsia verify-certificate 4711.json users.tarsia --signed-by public.pem

Compares the certificate with the file as it is now, verifies the file, and checks the signature. The public key in a
certificate is whatever its author put there: --signed-by says whose signature is trusted.

Exit codes: 0, and a first line that starts with `ok`, only if all is right and the signature is by a key that
--signed-by names; 3 if all else is right (the first line says `unsigned` or `signed by an unknown key`); 1 if the
certificate is not true of this file, or its signature is not its own.")]
pub struct VerifyCertificate {
    /// Certificate that `tarsia erase` wrote
    #[arg(value_name = "CERTIFICATE.json")]
    pub certificate: Place,
    /// Tarsia file of which rows were erased
    pub file: Place,
    /// File with a public key whose signature is trusted: 32 bytes, 64 hexadecimal digits, or PEM as `openssl pkey
    /// -pubout` writes it; may be given several times
    #[arg(long, value_name = "KEYFILE")]
    pub signed_by: Vec<Place>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The erasure level of a column: how rows of a column can be erased later, in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// As the level says.
    Level(tarsia::ErasureLevel),
    /// At level 2, and nothing that is left depends on erased values.
    Strict,
}

/// The option `--erasure` of `tarsia import`.
///
/// One option has both forms, since a level has no `=`. So it reads as `--layout`, `--encode` and `--round` do, which
/// are `COLUMN=VALUE`, too.
#[derive(Debug, Default, Args)]
pub struct ErasureLevels {
    /// How rows can be erased later, in place, of all columns or of one: 2, email=2, salary=2:strict; 0 (not at all), 1
    /// (readers leave them out), 2 (their bytes go, but for residue that `tarsia audit` names) or 2:strict
    /// (nothing that is left depends on them, not even sizes: the column is stored plain, and cannot have texts or
    /// lists of any length); may be given once without a column, and for several columns
    #[arg(long = "erasure", value_name = "[COLUMN=]LEVEL", value_parser = parse_erasure)]
    asked: Vec<Asked>,
}

/// A level, for one column or for those that are not named.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    column: Option<String>,
    level: Erasure,
}

impl ErasureLevels {
    /// The level of columns that are not named; `None` if it is not given.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it is given twice.
    pub fn of_table(&self) -> Result<Option<Erasure>, Failure> {
        let mut levels = self.asked.iter().filter(|asked| asked.column.is_none());
        match (levels.next(), levels.next()) {
            (_, Some(_)) => Err(Failure::Usage(
                "--erasure: a level without a column is there twice".to_owned(),
            )),
            (level, None) => Ok(level.map(|asked| asked.level)),
        }
    }

    /// The levels of columns that are named, by name.
    ///
    /// # Errors
    /// [`Failure::Usage`] if a column is named twice.
    pub fn of_columns(&self) -> Result<BTreeMap<&str, Erasure>, Failure> {
        let mut levels = BTreeMap::new();
        for asked in &self.asked {
            let Some(column) = &asked.column else {
                continue;
            };
            if levels.insert(column.as_str(), asked.level).is_some() {
                return Err(Failure::Usage(format!(
                    "--erasure: column `{column}` is there twice"
                )));
            }
        }
        Ok(levels)
    }
}

/// A name may hold `=`, a level does not.
fn parse_erasure(text: &str) -> Result<Asked, String> {
    let (column, level) = match text.rsplit_once('=') {
        Some((column, level)) => (Some(column.to_owned()), level),
        None => (None, text),
    };
    let level = match level {
        "0" => Erasure::Level(tarsia::ErasureLevel::Immutable),
        "1" => Erasure::Level(tarsia::ErasureLevel::Hide),
        "2" => Erasure::Level(tarsia::ErasureLevel::Erase),
        "2:strict" => Erasure::Strict,
        other => {
            return Err(format!(
                "no level `{other}`; there are 0, 1, 2 and 2:strict"
            ));
        }
    };
    Ok(Asked { column, level })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser, Subcommand};

    use super::*;
    use crate::args::RowItem;

    #[derive(Debug, Parser)]
    #[command(name = "tarsia")]
    struct Line {
        #[command(subcommand)]
        command: Commands,
    }

    #[derive(Debug, Subcommand)]
    #[expect(clippy::large_enum_variant, reason = "a test makes one")]
    enum Commands {
        Erase(Erase),
        Recover(Recover),
        Audit(Audit),
        Compact(Compact),
        VerifyCertificate(VerifyCertificate),
        Import(Levels),
    }

    #[derive(Debug, Args)]
    #[command(after_help = "Example:\n  tarsia import a b")]
    struct Levels {
        #[command(flatten)]
        erasure: ErasureLevels,
    }

    fn parse(args: &[&str]) -> Result<Commands, clap::Error> {
        let all = [&["tarsia"], args].concat();
        Line::try_parse_from(all).map(|line| line.command)
    }

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        Line::command().debug_assert();
        for command in Line::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let example = format!("Example:\n  tarsia {} ", command.get_name());
            assert!(help.contains(&example), "{}", command.get_name());
        }
    }

    fn erase(args: &[&str]) -> Result<Erase, clap::Error> {
        parse(&[&["erase", "t.tarsia"], args].concat()).map(|command| match command {
            Commands::Erase(args) => args,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn rows_are_listed_or_pass_a_condition() {
        let args = erase(&["--rows", "1,5..9"]).unwrap();
        let range = RowItem::Range("5..9".parse().unwrap());
        let items = vec![RowItem::Row(1), range];
        assert_eq!(args.rows.items, Some(RowItems::Listed(items)));
        assert_eq!((args.level, args.dry_run), (EraseLevel::Two, false));
        let args = erase(&["--where", "a = 1", "--level", "1", "--dry-run"]).unwrap();
        let condition = Condition::Given("a = 1".parse().unwrap());
        assert_eq!(args.rows.condition, Some(condition));
        assert_eq!((args.level.number(), args.dry_run), (1, true));
        let args = erase(&["--where", "@a = 1"]).unwrap();
        assert_eq!(args.rows.condition, Some(Condition::File("a = 1".into())));
        let signed = ["--certificate", "c.json", "--key", "k", "--note", "n"];
        let args = erase(&[&["--rows", "-"], &signed[..]].concat()).unwrap();
        assert_eq!(args.rows.items, Some(RowItems::StandardInput));
        assert_eq!(args.certifying.note.as_deref(), Some("n"));
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        for (args, what) in [
            (&[][..], "<--rows <1,2,5..9>|--where <CONDITION>>"),
            (&["--rows", "1", "--where", "a = 1"], "cannot be used with"),
            (&["--rows", "1,x"], "`x` is no row number"),
            (&["--where", "a == 1"], "character 3: `==` is no operator"),
            (&["--rows", "1", "--level", "0"], "invalid value '0'"),
            (&["--rows", "1", "--key", "k"], "--certificate <OUT.json>"),
            (&["--rows", "1", "--note", "n"], "--certificate <OUT.json>"),
            (
                &["--rows", "1", "--dry-run", "--certificate", "c"],
                "cannot be used with",
            ),
        ] {
            let error = erase(args).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(what), "{args:?}: {error}");
        }
    }

    fn levels(args: &[&str]) -> Result<ErasureLevels, clap::Error> {
        let args = args.iter().flat_map(|it| ["--erasure", it]);
        let all: Vec<_> = std::iter::once("import").chain(args).collect();
        parse(&all).map(|command| match command {
            Commands::Import(args) => args.erasure,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn levels_are_of_the_table_and_of_columns() {
        let asked = levels(&["1", "email=2", "a=b=0", "c=2:strict"]).unwrap();
        let level = |number| Erasure::Level(tarsia::ErasureLevel::of_number(number).unwrap());
        assert_eq!(asked.of_table(), Ok(Some(level(1))));
        let columns = BTreeMap::from([
            ("a=b", level(0)),
            ("c", Erasure::Strict),
            ("email", level(2)),
        ]);
        assert_eq!(asked.of_columns(), Ok(columns));
        let none = levels(&[]).unwrap();
        assert_eq!(
            (none.of_table(), none.of_columns()),
            (Ok(None), Ok(BTreeMap::new()))
        );
        assert_eq!(
            levels(&["1", "1"])
                .unwrap()
                .of_table()
                .unwrap_err()
                .exit_code(),
            2
        );
        let twice = levels(&["a=1", "a=2"]).unwrap();
        let what = "--erasure: column `a` is there twice";
        assert_eq!(twice.of_columns(), Err(Failure::Usage(what.into())));
        for wrong in ["3", "a=", "a", "a=two", "", "1:strict", "a=2:"] {
            let error = levels(&[wrong]).unwrap_err().to_string();
            assert!(error.contains("there are 0, 1, 2 and 2:strict"), "{error}");
        }
    }

    #[test]
    fn the_other_commands_take_files() {
        assert!(parse(&["recover", "t.tarsia", "--json"]).is_ok());
        assert!(parse(&["audit", "t.tarsia"]).is_ok());
        assert!(parse(&["compact", "a.tarsia", "b.tarsia"]).is_ok());
        let args = [
            "verify-certificate",
            "c.json",
            "t.tarsia",
            "--signed-by",
            "k",
        ];
        assert!(parse(&args).is_ok());
        assert!(parse(&["compact", "a.tarsia"]).is_err());
    }
}
