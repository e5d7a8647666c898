//! A block's header and checksums put in front of its payload.

use alloc::vec::Vec;

use tarsia_codec::{Error, Result};
use tarsia_structure::block::{BLOCK_ALIGN, BLOCK_HEADER_BYTES, BlockHeader, reseal};

/// Puts the header, with the checksums, in front of the payload that ends `out`, where room for a header is at `start`,
/// and pads it.
///
/// # Errors
/// What [`BlockHeader::parse`] would refuse.
pub(crate) fn seal(
    header: BlockHeader,
    out: &mut Vec<u8>,
    start: usize,
    checksum: fn(&[u8]) -> u32,
) -> Result<()> {
    let payload_start = start + BLOCK_HEADER_BYTES;
    out[start..payload_start].copy_from_slice(&header.to_bytes());
    let crcs = core::iter::repeat_n(0, header.payload_start() - BLOCK_HEADER_BYTES);
    out.splice(payload_start..payload_start, crcs);
    out.resize(out.len().next_multiple_of(BLOCK_ALIGN), 0);
    reseal(out.get_mut(start..).unwrap_or_default(), checksum)
}

/// A length or a count as headers store it.
pub(crate) fn length(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::invalid("a block is larger than 4 GiB"))
}
