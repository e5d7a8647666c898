//! Single elements of nested rows, of which as little as possible is read.

use std::sync::Arc;

use arrow_schema::DataType;
use tarsia_arrow::{assemble, logical_type};

use super::path::{ElementPath, Pruned};
use super::rows::{Counting, Order, Taken, take as take_rows};
use crate::error::{ErrorKind, Result, while_reading};
use crate::exec::{
    FieldsRead, OpenFile, Wanted, decode_elements, fetch_elements, narrow, plan_all,
    prefetch_tables, rows_budget, too_many_values,
};
use crate::source::Reads;
use crate::table::{Column, TableField, retyped};

/// Whether there is a type without values, of which Arrow cannot make a null.
fn has_empty_union(data_type: &DataType) -> bool {
    let logical = logical_type(data_type);
    let is_one = matches!(logical, DataType::Union(fields, _) if fields.is_empty());
    let mut children = tarsia_metadata::children(data_type).into_iter();
    is_one || children.any(|field| has_empty_union(field.data_type()))
}

/// The elements of the rows of a packed struct, which are read whole.
fn take_packed(
    file: &OpenFile,
    rows: &[u64],
    path: &ElementPath,
    field: &TableField,
    pruned: &Pruned,
) -> Result<Taken> {
    let columns = [field.field.name().clone()];
    let whole = take_rows(file, rows, Some(&columns), Counting::Yes)?;
    let array = narrow(whole.batch.column(0), &pruned.data_type, &pruned.starts)?;
    Ok(Taken {
        batch: path.batch(path.element_of(array, pruned)?, rows.len())?,
        ..whole
    })
}

/// The elements of rows, in the order asked for, as a column named like the path.
pub(crate) fn take(file: &OpenFile, rows: &[u64], path: &ElementPath) -> Result<Taken> {
    let order = Order::of(file, rows)?;
    let before = file.source.reads::<Vec<_>>(&[]);
    let (field, pruned) = path.found(|name| file.field(name))?;
    if field.columns.iter().any(|column| column.packing.is_some()) {
        return take_packed(file, rows, path, &field, &pruned);
    }
    let range = pruned.first_leaf..pruned.first_leaf + pruned.n_leaves;
    let columns: &[Arc<Column>] = field.columns.get(range).unwrap_or_default();
    if field.is_flat() {
        return Err(path.missing("the column is not nested"));
    }
    if has_empty_union(&pruned.data_type) {
        let what = "there is a union without fields, which is never anything, nor null";
        return Err(path.refused(ErrorKind::InvalidInput, what));
    }
    prefetch_tables(file, columns, &order.sorted);
    let wanted = Wanted::Indices(&order.sorted);
    let plans = plan_all(file, columns.iter().map(|column| (&**column, wanted)))?;
    let mut reads = Reads::default();
    let mut blocks = fetch_elements(file, columns, &plans, &mut reads)?;
    let read = FieldsRead {
        file,
        fields: &[],
        columns,
        plans: &plans,
        blocks: &blocks,
        rows: rows.len(),
        as_entries: false,
        cancel: None,
    };
    let budget = rows_budget(&read);
    let read = columns.iter().zip(&plans).zip(&mut blocks);
    let leaves = read
        .map(|((column, plan), blocks)| {
            decode_elements(
                file,
                column,
                plan,
                blocks,
                &pruned.cuts,
                &budget,
                &mut reads,
            )
        })
        .collect::<Result<Vec<_>>>()?;
    let of_field = retyped(&field.field, pruned.data_type.clone());
    let array = assemble(&of_field, leaves, rows.len(), &file.session.pool, &budget)
        .map_err(|error| while_reading(error).in_column(field.field.name()))?
        .ok_or_else(too_many_values)?;
    let element = order.restore(path.element_of(array, &pruned)?)?;
    file.check_unchanged()?;
    Ok(Taken {
        batch: path.batch(element, rows.len())?,
        reads: file.source.reads_since(before, reads),
    })
}
