//! Byte ranges that the checksums of a block cover, for readers and writers.

use alloc::vec::Vec;
use core::ops::Range;

use tarsia_codec::Result;

use crate::full_zip::index::{RowIndex, checksummed_rows};
use crate::header::BlockHeader;
use crate::layout::{CHUNK_BYTES, CRC_BYTES, ROW_ENTRY_BYTES};

/// The runs of bytes of a block that have a checksum, each with the stored one. A usual block has one run: everything
/// after the checksum itself, without padding. In a chunked block the first run ends before the payload, and each chunk
/// is a run of its own; in an indexed block each row is.
///
/// # Errors
/// [`tarsia_codec::ErrorKind::Truncated`] where the place is shorter than the block, and what [`BlockHeader::parse`]
/// refuses.
pub fn checksummed(place: &[u8]) -> Result<impl Iterator<Item = (&[u8], u32)>> {
    let (header, chunks) = checksummed_chunks(place)?;
    let rows = checksummed_rows(chunks.index, chunks.payload);
    let chunks = chunks.crcs.iter().zip(chunks.payload.chunks(CHUNK_BYTES));
    let chunks = chunks.map(|(crc, chunk)| (chunk, u32::from_le_bytes(*crc)));
    Ok(core::iter::once(header).chain(chunks).chain(rows))
}

/// The chunks of a block's payload; none where the block is not chunked.
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a> {
    crcs: &'a [[u8; CRC_BYTES]],
    /// Index of an indexed block, which has no chunks.
    index: RowIndex<'a>,
    payload: &'a [u8],
    /// Where the payload starts in the block.
    start: usize,
}

impl<'a> Chunks<'a> {
    /// Where the payload starts, counted from the block's start. The block's own checksum covers what is before it.
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

    /// The numbers of the chunks that hold some of `bytes`, which count from the block's start.
    pub fn holding(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = bytes.start.saturating_sub(self.start) / CHUNK_BYTES;
        let end = bytes.end.saturating_sub(self.start).div_ceil(CHUNK_BYTES);
        first.min(self.len())..end.min(self.len())
    }

    /// The place of a chunk, counted from the block's start.
    pub fn place(&self, chunk: usize) -> Range<usize> {
        let place = |chunk: usize| self.start + (chunk * CHUNK_BYTES).min(self.payload.len());
        place(chunk)..place(chunk + 1)
    }

    /// The bytes of a chunk, and the checksum stored for them.
    pub fn checksummed(&self, chunk: usize) -> Option<(&'a [u8], u32)> {
        let crc = u32::from_le_bytes(*self.crcs.get(chunk)?);
        Some((self.payload.chunks(CHUNK_BYTES).nth(chunk)?, crc))
    }
}

/// The bytes that the block's own checksum covers, that checksum, and the chunks of a chunked block. The chunks' bytes
/// are not read.
///
/// # Errors
/// As [`checksummed`].
pub fn checksummed_chunks(place: &[u8]) -> Result<((&[u8], u32), Chunks<'_>)> {
    let header = BlockHeader::parse(place)?;
    let payload = header.payload(place)?;
    let start = header.payload_start();
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

/// Computes all checksums of a block and writes them into it.
///
/// # Errors
/// As [`checksummed`].
pub fn reseal(place: &mut [u8], checksum: fn(&[u8]) -> u32) -> Result<()> {
    let header = BlockHeader::parse(place)?;
    let payload = header.payload(place)?;
    let start = header.payload_start();
    let n_chunks = header.n_chunks();
    if n_chunks > 0 {
        let crcs: Vec<[u8; CRC_BYTES]> = payload
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
        let crcs: Vec<u32> = rows.map(|(row, _)| checksum(row)).collect();
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
