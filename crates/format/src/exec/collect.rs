//! Collects facts about rows that were decoded: their zone, their bloom filter.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use tarsia_arrow::{LeafBuffer, LeafParts, assemble};
use tarsia_codec::{BitSlice, FixedSlice, Values};
use tarsia_structure::Budget;
use tarsia_zones::Collect;

use super::budget::batch_budget;
use super::fields::{decode_flat, decode_leaf};
use super::open_file::OpenFile;
use super::prepare::{Wanted, plan_and_fetch};
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::plan::RowSelection;
use crate::table::Column;

/// Adds the rows of these arrays, which a flat column of this type or the items of a nested one were decoded to.
pub(crate) fn collect(
    data_type: &DataType,
    arrays: &[ArrayRef],
    found: &mut impl Collect,
) -> Result<()> {
    for array in arrays {
        if let Some(width) = array.data_type().primitive_width() {
            let data = array.to_data();
            let bytes = data.buffers().first().map_or(&[][..], |it| it.as_slice());
            let bytes = bytes.get(data.offset() * width..).unwrap_or_default();
            let bytes = bytes.get(..data.len() * width).unwrap_or_default();
            let values = FixedSlice::new(bytes, width, data.len())?;
            let validity = match array.nulls() {
                None => None,
                Some(nulls) => Some(BitSlice::new(
                    nulls.validity(),
                    nulls.offset(),
                    nulls.len(),
                )?),
            };
            found.add(Values::Fixed(values), validity)?;
            continue;
        }
        let unfit = |data_type: DataType| {
            let what = format!("zones and bloom filters of type {data_type}");
            Error::new(ErrorKind::Unsupported, what)
        };
        let mut buffer = LeafBuffer::flat(data_type).map_err(unfit)?;
        buffer.push(array)?;
        if let Some(page) = buffer.page(0..array.len())? {
            found.add(page.values, page.validity)?;
        }
    }
    Ok(())
}

/// Adds the rows of a column below structs. Of rows of which a struct is null, it has no item.
pub(crate) fn collect_nested(
    file: &OpenFile,
    column: &Column,
    mut leaf: LeafParts,
    budget: &Budget,
    found: &mut impl Collect,
) -> Result<()> {
    let n_rows = leaf.levels.first().map_or(0, |level| level.n_slots);
    let n_items = leaf.items.rows;
    leaf.levels.clear();
    // The items alone: a flat column.
    let items = Field::new(
        column.name(),
        column.data_type.clone(),
        column.path.nullable(),
    );
    let array = assemble(&items, vec![leaf], n_items, &file.session.pool, budget)
        .map_err(|error| while_reading(error).in_column(column.name()))?;
    let arrays: Vec<ArrayRef> = array.into_iter().collect();
    collect(&column.data_type, &arrays, found)?;
    found.add_nulls(n_rows.saturating_sub(n_items) as u64);
    Ok(())
}

/// Collects some rows of a column, all of which it holds. `empty` makes a collector of no rows.
pub(crate) fn collect_rows<C: Collect>(
    file: &OpenFile,
    column: &Column,
    rows: &RowSelection,
    empty: &dyn Fn() -> C,
) -> Result<C> {
    let mut found = empty();
    if rows.is_empty() {
        return Ok(found);
    }
    let (plans, blocks) = plan_and_fetch(file, [(column, Wanted::Selected(rows))])?;
    let (Some(plan), Some(blocks)) = (plans.first(), blocks.first()) else {
        return Err(Error::new(ErrorKind::Corrupt, "rows without a plan"));
    };
    let read = file.column_read(column, plan, blocks);
    let done = match column.is_flat() {
        true => decode_flat(file, &read)
            .and_then(|arrays| collect(&column.data_type, &arrays.parts, &mut found)),
        false => {
            let budget = batch_budget(rows.len(), 1, || Budget::new(read.nested_bytes_max()));
            decode_leaf(file, &read, &budget)
                .and_then(|leaf| collect_nested(file, column, leaf, &budget, &mut found))
        }
    };
    match done {
        // More bytes than an array can number: fewer rows have fewer.
        Err(error) if error.kind() == ErrorKind::LimitExceeded && rows.len() > 1 => {
            let (head, tail) = rows.split(rows.len() / 2);
            let mut found = collect_rows(file, column, &head, empty)?;
            found.merge(&collect_rows(file, column, &tail, empty)?);
            Ok(found)
        }
        done => done.map(|()| found),
    }
}
