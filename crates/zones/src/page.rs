//! Which zones a page has.

use std::ops::Range;

use tarsia_codec::{BitSlice, Result, Values};

use crate::collect::{Collect, ZoneCollector};
use crate::form::ZoneForm;
use crate::map::{PageZones, ZONE_BLOCKS_LOG2_MAX, zone_bytes};
use crate::zone::BOUND_BYTES_MAX;

/// Zones of a page take at most one byte in so many of the page, unless it has very small blocks.
const PAGE_BYTES_PER_ZONE_BYTE: u64 = 256;

/// Zones have at most this many rows, or one block.
const ZONE_ROWS_MAX: u64 = 65_536;

/// Zones that hold more than this share of the values between a page's smallest and largest one, in the mean, are not
/// kept: no filter passes over them.
const SHARE_MAX: f64 = 0.9;

/// The page whose zones are wanted.
#[derive(Debug, Clone, Copy)]
pub struct ZoneRoom<'a> {
    /// Rows of each block.
    pub block_rows: &'a [u32],
    /// Values of each block, if these are not as many as its rows: the other rows are null.
    pub block_values: Option<&'a [u32]>,
    /// Bytes of all blocks.
    pub page_bytes: u64,
    /// Whether values may be erased: then which zones there are does not depend on values.
    pub is_erasable: bool,
}

impl ZoneRoom<'_> {
    /// The logarithm of the blocks of a zone.
    fn blocks_log2(&self, form: ZoneForm) -> u8 {
        let n_blocks = self.block_rows.len() as u64;
        let width = form.fixed_width().map_or(BOUND_BYTES_MAX, usize::from);
        let room = self.page_bytes / PAGE_BYTES_PER_ZONE_BYTE / zone_bytes(form, width);
        let rows: u64 = self.block_rows.iter().map(|rows| u64::from(*rows)).sum();
        let rows_per_block = rows / n_blocks.max(1);
        let fits = |log2: &u8| n_blocks.div_ceil(1 << log2) <= room;
        let log2 = (0..ZONE_BLOCKS_LOG2_MAX).find(fits);
        let mut log2 = log2.unwrap_or(ZONE_BLOCKS_LOG2_MAX);
        while log2 > 0 && rows_per_block << log2 > ZONE_ROWS_MAX {
            log2 -= 1;
        }
        log2
    }
}

/// Computes the zones of a page; `None` for a page without blocks. Values that are spread over all zones give one zone,
/// the whole page.
///
/// # Errors
/// As [`Collect::add`].
pub fn zones_of_page(
    form: ZoneForm,
    values: Values<'_>,
    validity: Option<BitSlice<'_>>,
    room: &ZoneRoom<'_>,
) -> Result<Option<PageZones>> {
    let n_blocks = room.block_rows.len();
    if n_blocks == 0 {
        return Ok(None);
    }
    let log2 = room.blocks_log2(form);
    let mut all = ZoneCollector::new(form);
    let mut zones = Vec::new();
    let block_values = room.block_values.unwrap_or(room.block_rows);
    let sum = |blocks: &[u32]| blocks.iter().map(|n| *n as usize).sum::<usize>();
    let mut start = 0;
    let blocks_per_zone = 1 << log2;
    let blocks = room.block_rows.chunks(blocks_per_zone);
    for (of_rows, of_values) in blocks.zip(block_values.chunks(blocks_per_zone)) {
        let range: Range<usize> = start..start + sum(of_values);
        start = range.end;
        let mut zone = ZoneCollector::new(form);
        let n_null = sum(of_rows).saturating_sub(range.len());
        let validity = validity.map(|bits| bits.slice(range.clone()));
        zone.add(values.slice(range), validity)?;
        zone.add_nulls(n_null as u64);
        all.merge(&zone);
        zones.push(zone);
    }
    let is_kept = n_blocks > 1 && (room.is_erasable || tell_apart(&zones, &all));
    let zone = |zone: &ZoneCollector| zone.zone(u32::try_from(zone.rows()).unwrap_or(u32::MAX));
    Ok(Some(match is_kept {
        true => PageZones {
            blocks_log2: Some(log2),
            zones: zones.iter().map(zone).collect(),
        },
        false => PageZones {
            blocks_log2: None,
            zones: vec![zone(&all)],
        },
    }))
}

/// Whether zones differ so much that filters can pass over some.
fn tell_apart(zones: &[ZoneCollector], all: &ZoneCollector) -> bool {
    let whole = all.zone(0);
    let has_nulls = |zone: &ZoneCollector| {
        let zone = zone.zone(0);
        // Whether none is null, or all are.
        (zone.nulls == 0, zone.bounds.is_none())
    };
    let first = zones.first().map(has_nulls);
    if zones.iter().any(|zone| Some(has_nulls(zone)) != first) {
        return true;
    }
    if whole.bounds.is_none() {
        return false;
    }
    let shares: f64 = zones.iter().map(|zone| zone.share_of(all)).sum();
    shares <= SHARE_MAX * zones.len() as f64
}
