//! A block's header and checksums put in front of its payload.

use alloc::vec::Vec;

use tarsia_codec::{Error, Result};
use tarsia_structure::block::{BLOCK_ALIGN, BLOCK_HEADER_BYTES, BlockHeader, SALT_BYTES, reseal};

/// Puts the header, with the checksums, in front of the payload that ends `out`, where room for a header is at `start`,
/// and pads it. A salt goes between the header and what else is in front of the payload.
///
/// # Errors
/// What [`BlockHeader::parse`] would refuse.
pub(crate) fn seal(
    header: BlockHeader,
    salt: Option<&[u8; SALT_BYTES]>,
    out: &mut Vec<u8>,
    start: usize,
    checksum: fn(&[u8]) -> u32,
) -> Result<()> {
    let header = BlockHeader {
        salted: salt.is_some(),
        ..header
    };
    let payload_start = start + BLOCK_HEADER_BYTES;
    out[start..payload_start].copy_from_slice(&header.to_bytes());
    let salt = salt.map_or(&[][..], |salt| salt);
    let crcs = header.payload_start() - BLOCK_HEADER_BYTES - salt.len();
    let front = salt.iter().copied().chain(core::iter::repeat_n(0, crcs));
    out.splice(payload_start..payload_start, front);
    out.resize(out.len().next_multiple_of(BLOCK_ALIGN), 0);
    reseal(out.get_mut(start..).unwrap_or_default(), checksum)
}

/// A length or a count as headers store it.
pub(crate) fn length(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::invalid("a block is larger than 4 GiB"))
}
