//! `tarsia reorder`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use tarsia::io::Sink;

use crate::args::Reorder;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::place::Places;

use super::open::open;
use super::output::summarise;

/// Bytes of a line of a log, at most.
const LINE_BYTES_MAX: usize = 16 << 20;

pub(super) fn reorder(args: &Reorder, places: &dyn Places) -> Result<(), Failure> {
    let (input, output) = (args.input.name(), args.output.name());
    let file = open(places, &args.input)?;
    let failed = |error: tarsia::Error| Failure::of_tarsia(input, &error);
    let bytes_in = file.metadata().map_err(failed)?.file_bytes;
    let order = match (&args.order.names, &args.order.log) {
        (Some(names), _) => names.0.clone(),
        (None, Some(log)) => {
            let schema = file.schema().map_err(failed)?;
            let mut reads = tarsia::ReadLog::new(&schema).map_err(failed)?;
            read_log(log, input, &mut reads)?;
            reads.order()
        }
        // The command line has one of them.
        (None, None) => Vec::new(),
    };
    let mut destination = Destination::open(places, &args.output, &args.input)?;
    let n_named = order.len();
    let mut sink = Watched {
        sink: &mut destination,
        has_failed: false,
    };
    let summary = file.reorder_into(order, &mut sink);
    let summary = summary.map_err(|error| match sink.has_failed {
        true => Failure::bad(output, error),
        false => failed(error),
    })?;
    let mut lines = vec![
        ("rows", summary.rows.to_string()),
        ("columns", summary.columns.to_string()),
        ("columns in the order", n_named.to_string()),
        ("pages", summary.pages.to_string()),
        ("bytes in", bytes_in.to_string()),
        ("bytes out", summary.file_bytes.to_string()),
    ];
    if !summary.left_out.is_empty() {
        let ids: Vec<_> = summary.left_out.iter().map(u32::to_string).collect();
        lines.push(("unknown sections left out", ids.join(", ")));
    }
    summarise(output, &lines)
}

/// A sink that knows whether it has failed, so that the error is not taken for one of the input.
struct Watched<'a> {
    sink: &'a mut dyn Sink,
    has_failed: bool,
}

impl Watched<'_> {
    fn seen<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.has_failed |= done.is_err();
        done
    }
}

impl Sink for Watched<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let done = self.sink.append(bytes);
        self.seen(done)
    }

    fn overwrite(&mut self, place: u64, bytes: &[u8]) -> io::Result<bool> {
        let done = self.sink.overwrite(place, bytes);
        self.seen(done)
    }

    fn commit(&mut self) -> io::Result<()> {
        let done = self.sink.commit();
        self.seen(done)
    }
}

/// A line of a log that is an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    columns: Vec<String>,
    #[serde(default = "once")]
    count: u64,
}

fn once() -> u64 {
    1
}

/// Adds the reads of a log of the file `input`.
fn read_log(log: &Path, input: &Path, reads: &mut tarsia::ReadLog<'_>) -> Result<(), Failure> {
    let bad = |error: io::Error| Failure::bad(log, error);
    let mut lines = BufReader::with_capacity(1 << 16, File::open(log).map_err(bad)?);
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        let mut line = (&mut lines).take(LINE_BYTES_MAX as u64 + 1);
        if line.read_until(b'\n', &mut bytes).map_err(bad)? == 0 {
            break;
        }
        let refused = |what: &str| Failure::bad(log, format_args!("line {number}: {what}"));
        if bytes.len() > LINE_BYTES_MAX {
            return Err(refused("is longer than 16 MiB"));
        }
        let mark = if number == 1 {
            "\u{feff}".as_bytes()
        } else {
            b""
        };
        let text = bytes.strip_prefix(mark).unwrap_or(&bytes).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let line = parsed(text).map_err(|what| refused(&what))?;
        match reads.add(&line.columns, line.count) {
            Ok(()) => {}
            Err(error) if error.kind() == tarsia::ErrorKind::NoSuchColumn => {
                let (log, input) = (log.display(), input.display());
                return Err(Failure::Usage(format!(
                    "{log}: line {number}: {error} in {input}"
                )));
            }
            Err(error) => return Err(refused(&error.to_string())),
        }
    }
    Ok(())
}

/// A line: an array of names, or an object.
fn parsed(text: &[u8]) -> Result<Line, String> {
    let at_column = |error: serde_json::Error| {
        let what = error.to_string();
        let end = what.rfind(" at line ").unwrap_or(what.len());
        format!("byte {}: {}", error.column(), &what[..end])
    };
    match text.first() {
        Some(b'[') => {
            let columns = serde_json::from_slice(text).map_err(at_column)?;
            Ok(Line { columns, count: 1 })
        }
        Some(b'{') => serde_json::from_slice(text).map_err(at_column),
        _ => Err("is neither an array of columns nor an object that has them".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_arrays_or_objects() {
        let read = |text: &str| parsed(text.as_bytes()).map(|line| (line.columns, line.count));
        let names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(read(r#"["a","b"]"#), Ok((names.clone(), 1)));
        assert_eq!(read(r#"{"columns":["a","b"]}"#), Ok((names.clone(), 1)));
        assert_eq!(read(r#"{"count":7,"columns":["a","b"]}"#), Ok((names, 7)));
        let deep = "[".repeat(100_000);
        for bad in [
            "a,b",
            "\"a\"",
            "[",
            "[1]",
            "[\"a\"] [\"b\"]",
            "{}",
            r#"{"columns":"a"}"#,
            r#"{"columns":["a"],"count":-1}"#,
            r#"{"columns":["a"],"count":1e99}"#,
            r#"{"columns":["a"],"times":2}"#,
            r#"{"columns":["a"],"columns":["a"]}"#,
            "[\"\\ud800\"]",
            &deep,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
