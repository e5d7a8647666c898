//! The header of a block. Bytes: `docs/spec/page.md`.

use tarsia_codec::toolbox::{ByteReader, check_zero};
use tarsia_codec::{Error, Result, limits};

use crate::layout::{
    BLOCK_ALIGN, BLOCK_DECODED_BYTES_MAX, BLOCK_HEADER_BYTES, CHUNK_BYTES, CRC_BYTES,
    ROW_ENTRY_BYTES, header_bytes, row_decoded_bytes_max,
};

pub(crate) const FLAG_SALT: u8 = 1;
pub(crate) const FLAG_CHUNKED: u8 = 2;
pub(crate) const FLAG_INDEXED: u8 = 4;
/// Nested and full-zip pages alone have such blocks, and kernels of others need no code for them.
const FLAGS_KNOWN: u8 = match cfg!(feature = "nested") {
    true => FLAG_SALT | FLAG_CHUNKED | FLAG_INDEXED,
    false => FLAG_SALT,
};

/// The fixed header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// Index into the page's value trees.
    pub tree: u8,
    /// A 16-byte salt follows the header.
    pub salted: bool,
    /// Each run of [`CHUNK_BYTES`] of the payload has a checksum. The block's checksum covers these checksums instead
    /// of the payload.
    pub chunked: bool,
    /// An index of the present rows follows the header: in full-zip pages of byte strings. The block's checksum covers
    /// the index instead of the payload; the index has a checksum for each row.
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
    /// The header of a block of so many rows, each of one value; the bytes of the values are not counted yet.
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
    /// [`tarsia_codec::ErrorKind::Truncated`], [`tarsia_codec::ErrorKind::Corrupt`],
    /// [`tarsia_codec::ErrorKind::LimitExceeded`].
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

    /// Parses the header of a block of which all bytes are there, and checks that they are. What one row may decode to
    /// is a multiple of its payload's length, so callers allocate by the header only after this check.
    ///
    /// # Errors
    /// [`tarsia_codec::ErrorKind::Truncated`] where the place is shorter than the block, and what
    /// [`BlockHeader::parse`] refuses.
    pub fn of_whole(place: &[u8]) -> Result<Self> {
        let header = Self::parse(place)?;
        header.payload(place)?;
        Ok(header)
    }

    /// The payload. Errors unless it and everything in front of it is there.
    pub(crate) fn payload<'a>(&self, place: &'a [u8]) -> Result<&'a [u8]> {
        let mut reader = ByteReader::new(place);
        let crcs_end = self.crcs_start() + self.index_bytes() + self.n_chunks() * CRC_BYTES;
        reader.take(crcs_end, "block.header")?;
        let padding = reader.take(self.payload_start() - crcs_end, "block.chunk_crcs")?;
        check_zero(padding, "block.chunk_crcs", crcs_end)?;
        reader.take(self.payload_bytes as usize, "block.payload")
    }

    /// The checksums of the payload's chunks; none of a block that has no chunks.
    pub(crate) fn chunk_crcs<'a>(&self, place: &'a [u8]) -> &'a [[u8; CRC_BYTES]] {
        let crcs = place.get(self.crcs_start()..self.payload_start());
        let crcs = crcs.unwrap_or_default().as_chunks().0;
        crcs.get(..self.n_chunks()).unwrap_or_default()
    }

    pub(crate) fn n_chunks(&self) -> usize {
        match cfg!(feature = "nested") && self.chunked {
            true => (self.payload_bytes as usize).div_ceil(CHUNK_BYTES),
            false => 0,
        }
    }

    /// Bytes of the index of rows; none of a block that has none.
    pub(crate) fn index_bytes(&self) -> usize {
        match cfg!(feature = "nested") && self.indexed {
            true => self.present_rows as usize * ROW_ENTRY_BYTES,
            false => 0,
        }
    }

    /// The index of rows; empty where the block has none.
    pub(crate) fn index<'a>(&self, place: &'a [u8]) -> &'a [u8] {
        let index = place.get(self.crcs_start()..self.crcs_start() + self.index_bytes());
        index.unwrap_or_default()
    }

    pub(crate) fn crcs_start(&self) -> usize {
        header_bytes(self.salted)
    }

    fn validate(&self) -> Result<()> {
        if self.logical_rows == 0 || self.logical_rows > limits::BLOCK_ROWS_MAX {
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

    /// Checks that a block has as many rows as the erasures of the file leave.
    pub(crate) fn check_present(&self, present_rows: u32) -> Result<()> {
        match self.present_rows == present_rows {
            true => Ok(()),
            false => Err(Error::corrupt(
                "block.present_rows",
                12,
                self.present_rows,
                "the rows of the block that were not erased",
            )),
        }
    }

    /// How many bytes the values may decode to at most, and the slots of each level.
    pub(crate) fn decoded_bytes_max(&self) -> u64 {
        match self.logical_rows {
            1 => row_decoded_bytes_max(self.payload_bytes.into()),
            _ => BLOCK_DECODED_BYTES_MAX.into(),
        }
    }

    /// Where the payload starts, counted from the block's start.
    pub fn payload_start(&self) -> usize {
        let crcs = self.index_bytes() + self.n_chunks() * CRC_BYTES;
        self.crcs_start() + crcs.next_multiple_of(BLOCK_ALIGN)
    }

    /// Bytes of header, salt and payload, without padding.
    pub fn block_bytes(&self) -> u64 {
        self.payload_start() as u64 + u64::from(self.payload_bytes)
    }

    /// The bytes that [`BlockHeader::parse`] reads.
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
