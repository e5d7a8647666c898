//! Rows as a table, or as JSON.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use comfy_table::{ColumnConstraint, Table, Width};
use tarsia_convert::text::{JsonRows, Style, cell};

use crate::failure::Failure;
use crate::shown::{printable, shown};

use super::open::refuse_repeated_names;
use super::output::{Out, SHOWN_CHARS, align_right, new_rows, new_table};

/// Cells that are laid out together, so that a table of any number of rows takes little memory.
const PART_CELLS: usize = 100_000;

/// Rows that are laid out together however wide they are, so that a screenful is one part.
const PART_ROWS_MIN: usize = 100;

/// Rows as a table, or as a JSON array of objects.
pub(super) fn print_rows(
    path: &Path,
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, Failure>>,
    json: bool,
) -> Result<(), Failure> {
    let mut out = Out::new();
    match json {
        true => print_json(path, schema, batches, &mut out)?,
        false => print_table(path, schema, batches, &mut out)?,
    }
    out.finish()
}

fn print_json(
    path: &Path,
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, Failure>>,
    out: &mut Out,
) -> Result<(), Failure> {
    refuse_repeated_names(path, schema)?;
    // The rows come batch by batch, so the brackets are written by hand.
    let mut buffer = vec![b'['];
    let mut n_rows = 0;
    for batch in batches {
        let batch = batch?;
        let rows = JsonRows::new(&batch).map_err(|what| Failure::bad(path, what))?;
        for row in 0..batch.num_rows() {
            buffer.extend_from_slice(if n_rows == 0 { b"\n" } else { b",\n" });
            n_rows += 1;
            rows.write(row, &mut buffer)
                .map_err(|what| Failure::bad(path, what))?;
            out.write(&buffer)?;
            buffer.clear();
        }
    }
    buffer.extend_from_slice(if n_rows == 0 { b"]\n" } else { b"\n]\n" });
    out.write(&buffer)
}

/// The table is laid out part by part. A part's columns are at least as wide as those before; where they are wider, the
/// lines are still rows of one table.
fn print_table(
    path: &Path,
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, Failure>>,
    out: &mut Out,
) -> Result<(), Failure> {
    let header = schema.fields().iter();
    let header: Vec<String> = header
        .map(|field| printable(field.name(), SHOWN_CHARS))
        .collect();
    let part_rows = (PART_CELLS / header.len().max(1)).max(PART_ROWS_MIN);
    let mut table = new_table(&header);
    let mut widths = vec![0; header.len()];
    for batch in batches {
        let batch = batch?;
        let mut cells = Vec::with_capacity(batch.num_columns());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let in_column =
                |what: String| Failure::bad(path, format!("column `{}`: {what}", field.name()));
            cells.push(cell(Style::Start(SHOWN_CHARS), array.as_ref()).map_err(in_column)?);
        }
        for row in 0..batch.num_rows() {
            if table.row_count() == part_rows {
                print_part(&mut table, schema, &mut widths, out)?;
                table = new_rows();
            }
            let texts: Result<Vec<String>, String> = cells
                .iter()
                .map(|cell| shown(cell, row, SHOWN_CHARS))
                .collect();
            table.add_row(texts.map_err(|what| Failure::bad(path, what))?);
        }
    }
    print_part(&mut table, schema, &mut widths, out)
}

/// Prints rows in columns no narrower than `widths`, and makes these as wide as the columns were.
fn print_part(
    table: &mut Table,
    schema: &Schema,
    widths: &mut [u16],
    out: &mut Out,
) -> Result<(), Failure> {
    for (i, field) in schema.fields().iter().enumerate() {
        if field.data_type().is_numeric() {
            align_right(table, i);
        }
    }
    let contents = table.column_max_content_widths();
    let columns = table.column_iter_mut().zip(contents);
    for ((column, content), width) in columns.zip(widths) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
        *width = content.saturating_add(column.padding_width()).max(*width);
    }
    out.table(table)
}
