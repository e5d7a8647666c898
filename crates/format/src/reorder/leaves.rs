//! The columns of the file that is read, as their records list them, and the order in which their pages are copied.

use tarsia_compliance as compliance;
use tarsia_metadata::{ColumnMeta, ErasureLevel, PageDescriptor, RegionPlace, TableSchema};
use tarsia_zones::{ZoneMap, bloom_runs};

use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::exec::OpenFile;
use crate::source::{Step, Stop, run_all};
use crate::table::leaf_names;
use crate::write::{Placement, digest_of};

/// A leaf column.
pub(super) struct Leaf {
    pub(super) number: u32,
    pub(super) name: String,
    /// Its position in the order asked for, and whether it is asked for.
    pub(super) rank: u32,
    is_ordered: bool,
    pub(super) level: ErasureLevel,
    /// Its pages. Their places become those of the new file.
    pub(super) meta: ColumnMeta,
    /// Block tables and digests of its pages and then of its shared pages, as far as they were copied.
    pub(super) sides: Vec<Vec<u8>>,
    /// Its zone map, which does not say where pages lie.
    pub(super) zones: Option<Vec<u8>>,
    /// Its bloom filters, which do not say that either.
    pub(super) blooms: Option<Vec<u8>>,
}

impl Leaf {
    /// A page, of pages and shared pages together.
    pub(super) fn page_mut(&mut self, number: usize) -> Option<&mut PageDescriptor> {
        let all = self.meta.pages.iter_mut();
        all.chain(&mut self.meta.shared_pages).nth(number)
    }

    /// The number of a page in digests.
    pub(super) fn bound(&self, number: usize) -> u32 {
        // A column has fewer than 2^31 pages of each kind.
        match number.checked_sub(self.meta.pages.len()) {
            None => number as u32,
            Some(shared) => compliance::SHARED_PAGE_FIRST + shared as u32,
        }
    }

    /// Adds column and page to an error.
    pub(super) fn at(&self, error: Error, number: usize) -> Error {
        let in_page = match number.checked_sub(self.meta.pages.len()) {
            None => error.in_page(number),
            Some(shared) => error.prefixed(&format!("shared page {shared}")),
        };
        in_page.in_column(&self.name)
    }
}

/// A page that is copied.
pub(super) struct PageOf {
    /// The column's place among all leaves.
    pub(super) leaf: usize,
    /// Number of the page, of pages and shared pages of its column together.
    pub(super) number: usize,
    /// As it is in the old file.
    pub(super) descriptor: PageDescriptor,
    pub(super) bytes: u64,
}

/// The leaf columns of a table whose records were read.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for lists of pages that are not those that were written.
pub(super) fn leaves(
    file: &OpenFile,
    table: &TableSchema<'_>,
    placement: &Placement,
) -> Result<Vec<Leaf>> {
    let names = leaf_names(&table.schema)?;
    if names.len() != table.columns.len() {
        let what = "other columns than those of the fields' types";
        return Err(Error::new(ErrorKind::Corrupt, what));
    }
    let bounds = file.catalog.bounds();
    let records: Vec<_> = table.columns.iter().zip(&names).collect();
    let metas = run_all(&file.source, &records, |hand, (record, name)| {
        let copied = |field, place: Option<RegionPlace>| -> Step<Option<Vec<u8>>> {
            let Some(place) = place else {
                return Ok(None);
            };
            Ok(Some(hand.get(place.range(field, bounds)?)?.to_vec()))
        };
        let zones = copied("column.zones", record.zones);
        let blooms = copied("column.blooms", record.blooms);
        let meta: Step<ColumnMeta> = ColumnMeta::load(record, bounds, |range| hand.get(range));
        let all = || -> Step<(ColumnMeta, [Option<Vec<u8>>; 2])> {
            let (meta, zones, blooms) = (meta?, zones?, blooms?);
            if let Some(zones) = &zones {
                ZoneMap::check(zones).map_err(while_reading)?;
            }
            if let Some(blooms) = &blooms {
                check_blooms(&meta, blooms).map_err(while_reading)?;
            }
            Ok((meta, [zones, blooms]))
        };
        all().map_err(|stop: Stop| stop.map(|error| error.in_column(name)))
    })?;
    let mut leaves = Vec::with_capacity(names.len());
    for (number, (name, (meta, [zones, blooms]))) in (0..).zip(names.iter().zip(metas)) {
        let record = &table.columns[number as usize];
        let has_pages = !meta.pages.is_empty() || !meta.shared_pages.is_empty();
        if has_pages && digest_of(number, &meta) != record.digest {
            let what = "column digest: the pages are not those that were written";
            return Err(Error::new(ErrorKind::Corrupt, what).in_column(name));
        }
        leaves.push(Leaf {
            number,
            name: name.clone(),
            rank: placement.rank(name),
            is_ordered: placement.names(name),
            level: record.level,
            sides: vec![Vec::new(); meta.pages.len() + meta.shared_pages.len()],
            meta,
            zones,
            blooms,
        });
    }
    Ok(leaves)
}

/// Compares the checksums of the bloom filters of a column.
fn check_blooms(meta: &ColumnMeta, filters: &[u8]) -> tarsia_codec::Result<()> {
    let mut rest = filters;
    for run in meta.pages.iter().flat_map(|page| bloom_runs(page.rows)) {
        let (filter, more) = rest
            .split_at_checked(run.shape.bytes() as usize)
            .unwrap_or((rest, &[]));
        run.shape.check(filter)?;
        rest = more;
    }
    match rest.len() {
        0 => Ok(()),
        more => Err(tarsia_codec::Error::corrupt(
            "bloom.length",
            0,
            more,
            "the filters of the column's rows",
        )),
    }
}

/// Where a page lies in the new file: first those of columns that the order names, by their first row, then by column;
/// behind them all others as they lie in the old file.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    is_other: bool,
    first_row: u64,
    rank: u32,
    leaf: u32,
    old_place: u64,
}

/// All pages, in the order in which they are copied.
///
/// # Errors
/// [`ErrorKind::Corrupt`] where pages overlap: their copies would take more bytes than the file has.
pub(super) fn in_new_order(leaves: &[Leaf]) -> Result<Vec<PageOf>> {
    let mut pages = Vec::new();
    for (leaf, column) in leaves.iter().enumerate() {
        let all = column.meta.pages.iter().chain(&column.meta.shared_pages);
        let mut of_column: Vec<_> = all.enumerate().collect();
        of_column.sort_by_key(|(_, page)| page.place);
        // Shared pages lie before the first page that needs them, and stay there.
        let mut first_row = 0;
        for (number, page) in of_column.into_iter().rev() {
            if number < column.meta.pages.len() {
                first_row = page.first_row;
            }
            let ordered = |key| if column.is_ordered { key } else { 0 };
            let position = Position {
                is_other: !column.is_ordered,
                first_row: ordered(first_row),
                rank: ordered(column.rank.into()) as u32,
                leaf: ordered(column.number.into()) as u32,
                old_place: page.place,
            };
            let page = PageOf {
                leaf,
                number,
                descriptor: *page,
                bytes: page.length.into(),
            };
            pages.push((position, page));
        }
    }
    pages.sort_unstable_by_key(|(_, page)| page.descriptor.place);
    for pair in pages.windows(2) {
        let [(_, before), (_, after)] = pair else {
            continue;
        };
        if after.descriptor.place < before.descriptor.range().end {
            let what = format!("pages overlap at byte {}", after.descriptor.place);
            return Err(Error::new(ErrorKind::Corrupt, what));
        }
    }
    pages.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(pages.into_iter().map(|(_, page)| page).collect())
}
