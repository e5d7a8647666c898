//! Numbers of rows that a command is told on the command line, in a file or on the standard input.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::ops::Range;
use std::path::Path;

use crate::args::{RowItem, RowItems, RowList, parse_row};
use crate::failure::Failure;
use crate::ranges::{merged, push_next};

/// Bytes of what is no item that an error shows. A range of two numbers has fewer.
const TOKEN_BYTES_MAX: usize = 44;

/// The rows to take of the file at `path`, which has `n_rows`.
pub(super) fn wanted_rows<'a>(
    list: &'a RowList,
    path: &Path,
    n_rows: u64,
) -> Result<Cow<'a, [u64]>, Failure> {
    let check = |row: u64| RowItem::Row(row).within(n_rows).map(|_| row);
    let mut rows = Vec::new();
    let mut add = |text: &str| {
        let row = parse_row(text).map_err(Refused::Text)?;
        rows.push(check(row).map_err(Refused::Missing)?);
        Ok(())
    };
    match list {
        RowList::Listed(rows) => {
            return match rows.iter().find_map(|row| check(*row).err()) {
                Some(missing) => Err(missing_rows(path, &missing)),
                None => Ok(Cow::Borrowed(rows)),
            };
        }
        RowList::File(name) => read_file(name, path, &mut add)?,
        RowList::StandardInput => read_standard_input(path, &mut add)?,
    }
    Ok(Cow::Owned(rows))
}

/// The rows to erase of the file at `path`, which has `n_rows`, as rising ranges that do not touch.
pub(super) fn rows_to_erase(
    list: &RowItems,
    path: &Path,
    n_rows: u64,
) -> Result<Vec<Range<u64>>, Failure> {
    let mut ranges = Vec::new();
    let mut add = |text: &str| {
        let item: RowItem = text.parse().map_err(Refused::Text)?;
        push_next(&mut ranges, item.within(n_rows).map_err(Refused::Missing)?);
        Ok(())
    };
    match list {
        RowItems::Listed(items) => {
            for item in items {
                let range = item.within(n_rows);
                ranges.push(range.map_err(|missing| missing_rows(path, &missing))?);
            }
        }
        RowItems::File(name) => read_file(name, path, &mut add)?,
        RowItems::StandardInput => read_standard_input(path, &mut add)?,
    }
    Ok(merged(ranges))
}

fn missing_rows(path: &Path, what: &str) -> Failure {
    Failure::Usage(format!("{}: {what}", path.display()))
}

type Add<'a> = &'a mut dyn FnMut(&str) -> Result<(), Refused>;

fn read_file(name: &Path, path: &Path, add: Add<'_>) -> Result<(), Failure> {
    let file = File::open(name).map_err(|error| Failure::bad(name, error))?;
    let mut input = BufReader::with_capacity(1 << 16, file);
    read_items(&mut input, add).map_err(|wrong| wrong.in_input(&name.display().to_string(), path))
}

fn read_standard_input(path: &Path, add: Add<'_>) -> Result<(), Failure> {
    let mut input = stdin().lock();
    read_items(&mut input, add).map_err(|wrong| wrong.in_input("standard input", path))
}

/// Why an item is refused.
#[derive(Debug)]
enum Refused {
    Text(String),
    /// The file does not have the rows.
    Missing(String),
}

/// Mistakes in a list of rows. Lines count from 1.
#[derive(Debug)]
enum Wrong {
    Read(std::io::Error),
    Item(u64, Refused),
}

impl Wrong {
    /// The failure of a command on the file at `path`.
    fn in_input(self, name: &str, path: &Path) -> Failure {
        match self {
            Wrong::Read(error) => Failure::Bad(format!("{name}: {error}")),
            Wrong::Item(line, Refused::Text(what)) => {
                Failure::Bad(format!("{name}: line {line}: {what}"))
            }
            Wrong::Item(line, Refused::Missing(what)) => {
                Failure::Usage(format!("{name}: line {line}: {}: {what}", path.display()))
            }
        }
    }
}

/// Items separated by commas, spaces or line ends, each for `add`. Nothing but one item is kept, so that a line may
/// have any length.
fn read_items(input: &mut dyn BufRead, add: Add<'_>) -> Result<(), Wrong> {
    let mut line = 1;
    let mut token = Vec::new();
    let mut is_first = true;
    // Whether an item has come since the last comma.
    let mut has_item = false;
    let mut take = |token: &mut Vec<u8>, line: u64| -> Result<(), Wrong> {
        add(&String::from_utf8_lossy(token)).map_err(|refused| Wrong::Item(line, refused))?;
        token.clear();
        Ok(())
    };
    loop {
        let bytes = input.fill_buf().map_err(Wrong::Read)?;
        let n_bytes = bytes.len();
        for &byte in bytes {
            if !byte.is_ascii_whitespace() && byte != b',' {
                token.push(byte);
                if token == BYTE_ORDER_MARK && is_first {
                    token.clear();
                }
                if token.len() <= TOKEN_BYTES_MAX {
                    continue;
                }
            }
            if !token.is_empty() {
                take(&mut token, line)?;
                is_first = false;
                has_item = true;
            }
            if byte == b',' && !std::mem::take(&mut has_item) {
                let what = "no row number before a comma".to_owned();
                return Err(Wrong::Item(line, Refused::Text(what)));
            }
            line += u64::from(byte == b'\n');
        }
        if n_bytes == 0 {
            break;
        }
        input.consume(n_bytes);
    }
    if !token.is_empty() {
        take(&mut token, line)?;
    }
    Ok(())
}

/// Some editors write it at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    fn items<T>(
        text: &str,
        mut add: impl FnMut(&str) -> Result<T, Refused>,
    ) -> Result<Vec<T>, String> {
        // Small pieces, so that numbers are cut.
        let mut input = BufReader::with_capacity(3, text.as_bytes());
        let mut items = Vec::new();
        let mut add = |text: &str| {
            items.push(add(text)?);
            Ok(())
        };
        let done = read_items(&mut input, &mut add).map_err(|wrong| match wrong {
            Wrong::Item(line, Refused::Text(what) | Refused::Missing(what)) => {
                format!("{line}: {what}")
            }
            Wrong::Read(error) => error.to_string(),
        });
        done.map(|()| items)
    }

    fn rows(text: &str) -> Result<Vec<u64>, String> {
        items(text, |text| {
            let row = parse_row(text).map_err(Refused::Text)?;
            let within = RowItem::Row(row).within(1_000);
            within.map(|range| range.start).map_err(Refused::Missing)
        })
    }

    #[test]
    fn numbers_are_separated_by_commas_spaces_and_lines() {
        for text in [
            "5,1,1,99",
            "5 1\t1  99\n",
            "5\r\n1\r\n1\r\n\r\n99",
            " 5 , 1,1\n,99,\n",
        ] {
            assert_eq!(rows(text), Ok(vec![5, 1, 1, 99]), "{text:?}");
        }
        assert_eq!(rows("\u{feff}7"), Ok(vec![7]));
        for none in ["", "\n", " \n\n"] {
            assert_eq!(rows(none), Ok(vec![]));
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, what) in [
            ("1\n2\nx\n", "3: `x` is no row number"),
            ("1\n-2", "2: `-2` is no row number"),
            ("1,2\n3..5\n", "2: `3..5` is no row number"),
            ("1,,2", "1: no row number before a comma"),
            ("1,\n\n,2", "3: no row number before a comma"),
            (",1", "1: no row number before a comma"),
            ("1\n\u{feff}2", "2: `\u{feff}2` is no row number"),
            ("999\n1000\n", "2: row 1000 is not one of its 1000 rows"),
            (
                "99999999999999999999",
                "1: `99999999999999999999` is too large for a row number",
            ),
        ] {
            assert_eq!(rows(text), Err(what.to_owned()), "{text:?}");
        }
        let long = rows(&"7".repeat(1 << 20)).unwrap_err();
        assert!(long.len() < 100 && long.contains("too large"), "{long}");
    }

    fn to_erase(list: &RowItems) -> Result<Vec<Range<u64>>, Failure> {
        rows_to_erase(list, Path::new("t.tarsia"), 20)
    }

    #[test]
    fn rows_to_erase_are_rising_ranges() {
        let listed = |items: &[&str]| {
            let items = items.iter().map(|it| it.parse().unwrap()).collect();
            to_erase(&RowItems::Listed(items))
        };
        assert_eq!(listed(&["7", "1", "5..9", "2", "7"]), Ok(vec![1..3, 5..9]));
        assert_eq!(listed(&["18..", "..2", "4..4"]), Ok(vec![0..2, 18..20]));
        for (item, what) in [
            ("20", "t.tarsia: row 20 is not one of its 20 rows"),
            (
                "5..21",
                "t.tarsia: rows 5..21 are not all among its 20 rows",
            ),
            ("21..", "t.tarsia: rows 21.. are not all among its 20 rows"),
        ] {
            assert_eq!(listed(&["1", item]), Err(Failure::Usage(what.into())));
        }
    }

    #[test]
    fn rows_to_erase_come_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("rows.txt");
        let of_text = |text: &str| {
            std::fs::write(&name, text).unwrap();
            to_erase(&RowItems::File(name.clone()))
        };
        assert_eq!(
            of_text("\u{feff}9..12, 3\n4 5\n\n5..7,11\n"),
            Ok(vec![3..7, 9..12])
        );
        assert_eq!(of_text(""), Ok(vec![]));
        for (text, code, what) in [
            (
                "1\n20\n",
                2,
                "line 2: t.tarsia: row 20 is not one of its 20 rows",
            ),
            (
                "1,5..21",
                2,
                "line 1: t.tarsia: rows 5..21 are not all among its 20 rows",
            ),
            (
                "1\n\n9..5",
                1,
                "line 3: `9..5`: the range starts at 9, after its end 5",
            ),
            ("1,x", 1, "line 1: `x` is no row number"),
            ("1,,2", 1, "line 1: no row number before a comma"),
        ] {
            let failure = of_text(text).unwrap_err();
            let line = format!("error: {}: {what}", name.display());
            assert_eq!((failure.exit_code(), failure.line()), (code, Some(line)));
        }
        let largest = format!("{}..{}", u64::MAX - 1, u64::MAX);
        assert!(largest.len() <= TOKEN_BYTES_MAX);
        let missing = to_erase(&RowItems::File(folder.path().join("none.txt")));
        assert_eq!(missing.unwrap_err().exit_code(), 1);
    }
}
