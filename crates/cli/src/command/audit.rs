//! `tarsia audit`.

use serde::Serialize;
use tarsia::AuditedColumn;

use crate::args::Audit;
use crate::failure::Failure;
use crate::place::Places;
use crate::shown::printable;

use super::open::{ERASURE_IS_PENDING, open_with, trusting};
use super::output::{NAME_CHARS, Out, align_right, new_table};

/// Columns that are named of those that have the same residue.
const COLUMNS_SHOWN: usize = 8;

#[derive(Serialize)]
struct AuditDocument<'a> {
    file: String,
    clean: bool,
    /// Whether all was looked at that may hold a value of an erased row.
    complete: bool,
    rows: u64,
    deleted_rows: u64,
    erased_rows: u64,
    blocks_moved: u64,
    dead_bytes: u64,
    bytes_behind: u64,
    /// Whether an interrupted erasure has left the bytes of its rows in the file.
    erasure_is_pending: bool,
    unknown_sections: Vec<u32>,
    columns: Vec<ColumnDocument<'a>>,
}

#[derive(Serialize)]
struct ColumnDocument<'a> {
    name: &'a str,
    level: u8,
    rows_held: u64,
    encodings_that_keep_values: &'a [String],
    strict: bool,
    /// The residue: what erasures leave that may depend on erased values.
    residue: Vec<ResidueDocument<'a>>,
    blocks_looked_at: u64,
    entries_looked_at: u64,
    blocks_with_foreign_filler: u64,
    dictionaries_not_wiped: u64,
    buffers_not_looked_at: u64,
}

#[derive(Serialize)]
struct ResidueDocument<'a> {
    holder: &'a str,
    tells: &'a str,
}

/// Checks the file, and says what of deleted rows it holds. A file that holds some is no failure: at level 1 it is what
/// was asked for.
pub(super) fn audit(args: &Audit, places: &dyn Places) -> Result<(), Failure> {
    let file = open_with(places, &args.file, trusting(&args.trust))?;
    let failed = |error: tarsia::Error| Failure::of_tarsia(args.file.name(), &error);
    let audit = file.audit().map_err(failed)?;
    let mut out = Out::new();
    if args.json {
        let columns = audit.columns.iter();
        let columns = columns.map(|column| ColumnDocument {
            name: &column.name,
            level: column.level.number(),
            rows_held: column.rows_held,
            encodings_that_keep_values: &column.encodings_that_keep_values,
            strict: column.strict,
            residue: column.residue.iter().map(residue_document).collect(),
            blocks_looked_at: column.blocks_looked_at,
            entries_looked_at: column.entries_looked_at,
            blocks_with_foreign_filler: column.blocks_with_foreign_filler,
            dictionaries_not_wiped: column.dictionaries_not_wiped,
            buffers_not_looked_at: column.buffers_not_looked_at,
        });
        out.document(&AuditDocument {
            file: args.file.name().display().to_string(),
            clean: audit.is_clean(),
            complete: audit.is_complete(),
            rows: audit.rows,
            deleted_rows: audit.deleted_rows,
            erased_rows: audit.erased_rows,
            blocks_moved: audit.blocks_moved,
            dead_bytes: audit.dead_bytes,
            bytes_behind: audit.bytes_behind,
            erasure_is_pending: audit.erasure_is_pending,
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
        table.add_row([
            printable(&column.name, NAME_CHARS),
            column.level.to_string(),
            column.rows_held.to_string(),
            remarks(column).join("; "),
        ]);
    }
    align_right(&mut table, 2);
    out.table(&table)?;
    if audit.bytes_behind > 0 {
        out.line(&format!(
            "{} bytes behind the end, which belong to nothing: `tarsia recover` removes them",
            audit.bytes_behind
        ))?;
    }
    if audit.erasure_is_pending {
        out.line(ERASURE_IS_PENDING)?;
    }
    for (id, bytes) in &audit.unknown_sections {
        out.line(&format!(
            "section {id} of {bytes} bytes, which this program does not know, may hold values"
        ))?;
    }
    for line in residue(&audit) {
        out.line(&line)?;
    }
    for line in conclusion(&audit) {
        out.line(&line)?;
    }
    out.finish()
}

fn residue_document(residue: &tarsia::Residue) -> ResidueDocument<'_> {
    ResidueDocument {
        holder: &residue.holder,
        tells: &residue.tells,
    }
}

/// Says what erasures leave of each column at level 2; columns of which they leave the same stand together.
fn residue(audit: &tarsia::Audit) -> Vec<String> {
    let mut columns: Vec<(&[tarsia::Residue], Vec<String>)> = Vec::new();
    for column in audit.columns.iter().filter(|it| !it.residue.is_empty()) {
        let name = printable(&column.name, NAME_CHARS);
        match columns.iter_mut().find(|(left, _)| *left == column.residue) {
            Some((_, names)) => names.push(name),
            None => columns.push((&column.residue, vec![name])),
        }
    }
    let mut lines = Vec::new();
    for (left, names) in columns {
        let names = match names.get(..COLUMNS_SHOWN) {
            Some(first) if names.len() > COLUMNS_SHOWN => {
                format!(
                    "{} and {} more",
                    first.join(", "),
                    names.len() - COLUMNS_SHOWN
                )
            }
            _ => names.join(", "),
        };
        lines.push(format!("what erasures leave of {names}:"));
        lines.extend(
            left.iter()
                .map(|it| format!("  {}: {}", it.holder, it.tells)),
        );
    }
    lines
}

/// Says what a column may hold beside the rows that it has.
fn remarks(column: &AuditedColumn) -> Vec<String> {
    let mut remarks = Vec::new();
    if column.strict {
        remarks.push(
            match column.residue.is_empty() {
                true => "strict: erasures leave nothing",
                false => "said to be strict, but not stored so",
            }
            .to_owned(),
        );
    }
    if !column.encodings_that_keep_values.is_empty() {
        let keep = column.encodings_that_keep_values.join(", ");
        remarks.push(format!("parameters hold values: {keep}"));
    }
    if column.blocks_with_foreign_filler > 0 {
        remarks.push(format!(
            "{} blocks may hold values of erased rows under nulls: `tarsia compact` writes them anew",
            column.blocks_with_foreign_filler
        ));
    }
    if column.dictionaries_not_wiped > 0 {
        remarks.push(format!(
            "{} dictionaries hold entries that no row has",
            column.dictionaries_not_wiped
        ));
    }
    if column.buffers_not_looked_at > 0 {
        remarks.push(format!(
            "{} shared buffers were not looked into: they are used as a whole",
            column.buffers_not_looked_at
        ));
    }
    remarks
}

/// Says what was found, and what that rests on.
fn conclusion(audit: &tarsia::Audit) -> Vec<String> {
    if !audit.is_clean() {
        return vec!["values of deleted rows are left in the file, or may be".to_owned()];
    }
    if audit.erased_rows == 0 {
        return vec![match audit.deleted_rows {
            0 => "no row was deleted".to_owned(),
            _ => "no column holds values of the deleted rows".to_owned(),
        }];
    }
    let sum = |f: fn(&AuditedColumn) -> u64| audit.columns.iter().map(f).sum::<u64>();
    let mut lines = vec![format!(
        "no value of a deleted row is left in the file: {} blocks and {} dictionary entries were decoded, and places \
         that blocks left are zero",
        sum(|column| column.blocks_looked_at),
        sum(|column| column.entries_looked_at)
    )];
    if !audit.is_complete() {
        lines.push(format!(
            "inferred, not looked at: {} shared buffers that are used as a whole tell of the values they were made from",
            sum(|column| column.buffers_not_looked_at)
        ));
    }
    lines
}
