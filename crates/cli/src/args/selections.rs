//! Which rows and columns: lists and ranges on the command line.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::place::Place;

/// The option `--columns`.
#[derive(Debug, Args)]
pub struct Columns {
    /// Columns, separated by commas, in the order wanted, or fields inside them: user.address.city, or tags.key and
    /// tags.value of a map, whose entries are then a list; a name with a comma stands in double quotes, as in CSV
    #[arg(long = "columns", value_name = "A,B", value_parser = parse_names)]
    pub names: Option<Names>,
}

/// Names of columns, in the order asked for; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

/// Where the rows are, in the order asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowList {
    /// On the command line; at least one.
    Listed(Vec<u64>),
    /// In a text file.
    File(PathBuf),
    /// On the standard input.
    StandardInput,
}

/// Where the rows are that a command changes, in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowItems {
    /// On the command line; at least one.
    Listed(Vec<RowItem>),
    /// In a text file.
    File(PathBuf),
    /// On the standard input.
    StandardInput,
}

/// A row, or a range of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowItem {
    /// One row, counted from 0.
    Row(u64),
    /// A range.
    Range(RowRange),
}

impl RowItem {
    /// The rows of this item in a file of `n_rows` rows.
    ///
    /// ```
    /// use tarsia_cli::args::RowItem;
    /// let item: RowItem = "5..9".parse().unwrap();
    /// assert_eq!(item.within(9), Ok(5..9));
    /// assert_eq!(item.within(8), Err("rows 5..9 are not all among its 8 rows".into()));
    /// ```
    ///
    /// # Errors
    /// The text names the item if it reaches beyond the file's end.
    pub fn within(self, n_rows: u64) -> Result<Range<u64>, String> {
        match self {
            RowItem::Row(row) if row < n_rows => Ok(row..row + 1),
            RowItem::Row(row) => Err(format!("row {row} is not one of its {n_rows} rows")),
            RowItem::Range(range) => range
                .within(n_rows)
                .ok_or_else(|| format!("rows {range} are not all among its {n_rows} rows")),
        }
    }
}

impl FromStr for RowItem {
    type Err = String;

    fn from_str(text: &str) -> Result<RowItem, String> {
        if !text.contains("..") {
            return parse_row(text).map(RowItem::Row);
        }
        let range = text.parse().map(RowItem::Range);
        range.map_err(|what| format!("`{text}`: {what}"))
    }
}

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

/// Digits only: `u64::from_str` alone would take a plus sign.
pub(crate) fn parse_row(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("`{text}` is no row number"));
    }
    text.parse()
        .map_err(|_| format!("`{text}` is too large for a row number"))
}

pub(super) fn parse_row_list(text: OsString) -> Result<RowList, String> {
    Ok(match Listing::of(&text, parse_row)? {
        Listing::Here(rows) => RowList::Listed(rows),
        Listing::File(name) => RowList::File(name),
        Listing::StandardInput => RowList::StandardInput,
    })
}

pub(super) fn parse_row_items(text: OsString) -> Result<RowItems, String> {
    Ok(match Listing::of(&text, str::parse)? {
        Listing::Here(items) => RowItems::Listed(items),
        Listing::File(name) => RowItems::File(name),
        Listing::StandardInput => RowItems::StandardInput,
    })
}

/// A list, or where it is.
enum Listing<T> {
    Here(Vec<T>),
    File(PathBuf),
    StandardInput,
}

impl<T> Listing<T> {
    fn of(text: &OsStr, item: impl Fn(&str) -> Result<T, String>) -> Result<Listing<T>, String> {
        match text.as_encoded_bytes() {
            b"-" | b"@-" => return Ok(Listing::StandardInput),
            b"@" => return Err("a file's name is missing after `@`".into()),
            [b'@', ..] => return file_name(text).map(Listing::File),
            _ => {}
        }
        let text = text.to_string_lossy();
        let items = text.split(',').map(|it| item(it.trim()));
        items.collect::<Result<_, _>>().map(Listing::Here)
    }
}

/// The name behind `@`, which need not be UTF-8, of a local file.
pub(super) fn file_name(text: &OsStr) -> Result<PathBuf, String> {
    let place = Place::from(behind_at(text)?);
    match place.path() {
        Ok(path) => Ok(path.to_owned()),
        Err(_) => Err("what is behind `@` has to be a local file".to_owned()),
    }
}

#[cfg(unix)]
fn behind_at(text: &OsStr) -> Result<PathBuf, String> {
    use std::os::unix::ffi::OsStrExt;
    let name = text.as_bytes().get(1..).unwrap_or_default();
    Ok(OsStr::from_bytes(name).into())
}

#[cfg(not(unix))]
fn behind_at(text: &OsStr) -> Result<PathBuf, String> {
    let name = text.to_str().and_then(|text| text.strip_prefix('@'));
    Ok(name.ok_or("a file's name that is no text")?.into())
}

pub(super) fn parse_names(text: &str) -> Result<Names, String> {
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

/// One name, which may stand in quotes.
pub(super) fn parse_name(text: &str) -> Result<String, String> {
    match text.strip_prefix('"') {
        None => Ok(text.to_owned()),
        Some(quoted) => match quoted_name(quoted)? {
            (name, "") => Ok(name),
            _ => Err("a name goes on behind its closing quote".into()),
        },
    }
}

/// A name, which may stand in quotes, and what follows the equals sign behind it; `None` without such a sign. Spaces
/// around the name do not count.
pub(super) fn parse_pair(text: &str) -> Result<Option<(String, &str)>, String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let pair = text.split_once('=');
        return Ok(pair.map(|(name, value)| (name.trim().to_owned(), value)));
    };
    let (name, after) = quoted_name(quoted)?;
    let value = after.trim_start().strip_prefix('=');
    match value {
        Some(value) => Ok(Some((name, value))),
        None if after.is_empty() => Ok(None),
        None => Err("an equals sign is missing behind a closing quote".into()),
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
    use super::*;

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
        let rows = |text: &str| parse_row_list(text.into());
        assert_eq!(rows("5,1,1,99"), Ok(RowList::Listed(vec![5, 1, 1, 99])));
        assert_eq!(rows("5, 1"), Ok(RowList::Listed(vec![5, 1])));
        assert_eq!(rows("@a@b.txt"), Ok(RowList::File("a@b.txt".into())));
        assert_eq!(rows("@./-"), Ok(RowList::File("./-".into())));
        for input in ["-", "@-"] {
            assert_eq!(rows(input), Ok(RowList::StandardInput));
        }
        for wrong in ["", ",", "1,,2", "1,", "x", "1..3", "-1", "@"] {
            assert!(rows(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn items_are_rows_and_ranges() {
        let items = |text: &str| parse_row_items(text.into());
        let range = |text: &str| RowItem::Range(text.parse().unwrap());
        assert_eq!(
            items("7, 1,5..9,..3"),
            Ok(RowItems::Listed(vec![
                RowItem::Row(7),
                RowItem::Row(1),
                range("5..9"),
                range("..3")
            ]))
        );
        assert_eq!(items("@a.txt"), Ok(RowItems::File("a.txt".into())));
        assert_eq!(items("-"), Ok(RowItems::StandardInput));
        for (wrong, what) in [
            ("", "`` is no row number"),
            ("1,,2", "`` is no row number"),
            ("1,x", "`x` is no row number"),
            ("5-9", "`5-9` is no row number"),
            ("1,9..5", "`9..5`: the range starts at 9, after its end 5"),
            ("1..=5", "`1..=5`: `=5` is no row number"),
            ("@", "a file's name is missing after `@`"),
        ] {
            assert_eq!(items(wrong), Err(what.into()), "{wrong}");
        }
        assert_eq!(RowItem::Row(4).within(5), Ok(4..5));
        assert_eq!(
            RowItem::Row(u64::MAX).within(5),
            Err(format!("row {} is not one of its 5 rows", u64::MAX))
        );
        assert_eq!(range("3..").within(5), Ok(3..5));
        assert_eq!(
            range("6..").within(5),
            Err("rows 6.. are not all among its 5 rows".into())
        );
    }

    #[test]
    fn one_name_may_be_quoted() {
        assert_eq!(parse_name("a,b"), Ok("a,b".into()));
        assert_eq!(parse_name("\"say \"\"hi\"\"\""), Ok("say \"hi\"".into()));
        assert!(parse_name("\"a").is_err() && parse_name("\"a\"b").is_err());
        assert_eq!(parse_pair("a = 1"), Ok(Some(("a".into(), " 1"))));
        assert_eq!(parse_pair("\"a=b\"=1"), Ok(Some(("a=b".into(), "1"))));
        assert_eq!(parse_pair("a"), Ok(None));
        assert_eq!(parse_pair("\"a\""), Ok(None));
        assert!(parse_pair("\"a\"b=1").is_err());
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
