//! The most bytes that compressed ones can stand for, from their layout alone.

use arrow_ipc::CompressionType;

/// A byte of an LZ4 length adds at most 255 bytes of output.
const LZ4_RATIO_MAX: u64 = 255;

/// Most bytes of a block of zstd.
const ZSTD_BLOCK_MAX: u64 = 128 << 10;

const ZSTD_MAGIC: u32 = 0xfd2f_b528;

/// An upper bound of the decompressed length.
///
/// # Errors
/// The bytes are no frame of the codec, or the frame ends before its blocks do.
pub(super) fn decompressed_max(codec: CompressionType, bytes: &[u8]) -> Result<u64, String> {
    match codec {
        CompressionType::LZ4_FRAME => Ok((bytes.len() as u64).saturating_mul(LZ4_RATIO_MAX)),
        CompressionType::ZSTD => zstd_max(bytes).ok_or_else(|| "no frame of zstd".to_owned()),
        other => Err(format!("compression {} is not read", other.0)),
    }
}

/// The sum over the blocks of all frames (RFC 8878, section 3.1.1): stored ones have their length, repeated bytes state
/// theirs, and compressed blocks have at most [`ZSTD_BLOCK_MAX`].
fn zstd_max(mut bytes: &[u8]) -> Option<u64> {
    let mut sum = 0_u64;
    while !bytes.is_empty() {
        let (magic, rest) = bytes.split_first_chunk()?;
        let magic = u32::from_le_bytes(*magic);
        // Frames that decoders skip.
        if magic & !0xf == 0x184d_2a50 {
            let (n, rest) = rest.split_first_chunk()?;
            bytes = rest.get(u32::from_le_bytes(*n) as usize..)?;
            continue;
        }
        if magic != ZSTD_MAGIC {
            return None;
        }
        let (descriptor, rest) = rest.split_first()?;
        let is_single_segment = descriptor >> 5 & 1 == 1;
        let content_bytes = match descriptor >> 6 {
            0 => usize::from(is_single_segment),
            n => 1 << n,
        };
        let window_bytes = usize::from(!is_single_segment);
        let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let mut blocks = rest.get(window_bytes + dictionary_bytes + content_bytes..)?;
        loop {
            let ([a, b, c], rest) = blocks.split_first_chunk()?;
            let header = u32::from_le_bytes([*a, *b, *c, 0]);
            let n = header >> 3;
            let (stored, decoded) = match header >> 1 & 3 {
                0 => (n, n.into()),
                1 => (1, n.into()),
                2 => (n, ZSTD_BLOCK_MAX),
                _ => return None,
            };
            sum = sum.checked_add(decoded)?;
            blocks = rest.get(stored as usize..)?;
            if header & 1 == 1 {
                break;
            }
        }
        let checksum_bytes = usize::from(descriptor >> 2 & 1) * 4;
        bytes = blocks.get(checksum_bytes..)?;
    }
    Some(sum)
}
