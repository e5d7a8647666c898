//! The header and parts of one mini-block. Bytes: `docs/spec/page.md`.

use tarsia_codec::{Error, Reader, Result, ValueType, check_zero, limits};

use crate::levels::{LevelSections, items_bytes};
use crate::meta::{Level, Meta};
use crate::zip::{ROW_ENTRY_BYTES, RowIndex, ZipForm, ZipRows};

/// Bytes of a block header, without a salt.
pub const BLOCK_HEADER_BYTES: usize = 32;

/// Blocks start at multiples of this many bytes.
pub const BLOCK_ALIGN: usize = 8;

/// Most decoded bytes of a block of several rows. What one lookup may have to decode stays small, and a few hostile
/// bytes cannot ask for gigabytes.
pub const BLOCK_DECODED_BYTES_MAX: u32 = 16 << 20;

/// A block of one row may decode to this many times its payload, beyond [`BLOCK_DECODED_BYTES_MAX`].
pub const ROW_EXPANSION_MAX: u64 = 1024;

/// The most bytes that values, and the slots of each level, of one row may decode to from so many stored ones.
pub fn row_decoded_bytes_max(payload_bytes: u64) -> u64 {
    let bytes = payload_bytes.saturating_mul(ROW_EXPANSION_MAX);
    let bytes = bytes.saturating_add(BLOCK_DECODED_BYTES_MAX.into());
    bytes.min(limits::UNIT_DECODED_BYTES_MAX)
}

const FLAG_SALT: u8 = 1;
const FLAG_CHUNKED: u8 = 2;
const FLAG_INDEXED: u8 = 4;
/// Nested and full-zip pages alone have such blocks, and kernels of others need no code for them.
const FLAGS_KNOWN: u8 = match cfg!(feature = "nested") {
    true => FLAG_SALT | FLAG_CHUNKED | FLAG_INDEXED,
    false => FLAG_SALT,
};
/// Bytes of payload that have a checksum of their own in a chunked block, so that some of them can be read alone.
pub const CHUNK_BYTES: usize = 8 << 10;
/// Writers give blocks of one row of a nested column with more payload than this such checksums.
pub const CHUNKED_BYTES_MIN: usize = 64 << 10;
/// Bytes of the salt that may follow the header.
pub const SALT_BYTES: usize = 16;
/// The checksum comes first, so that it covers one run of bytes: the rest of the block.
const CRC_BYTES: usize = 4;

/// Layer descriptor: no bytes, every item is valid.
pub const LAYER_ALL_VALID: u8 = 255;
/// Layer descriptor: no bytes, every item is null.
pub const LAYER_ALL_NULL: u8 = 254;
/// Level descriptor: the one length of all slots, in four bytes.
pub const LAYER_CONSTANT: u8 = 253;

/// The fixed header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// Index into the page's value trees.
    pub tree: u8,
    /// A 16-byte salt follows the header.
    pub salted: bool,
    /// Each [`CHUNK_BYTES`] of the payload have a checksum, and the block's checksum covers these instead of the payload.
    pub chunked: bool,
    /// An index of the present rows follows the header: in full-zip pages of byte strings. The block's checksum covers it instead of the
    /// payload, of which it has a checksum for each row.
    pub indexed: bool,
    /// Rows of the block, erased ones too.
    pub logical_rows: u32,
    /// Rows that have entries in the layers.
    pub present_rows: u32,
    /// Values in the unit.
    pub n_values: u32,
    /// Bytes the unit decodes to.
    pub decoded_bytes: u32,
    /// Bytes of layers and unit.
    pub payload_bytes: u32,
    /// Stored checksum.
    pub crc: u32,
    /// Null items.
    pub null_count: u32,
}

impl BlockHeader {
    /// That of so many rows of a value each, without values.
    pub fn of_rows(n_rows: u32) -> Self {
        Self {
            tree: 0,
            salted: false,
            chunked: false,
            indexed: false,
            logical_rows: n_rows,
            present_rows: n_rows,
            n_values: n_rows,
            decoded_bytes: 0,
            payload_bytes: 0,
            crc: 0,
            null_count: 0,
        }
    }

    /// Parses the header alone and checks what it says against itself.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`], [`tarsia_codec::ErrorKind::Corrupt`], [`tarsia_codec::ErrorKind::LimitExceeded`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Some(header) = bytes.first_chunk::<BLOCK_HEADER_BYTES>() else {
            return Err(truncated(bytes.len()));
        };
        let (words, _) = header.as_chunks::<4>();
        let word = |i: usize| words.get(i).map_or(0, |word| u32::from_le_bytes(*word));
        let [_, _, _, _, tree, flags, reserved_low, reserved_high, ..] = *header;
        if flags & !FLAGS_KNOWN != 0 {
            return Err(Error::corrupt("block.flags", 5, flags, "known flags"));
        }
        let reserved = u16::from_le_bytes([reserved_low, reserved_high]);
        if reserved != 0 {
            return Err(Error::corrupt("block.reserved", 6, reserved, "zero"));
        }
        let header = Self {
            tree,
            salted: flags & FLAG_SALT != 0,
            chunked: flags & FLAGS_KNOWN & FLAG_CHUNKED != 0,
            indexed: flags & FLAGS_KNOWN & FLAG_INDEXED != 0,
            logical_rows: word(2),
            present_rows: word(3),
            n_values: word(4),
            decoded_bytes: word(5),
            payload_bytes: word(6),
            crc: word(0),
            null_count: word(7),
        };
        header.validate()?;
        Ok(header)
    }

    /// The header of a block that is all at hand. The limit on what one row decodes to is a multiple of the payload, so memory is
    /// taken on the header's word only after this.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`] where the place is shorter than the block, and what [`BlockHeader::parse`] refuses.
    pub fn of_whole(place: &[u8]) -> Result<Self> {
        let header = Self::parse(place)?;
        header.payload(place)?;
        Ok(header)
    }

    /// The payload; all in front of it is there, too.
    fn payload<'a>(&self, place: &'a [u8]) -> Result<&'a [u8]> {
        let mut reader = Reader::new(place);
        let crcs_end = self.crcs_start() + self.index_bytes() + self.n_chunks() * CRC_BYTES;
        reader.take(crcs_end, "block.header")?;
        let padding = reader.take(self.body_start() - crcs_end, "block.chunk_crcs")?;
        check_zero(padding, "block.chunk_crcs", crcs_end)?;
        reader.take(self.payload_bytes as usize, "block.payload")
    }

    /// The checksums of the payload's chunks; none of a block that has no chunks.
    fn chunk_crcs<'a>(&self, place: &'a [u8]) -> &'a [[u8; CRC_BYTES]] {
        let crcs = place.get(self.crcs_start()..self.body_start());
        let crcs = crcs.unwrap_or_default().as_chunks().0;
        crcs.get(..self.n_chunks()).unwrap_or_default()
    }

    fn n_chunks(&self) -> usize {
        match cfg!(feature = "nested") && self.chunked {
            true => (self.payload_bytes as usize).div_ceil(CHUNK_BYTES),
            false => 0,
        }
    }

    /// Bytes of the index of rows; none of a block that has none.
    fn index_bytes(&self) -> usize {
        match cfg!(feature = "nested") && self.indexed {
            true => self.present_rows as usize * ROW_ENTRY_BYTES,
            false => 0,
        }
    }

    /// The index of rows, which is all at hand.
    fn index<'a>(&self, place: &'a [u8]) -> &'a [u8] {
        let index = place.get(self.crcs_start()..self.crcs_start() + self.index_bytes());
        index.unwrap_or_default()
    }

    fn crcs_start(&self) -> usize {
        BLOCK_HEADER_BYTES + if self.salted { SALT_BYTES } else { 0 }
    }

    fn validate(&self) -> Result<()> {
        if self.logical_rows == 0 || self.logical_rows > limits::BLOCK_VALUES_MAX {
            return Err(Error::corrupt(
                "block.logical_rows",
                8,
                self.logical_rows,
                "1 ..= 65,536",
            ));
        }
        if self.present_rows > self.logical_rows {
            return Err(Error::corrupt(
                "block.present_rows",
                12,
                self.present_rows,
                "0 ..= the logical rows",
            ));
        }
        let max = self.decoded_bytes_max();
        if u64::from(self.decoded_bytes) > max {
            let found = self.decoded_bytes.into();
            return Err(Error::limit("decoded bytes of a block", found, max));
        }
        Ok(())
    }

    /// The most bytes that values, and the slots of each level, may decode to.
    pub(crate) fn decoded_bytes_max(&self) -> u64 {
        match self.logical_rows {
            1 => row_decoded_bytes_max(self.payload_bytes.into()),
            _ => BLOCK_DECODED_BYTES_MAX.into(),
        }
    }

    /// Where the payload starts.
    fn body_start(&self) -> usize {
        let crcs = self.index_bytes() + self.n_chunks() * CRC_BYTES;
        self.crcs_start() + crcs.next_multiple_of(BLOCK_ALIGN)
    }

    /// Bytes of header, salt and payload, without padding.
    pub fn block_bytes(&self) -> u64 {
        self.body_start() as u64 + u64::from(self.payload_bytes)
    }

    /// Puts the header, with the checksums, in front of the payload that ends `out`, where room for a header is at `start`, and pads it.
    ///
    /// # Errors
    /// What [`BlockHeader::parse`] would refuse.
    pub fn seal(
        self,
        out: &mut alloc::vec::Vec<u8>,
        start: usize,
        checksum: fn(&[u8]) -> u32,
    ) -> Result<()> {
        let payload_start = start + BLOCK_HEADER_BYTES;
        out[start..payload_start].copy_from_slice(&self.to_bytes());
        let crcs = core::iter::repeat_n(0, self.body_start() - BLOCK_HEADER_BYTES);
        out.splice(payload_start..payload_start, crcs);
        out.resize(out.len().next_multiple_of(BLOCK_ALIGN), 0);
        reseal(out.get_mut(start..).unwrap_or_default(), checksum)
    }

    /// The bytes of the header.
    pub fn to_bytes(self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut out = [0; BLOCK_HEADER_BYTES];
        out[4] = self.tree;
        out[5] = if self.salted { FLAG_SALT } else { 0 };
        out[5] |= if self.chunked { FLAG_CHUNKED } else { 0 };
        out[5] |= if self.indexed { FLAG_INDEXED } else { 0 };
        for (at, field) in [
            (0, self.crc),
            (8, self.logical_rows),
            (12, self.present_rows),
            (16, self.n_values),
            (20, self.decoded_bytes),
            (24, self.payload_bytes),
            (28, self.null_count),
        ] {
            out[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        out
    }
}

fn is_truncated(error: &Error) -> bool {
    matches!(error.kind(), tarsia_codec::ErrorKind::Truncated { .. })
}

/// Names the first field that is not all there.
#[cold]
#[inline(never)]
fn truncated(have_bytes: usize) -> Error {
    let fields = [
        (4, "block.crc"),
        (5, "block.tree"),
        (6, "block.flags"),
        (8, "block.reserved"),
        (12, "block.logical_rows"),
        (16, "block.present_rows"),
        (20, "block.values"),
        (24, "block.decoded_bytes"),
        (28, "block.payload_bytes"),
    ];
    let cut = fields.into_iter().find(|(end, _)| have_bytes < *end);
    let (end, field) = cut.unwrap_or((BLOCK_HEADER_BYTES, "block.null_count"));
    Error::truncated(field, end, have_bytes)
}

/// What a block says about its items' validity.
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

/// A block whose parts are inside its place and agree with each other.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The header.
    pub header: BlockHeader,
    /// Items: the slots below the last level; in flat pages the present rows.
    pub n_items: u32,
    /// The sections of the levels, which [`LevelSections`] takes apart; empty in flat pages. In full-zip pages of byte strings the index
    /// of rows.
    pub levels: &'a [u8],
    /// The item validity.
    pub validity: Validity<'a>,
    /// The encoded values.
    pub unit: &'a [u8],
    /// Where they start, counted from the block's start.
    pub unit_at: usize,
}

/// What the page says about its blocks.
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
    /// What rows look like in a full-zip page.
    pub zip: Option<ZipForm>,
}

impl<'a> BlockExpectation<'a> {
    /// What the META of its page says about a block of so many rows.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::InvalidInput`] for a page without values, and what [`ZipForm::of`] refuses.
    pub fn of(meta: &'a Meta, rows: u32) -> Result<Self> {
        let none = || Error::invalid("a page of type Null has no blocks");
        Ok(Self {
            value_type: meta.value_type.ok_or_else(none)?,
            levels: &meta.levels,
            has_validity: !meta.layers.is_empty(),
            compact: meta.compact,
            rows,
            zip: ZipForm::of(meta)?,
        })
    }
}

impl<'a> Block<'a> {
    /// Takes a block apart. `place` is all of the block's place; what lies behind the payload is padding.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`] and [`tarsia_codec::ErrorKind::Corrupt`] where the parts do not fit the place, each other or the page;
    /// [`tarsia_codec::ErrorKind::Unsupported`] for a block with erased rows.
    pub fn parse(place: &'a [u8], expect: &BlockExpectation<'_>) -> Result<Self> {
        let block = Self::parse_erased(place, expect)?;
        if block.header.present_rows != block.header.logical_rows {
            return Err(Error::unsupported("a block with erased rows"));
        }
        Ok(block)
    }

    /// The same for callers that know which rows are absent: layers and unit then hold the present rows only. A block without
    /// present rows has no payload, and its unit must not be handed to a decoder.
    ///
    /// # Errors
    /// As [`Block::parse`], but that erased rows are allowed.
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
        Self::of_payload(header, (payload, payload), header.index(place), expect)
    }

    /// The same for a block of which only the first `front` bytes are at hand: `None` where its unit may start behind these. All of `place` is
    /// there, but the rest means nothing yet.
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
        let front = front.saturating_sub(header.body_start());
        let known = payload.get(..front).unwrap_or(payload);
        if header.logical_rows != expect.rows || header.present_rows != expect.rows {
            // Its words for it.
            return Self::parse(place, expect).map(Some);
        }
        match Self::of_payload(header, (known, payload), header.index(place), expect) {
            Ok(block) => Ok(Some(block)),
            Err(error) if known.len() < payload.len() && is_truncated(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The parts in front of the unit are read in `known`, the start of the payload.
    fn of_payload(
        header: BlockHeader,
        (known, payload): (&'a [u8], &'a [u8]),
        index: &'a [u8],
        expect: &BlockExpectation<'_>,
    ) -> Result<Self> {
        let mut at = header.body_start();
        if cfg!(feature = "nested")
            && header.indexed != expect.zip.is_some_and(|zip| zip.is_indexed())
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
        if let (true, Some(form)) = (cfg!(feature = "nested"), expect.zip) {
            return Self::zipped(header, form, index, payload);
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
            unit_at: header.body_start() + unit_at,
        };
        block.check_counts(expect)?;
        Ok(block)
    }

    /// Rows of a full-zip page that were read without their block; of byte strings with the entries that [`RowIndex::copy_to`] has made of
    /// their index. Their checksums are the caller's to see to.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Corrupt`] for bytes that are not so many rows.
    pub fn of_rows(
        bytes: &'a [u8],
        form: ZipForm,
        index: &'a [[u8; ROW_ENTRY_BYTES]],
        n_rows: u32,
    ) -> Result<Self> {
        let header = BlockHeader {
            n_values: n_rows.saturating_mul(form.items_per_row()),
            // Of strings, which are at most what 24 bits say, all bytes.
            decoded_bytes: u32::from(form.is_indexed()) * bytes.len() as u32,
            ..BlockHeader::of_rows(n_rows)
        };
        Self::of_zip(header, form, index.as_flattened(), bytes)
    }

    /// Such rows of byte strings as a block of their own, which somebody can decode who decodes whole blocks. It has no checksum.
    pub fn bytes_of_rows(
        values: &[u8],
        index: &[[u8; ROW_ENTRY_BYTES]],
        n_rows: u32,
    ) -> alloc::vec::Vec<u8> {
        // Below 16 MiB, as the index says.
        let values_bytes = values.len() as u32;
        let header = BlockHeader {
            indexed: true,
            decoded_bytes: values_bytes,
            payload_bytes: values_bytes,
            ..BlockHeader::of_rows(n_rows)
        };
        let mut out = header.to_bytes().to_vec();
        out.extend_from_slice(index.as_flattened());
        out.extend_from_slice(values);
        out
    }

    /// Of a block of a full-zip page: the items of rows that are not null above them.
    pub fn zip_items(&self, form: ZipForm) -> u64 {
        let rows = ZipRows::of(form, self);
        let n_rows = (0..self.header.present_rows).filter(|row| rows.has_items(*row));
        n_rows.count() as u64 * u64::from(form.items_per_row())
    }

    fn of_zip(
        header: BlockHeader,
        form: ZipForm,
        index: &'a [u8],
        payload: &'a [u8],
    ) -> Result<Self> {
        ZipRows::checked(form, index, payload, header.present_rows)?;
        Ok(Self {
            header,
            n_items: header.n_values,
            levels: index,
            validity: Validity::AllValid,
            unit: payload,
            unit_at: header.body_start(),
        })
    }

    /// A block of a full-zip page, whose unit is all of its payload. There is a value in it for each slot, below nulls too.
    fn zipped(
        header: BlockHeader,
        form: ZipForm,
        index: &'a [u8],
        payload: &'a [u8],
    ) -> Result<Self> {
        let n_values = u64::from(header.present_rows) * u64::from(form.items_per_row());
        let has_flags = header.chunked || header.salted && !form.is_indexed();
        let bytes = match form.is_indexed() {
            true => u64::from(header.payload_bytes),
            false => u64::from(header.present_rows) * form.values_bytes(),
        };
        for (field, at, found, expected) in [
            ("block.values", 16, header.n_values, n_values),
            ("block.decoded_bytes", 20, header.decoded_bytes, bytes),
            ("block.tree", 4, header.tree.into(), 0),
            ("block.flags", 5, has_flags.into(), 0),
        ] {
            if u64::from(found) != expected {
                return Err(Error::corrupt(
                    field,
                    at,
                    found,
                    "what the rows of a full-zip page make",
                ));
            }
        }
        let block = Self::of_zip(header, form, index, payload)?;
        match header.null_count > header.present_rows {
            true => {
                let found = header.null_count;
                Err(Error::corrupt(
                    "block.null_count",
                    28,
                    found,
                    "0 ..= the rows",
                ))
            }
            false => Ok(block),
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
            unit_at: header.body_start(),
        })
    }

    /// What the header says of items and values.
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

fn parse_layer<'a>(
    payload: &'a [u8],
    at: usize,
    header: &BlockHeader,
    n_items: u32,
) -> Result<(Validity<'a>, &'a [u8])> {
    let mut reader = Reader::new(payload);
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

/// What the checksums of a block cover, with the one stored for each: all of the block behind the first one, without padding; or, of a
/// chunked block, what lies in front of the payload, then each chunk; of an indexed one the same with its rows.
///
/// # Errors
/// [`tarsia_codec::ErrorKind::Truncated`] where the place is shorter than the block, and what [`BlockHeader::parse`] refuses.
pub fn checksummed(place: &[u8]) -> Result<impl Iterator<Item = (&[u8], u32)>> {
    let (header, chunks) = checksummed_chunks(place)?;
    let rows = checksummed_rows(chunks.index, chunks.payload);
    let chunks = chunks.crcs.iter().zip(chunks.payload.chunks(CHUNK_BYTES));
    let chunks = chunks.map(|(crc, chunk)| (chunk, u32::from_le_bytes(*crc)));
    Ok(core::iter::once(header).chain(chunks).chain(rows))
}

/// The values of each row, and the checksum stored for them. Of a row that does not lie in the values, which parsing refuses, nothing.
pub fn checksummed_rows<'a>(
    index: RowIndex<'a>,
    values: &'a [u8],
) -> impl Iterator<Item = (&'a [u8], u32)> {
    // As many as fit 32 bits, as all rows of a block.
    (0..index.len() as u32).map(move |row| {
        let place = index.place(row);
        let row_values = values.get(place.start as usize..place.end as usize);
        (row_values.unwrap_or_default(), index.checksum(row))
    })
}

/// The front of a block with an index: what its rows are found by.
#[derive(Debug, Clone, Copy)]
pub struct IndexFront<'a> {
    /// The index.
    pub index: RowIndex<'a>,
    /// Where the values begin, counted from the block's start.
    pub values_at: usize,
}

impl<'a> IndexFront<'a> {
    /// The most bytes that header, salt and index of a block of `rows` rows take.
    pub fn bytes_max(rows: u32) -> u64 {
        let index = u64::from(rows) * ROW_ENTRY_BYTES as u64;
        (BLOCK_HEADER_BYTES + SALT_BYTES) as u64 + index
    }

    /// Parses the front of a block, of which nothing else need be at hand. What its checksum covers comes with it, and that.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`], [`tarsia_codec::ErrorKind::Corrupt`] for a block of another page or an index that
    /// contradicts itself; [`tarsia_codec::ErrorKind::Unsupported`] for a block with erased rows.
    pub fn parse(front: &'a [u8], form: ZipForm, rows: u32) -> Result<(Self, (&'a [u8], u32))> {
        let header = BlockHeader::parse(front)?;
        if header.present_rows != header.logical_rows {
            return Err(Error::unsupported("a block with erased rows"));
        }
        let (found, expected) = (header.logical_rows, "the rows of the block table");
        if found != rows {
            return Err(Error::corrupt("block.logical_rows", 8, found, expected));
        }
        if !header.indexed || header.chunked {
            let allowed = "indexed in a full-zip page of byte strings";
            return Err(Error::corrupt("block.flags", 5, 0u8, allowed));
        }
        let values_at = header.body_start();
        let Some(covered) = front.get(CRC_BYTES..values_at) else {
            return Err(Error::truncated("block.index", values_at, front.len()));
        };
        let index = RowIndex::of_bytes(header.index(front));
        index.check(&form, header.payload_bytes.into())?;
        Ok((Self { index, values_at }, (covered, header.crc)))
    }

    /// The same for a front that was parsed before.
    pub fn of_parsed(front: &'a [u8]) -> Self {
        let salted = front.get(5).is_some_and(|flags| flags & FLAG_SALT != 0);
        let at = BLOCK_HEADER_BYTES + if salted { SALT_BYTES } else { 0 };
        let index = RowIndex::of_bytes(front.get(at..).unwrap_or_default());
        Self {
            index,
            values_at: front.len(),
        }
    }
}

/// The chunks of a block's payload; none of a block that is not chunked.
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a> {
    crcs: &'a [[u8; CRC_BYTES]],
    /// Of an indexed block, which has no chunks.
    index: RowIndex<'a>,
    payload: &'a [u8],
    /// Where the payload starts in the block.
    start: usize,
}

impl<'a> Chunks<'a> {
    /// Where the payload starts in the block: behind what the block's own checksum covers.
    pub fn start(&self) -> usize {
        self.start
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.crcs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.crcs.is_empty()
    }

    /// The chunks that hold some of these bytes, which are counted from the block's start.
    pub fn holding(&self, bytes: &core::ops::Range<usize>) -> core::ops::Range<usize> {
        let first = bytes.start.saturating_sub(self.start) / CHUNK_BYTES;
        let end = bytes.end.saturating_sub(self.start).div_ceil(CHUNK_BYTES);
        first.min(self.len())..end.min(self.len())
    }

    /// Where a chunk lies, counted from the block's start.
    pub fn place(&self, chunk: usize) -> core::ops::Range<usize> {
        let place = |chunk: usize| self.start + (chunk * CHUNK_BYTES).min(self.payload.len());
        place(chunk)..place(chunk + 1)
    }

    /// The bytes of a chunk, and the checksum stored for them.
    pub fn checksummed(&self, chunk: usize) -> Option<(&'a [u8], u32)> {
        let crc = u32::from_le_bytes(*self.crcs.get(chunk)?);
        Some((self.payload.chunks(CHUNK_BYTES).nth(chunk)?, crc))
    }
}

/// What the first checksum of a block covers, with that, and the chunks of a chunked block. Of these nothing is looked at.
///
/// # Errors
/// As [`checksummed`].
pub fn checksummed_chunks(place: &[u8]) -> Result<((&[u8], u32), Chunks<'_>)> {
    let header = BlockHeader::parse(place)?;
    let payload = header.payload(place)?;
    let start = header.body_start();
    let end = match header.n_chunks() {
        0 if !header.indexed => start + payload.len(),
        _ => start,
    };
    let covered = place.get(CRC_BYTES..end).unwrap_or_default();
    let chunks = Chunks {
        crcs: header.chunk_crcs(place),
        index: RowIndex::of_bytes(header.index(place)),
        payload,
        start,
    };
    Ok(((covered, header.crc), chunks))
}

/// Writes the checksums of a block afresh.
///
/// # Errors
/// As [`checksummed`].
pub fn reseal(place: &mut [u8], checksum: fn(&[u8]) -> u32) -> Result<()> {
    let header = BlockHeader::parse(place)?;
    let payload = header.payload(place)?;
    let start = header.body_start();
    let n_chunks = header.n_chunks();
    if n_chunks > 0 {
        let crcs: alloc::vec::Vec<[u8; CRC_BYTES]> = payload
            .chunks(CHUNK_BYTES)
            .map(|chunk| checksum(chunk).to_le_bytes())
            .collect();
        let to = place.get_mut(header.crcs_start()..start);
        for (to, crc) in to
            .unwrap_or_default()
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(crcs)
        {
            *to = crc;
        }
    }
    if header.indexed {
        let index = RowIndex::of_bytes(header.index(place));
        let rows = checksummed_rows(index, header.payload(place)?);
        let crcs: alloc::vec::Vec<u32> = rows.map(|(row, _)| checksum(row)).collect();
        let entries = place.get_mut(header.crcs_start()..start);
        let (entries, _) = entries
            .unwrap_or_default()
            .as_chunks_mut::<ROW_ENTRY_BYTES>();
        for (entry, crc) in entries.iter_mut().zip(crcs) {
            entry[ROW_ENTRY_BYTES - CRC_BYTES..].copy_from_slice(&crc.to_le_bytes());
        }
    }
    let crc = checksum(checksummed_chunks(place)?.0.0);
    if let Some(first) = place.first_chunk_mut() {
        *first = crc.to_le_bytes();
    }
    Ok(())
}
