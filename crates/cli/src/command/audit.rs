//! `tarsia audit`.

use serde::Serialize;

use crate::args::Audit;
use crate::failure::Failure;
use crate::text::printable;

use super::open::{open_with, trusting};
use super::output::{NAME_CHARS, Out, align_right, new_table};

#[derive(Serialize)]
struct AuditDocument<'a> {
    file: String,
    clean: bool,
    rows: u64,
    deleted_rows: u64,
    erased_rows: u64,
    blocks_moved: u64,
    dead_bytes: u64,
    bytes_behind: u64,
    unknown_sections: Vec<u32>,
    columns: Vec<ColumnDocument<'a>>,
}

#[derive(Serialize)]
struct ColumnDocument<'a> {
    name: &'a str,
    level: u8,
    rows_held: u64,
    encodings_that_keep_values: &'a [String],
}

/// Checks the file, and says what of deleted rows it holds. A file that holds some is no failure: at level 1 it is what
/// was asked for.
pub(super) fn audit(args: &Audit) -> Result<(), Failure> {
    let file = open_with(&args.file, trusting(&args.trust))?;
    let failed = |error: tarsia::Error| Failure::of_tarsia(&args.file, &error);
    file.verify().map_err(failed)?;
    let audit = file.audit().map_err(failed)?;
    let mut out = Out::new();
    if args.json {
        let columns = audit.columns.iter();
        let columns = columns.map(|column| ColumnDocument {
            name: &column.name,
            level: column.level.number(),
            rows_held: column.rows_held,
            encodings_that_keep_values: &column.encodings_that_keep_values,
        });
        out.document(&AuditDocument {
            file: args.file.display().to_string(),
            clean: audit.is_clean(),
            rows: audit.rows,
            deleted_rows: audit.deleted_rows,
            erased_rows: audit.erased_rows,
            blocks_moved: audit.blocks_moved,
            dead_bytes: audit.dead_bytes,
            bytes_behind: audit.bytes_behind,
            unknown_sections: audit.unknown_sections.iter().map(|(id, _)| *id).collect(),
            columns: columns.collect(),
        })?;
        return out.finish();
    }
    out.facts(&[
        ("rows", audit.rows.to_string()),
        ("deleted", audit.deleted_rows.to_string()),
        ("erased", audit.erased_rows.to_string()),
        ("blocks moved", audit.blocks_moved.to_string()),
        ("dead bytes", audit.dead_bytes.to_string()),
    ])?;
    let mut table = new_table(&["column", "level", "deleted rows it holds", "remark"]);
    for column in &audit.columns {
        let remark = match column.encodings_that_keep_values.as_slice() {
            [] => String::new(),
            keep => format!("parameters hold values: {}", keep.join(", ")),
        };
        table.add_row([
            printable(&column.name, NAME_CHARS),
            column.level.to_string(),
            column.rows_held.to_string(),
            remark,
        ]);
    }
    align_right(&mut table, 2);
    out.table(&table)?;
    if audit.bytes_behind > 0 {
        out.line(&format!(
            "{} bytes behind the end, of an interrupted erasure: `tarsia recover` removes them",
            audit.bytes_behind
        ))?;
    }
    for (id, bytes) in &audit.unknown_sections {
        out.line(&format!(
            "section {id} of {bytes} bytes, which this program does not know, may hold values"
        ))?;
    }
    out.line(match audit.is_clean() {
        true => "no value of a deleted row is left in the file",
        false => "values of deleted rows are left in the file",
    })?;
    out.finish()
}
