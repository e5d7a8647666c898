//! One block taken apart: its header, levels, validity and values. Bytes: `docs/spec/page.md`.

use tarsia_codec::toolbox::{ByteReader, check_zero};
use tarsia_codec::{Error, Result, Unit, ValueType};

pub use crate::checksum::{Chunks, checksummed, checksummed_chunks, reseal};
use crate::full_zip::form::FullZipForm;
use crate::full_zip::rows::check_block;
pub use crate::header::BlockHeader;
use crate::header::{FLAG_CHUNKED, FLAG_INDEXED};
pub use crate::layout::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, BLOCK_HEADER_BYTES, CHUNK_BYTES, SALT_BYTES,
    header_bytes, row_decoded_bytes_max,
};
use crate::layout::{LAYER_ALL_NULL, LAYER_ALL_VALID, items_bytes};
use crate::meta::{Level, Meta};
use crate::sections::LevelSections;

/// The validity of a block's items.
#[derive(Debug, Clone, Copy)]
pub enum Validity<'a> {
    /// Every item is valid.
    AllValid,
    /// Every item is null.
    AllNull,
    /// Encoded bits, one per item.
    Encoded {
        /// Index into the layer's trees.
        tree: u8,
        /// The encoded bits.
        bytes: &'a [u8],
    },
}

/// A parsed block: its parts lie inside its bytes and agree with each other and the page.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The header.
    pub header: BlockHeader,
    /// Items: the slots below the last level; in flat pages the present rows.
    pub n_items: u32,
    /// The sections of the levels, which [`LevelSections`] parses; empty in flat pages. In full-zip pages of byte
    /// strings the index of rows.
    pub levels: &'a [u8],
    /// The item validity.
    pub validity: Validity<'a>,
    /// The encoded values.
    pub unit: &'a [u8],
    /// Where the unit starts, counted from the block's start.
    pub unit_at: usize,
}

/// The parts that follow the header of a block.
struct PayloadParts<'a> {
    /// As much of the payload, from its start, as has been read. Everything before the unit is parsed from it.
    known: &'a [u8],
    /// All of the payload.
    payload: &'a [u8],
    /// The index of rows; empty where the block has none.
    index: &'a [u8],
}

/// The properties of a block that its page states, and that the block must agree with.
#[derive(Debug, Clone, Copy)]
pub struct BlockExpectation<'a> {
    /// The values' type.
    pub value_type: ValueType,
    /// The levels above the items.
    pub levels: &'a [Level],
    /// Whether the page has an item-validity layer.
    pub has_validity: bool,
    /// Whether values of null items are dropped.
    pub compact: bool,
    /// Rows the block table gives the block.
    pub rows: u32,
    /// The form of rows in a full-zip page.
    pub full_zip: Option<FullZipForm>,
}

impl<'a> BlockExpectation<'a> {
    /// Returns what META says about a block of `rows` rows.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::InvalidInput`] for a page without values, and what [`FullZipForm::of`] refuses.
    pub fn of(meta: &'a Meta, rows: u32) -> Result<Self> {
        let none = || Error::invalid("a page of type Null has no blocks");
        Ok(Self {
            value_type: meta.value_type.ok_or_else(none)?,
            levels: &meta.levels,
            has_validity: !meta.layers.is_empty(),
            compact: meta.compact,
            rows,
            full_zip: FullZipForm::of(meta)?,
        })
    }
}

impl<'a> Block<'a> {
    /// Parses a block of which no row was erased. `place` is all bytes that the file has for it; what follows the
    /// payload is padding.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`] and [`tarsia_codec::ErrorKind::Corrupt`] where the parts do not fit the
    /// place, each other or the page, and where rows are absent.
    pub fn parse(place: &'a [u8], expect: &BlockExpectation<'_>) -> Result<Self> {
        Self::parse_present(place, expect, expect.rows)
    }

    /// As [`Block::parse`], of a block of which so many rows are left. Layers and unit hold these rows only.
    ///
    /// # Errors
    /// As [`Block::parse`], and for another number of rows.
    pub fn parse_present(
        place: &'a [u8],
        expect: &BlockExpectation<'_>,
        present_rows: u32,
    ) -> Result<Self> {
        let block = Self::parse_erased(place, expect)?;
        block.header.check_present(present_rows)?;
        Ok(block)
    }

    /// As [`Block::parse`], for callers that know which rows were erased: layers and unit then hold the present rows
    /// only. A block without present rows has no payload, and its unit must not be given to a decoder.
    ///
    /// # Errors
    /// As [`Block::parse`], except that erased rows are allowed.
    pub fn parse_erased(place: &'a [u8], expect: &BlockExpectation<'_>) -> Result<Self> {
        let header = BlockHeader::parse(place)?;
        if header.logical_rows != expect.rows {
            return Err(Error::corrupt(
                "block.logical_rows",
                8,
                header.logical_rows,
                "the rows of the block table",
            ));
        }
        let payload = header.payload(place)?;
        let parts = PayloadParts {
            known: payload,
            payload,
            index: header.index(place),
        };
        Self::of_parts(header, parts, expect)
    }

    /// As [`Block::parse`], for a block of which only the first `front` bytes have been read. `place` is as long as the
    /// whole block; its other bytes may be anything. `None` where the unit may start after `front` bytes.
    ///
    /// # Errors
    /// As [`Block::parse`].
    pub fn parse_front(
        place: &'a [u8],
        front: usize,
        expect: &BlockExpectation<'_>,
    ) -> Result<Option<Self>> {
        let header = BlockHeader::parse(place)?;
        let payload = header.payload(place)?;
        let front = front.saturating_sub(header.payload_start());
        let known = payload.get(..front).unwrap_or(payload);
        if header.logical_rows != expect.rows || header.present_rows != expect.rows {
            // For the same errors as everywhere.
            return Self::parse(place, expect).map(Some);
        }
        let parts = PayloadParts {
            known,
            payload,
            index: header.index(place),
        };
        match Self::of_parts(header, parts, expect) {
            Ok(block) => Ok(Some(block)),
            Err(error) if known.len() < payload.len() && is_truncated(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of_parts(
        header: BlockHeader,
        parts: PayloadParts<'a>,
        expect: &BlockExpectation<'_>,
    ) -> Result<Self> {
        let PayloadParts {
            known,
            payload,
            index,
        } = parts;
        let mut at = header.payload_start();
        if cfg!(feature = "nested")
            && header.indexed != expect.full_zip.is_some_and(|form| form.is_indexed())
        {
            let allowed = "indexed in a full-zip page of byte strings, and there alone";
            return Err(Error::corrupt("block.flags", 5, FLAG_INDEXED, allowed));
        }
        if cfg!(feature = "nested") && header.chunked && expect.levels.is_empty() {
            let allowed = "not chunked in a flat page";
            return Err(Error::corrupt("block.flags", 5, FLAG_CHUNKED, allowed));
        }
        if header.present_rows == 0 {
            return Self::without_rows(header, payload);
        }
        if let (true, Some(form)) = (cfg!(feature = "nested"), expect.full_zip) {
            check_block(&header, form, index, payload)?;
            return Ok(Self::row_by_row(header, index, payload));
        }
        let (mut rest, mut levels, mut n_items) = (known, &[][..], header.present_rows);
        if cfg!(feature = "nested") && !expect.levels.is_empty() {
            let mut sections = LevelSections::new(known, expect.levels, &header, at)?;
            for section in &mut sections {
                section?;
            }
            n_items = sections.n_slots();
            (levels, rest) = sections.split();
            at += known.len() - rest.len();
        }
        let (validity, rest) = match expect.has_validity {
            true => parse_layer(rest, at, &header, n_items)?,
            false if header.null_count != 0 => {
                let allowed = "zero in a page without validity";
                let found = header.null_count;
                return Err(Error::corrupt("block.null_count", 28, found, allowed));
            }
            false => (Validity::AllValid, rest),
        };
        let unit_at = known.len() - rest.len();
        let block = Self {
            header,
            n_items,
            levels,
            validity,
            unit: payload.get(unit_at..).unwrap_or_default(),
            unit_at: header.payload_start() + unit_at,
        };
        block.check_counts(expect)?;
        Ok(block)
    }

    /// A block of a full-zip page, whose unit is all of its payload.
    pub(crate) fn row_by_row(header: BlockHeader, index: &'a [u8], payload: &'a [u8]) -> Self {
        Self {
            header,
            n_items: header.n_values,
            levels: index,
            validity: Validity::AllValid,
            unit: payload,
            unit_at: header.payload_start(),
        }
    }

    /// The unit as decoders take it.
    pub(crate) fn encoded_values(&self) -> Unit<'a> {
        Unit {
            bytes: self.unit,
            len: self.header.n_values,
            decoded_bytes: self.header.decoded_bytes,
        }
    }

    fn without_rows(header: BlockHeader, payload: &'a [u8]) -> Result<Self> {
        if !payload.is_empty()
            || header.decoded_bytes != 0
            || header.n_values != 0
            || header.null_count != 0
        {
            return Err(Error::corrupt(
                "block.payload_bytes",
                24,
                header.payload_bytes,
                "zero in a block without present rows",
            ));
        }
        Ok(Self {
            header,
            n_items: 0,
            levels: &[],
            validity: Validity::AllValid,
            unit: payload,
            unit_at: header.payload_start(),
        })
    }

    /// Checks the numbers of items and values in the header.
    fn check_counts(&self, expect: &BlockExpectation<'_>) -> Result<()> {
        let header = &self.header;
        if header.null_count > self.n_items {
            return Err(Error::corrupt(
                "block.null_count",
                28,
                header.null_count,
                "0 ..= the items",
            ));
        }
        let n_values = match expect.compact {
            true => self.n_items - header.null_count,
            false => self.n_items,
        };
        if header.n_values != n_values {
            return Err(Error::corrupt(
                "block.values",
                16,
                header.n_values,
                "the items, less the null ones in a compact page",
            ));
        }
        let decoded_bytes = match expect.value_type {
            ValueType::Bits => u64::from(n_values.div_ceil(8)),
            ValueType::Fixed(width) => u64::from(n_values) * u64::from(width),
            ValueType::Bytes => header.decoded_bytes.into(),
        };
        if u64::from(header.decoded_bytes) != decoded_bytes {
            return Err(Error::corrupt(
                "block.decoded_bytes",
                20,
                header.decoded_bytes,
                "values x width",
            ));
        }
        // Null items take memory too, whether or not they have a value here.
        if cfg!(feature = "nested") && !expect.levels.is_empty() {
            let found = items_bytes(expect.value_type, self.n_items.into());
            let max = header.decoded_bytes_max();
            if found > max {
                return Err(Error::limit("decoded bytes of a block's items", found, max));
            }
        }
        Ok(())
    }
}

impl<'a, 'l> LevelSections<'a, 'l> {
    /// The sections of a parsed block.
    pub fn of(block: &Block<'a>, levels: &'l [Level]) -> Result<Self> {
        let at = 0;
        Self::new(block.levels, levels, &block.header, at)
    }
}

fn is_truncated(error: &Error) -> bool {
    matches!(error.kind(), tarsia_codec::ErrorKind::Truncated { .. })
}

fn parse_layer<'a>(
    payload: &'a [u8],
    at: usize,
    header: &BlockHeader,
    n_items: u32,
) -> Result<(Validity<'a>, &'a [u8])> {
    let mut reader = ByteReader::new(payload);
    let tree = reader.u8("layer.tree")?;
    check_zero(reader.take(3, "layer.reserved")?, "layer.reserved", at + 1)?;
    let len = reader.u32("layer.length")?;
    let bytes = reader.take(len as usize, "layer")?;
    reader.pad_to(BLOCK_ALIGN, "layer.padding")?;
    let validity = match tree {
        LAYER_ALL_VALID => Validity::AllValid,
        LAYER_ALL_NULL => Validity::AllNull,
        tree => Validity::Encoded { tree, bytes },
    };
    let null_count_fits = match validity {
        Validity::AllValid => len == 0 && header.null_count == 0,
        Validity::AllNull => len == 0 && header.null_count == n_items,
        Validity::Encoded { .. } => true,
    };
    if !null_count_fits {
        return Err(Error::corrupt(
            "block.null_count",
            28,
            header.null_count,
            "what the validity layer says",
        ));
    }
    Ok((validity, reader.rest()))
}
