//! A frame and its blocks: RFC 8878, section 3.1.1.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{Error, Result};

use crate::copy::{SLACK, Source};
use crate::huffman;
use crate::layout::BLOCK_BYTES_MAX;
use crate::literals::Literals;
use crate::sequences::{self, History};

/// Section 3.1.1.1.
const MAGIC: u32 = 0xFD2F_B528;

/// Bytes in front of a block.
const BLOCK_HEADER_BYTES: usize = 3;

/// The state that decoding a frame keeps.
pub(crate) struct State<'m> {
    pub(crate) codes: &'m mut huffman::Table,
    pub(crate) has_codes: bool,
    pub(crate) history: History<'m>,
    /// Room for the literals of a block, and [`SLACK`].
    pub(crate) literals: &'m mut [u8],
}

/// Decodes the frame that is all of `bytes` to `out`, which has the size of its content.
pub(crate) fn decode(bytes: &[u8], state: &mut State<'_>, out: &mut [u8]) -> Result<()> {
    let mut reader = ByteReader::new(bytes);
    let block_bytes_max = read_header(&mut reader, out.len())?;
    let mut at = 0;
    loop {
        let header_at = reader.position();
        let header = reader.uint(BLOCK_HEADER_BYTES, "zstd.block")? as usize;
        let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, header >> 3);
        if size > block_bytes_max {
            let allowed = "at most the bytes of a block";
            return Err(Error::corrupt("zstd.block", header_at, size, allowed));
        }
        let too_long = || {
            let allowed = "at most the bytes of the values that are left";
            Error::corrupt("zstd.block", header_at, size, allowed)
        };
        let start = at;
        match kind {
            0 => {
                let stored = reader.take(size, "zstd.block")?;
                let to = out.get_mut(at..at + size).ok_or_else(too_long)?;
                to.copy_from_slice(stored);
                at += size;
            }
            1 => {
                let byte = reader.u8("zstd.block")?;
                out.get_mut(at..at + size).ok_or_else(too_long)?.fill(byte);
                at += size;
            }
            2 => {
                let end = reader.position() + size;
                at = block(&mut reader, end, state, out, at)?;
            }
            _ => {
                let allowed = "raw, one byte or compressed";
                return Err(Error::corrupt("zstd.block", header_at, kind, allowed));
            }
        }
        if at - start > block_bytes_max {
            let allowed = "at most the bytes of a block";
            return Err(Error::corrupt("zstd.block", header_at, at - start, allowed));
        }
        if is_last {
            break;
        }
    }
    if at != out.len() {
        let allowed = "blocks of as many bytes as the values have";
        return Err(Error::corrupt("zstd.frame", 0, at, allowed));
    }
    reader.finish("zstd.frame")
}

/// Refuses a frame whose header, or whose length, shows that it does not hold `n_bytes`: before memory is taken for
/// them.
pub(crate) fn check(bytes: &[u8], n_bytes: usize) -> Result<()> {
    let mut reader = ByteReader::new(bytes);
    read_header(&mut reader, n_bytes)?;
    let n_blocks = reader.rest().len() / BLOCK_HEADER_BYTES;
    match n_bytes <= n_blocks.saturating_mul(BLOCK_BYTES_MAX) {
        true => Ok(()),
        false => {
            let needed = reader.position() + n_bytes.div_ceil(BLOCK_BYTES_MAX) * BLOCK_HEADER_BYTES;
            Err(Error::truncated("zstd.block", needed, bytes.len()))
        }
    }
}

/// Reads the header of a frame of `n_bytes`: section 3.1.1.1. Returns the most bytes of a block.
fn read_header(reader: &mut ByteReader<'_>, n_bytes: usize) -> Result<usize> {
    let magic = reader.u32("zstd.magic")?;
    if magic != MAGIC {
        return Err(Error::corrupt(
            "zstd.magic",
            0,
            magic,
            "the magic number of a frame",
        ));
    }
    let descriptor = reader.u8("zstd.descriptor")?;
    if descriptor & 0b1111 != 0 {
        let allowed = "no dictionary, no checksum and no reserved bit";
        return Err(Error::corrupt("zstd.descriptor", 4, descriptor, allowed));
    }
    let is_single = descriptor >> 5 & 1 == 1;
    let window = match is_single {
        true => n_bytes as u64,
        false => {
            let window = reader.u8("zstd.window")?;
            let base = 1 << (10 + (window >> 3));
            base + base / 8 * u64::from(window & 7)
        }
    };
    let (size_bytes, added) = match descriptor >> 6 {
        0 => (usize::from(is_single), 0),
        1 => (2, 256),
        2 => (4, 0),
        _ => (8, 0),
    };
    let size_at = reader.position();
    let size = reader
        .uint(size_bytes, "zstd.content_size")?
        .saturating_add(added);
    if size_bytes > 0 && size != n_bytes as u64 {
        let allowed = "the bytes of all values";
        return Err(Error::corrupt("zstd.content_size", size_at, size, allowed));
    }
    Ok(window.min(BLOCK_BYTES_MAX as u64) as usize)
}

/// Decodes a compressed block, which ends at `end`, to the bytes from `at` on: section 3.1.1.3. Returns where its
/// bytes end.
fn block(
    reader: &mut ByteReader<'_>,
    end: usize,
    state: &mut State<'_>,
    out: &mut [u8],
    at: usize,
) -> Result<usize> {
    let start = reader.position();
    let literals = Literals::read(reader, state.codes, &mut state.has_codes)?;
    let n_sequences = sequences::read_count(reader)?;
    let n = literals.n_bytes;
    let too_many = || {
        let allowed = "at most the bytes of the values that are left, and of a block";
        Error::corrupt("zstd.literals", start, n, allowed)
    };
    let whole = out.get_mut(at..at + n).ok_or_else(too_many)?;
    let done = if n_sequences == 0 {
        literals.decode(state.codes, whole)?;
        at + n
    } else {
        let source = match literals.as_stored() {
            Some(stored) => Source::new(stored, n),
            None => {
                let to = state.literals.get_mut(..n).ok_or_else(too_many)?;
                literals.decode(state.codes, to)?;
                Source::new(state.literals, n)
            }
        };
        let history = &mut state.history;
        let places = history.execute(reader, end, n_sequences, &source, out, at)?;
        source.finish(out, places).ok_or_else(too_many)?
    };
    match reader.position() == end {
        true => Ok(done),
        false => {
            let allowed = "as many bytes as the sections of the block have";
            Err(Error::corrupt("zstd.block", start, end - start, allowed))
        }
    }
}

/// Bytes of [`State::literals`] for a frame of `n_bytes`.
pub(crate) fn literals_bytes(n_bytes: usize) -> usize {
    n_bytes.min(BLOCK_BYTES_MAX) + SLACK
}
