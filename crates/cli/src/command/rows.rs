//! Numbers of rows that a take is told on the command line, in a file or on the standard input.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use crate::args::{RowList, parse_row};
use crate::failure::Failure;

/// Bytes of what is no number that an error shows. A number has fewer.
const TOKEN_BYTES_MAX: usize = 40;

/// The rows to take of the file at `path`, which has `n_rows`.
pub(super) fn wanted_rows<'a>(
    list: &'a RowList,
    path: &Path,
    n_rows: u64,
) -> Result<Cow<'a, [u64]>, Failure> {
    let missing = |row: u64| {
        format!(
            "{}: row {row} is not one of its {n_rows} rows",
            path.display()
        )
    };
    let read = |name: &str, input: &mut dyn BufRead| {
        let rows = read_rows(input, n_rows).map_err(|wrong| match wrong {
            Wrong::Read(error) => Failure::Bad(format!("{name}: {error}")),
            Wrong::Text(line, what) => Failure::Bad(format!("{name}: line {line}: {what}")),
            Wrong::Missing(line, row) => {
                Failure::Usage(format!("{name}: line {line}: {}", missing(row)))
            }
        });
        rows.map(Cow::Owned)
    };
    match list {
        RowList::Listed(rows) => match rows.iter().find(|row| **row >= n_rows) {
            Some(row) => Err(Failure::Usage(missing(*row))),
            None => Ok(Cow::Borrowed(rows)),
        },
        RowList::File(name) => {
            let file = File::open(name).map_err(|error| Failure::bad(name, error))?;
            let mut input = BufReader::with_capacity(1 << 16, file);
            read(&name.display().to_string(), &mut input)
        }
        RowList::StandardInput => read("standard input", &mut stdin().lock()),
    }
}

/// What is wrong with a list of rows. Lines count from 1.
#[derive(Debug)]
enum Wrong {
    Read(std::io::Error),
    Text(u64, String),
    Missing(u64, u64),
}

/// Row numbers below `n_rows`, separated by commas, spaces or line ends. Nothing but the numbers is kept, so that a
/// line may have any length.
fn read_rows(input: &mut dyn BufRead, n_rows: u64) -> Result<Vec<u64>, Wrong> {
    let mut rows = Vec::new();
    let mut line = 1;
    let mut token = Vec::new();
    // Whether a number has come since the last comma.
    let mut has_number = false;
    let take = |token: &mut Vec<u8>, line: u64| -> Result<u64, Wrong> {
        let text = String::from_utf8_lossy(token);
        let row = parse_row(&text).map_err(|what| Wrong::Text(line, what))?;
        token.clear();
        match row < n_rows {
            true => Ok(row),
            false => Err(Wrong::Missing(line, row)),
        }
    };
    loop {
        let bytes = input.fill_buf().map_err(Wrong::Read)?;
        let n_bytes = bytes.len();
        for &byte in bytes {
            if !byte.is_ascii_whitespace() && byte != b',' {
                token.push(byte);
                if token == BYTE_ORDER_MARK && rows.is_empty() {
                    token.clear();
                }
                if token.len() <= TOKEN_BYTES_MAX {
                    continue;
                }
            }
            if !token.is_empty() {
                rows.push(take(&mut token, line)?);
                has_number = true;
            }
            if byte == b',' && !std::mem::take(&mut has_number) {
                return Err(Wrong::Text(line, "no row number before a comma".into()));
            }
            line += u64::from(byte == b'\n');
        }
        if n_bytes == 0 {
            break;
        }
        input.consume(n_bytes);
    }
    if !token.is_empty() {
        rows.push(take(&mut token, line)?);
    }
    Ok(rows)
}

/// Some editors write it at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<u64>, String> {
        // Small pieces, so that numbers are cut.
        let mut input = BufReader::with_capacity(3, text.as_bytes());
        read_rows(&mut input, 1_000).map_err(|wrong| match wrong {
            Wrong::Text(line, what) => format!("{line}: {what}"),
            Wrong::Missing(line, row) => format!("{line}: no {row}"),
            Wrong::Read(error) => error.to_string(),
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
            ("999\n1000\n", "2: no 1000"),
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
}
