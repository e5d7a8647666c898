//! The column record: the part of a node's record that says where its column is.

use tarsia_codec::toolbox::ByteReader;

use super::page::{FileBounds, PageDescriptor};
use crate::bytes::{crc32c, len_u32};
use crate::{Error, Result};

const KIND_EMPTY: u8 = 0;
const KIND_PAGE: u8 = 1;
const KIND_META: u8 = 2;

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

/// The part of a node's record that says where its column is; it has a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRecord {
    /// The pages, or where they are listed.
    pub source: ColumnSource,
    /// The erasure level of the column.
    pub level: ErasureLevel,
    /// The column's digest; zero for [`ColumnSource::Empty`].
    pub digest: [u8; 32],
}

/// Where the pages of a column are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// No pages: no rows, or of type Null.
    Empty,
    /// One page with all rows, and no shared buffers.
    Page {
        /// Index of the META blob.
        meta: u16,
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
}

impl ColumnRecord {
    /// The record of a column without pages.
    pub const EMPTY: Self = Self {
        source: ColumnSource::Empty,
        level: ErasureLevel::Hide,
        digest: [0; 32],
    };

    /// Sets another erasure level.
    #[must_use]
    pub fn with_level(self, level: ErasureLevel) -> Self {
        Self { level, ..self }
    }

    /// The record of a column that has this one page; its digest is the page's.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a page whose first row is not 0 or that has shared buffers: that needs a
    /// [`crate::ColumnMeta`].
    pub fn of_page(page: &PageDescriptor) -> Result<Self> {
        if page.first_row != 0 || page.shared.is_some() {
            return Err(Error::invalid("a page that does not fit a column record"));
        }
        Ok(Self {
            source: ColumnSource::Page {
                meta: page.meta,
                n_blocks: page.n_blocks,
                place: page.place,
                length: page.length,
                null_count: page.null_count,
                side_place: page.side_place,
                side_length: page.side_length,
            },
            level: ErasureLevel::default(),
            digest: page.digest,
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
        })
    }

    /// The page of a [`ColumnSource::Page`]; `None` for another source.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the page does not fit the file.
    pub fn page(&self, bounds: &FileBounds) -> Result<Option<PageDescriptor>> {
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
            meta,
            shared: None,
            digest: self.digest,
        };
        page.check(bounds, 0)?;
        Ok(Some(page))
    }

    /// Appends the 72 bytes.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let (kind, meta, n_blocks, place, length, nulls, side_place, side_length, crc) =
            match self.source {
                ColumnSource::Empty => (KIND_EMPTY, 0, 0, 0, 0, 0, 0, 0, 0),
                ColumnSource::Page {
                    meta,
                    n_blocks,
                    place,
                    length,
                    null_count,
                    side_place,
                    side_length,
                } => (
                    KIND_PAGE,
                    meta,
                    n_blocks,
                    place,
                    length,
                    null_count,
                    side_place,
                    side_length,
                    0,
                ),
                ColumnSource::Meta { place, length, crc } => {
                    (KIND_META, 0, 0, place, length, 0, 0, 0, crc)
                }
            };
        out.extend_from_slice(&[kind, self.level.number()]);
        out.extend_from_slice(&meta.to_le_bytes());
        out.extend_from_slice(&n_blocks.to_le_bytes());
        out.extend_from_slice(&place.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&nulls.to_le_bytes());
        out.extend_from_slice(&side_place.to_le_bytes());
        out.extend_from_slice(&side_length.to_le_bytes());
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&self.digest);
    }

    /// Reads the 72 bytes. Whether offsets fit the file is checked when they are used.
    pub(crate) fn parse(reader: &mut ByteReader<'_>) -> Result<Self> {
        let start = reader.position();
        let bad = |field, at: usize, found: u64, allowed| {
            Err(Error::corrupt(field, start + at, found, allowed))
        };
        let kind = reader.u8("column.kind")?;
        let level = reader.u8("column.level")?;
        let meta = reader.u16("column.meta")?;
        let n_blocks = reader.u32("column.n_blocks")?;
        let place = reader.u64("column.place")?;
        let length = reader.u32("column.length")?;
        let null_count = reader.u32("column.null_count")?;
        let side_place = reader.u64("column.side_place")?;
        let side_length = reader.u32("column.side_length")?;
        let crc = reader.u32("column.crc")?;
        let mut digest = [0; 32];
        digest.copy_from_slice(reader.take(32, "column.digest")?);
        let Some(level) = ErasureLevel::of_number(level) else {
            return bad("column.level", 1, level.into(), "0, 1, 2");
        };
        let page_fields = u64::from(meta) | u64::from(n_blocks) | u64::from(null_count);
        let page_fields = page_fields | side_place | u64::from(side_length);
        let source = match kind {
            KIND_EMPTY => {
                let fields = page_fields | place | u64::from(length) | u64::from(crc);
                if fields != 0 || digest != [0; 32] {
                    return bad(
                        "column.kind",
                        0,
                        kind.into(),
                        "a kind whose fields are used",
                    );
                }
                ColumnSource::Empty
            }
            KIND_PAGE => {
                if crc != 0 {
                    return bad("column.crc", 36, crc.into(), "zero for kind 1");
                }
                ColumnSource::Page {
                    meta,
                    n_blocks,
                    place,
                    length,
                    null_count,
                    side_place,
                    side_length,
                }
            }
            KIND_META => {
                if page_fields != 0 {
                    return bad("column.meta", 2, page_fields, "zero for kind 2");
                }
                ColumnSource::Meta { place, length, crc }
            }
            _ => return bad("column.kind", 0, kind.into(), "0, 1, 2"),
        };
        Ok(Self {
            source,
            level,
            digest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::made_up::{BOUNDS, page};
    use super::*;
    use crate::limits::{BLOCK_ROWS_MAX, COLUMN_RECORD_BYTES};

    fn record_bytes(record: &ColumnRecord) -> Vec<u8> {
        let mut out = Vec::new();
        record.write_to(&mut out);
        assert_eq!(out.len(), COLUMN_RECORD_BYTES);
        out
    }

    #[test]
    fn records_round_trip() {
        let one_page = PageDescriptor {
            epoch: 0,
            ..page(0, 3000)
        };
        let records = [
            ColumnRecord::EMPTY,
            ColumnRecord::of_page(&one_page).unwrap(),
            ColumnRecord::of_meta(150_000, b"12345678", [1; 32]).unwrap(),
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
        assert_eq!(records[1].page(&BOUNDS), Ok(Some(one_page)));
        assert_eq!(records[0].page(&BOUNDS), Ok(None));
        assert!(ColumnRecord::of_page(&page(1, 10)).is_err());
    }

    #[test]
    fn records_refuse_fields_of_another_kind() {
        let page = record_bytes(&ColumnRecord::of_page(&page(0, 3000)).unwrap());
        let meta = record_bytes(&ColumnRecord::of_meta(150_000, b"12345678", [1; 32]).unwrap());
        let empty = record_bytes(&ColumnRecord::EMPTY);
        for (bytes, at) in [
            (&empty, vec![2, 4, 8, 16, 20, 24, 32, 36, 40]),
            (&page, vec![36]),
            (&meta, vec![2, 4, 20, 24, 32]),
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
        let mut bad = page.clone();
        bad[1] = 3;
        assert!(ColumnRecord::parse(&mut ByteReader::new(&bad)).is_err());
        let mut bad = page;
        bad[0] = 3;
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
            ColumnRecord::of_page(&good)
                .unwrap()
                .page(&many_rows)
                .is_err()
        );
        let too_many_rows = FileBounds {
            rows: 1 << 32,
            ..BOUNDS
        };
        assert!(
            ColumnRecord::of_page(&good)
                .unwrap()
                .page(&too_many_rows)
                .is_err()
        );
    }
}
