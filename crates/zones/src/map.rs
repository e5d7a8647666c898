//! The zone map of a column as bytes: the zones of all of its pages.

use std::ops::Range;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};
use tarsia_metadata::{PageDescriptor, crc32c};

use crate::form::ZoneForm;
use crate::zone::{BOUND_BYTES_MAX, Bound, Bounds, Zone};

/// A zone has at most `1 << 4` blocks, or is the whole page.
pub const ZONE_BLOCKS_LOG2_MAX: u8 = 4;

/// Stored instead of a logarithm for a page that is one zone.
const WHOLE_PAGE: u8 = 255;

/// Bytes of the map's header, and of that of a page.
const HEADER_BYTES: usize = 8;

/// Where the checksum is.
const CRC_AT: usize = 4;

const FLAG_BOUNDS: u8 = 1;
const FLAG_MIN_CUT: u8 = 2;
const FLAG_MAX_CUT: u8 = 4;

/// The zones of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageZones {
    /// Logarithm of the blocks of each zone but the last; `None` if the page is one zone.
    pub blocks_log2: Option<u8>,
    /// In the order of their rows.
    pub zones: Vec<Zone>,
}

/// The zones of the pages of a column; `None` for pages that have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneMap {
    /// One for each page.
    pub pages: Vec<Option<PageZones>>,
}

/// Bytes that a zone takes.
pub(crate) fn zone_bytes(form: ZoneForm, width: usize) -> u64 {
    let counts = if form.has_nans() { 12 } else { 8 };
    let lengths = if form.fixed_width().is_none() { 2 } else { 0 };
    (counts + 1 + lengths + 2 * width) as u64
}

impl PageZones {
    /// The rows of each zone, if the page's first row is `first_row`.
    pub fn ranges(&self, first_row: u64) -> impl Iterator<Item = Range<u64>> {
        self.zones.iter().scan(first_row, |next, zone| {
            let start = *next;
            *next += u64::from(zone.rows);
            Some(start..*next)
        })
    }

    /// Appends the page's part of a map. Bounds of byte strings have room for the longest of them, or, if values may be
    /// erased, for any.
    pub fn write_to(zones: Option<&Self>, form: ZoneForm, is_erasable: bool, out: &mut Vec<u8>) {
        let Some(page) = zones else {
            out.extend_from_slice(&[0; HEADER_BYTES]);
            return;
        };
        let zones = &page.zones;
        let width = match form.fixed_width() {
            Some(width) => usize::from(width),
            None if is_erasable => BOUND_BYTES_MAX,
            None => {
                let bounds = zones.iter().filter_map(|zone| zone.bounds);
                let longest = bounds.flat_map(|it| [it.min.bytes().len(), it.max.bytes().len()]);
                longest.max().unwrap_or(1).max(1).next_power_of_two()
            }
        };
        // A page has fewer than 2^32 blocks.
        let n_zones = zones.len() as u32;
        out.extend_from_slice(&[page.blocks_log2.unwrap_or(WHOLE_PAGE), width as u8, 0, 0]);
        out.extend_from_slice(&n_zones.to_le_bytes());
        let mut numbers = |of: fn(&Zone) -> u32| {
            out.extend(zones.iter().flat_map(|zone| of(zone).to_le_bytes()));
        };
        numbers(|zone| zone.rows);
        numbers(|zone| zone.nulls);
        if form.has_nans() {
            numbers(|zone| zone.nans);
        }
        out.extend(zones.iter().map(|zone| match &zone.bounds {
            None => 0,
            Some(Bounds { min, max }) => {
                let cut = |bound: &Bound, flag| if bound.is_cut() { flag } else { 0 };
                FLAG_BOUNDS | cut(min, FLAG_MIN_CUT) | cut(max, FLAG_MAX_CUT)
            }
        }));
        let bytes_of = |zone: &Zone, is_max: bool| -> Vec<u8> {
            let bound = zone.bounds.map(|it| if is_max { it.max } else { it.min });
            bound.map_or(Vec::new(), |bound| bound.bytes().to_vec())
        };
        for is_max in [false, true] {
            for zone in zones {
                let mut bytes = bytes_of(zone, is_max);
                if form.fixed_width().is_none() {
                    // At most 32.
                    out.push(bytes.len() as u8);
                }
                bytes.resize(width, 0);
                out.extend_from_slice(&bytes);
            }
        }
        out.resize(out.len().next_multiple_of(8), 0);
    }
}

impl ZoneMap {
    /// Puts the parts of all pages of a column together, in their order.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for more than 2^32 pages.
    pub fn of_parts<'p>(parts: impl ExactSizeIterator<Item = &'p [u8]>) -> Result<Vec<u8>> {
        let n_pages = u32::try_from(parts.len())
            .map_err(|_| Error::invalid("zones of more than 2^32 pages"))?;
        let mut out = n_pages.to_le_bytes().to_vec();
        out.extend_from_slice(&[0; 4]);
        parts.for_each(|part| out.extend_from_slice(part));
        seal(&mut out);
        Ok(out)
    }

    /// The bytes of the map.
    ///
    /// # Errors
    /// As [`ZoneMap::of_parts`].
    pub fn to_bytes(&self, form: ZoneForm, is_erasable: bool) -> Result<Vec<u8>> {
        let parts = self.pages.iter().map(|page| {
            let mut part = Vec::new();
            PageZones::write_to(page.as_ref(), form, is_erasable, &mut part);
            part
        });
        let parts: Vec<Vec<u8>> = parts.collect();
        Self::of_parts(parts.iter().map(Vec::as_slice))
    }

    /// Compares the checksum of a map.
    ///
    /// # Errors
    /// As [`ZoneMap::parse`].
    pub fn check(bytes: &[u8]) -> Result<()> {
        let mut reader = ByteReader::new(bytes);
        reader.u32("zones.pages")?;
        let stored = reader.u32("zones.crc")?;
        match stored == crc_of(bytes) {
            true => Ok(()),
            false => {
                let what = "the checksum of the bytes";
                Err(Error::corrupt("zones.crc", CRC_AT, stored, what))
            }
        }
    }

    /// Reads the map of a column with these pages. What the zones say of values is taken as it is; what they say of
    /// rows and blocks fits the pages.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](tarsia_codec::ErrorKind::Corrupt),
    /// [`ErrorKind::Truncated`](tarsia_codec::ErrorKind::Truncated).
    pub fn parse<'d>(
        bytes: &[u8],
        form: ZoneForm,
        pages: impl ExactSizeIterator<Item = &'d PageDescriptor>,
    ) -> Result<Self> {
        Self::check(bytes)?;
        let mut reader = ByteReader::new(bytes);
        let n_pages = reader.u32("zones.pages")?;
        reader.u32("zones.crc")?;
        if n_pages as usize != pages.len() {
            let what = "the column's pages";
            return Err(Error::corrupt("zones.pages", 0, n_pages, what));
        }
        let pages = pages.map(|page| parse_page(&mut reader, form, page));
        let pages = pages.collect::<Result<Vec<_>>>()?;
        reader.finish("zones.length")?;
        Ok(Self { pages })
    }
}

fn parse_page(
    reader: &mut ByteReader<'_>,
    form: ZoneForm,
    page: &PageDescriptor,
) -> Result<Option<PageZones>> {
    let at = reader.position();
    let bad = |field, at, found: u64, allowed| Err(Error::corrupt(field, at, found, allowed));
    let log2 = reader.u8("zones.blocks_log2")?;
    let width = reader.u8("zones.width")?;
    let reserved = reader.u16("zones.reserved")?;
    let n_zones = reader.u32("zones.count")?;
    if n_zones == 0 && log2 == 0 && width == 0 && reserved == 0 {
        return Ok(None);
    }
    let blocks_log2 = match log2 {
        WHOLE_PAGE => None,
        0..=ZONE_BLOCKS_LOG2_MAX => Some(log2),
        _ => return bad("zones.blocks_log2", at, log2.into(), "0 ..= 4, 255"),
    };
    let expected = blocks_log2.map_or(1, |log2| page.n_blocks.div_ceil(1 << log2));
    if n_zones != expected || reserved != 0 {
        return bad("zones.count", at + 4, n_zones.into(), "zones of all blocks");
    }
    let is_right = match form.fixed_width() {
        Some(fixed) => width == fixed,
        None => width.is_power_of_two() && usize::from(width) <= BOUND_BYTES_MAX,
    };
    if !is_right {
        return bad("zones.width", at + 1, width.into(), "bytes of a bound");
    }
    let columns = Columns::read(reader, form, usize::from(width), n_zones as usize)?;
    let mut zones = Vec::with_capacity(n_zones as usize);
    let mut rows = 0;
    for i in 0..n_zones as usize {
        let zone = columns.zone(i, at)?;
        rows += u64::from(zone.rows);
        zones.push(zone);
    }
    if rows != u64::from(page.rows) {
        return bad("zones.rows", at + HEADER_BYTES, rows, "the page's rows");
    }
    reader.pad_to(8, "zones.padding")?;
    Ok(Some(PageZones { blocks_log2, zones }))
}

/// The bytes of a page's zones: one part after the other, each for all zones.
struct Columns<'a> {
    rows: &'a [u8],
    nulls: &'a [u8],
    nans: &'a [u8],
    flags: &'a [u8],
    bounds: [&'a [u8]; 2],
    has_lengths: bool,
    width: usize,
}

impl<'a> Columns<'a> {
    fn read(reader: &mut ByteReader<'a>, form: ZoneForm, width: usize, n: usize) -> Result<Self> {
        let has_lengths = form.fixed_width().is_none();
        let stride = width + usize::from(has_lengths);
        Ok(Self {
            rows: reader.take(n.saturating_mul(4), "zones.rows")?,
            nulls: reader.take(n.saturating_mul(4), "zones.nulls")?,
            nans: match form.has_nans() {
                true => reader.take(n.saturating_mul(4), "zones.nans")?,
                false => &[],
            },
            flags: reader.take(n, "zones.flags")?,
            bounds: [
                reader.take(n.saturating_mul(stride), "zones.min")?,
                reader.take(n.saturating_mul(stride), "zones.max")?,
            ],
            has_lengths,
            width,
        })
    }

    fn zone(&self, i: usize, at: usize) -> Result<Zone> {
        let bad = |field, found: u64, allowed| Err(Error::corrupt(field, at, found, allowed));
        let number = |bytes: &[u8]| {
            let number = bytes.get(i * 4..).and_then(<[u8]>::first_chunk::<4>);
            number.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let (rows, nulls, nans) = (number(self.rows), number(self.nulls), number(self.nans));
        if rows == 0 {
            return bad("zones.rows", 0, "1 or more");
        }
        if u64::from(nulls) + u64::from(nans) > u64::from(rows) {
            return bad("zones.nulls", nulls.into(), "no more than rows");
        }
        let flags = self.flags.get(i).copied().unwrap_or_default();
        let cut = FLAG_MIN_CUT | FLAG_MAX_CUT;
        let is_known = flags & !(FLAG_BOUNDS | cut) == 0
            && (flags & cut == 0 || self.has_lengths && flags & FLAG_BOUNDS != 0);
        if !is_known {
            return bad("zones.flags", flags.into(), "1, and 2 and 4 for strings");
        }
        let mut bounds = [None; 2];
        for ((bytes, flag), bound) in (self.bounds.iter())
            .zip([FLAG_MIN_CUT, FLAG_MAX_CUT])
            .zip(&mut bounds)
        {
            let stride = self.width + usize::from(self.has_lengths);
            let entry = bytes.get(i * stride..(i + 1) * stride).unwrap_or_default();
            let (len, value) = match self.has_lengths {
                false => (self.width, entry),
                true => match entry.split_first() {
                    Some((len, value)) => (usize::from(*len), value),
                    None => (0, entry),
                },
            };
            let (used, rest) = value.split_at_checked(len).unwrap_or((&[], value));
            let is_empty = flags & FLAG_BOUNDS == 0;
            let is_clean = match is_empty {
                true => entry.iter().all(|byte| *byte == 0),
                false => used.len() == len && rest.iter().all(|byte| *byte == 0),
            };
            if !is_clean {
                return bad(
                    "zones.bound",
                    i as u64,
                    "zeros behind a bound, and without one",
                );
            }
            if !is_empty {
                *bound = Bound::new(used, flags & flag != 0);
            }
        }
        let bounds = match bounds {
            [Some(min), Some(max)] => Some(Bounds { min, max }),
            _ => None,
        };
        if bounds.is_some() == (nulls + nans == rows) && bounds.is_some() {
            return bad(
                "zones.flags",
                flags.into(),
                "no bounds where all rows are null or NaN",
            );
        }
        Ok(Zone {
            rows,
            nulls,
            nans,
            bounds,
        })
    }
}

fn crc_of(map: &[u8]) -> u32 {
    let head = map.get(..CRC_AT).unwrap_or_default();
    let body = map.get(HEADER_BYTES..).unwrap_or_default();
    crc32c(&[head, body])
}

fn seal(map: &mut [u8]) {
    let crc = crc_of(map);
    if let Some(field) = map.get_mut(CRC_AT..HEADER_BYTES) {
        field.copy_from_slice(&crc.to_le_bytes());
    }
}
