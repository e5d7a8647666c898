//! Imports of damaged files. Where one succeeds, the file that it makes is sound and its number of rows is one that the
//! input can have.

use std::io;
use std::ops::RangeInclusive;

use serde_json::Value;

use crate::corpus::Original;
use crate::kind::Kind;

use super::bench::{Bench, Outcome};

const OUTPUT: &str = "out.tarsia";

/// Imports, and looks at what came of it.
pub(super) fn run(
    bench: &mut Bench<'_>,
    kind: Kind,
    original: &Original,
    file: &[u8],
) -> io::Result<Outcome> {
    let input = bench.input.clone();
    let ran = bench.run(
        &["import", &input, OUTPUT, "--kernels", "omit"],
        Some(OUTPUT),
    )?;
    let Some(made) = ran.written else {
        return Ok(Outcome::Refused);
    };
    let plausible = plausible_rows(kind, original, file);
    match rows_told(&ran.done.stdout) {
        Some(rows) if plausible.contains(&rows) => {}
        Some(rows) => {
            let what = format!(
                "{rows} rows imported, {} to {} expected",
                plausible.start(),
                plausible.end()
            );
            bench.find(&ran.args, what, "");
        }
        None => bench.find(
            &ran.args,
            "the import does not say how many rows".to_owned(),
            "",
        ),
    }
    let told = rows_told(&ran.done.stdout);
    look_at(bench, &made, told)?;
    Ok(Outcome::Accepted)
}

/// The file that an import made, in place of its input.
fn look_at(bench: &mut Bench<'_>, made: &[u8], told: Option<u64>) -> io::Result<()> {
    let input = std::mem::replace(&mut bench.input, OUTPUT.to_owned());
    let path = bench.folder.join(&input);
    let damaged = std::fs::read(&path)?;
    bench.put(made)?;
    let verified = bench.run(&["verify", OUTPUT], None)?;
    if !verified.is_faulty && !verified.done.is_ok() {
        let what = "an import makes a file that `verify` refuses".to_owned();
        bench.find(&verified.args, what, &verified.done.said());
    }
    let shown = bench.run(&["schema", OUTPUT, "--json"], None)?;
    let document: Value = serde_json::from_slice(&shown.done.stdout).unwrap_or_default();
    if !shown.is_faulty && document["rows"].as_u64() != told {
        let what = format!(
            "an import says {told:?} rows, the file has {}",
            document["rows"]
        );
        bench.find(&shown.args, what, &shown.done.said());
    }
    bench.input = input;
    bench.put(&damaged)
}

/// The rows of the summary that `import` prints.
fn rows_told(stdout: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(stdout).ok()?;
    let line = text.lines().find(|line| line.starts_with("rows "))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// How many rows a file can have that was made of this sound one.
fn plausible_rows(kind: Kind, original: &Original, file: &[u8]) -> RangeInclusive<u64> {
    let count = |keep: &dyn Fn(&[u8]) -> bool| {
        file.split(|byte| *byte == b'\n')
            .filter(|line| keep(line))
            .count() as u64
    };
    match kind {
        // A footer says it, and row groups and pages say it again: one change cannot change all.
        Kind::Parquet => original.rows..=original.rows,
        // An empty line is no row.
        Kind::Json => {
            let rows = count(&|line| !line.iter().all(u8::is_ascii_whitespace));
            rows..=rows
        }
        Kind::Csv => {
            let ends = file.iter().filter(|byte| b"\r\n".contains(byte)).count() as u64;
            let lines = count(&|line| !line.is_empty() && line != b"\r");
            // Inside quotes a line does not end.
            let least = if file.contains(&b'"') {
                0
            } else {
                lines.saturating_sub(1)
            };
            least..=ends.max(least)
        }
        // A batch says how many rows it has; columns of nulls say nothing more.
        _ => 0..=64 * file.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::Places;

    fn plausible(kind: Kind, file: &str) -> RangeInclusive<u64> {
        let original = Original {
            name: String::new(),
            bytes: Vec::new(),
            rows: 5,
            places: Places::of_len(0),
            tarsia: None,
        };
        plausible_rows(kind, &original, file.as_bytes())
    }

    #[test]
    fn lines_bound_the_rows() {
        assert_eq!(plausible(Kind::Csv, "a,b\n1,2\n3,4"), 2..=2);
        assert_eq!(plausible(Kind::Csv, "a,b\n1,\"2\n3\",4"), 0..=2);
        assert_eq!(plausible(Kind::Csv, ""), 0..=0);
        assert_eq!(plausible(Kind::Json, "{}\n \n{}\r\n\r\n"), 2..=2);
        assert_eq!(plausible(Kind::Parquet, "PAR1"), 5..=5);
        assert_eq!(plausible(Kind::ArrowFile, "12345678"), 0..=512);
    }

    #[test]
    fn the_summary_says_the_rows() {
        assert_eq!(rows_told(b"rows       2\ncolumns    3\n"), Some(2));
        assert_eq!(rows_told(b"columns    3\n"), None);
    }
}
