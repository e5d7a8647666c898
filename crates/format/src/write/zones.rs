//! The zones and the bloom filters of a page that is written.

use tarsia_page_writer::{BlockRows, EncodedPage, PageInput};
use tarsia_zones::{
    BloomCollector, Collect, PageZones, ZoneForm, ZoneRoom, bloom_runs, zones_of_page,
};

use crate::error::{Error, ErrorKind, Result};

/// Computes a page's part of the zone map.
///
/// # Errors
/// Values of another type than the form's.
pub(super) fn of_page(
    form: ZoneForm,
    input: &PageInput<'_>,
    page: &EncodedPage,
    is_erasable: bool,
) -> Result<Vec<u8>> {
    let block_rows = rows_of_blocks(page);
    // A struct that is null has no items below it.
    let block_values = input.levels.map(|levels| {
        let mut start = 0;
        let items = block_rows.iter().map(|rows| {
            let end = start + *rows as usize;
            let items = levels.items(start..end).len();
            start = end;
            // At most as many as rows.
            items as u32
        });
        items.collect::<Vec<u32>>()
    });
    let room = ZoneRoom {
        block_rows: &block_rows,
        block_values: block_values.as_deref(),
        page_bytes: page.bytes.len() as u64,
        is_erasable,
    };
    let zones = zones_of_page(form, input.values, input.validity, &room)?;
    let mut part = Vec::new();
    PageZones::write_to(zones.as_ref(), form, is_erasable, &mut part);
    Ok(part)
}

/// Computes the bloom filters of a page of so many rows.
///
/// # Errors
/// Values that have no filter.
pub(super) fn blooms_of_page(input: &PageInput<'_>, n_rows: usize) -> Result<Vec<u8>> {
    let too_many = |_| Error::new(ErrorKind::LimitExceeded, "2^32 rows in a page");
    let mut filters = Vec::new();
    for run in bloom_runs(u32::try_from(n_rows).map_err(too_many)?) {
        let rows = run.rows.start as usize..run.rows.end as usize;
        // A struct that is null has no item below it.
        let items = match input.levels {
            None => rows,
            Some(levels) => levels.items(rows),
        };
        let mut filter = BloomCollector::new(run.rows.end - run.rows.start);
        let validity = input.validity.map(|bits| bits.slice(items.clone()));
        filter.add(input.values.slice(items), validity)?;
        filters.append(&mut filter.to_bytes());
    }
    Ok(filters)
}

/// Whether a page's part of the map says that it has no zones.
pub(super) fn is_without_zones(part: &[u8]) -> bool {
    part.iter().all(|byte| *byte == 0)
}

fn rows_of_blocks(page: &EncodedPage) -> Vec<u32> {
    match &page.block_rows {
        BlockRows::Table(rows) => rows.clone(),
        BlockRows::Uniform(log2) => {
            let starts = (0..page.rows).step_by(1 << log2);
            // At most 65,536 rows.
            let rows = starts.map(|start| (page.rows - start).min(1 << log2) as u32);
            rows.collect()
        }
    }
}
