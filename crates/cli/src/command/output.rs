//! Output of commands.

use std::collections::HashSet;
use std::io::{BufWriter, Write, stderr, stdout};
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use tarsia_convert::Note;
use tarsia_convert::text::escape_controls;

use crate::destination::is_standard_output;
use crate::failure::{Failure, one_line};

/// Characters of a value that a table shows.
pub(super) const SHOWN_CHARS: usize = 60;

/// Characters of a name, a type or a tree that a table shows.
pub(super) const NAME_CHARS: usize = 1_000;

pub(super) fn ratio(before: u64, after: u64) -> String {
    if after == 0 {
        "-".into()
    } else {
        format!("{:.2}", before as f64 / after as f64)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number, or the text that stands for one that JSON cannot write.
pub(super) fn json_number(value: f64) -> serde_json::Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => number.into(),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// A table in Markdown's form: plain characters, easy to search, the same on a terminal and in a pipe.
pub(super) fn new_table(header: &[impl AsRef<str>]) -> Table {
    let mut table = new_rows();
    table.set_header(header.iter().map(AsRef::as_ref));
    table
}

/// Rows that continue a table.
pub(super) fn new_rows() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

pub(super) fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Prints what a command did that wrote a file: on the standard output, unless the file is there.
pub(super) fn summarise(written: &Path, facts: &[(&str, String)]) -> Result<(), Failure> {
    let mut out = match is_standard_output(written) {
        true => Out::to_standard_error(),
        false => Out::new(),
    };
    out.facts(facts)?;
    out.finish()
}

/// Shows what of a file could not be carried, a line for each, on the standard error.
pub(super) fn show_notes(path: &Path, notes: &[Note]) {
    let mut shown = HashSet::new();
    for note in notes {
        let line = one_line(&format!("{}: {note}", path.display()));
        if shown.insert(line.clone()) {
            // If the standard error is closed, the file is as it is.
            let _ = writeln!(stderr(), "note: {line}");
        }
    }
}

/// The standard output, buffered. The program that reads it may close it at any time.
pub(super) struct Out(BufWriter<Box<dyn Write>>);

impl Out {
    pub(super) fn new() -> Out {
        Out(BufWriter::with_capacity(1 << 16, Box::new(stdout().lock())))
    }

    /// The standard error instead, where the standard output has other things.
    pub(super) fn to_standard_error() -> Out {
        Out(BufWriter::new(Box::new(stderr())))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0
            .write_all(bytes)
            .map_err(|error| Failure::of_output(&error))
    }

    pub(super) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())?;
        self.write(b"\n")
    }

    /// Names and values in two columns.
    pub(super) fn facts(&mut self, facts: &[(&str, String)]) -> Result<(), Failure> {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        facts
            .iter()
            .try_for_each(|(name, value)| self.line(&format!("{name:width$}  {value}")))
    }

    pub(super) fn table(&mut self, table: &Table) -> Result<(), Failure> {
        for line in table.lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    pub(super) fn document(&mut self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map_err(|error| Failure::Bad(format!("the result has no JSON form: {error}")))?;
        self.line(&escape_controls(&text))
    }

    /// Writes what is buffered now, while an error can still be reported.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::of_output(&error))
    }
}
