//! Checks that the rows of a page decode, to values that their type allows, and that its zones and its bloom filters
//! say what they hold.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef};
use tarsia_arrow::{BeyondPrecision, beyond_precision, is_decimal};
use tarsia_structure::Budget;
use tarsia_zones::{BloomCollector, BloomLie, Collect, PageZones, ZoneCollector, ZoneForm};

use super::report::corrupt;
use crate::error::{ErrorKind, Result, while_reading};
use crate::exec::{
    OpenFile, batch_budget, batch_rows_of, blocks_of, collect, collect_nested, collect_rows,
    decode_flat, decode_leaf, plan_rows, read_zones,
};
use crate::plan::{PageNumber, Plan, RowSelection};
use crate::table::{BloomOfRun, Column};
use crate::threads::in_order;

/// Decodes the rows of a page, and compares the nulls with those of its blocks' headers, and its zones with the rows.
pub(super) fn check(file: &OpenFile, column: &Column, number: usize, stated: &[u32]) -> Result<()> {
    let page = column.page(number)?;
    // A block may lie in two runs of rows.
    let nulls: Vec<_> = stated.iter().map(|_| AtomicU64::new(0)).collect();
    let zones = zones_of(file, column, number)?;
    let form = zones.and(column.zones.as_ref()).map(|zones| zones.form);
    let of_blocks = zones.filter(|zones| zones.blocks_log2.is_some());
    let steps = steps(file, column, number, of_blocks)?;
    let found = in_order(&file.session.threads, &steps, |rows| {
        decodes(file, column, rows.clone(), &nulls, form)
    })?;
    if let (Some(zones), Some(form)) = (zones, form) {
        let found = steps.iter().zip(found.iter().flatten());
        check_zones(zones, form, page.rows().start, found)?;
    }
    for (block, (found, stated)) in (0..).zip(nulls.into_iter().zip(stated)) {
        let found = found.into_inner();
        if found != u64::from(*stated) {
            let what = format!("null count: the block states {stated}, and {found} items are null");
            return Err(corrupt(what).in_block(block));
        }
    }
    Ok(())
}

/// Computes the bloom filters of a column, or of one of its pages, from the rows that it holds, and compares them.
pub(super) fn check_blooms(file: &OpenFile, column: &Column, page: Option<usize>) -> Result<()> {
    let Some(blooms) = &column.blooms else {
        return Ok(());
    };
    let runs = blooms.runs(&column.pages);
    let runs = runs.filter(|run| page.is_none_or(|page| run.page == page));
    let runs: Vec<BloomOfRun> = runs.collect();
    let one = |run: &BloomOfRun| {
        let rows = RowSelection::from(run.rows.clone());
        let present = match &column.erased {
            None => rows,
            Some(erased) => rows.without(erased),
        };
        let empty = || BloomCollector::new(run.n_rows());
        let computed = collect_rows(file, column, &present, &empty)?;
        let stored = file.source.read(run.place.clone())?;
        let what = match computed.compare(&stored).map_err(while_reading)? {
            None => return Ok(()),
            Some(BloomLie::Lacks) => "it says of a value that is there that it is not",
            Some(BloomLie::HasMore) => "it has bits that no value of the rows sets",
        };
        Err(corrupt(what))
    };
    in_order(&file.session.threads, &runs, |run| {
        let what = format!(
            "bloom filter of the rows {}..{}",
            run.rows.start, run.rows.end
        );
        one(run).map_err(|error| error.prefixed(&what).in_page(run.page))
    })
    .map(drop)
}

/// The rows of a page in runs that are decoded at once, each in one of the zones. Of a nested page with nulls each is a
/// block: how many items of a block are null does not show in the rows of several.
fn steps(
    file: &OpenFile,
    column: &Column,
    number: usize,
    zones: Option<&PageZones>,
) -> Result<Vec<Range<u64>>> {
    let page = column.page(number)?;
    let rows = page.descriptor.row_range();
    let meta = page.description.meta()?;
    if column.is_flat() || meta.layers.is_empty() {
        if let Some(zones) = zones {
            return Ok(zones.ranges(rows.start).collect());
        }
        let step_rows = batch_rows_of(column.row_bytes(), 1);
        let starts = rows.clone().step_by(step_rows);
        let steps = starts.map(|start| start..rows.end.min(start + step_rows as u64));
        return Ok(steps.collect());
    }
    let blocks = blocks_of(file, column, PageNumber::Data(number))?;
    let steps = (0..page.descriptor.n_blocks).map(|block| {
        let of_block = blocks.rows_of(block)?;
        Ok(rows.start + u64::from(of_block.start)..rows.start + u64::from(of_block.end))
    });
    steps.collect()
}

/// The zones of a page, if it has some.
fn zones_of<'c>(file: &OpenFile, column: &'c Column, page: usize) -> Result<Option<&'c PageZones>> {
    read_zones(file, [column])?;
    let map = column.zones.as_ref().and_then(|zones| zones.map());
    Ok(map.and_then(|map| map.pages.get(page)?.as_ref()))
}

/// Compares the zones of a page that begins with row `first` with what was found in its steps.
fn check_zones<'z>(
    zones: &PageZones,
    form: ZoneForm,
    first: u64,
    found: impl Iterator<Item = (&'z Range<u64>, &'z ZoneCollector)>,
) -> Result<()> {
    let mut found = found.peekable();
    let ranges = zones.ranges(first);
    for (number, (stated, rows)) in zones.zones.iter().zip(ranges).enumerate() {
        let mut all = ZoneCollector::new(form);
        while let Some((_, step)) = found.next_if(|(step, _)| step.start < rows.end) {
            all.merge(step);
        }
        let all = all.zone(stated.rows);
        if *stated != all {
            let what = format!("zone {number} states {stated:?}, and its rows are {all:?}");
            return Err(corrupt(what));
        }
    }
    Ok(())
}

/// Checks that rows of a column decode: all at once, or half by half where their items are too many for one batch. Adds
/// null items to those of their blocks. Collects a zone of them if `form` asks for that.
fn decodes(
    file: &OpenFile,
    column: &Column,
    rows: Range<u64>,
    nulls: &[AtomicU64],
    form: Option<ZoneForm>,
) -> Result<Option<ZoneCollector>> {
    let plan = plan_rows(file, column, rows.clone())?;
    let fetched = file.source.fetch(&plan)?;
    let read = file.column_read(column, &plan, &fetched);
    let done = match column.is_flat() {
        true => decode_flat(file, &read).and_then(|arrays| {
            read.check_entries()?;
            check_arrays(column, &arrays.parts, rows.start)?;
            count_nulls(&plan, &arrays.parts, nulls);
            let Some(form) = form else {
                return Ok(None);
            };
            let mut zone = ZoneCollector::new(form);
            collect(&column.data_type, &arrays.parts, &mut zone)?;
            Ok(Some(zone))
        }),
        false => {
            let of_row = || Budget::new(read.nested_bytes_max());
            let budget = batch_budget(rows.end - rows.start, 1, of_row);
            decode_leaf(file, &read, &budget).and_then(|leaf| {
                let of_block = plan
                    .parts
                    .first()
                    .and_then(|part| nulls.get(part.block as usize));
                if let Some(of_block) = of_block {
                    of_block.fetch_add(leaf.items.null_count as u64, Ordering::Relaxed);
                }
                let Some(form) = form else {
                    return Ok(None);
                };
                let mut zone = ZoneCollector::new(form);
                collect_nested(file, column, leaf, &budget, &mut zone)?;
                Ok(Some(zone))
            })
        }
    };
    match done {
        Err(error) if error.kind() == ErrorKind::LimitExceeded && rows.end - rows.start > 1 => {
            let middle = rows.start + (rows.end - rows.start) / 2;
            let mut zone = decodes(file, column, rows.start..middle, nulls, form)?;
            let rest = decodes(file, column, middle..rows.end, nulls, form)?;
            if let (Some(zone), Some(rest)) = (&mut zone, &rest) {
                zone.merge(rest);
            }
            Ok(zone)
        }
        done => done,
    }
}

/// Adds the nulls of a flat column's rows to those of their blocks.
fn count_nulls(plan: &Plan, arrays: &[ArrayRef], nulls: &[AtomicU64]) {
    let mut arrays = arrays
        .iter()
        .map(|array| (array.logical_nulls(), array.len()));
    let mut array = arrays.next();
    let mut at = 0;
    for part in &plan.parts {
        let mut left = part.selected.n_rows() as usize;
        while let Some((of_array, len)) = &array {
            let now = left.min(len - at);
            let of_block = nulls.get(part.block as usize);
            if let (Some(of_array), Some(of_block)) = (of_array, of_block) {
                let found = of_array.slice(at, now).null_count() as u64;
                of_block.fetch_add(found, Ordering::Relaxed);
            }
            (at, left) = (at + now, left - now);
            if at < *len {
                break;
            }
            (array, at) = (arrays.next(), 0);
        }
    }
}

/// Checks that the values of a flat column are those of its type. `first` is the first row.
fn check_arrays(column: &Column, arrays: &[ArrayRef], first: u64) -> Result<()> {
    let mut row = first;
    for array in arrays {
        if column.packing.is_some() {
            check_nested(array)?;
        } else if is_decimal(array.data_type())
            && let Some(BeyondPrecision { index, what }) = beyond_precision(array)
        {
            // Entries of dictionaries and runs stand for several rows.
            return Err(corrupt(match array.data_type().is_decimal() {
                true => format!("row {}: {what}", row + index as u64),
                false => what,
            }));
        }
        row += array.len() as u64;
    }
    Ok(())
}

/// Checks that an array of a nested field is what Arrow demands, at any depth.
pub(super) fn check_nested(array: &ArrayRef) -> Result<()> {
    let valid = array.to_data().validate_full();
    valid.map_err(|error| corrupt(error.to_string()))?;
    match beyond_precision(array) {
        None => Ok(()),
        Some(BeyondPrecision { what, .. }) => Err(corrupt(what)),
    }
}
