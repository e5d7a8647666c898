//! Bytes of an input by their place.

use std::io::{Read, Seek, SeekFrom};

use arrow_buffer::{Buffer, MutableBuffer};

/// Stands before a message's length; streams of old versions have no such mark.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// Reads bytes that lie within the input.
pub(super) fn read_at(
    input: &mut (impl Read + Seek),
    start: u64,
    n: u64,
) -> Result<Buffer, String> {
    let n = usize::try_from(n).map_err(|_| format!("byte {start}: {n} bytes"))?;
    let mut bytes = MutableBuffer::from_len_zeroed(n);
    read_into(input, start, &mut bytes)?;
    Ok(bytes.into())
}

/// Fills a slice with bytes that lie within the input.
pub(super) fn read_into(
    input: &mut (impl Read + Seek),
    start: u64,
    to: &mut [u8],
) -> Result<(), String> {
    let text = |error: std::io::Error| format!("byte {start}: {error}");
    input.seek(SeekFrom::Start(start)).map_err(text)?;
    input.read_exact(to).map_err(text)
}
