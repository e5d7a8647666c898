//! Captures how a file's columns are encoded.

use std::collections::HashMap;

use tarsia_cascade::Outline;
use tarsia_structure::Layout;

use crate::error::Result;
use crate::exec::OpenFile;
use crate::table::Column;
use crate::write::{CapturedColumn, CapturedLayout};

/// The layout of all columns. Reads metadata alone.
pub(super) fn layout(file: &OpenFile) -> Result<CapturedLayout> {
    let mut columns = HashMap::new();
    for column in file.all_columns()? {
        if let Some(captured) = self::column(&column)? {
            columns.insert(column.name().to_owned(), captured);
        }
    }
    Ok(CapturedLayout::new(columns))
}

/// Returns what most rows of a column have; of equals what comes first. `None` without pages of values.
fn column(column: &Column) -> Result<Option<CapturedColumn>> {
    let mut found: Vec<(CapturedColumn, u64)> = Vec::new();
    for page in &column.pages {
        let meta = page.description.meta()?;
        // The second tree, if there is one, holds what the first cannot.
        let Some(tree) = meta.trees.first() else {
            continue;
        };
        let captured = match meta.layout {
            Layout::MiniBlock => CapturedColumn::Together(Outline::of(tree)),
            Layout::FullZip => CapturedColumn::RowByRow,
        };
        let rows = page.rows();
        let n_rows = rows.end - rows.start;
        match found.iter_mut().find(|(known, _)| *known == captured) {
            Some((_, known)) => *known += n_rows,
            None => found.push((captured, n_rows)),
        }
    }
    let most = found.into_iter().rev().max_by_key(|(_, n_rows)| *n_rows);
    Ok(most.map(|(captured, _)| captured))
}
