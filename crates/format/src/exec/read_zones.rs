//! Reads the zone maps of columns, and finds the parts that segments of rows lie in.

use super::open_file::OpenFile;
use crate::error::Result;
use crate::source::{AtHand, Step, Stop, all, run};
use crate::table::Column;

/// Whether one of these columns has a zone map that was not read yet.
pub(super) fn has_unread_zones<'c>(columns: impl IntoIterator<Item = &'c Column>) -> bool {
    let mut zones = columns.into_iter().filter_map(|it| it.zones.as_ref());
    zones.any(|zones| zones.map().is_none())
}

/// Reads the zone maps of these columns that were not read yet, in one wave.
pub(crate) fn read_zones<'c>(
    file: &OpenFile,
    columns: impl IntoIterator<Item = &'c Column>,
) -> Result<()> {
    read_zones_and(file, columns, |_| Ok(()))
}

/// Reads the zone maps of these columns that were not read yet, in one wave with what `more` needs.
pub(super) fn read_zones_and<'c, T>(
    file: &OpenFile,
    columns: impl IntoIterator<Item = &'c Column>,
    more: impl Fn(&AtHand<'_>) -> Step<T>,
) -> Result<T> {
    let unread = columns.into_iter().filter_map(|column| {
        let zones = column.zones.as_ref()?;
        zones.map().is_none().then_some((column, zones))
    });
    let unread: Vec<_> = unread.collect();
    run(&file.source, |hand| {
        let kept = all(unread.iter().map(|(column, zones)| {
            let bytes = hand.get(zones.range.clone())?;
            let kept = zones.keep(&bytes, &column.pages);
            kept.map_err(|error| Stop::from(error.in_column(column.name())))?;
            Ok(())
        }));
        let more = more(hand);
        kept?;
        more
    })
}

/// For each of these segments the number of the part that it lies in; both are given by their ends.
pub(super) fn parts_of_segments<'e>(
    parts: &'e [u64],
    segments: &'e [u64],
) -> impl Iterator<Item = usize> + 'e {
    let mut at = 0;
    segments.iter().map(move |end| {
        while parts.get(at).is_some_and(|part_end| part_end < end) {
            at += 1;
        }
        at
    })
}
