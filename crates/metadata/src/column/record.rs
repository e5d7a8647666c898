//! The column record: the part of a node's record that says where its column is.

use std::ops::Range;

use tarsia_codec::toolbox::ByteReader;

use super::description::{MetaRef, PageDescription};
use super::page::{FileBounds, PageDescriptor};
use crate::bytes::{crc32c, len_u32};
use crate::limits::{REGION_PLACE_BYTES, U48_MAX};
use crate::path::to_usize;
use crate::{Error, Result};

const KIND_EMPTY: u8 = 0;
const KIND_PAGE: u8 = 1;
const KIND_META: u8 = 2;
/// As [`KIND_PAGE`], with META behind the column record.
const KIND_PAGE_OWN: u8 = 3;
/// As [`KIND_META`], with the list of pages behind the column record.
const KIND_META_INSIDE: u8 = 4;

/// The level of a column: what an erasure may do with its values. A column has its level from the time it is written.
///
/// Source: Bullion (CIDR 2025), section 2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ErasureLevel {
    /// Level 0: nothing. A file with no other columns is never changed.
    Immutable,
    /// Level 1: rows can be hidden; their bytes stay.
    #[default]
    Hide,
    /// Level 2: the bytes of rows can be removed in place. All blocks have a salt.
    Erase,
}

impl ErasureLevel {
    /// All levels, in their order.
    pub const ALL: [Self; 3] = [Self::Immutable, Self::Hide, Self::Erase];

    /// The level of a number; `None` for numbers above 2.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// 0, 1 or 2.
    pub fn number(self) -> u8 {
        match self {
            Self::Immutable => 0,
            Self::Hide => 1,
            Self::Erase => 2,
        }
    }
}

impl std::fmt::Display for ErasureLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.number().fmt(f)
    }
}

/// Set in the byte of the level if the place of zones lies behind what is inside.
const HAS_ZONES: u8 = 0x80;

/// Set in the byte of the level if the place of bloom filters lies behind that.
const HAS_BLOOMS: u8 = 0x40;

/// Where the zone map or the bloom filters of a column lie: in the metadata region, at a multiple of 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionPlace {
    /// Offset of the first byte.
    pub place: u64,
    /// Bytes; a multiple of 8, below 2^48.
    pub length: u64,
}

impl RegionPlace {
    /// The byte range; refused if it does not lie in the metadata region. `field` is named by the error.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn range(&self, field: &'static str, bounds: &FileBounds) -> Result<Range<u64>> {
        let end = self.place.checked_add(self.length);
        match end {
            Some(end) if self.place >= bounds.meta_place && end <= bounds.tree_place => {
                Ok(self.place..end)
            }
            _ => {
                let allowed = "a place in the metadata";
                Err(Error::corrupt(field, 0, self.place, allowed))
            }
        }
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.place.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
    }

    fn parse(field: &'static str, reader: &mut ByteReader<'_>) -> Result<Self> {
        let at = reader.position();
        let place = reader.u64(field)?;
        let length = reader.u64(field)?;
        let is_aligned = place.is_multiple_of(8) && length.is_multiple_of(8);
        if !is_aligned || length == 0 || length > U48_MAX {
            let allowed = "multiples of 8, and a length below 2^48";
            return Err(Error::corrupt(field, at, place, allowed));
        }
        Ok(Self { place, length })
    }
}

/// The part of a node's record that says where its column is: 72 bytes, those that its source has *inside*, 16 if the
/// column has zones, and 16 if it has bloom filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRecord<'a> {
    /// The pages, or where they are listed.
    pub source: ColumnSource<'a>,
    /// The erasure level of the column.
    pub level: ErasureLevel,
    /// The column's digest; zero for [`ColumnSource::Empty`].
    pub digest: [u8; 32],
    /// Its zone map, if it has one.
    pub zones: Option<RegionPlace>,
    /// Its bloom filters, if it has some.
    pub blooms: Option<RegionPlace>,
}

/// Where the pages of a column are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource<'a> {
    /// No pages: no rows, or of type Null.
    Empty,
    /// One page with all rows, and no shared buffers.
    Page {
        /// META, and the kernel. META of the column's own lies inside the record.
        meta: MetaRef<'a>,
        /// Blocks.
        n_blocks: u32,
        /// Offset of the first block.
        place: u64,
        /// Bytes of all blocks.
        length: u32,
        /// Null items.
        null_count: u32,
        /// Offset of block table and digests; 0 for a page of one block.
        side_place: u64,
        /// Bytes of the block table and the digests.
        side_length: u32,
    },
    /// The pages are listed by a [`crate::ColumnMeta`].
    Meta {
        /// Offset of its FlatBuffer.
        place: u64,
        /// Bytes of it, padding counted.
        length: u32,
        /// CRC-32C of those bytes.
        crc: u32,
    },
    /// The pages are listed by a [`crate::ColumnMeta`] inside the record.
    Inside {
        /// Its FlatBuffer, padding counted.
        bytes: &'a [u8],
    },
}

impl<'a> ColumnRecord<'a> {
    /// The record of a column without pages.
    pub const EMPTY: Self = Self {
        source: ColumnSource::Empty,
        level: ErasureLevel::Hide,
        digest: [0; 32],
        zones: None,
        blooms: None,
    };

    /// Sets another erasure level.
    #[must_use]
    pub fn with_level(self, level: ErasureLevel) -> Self {
        Self { level, ..self }
    }

    /// Sets where its zone map lies.
    #[must_use]
    pub fn with_zones(self, zones: Option<RegionPlace>) -> Self {
        Self { zones, ..self }
    }

    /// Sets where its bloom filters lie.
    #[must_use]
    pub fn with_blooms(self, blooms: Option<RegionPlace>) -> Self {
        Self { blooms, ..self }
    }

    /// The record of a column that has this one page; its digest is the page's.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a page whose first row is not 0 or that has shared buffers: that needs a
    /// [`crate::ColumnMeta`].
    pub fn of_page(page: &PageDescriptor, description: &'a PageDescription) -> Result<Self> {
        if page.first_row != 0 || !description.shared.is_empty() {
            return Err(Error::invalid("a page that does not fit a column record"));
        }
        Ok(Self {
            source: ColumnSource::Page {
                meta: description.meta.as_ref(),
                n_blocks: page.n_blocks,
                place: page.place,
                length: page.length,
                null_count: page.null_count,
                side_place: page.side_place,
                side_length: page.side_length,
            },
            level: ErasureLevel::default(),
            digest: page.digest,
            zones: None,
            blooms: None,
        })
    }

    /// The record of a column whose [`crate::ColumnMeta`] is stored as `bytes` at the offset `place`.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for 4 GiB or more.
    pub fn of_meta(place: u64, bytes: &[u8], digest: [u8; 32]) -> Result<Self> {
        Ok(Self {
            source: ColumnSource::Meta {
                place,
                length: len_u32(bytes.len(), "column.length")?,
                crc: crc32c(&[bytes]),
            },
            level: ErasureLevel::default(),
            digest,
            zones: None,
            blooms: None,
        })
    }

    /// The record of a column whose [`crate::ColumnMeta`] is stored as `bytes` inside of it.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for bytes that are not padded to a multiple of 8.
    pub fn of_meta_inside(bytes: &'a [u8], digest: [u8; 32]) -> Result<Self> {
        if !bytes.len().is_multiple_of(8) {
            return Err(Error::invalid("a list of pages that is not padded"));
        }
        Ok(Self {
            source: ColumnSource::Inside { bytes },
            level: ErasureLevel::default(),
            digest,
            zones: None,
            blooms: None,
        })
    }

    /// The bytes that lie inside the record, behind its fixed part.
    pub(crate) fn inside(&self) -> &'a [u8] {
        match self.source {
            ColumnSource::Inside { bytes }
            | ColumnSource::Page {
                meta: MetaRef::Own { bytes, .. },
                ..
            } => bytes,
            ColumnSource::Page {
                meta: MetaRef::Common(_),
                ..
            }
            | ColumnSource::Empty
            | ColumnSource::Meta { .. } => &[],
        }
    }

    /// The page of a [`ColumnSource::Page`] and its description; `None` for another source.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the page does not fit the file.
    pub fn page(&self, bounds: &FileBounds) -> Result<Option<(PageDescriptor, PageDescription)>> {
        let ColumnSource::Page {
            meta,
            n_blocks,
            place,
            length,
            null_count,
            side_place,
            side_length,
        } = self.source
        else {
            return Ok(None);
        };
        let rows = u32::try_from(bounds.rows).map_err(|_| {
            Error::corrupt(
                "column.kind",
                0,
                KIND_PAGE,
                "2 for as many rows as the file has",
            )
        })?;
        let page = PageDescriptor {
            first_row: 0,
            place,
            side_place,
            epoch: 0,
            length,
            rows,
            n_blocks,
            side_length,
            null_count,
            description: 0,
            digest: self.digest,
        };
        page.check(bounds, 0)?;
        meta.check(bounds, 2)?;
        Ok(Some((page, PageDescription::of_meta(meta.to_owned()))))
    }

    /// Appends the fixed part, and what lies inside.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut fixed = Fixed {
            level: self.level.number(),
            digest: self.digest,
            ..Fixed::default()
        };
        match self.source {
            ColumnSource::Empty => fixed.kind = KIND_EMPTY,
            ColumnSource::Page {
                meta,
                n_blocks,
                place,
                length,
                null_count,
                side_place,
                side_length,
            } => {
                match meta {
                    MetaRef::Common(index) => (fixed.kind, fixed.meta) = (KIND_PAGE, index),
                    MetaRef::Own { bytes, kernel } => {
                        fixed.kind = KIND_PAGE_OWN;
                        // 65,535 kernels or more are refused by the check of the META.
                        fixed.meta = kernel.map_or(0, |kernel| kernel.saturating_add(1));
                        fixed.last = len_u32(bytes.len(), "column.meta_length")?;
                    }
                }
                fixed.n_blocks = n_blocks;
                fixed.place = place;
                fixed.length = length;
                fixed.null_count = null_count;
                fixed.side_place = side_place;
                fixed.side_length = side_length;
            }
            ColumnSource::Meta { place, length, crc } => {
                fixed.kind = KIND_META;
                (fixed.place, fixed.length, fixed.last) = (place, length, crc);
            }
            ColumnSource::Inside { bytes } => {
                fixed.kind = KIND_META_INSIDE;
                fixed.length = len_u32(bytes.len(), "column.length")?;
            }
        }
        if self.zones.is_some() {
            fixed.level |= HAS_ZONES;
        }
        if self.blooms.is_some() {
            fixed.level |= HAS_BLOOMS;
        }
        fixed.write_to(out);
        out.extend_from_slice(self.inside());
        for place in [&self.zones, &self.blooms].into_iter().flatten() {
            place.write_to(out);
        }
        Ok(())
    }

    /// Reads the fixed part, and what lies inside. Whether offsets fit the file is checked when they are used.
    pub(crate) fn parse(reader: &mut ByteReader<'a>) -> Result<Self> {
        let start = reader.position();
        let bad = |field, at: usize, found: u64, allowed| {
            Err(Error::corrupt(field, start + at, found, allowed))
        };
        let fixed = Fixed::parse(reader)?;
        let Some(level) = ErasureLevel::of_number(fixed.level & !(HAS_ZONES | HAS_BLOOMS)) else {
            let allowed = "0, 1, 2, and 64 and 128";
            return bad("column.level", 1, fixed.level.into(), allowed);
        };
        let has = |flag| fixed.level & flag != 0;
        if has(HAS_ZONES | HAS_BLOOMS) && fixed.kind == KIND_EMPTY {
            let allowed = "no zones and no bloom filters for kind 0";
            return bad("column.level", 1, fixed.level.into(), allowed);
        }
        let page = |meta| ColumnSource::Page {
            meta,
            n_blocks: fixed.n_blocks,
            place: fixed.place,
            length: fixed.length,
            null_count: fixed.null_count,
            side_place: fixed.side_place,
            side_length: fixed.side_length,
        };
        let source = match fixed.kind {
            KIND_EMPTY => {
                let fields = fixed.page_fields() | fixed.place | u64::from(fixed.length);
                if fields | u64::from(fixed.last) != 0 || fixed.digest != [0; 32] {
                    let allowed = "a kind whose fields are used";
                    return bad("column.kind", 0, fixed.kind.into(), allowed);
                }
                ColumnSource::Empty
            }
            KIND_PAGE if fixed.last != 0 => {
                return bad("column.crc", 36, fixed.last.into(), "zero for kind 1");
            }
            KIND_PAGE => page(MetaRef::Common(fixed.meta)),
            KIND_PAGE_OWN => page(MetaRef::Own {
                bytes: reader.take(inside_len(fixed.last)?, "column.meta")?,
                kernel: fixed.meta.checked_sub(1),
            }),
            KIND_META | KIND_META_INSIDE if fixed.page_fields() != 0 => {
                let allowed = "zero for kinds 2 and 4";
                return bad("column.meta", 2, fixed.page_fields(), allowed);
            }
            KIND_META => ColumnSource::Meta {
                place: fixed.place,
                length: fixed.length,
                crc: fixed.last,
            },
            KIND_META_INSIDE => {
                if fixed.place != 0 || fixed.last != 0 || !fixed.length.is_multiple_of(8) {
                    let allowed = "no place and no checksum for kind 4, and a multiple of 8 bytes";
                    return bad("column.length", 16, fixed.length.into(), allowed);
                }
                ColumnSource::Inside {
                    bytes: reader.take(inside_len(fixed.length)?, "column.pages")?,
                }
            }
            kind => return bad("column.kind", 0, kind.into(), "0, 1, 2, 3, 4"),
        };
        let mut place = |flag, field| match has(flag) {
            true => RegionPlace::parse(field, reader).map(Some),
            false => Ok(None),
        };
        let zones = place(HAS_ZONES, "column.zones")?;
        let blooms = place(HAS_BLOOMS, "column.blooms")?;
        Ok(Self {
            source,
            level,
            digest: fixed.digest,
            zones,
            blooms,
        })
    }

    /// Bytes that the record takes beside its fixed part.
    pub(crate) fn more_bytes(&self) -> usize {
        let places = [self.zones, self.blooms].into_iter().flatten();
        self.inside().len() + places.count() * REGION_PLACE_BYTES
    }
}

fn inside_len(bytes: u32) -> Result<usize> {
    to_usize(bytes, "column.length")
}

/// The fixed part of a column record, field by field.
#[derive(Default)]
struct Fixed {
    kind: u8,
    level: u8,
    meta: u16,
    n_blocks: u32,
    place: u64,
    length: u32,
    null_count: u32,
    side_place: u64,
    side_length: u32,
    /// A checksum, or the length of META.
    last: u32,
    digest: [u8; 32],
}

impl Fixed {
    /// Zero if all fields are that kinds 2 and 4 do not use.
    fn page_fields(&self) -> u64 {
        let fields = u64::from(self.meta) | u64::from(self.n_blocks) | u64::from(self.null_count);
        fields | self.side_place | u64::from(self.side_length)
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.kind, self.level]);
        out.extend_from_slice(&self.meta.to_le_bytes());
        out.extend_from_slice(&self.n_blocks.to_le_bytes());
        out.extend_from_slice(&self.place.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.null_count.to_le_bytes());
        out.extend_from_slice(&self.side_place.to_le_bytes());
        out.extend_from_slice(&self.side_length.to_le_bytes());
        out.extend_from_slice(&self.last.to_le_bytes());
        out.extend_from_slice(&self.digest);
    }

    fn parse(reader: &mut ByteReader<'_>) -> Result<Self> {
        let mut fixed = Self {
            kind: reader.u8("column.kind")?,
            level: reader.u8("column.level")?,
            meta: reader.u16("column.meta")?,
            n_blocks: reader.u32("column.n_blocks")?,
            place: reader.u64("column.place")?,
            length: reader.u32("column.length")?,
            null_count: reader.u32("column.null_count")?,
            side_place: reader.u64("column.side_place")?,
            side_length: reader.u32("column.side_length")?,
            last: reader.u32("column.crc")?,
            digest: [0; 32],
        };
        let digest = reader.take(32, "column.digest")?;
        fixed.digest.copy_from_slice(digest);
        Ok(fixed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::description::PageMeta;
    use super::super::page::made_up::{BOUNDS, page};
    use super::*;
    use crate::MetaBlob;
    use crate::limits::{BLOCK_ROWS_MAX, COLUMN_RECORD_BYTES};

    static COMMON: PageDescription = PageDescription {
        meta: PageMeta::Common(1),
        shared: Vec::new(),
    };

    fn page_of_one() -> PageDescriptor {
        page(0, 3000)
    }

    const PLACE: RegionPlace = RegionPlace {
        place: 4096,
        length: 64,
    };

    fn own() -> PageDescription {
        PageDescription::of_meta(PageMeta::Own(MetaBlob {
            bytes: vec![1, 2, 3],
            kernel: Some(0),
        }))
    }

    fn record_bytes(record: &ColumnRecord<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        record.write_to(&mut out).unwrap();
        assert_eq!(out.len(), COLUMN_RECORD_BYTES + record.more_bytes());
        out
    }

    #[test]
    fn records_round_trip() {
        let one_page = PageDescriptor {
            epoch: 0,
            ..page(0, 3000)
        };
        let own = own();
        let records = [
            ColumnRecord::EMPTY,
            ColumnRecord::of_page(&one_page, &COMMON).unwrap(),
            ColumnRecord::of_page(&one_page, &own).unwrap(),
            ColumnRecord::of_meta(150_000, b"12345678", [1; 32]).unwrap(),
            ColumnRecord::of_meta_inside(b"12345678", [1; 32]).unwrap(),
            ColumnRecord::of_page(&one_page, &own)
                .unwrap()
                .with_zones(Some(PLACE)),
            ColumnRecord::of_page(&one_page, &own)
                .unwrap()
                .with_blooms(Some(PLACE)),
            ColumnRecord::of_meta_inside(b"12345678", [1; 32])
                .unwrap()
                .with_level(ErasureLevel::Erase)
                .with_zones(Some(PLACE))
                .with_blooms(Some(RegionPlace {
                    place: 1 << 20,
                    length: 1 << 40,
                })),
        ];
        for record in records {
            let bytes = record_bytes(&record);
            let mut reader = ByteReader::new(&bytes);
            assert_eq!(ColumnRecord::parse(&mut reader), Ok(record));
            for len in 0..bytes.len() {
                let got = ColumnRecord::parse(&mut ByteReader::new(&bytes[..len]));
                assert!(matches!(got, Err(Error::Truncated { .. })), "{len}");
            }
        }
        assert_eq!(
            records[1].page(&BOUNDS),
            Ok(Some((one_page, COMMON.clone())))
        );
        assert_eq!(records[2].page(&BOUNDS), Ok(Some((one_page, own.clone()))));
        assert_eq!(records[0].page(&BOUNDS), Ok(None));
        assert!(ColumnRecord::of_page(&page(1, 10), &COMMON).is_err());
        assert!(ColumnRecord::of_meta_inside(b"1234567", [1; 32]).is_err());
        let with_shared = PageDescription {
            shared: vec![0],
            ..COMMON.clone()
        };
        assert!(ColumnRecord::of_page(&one_page, &with_shared).is_err());
        // META and kernels that the file does not have.
        for bounds in [
            FileBounds {
                n_metas: 1,
                ..BOUNDS
            },
            FileBounds {
                n_kernels: 0,
                ..BOUNDS
            },
        ] {
            let refused = records[1..3].iter().filter(|it| it.page(&bounds).is_err());
            assert_eq!(refused.count(), 1, "{bounds:?}");
        }
    }

    #[test]
    fn records_refuse_fields_of_another_kind() {
        let page = record_bytes(&ColumnRecord::of_page(&page(0, 3000), &COMMON).unwrap());
        let inside = ColumnRecord::of_meta_inside(b"12345678", [1; 32]).unwrap();
        let inside = record_bytes(&inside);
        let meta = record_bytes(&ColumnRecord::of_meta(150_000, b"12345678", [1; 32]).unwrap());
        let empty = record_bytes(&ColumnRecord::EMPTY);
        for (bytes, at) in [
            (&empty, vec![2, 4, 8, 16, 20, 24, 32, 36, 40]),
            (&page, vec![36]),
            (&meta, vec![2, 4, 20, 24, 32]),
            (&inside, vec![2, 4, 8, 16, 20, 24, 32, 36]),
        ] {
            for at in at {
                let mut bad = bytes.clone();
                bad[at] ^= 1;
                let got = ColumnRecord::parse(&mut ByteReader::new(&bad));
                assert!(matches!(got, Err(Error::Corrupt { .. })), "{at}: {got:?}");
            }
        }
        for level in ErasureLevel::ALL {
            let mut leveled = page.clone();
            leveled[1] = level.number();
            let record = ColumnRecord::parse(&mut ByteReader::new(&leveled)).unwrap();
            assert_eq!(record.level, level);
        }
        for level in [3, 32, 4 | 64] {
            let mut bad = page.clone();
            bad[1] = level;
            assert!(ColumnRecord::parse(&mut ByteReader::new(&bad)).is_err());
        }
        // No pages have neither zones nor bloom filters.
        let more = [
            ColumnRecord::EMPTY.with_zones(Some(PLACE)),
            ColumnRecord::EMPTY.with_blooms(Some(PLACE)),
        ];
        for record in more {
            let bytes = record_bytes(&record);
            assert!(ColumnRecord::parse(&mut ByteReader::new(&bytes)).is_err());
        }
        for (place, length) in [(4, 64), (4096, 0), (4096, 4), (4096, 1 << 48)] {
            let place = RegionPlace { place, length };
            let record = ColumnRecord::of_page(&page_of_one(), &COMMON).unwrap();
            let bytes = record_bytes(&record.with_blooms(Some(place)));
            assert!(ColumnRecord::parse(&mut ByteReader::new(&bytes)).is_err());
        }
        let mut bad = page;
        bad[0] = 5;
        assert!(ColumnRecord::parse(&mut ByteReader::new(&bad)).is_err());
    }

    #[test]
    fn pages_with_more_rows_than_their_blocks_hold_are_refused() {
        let good = page(0, 3000);
        let many_rows = FileBounds {
            rows: u64::from(BLOCK_ROWS_MAX) * 4 + 1,
            ..BOUNDS
        };
        assert!(
            ColumnRecord::of_page(&good, &COMMON)
                .unwrap()
                .page(&many_rows)
                .is_err()
        );
        let too_many_rows = FileBounds {
            rows: 1 << 32,
            ..BOUNDS
        };
        assert!(
            ColumnRecord::of_page(&good, &COMMON)
                .unwrap()
                .page(&too_many_rows)
                .is_err()
        );
    }
}
