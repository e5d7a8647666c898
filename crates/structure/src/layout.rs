//! Sizes and limits that several parts of a page's layout share. Bytes: `docs/spec/page.md`.

use tarsia_codec::{ValueType, limits};

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

/// Bytes of payload that have a checksum of their own in a chunked block, so that some of them can be read alone.
pub const CHUNK_BYTES: usize = 8 << 10;

/// Bytes of the salt that may follow the header.
pub const SALT_BYTES: usize = 16;

/// The checksum comes first, so that it covers one run of bytes: the rest of the block.
pub(crate) const CRC_BYTES: usize = 4;

/// Layer descriptor: no bytes, every item is valid.
pub const LAYER_ALL_VALID: u8 = 255;

/// Layer descriptor: no bytes, every item is null.
pub const LAYER_ALL_NULL: u8 = 254;

/// Level descriptor: the one length of all slots, in four bytes.
pub const LAYER_CONSTANT: u8 = 253;

/// Bytes in front of a level's encoded slots.
pub const SECTION_HEADER_BYTES: usize = 16;

/// Bytes of a row's entry in the index of a block of byte strings.
pub const ROW_ENTRY_BYTES: usize = 8;

/// Bytes that items take when decoded, null ones too: a bit of validity at least; strings without their bytes.
pub fn items_bytes(value_type: ValueType, n_items: u64) -> u64 {
    match value_type {
        ValueType::Bits | ValueType::Fixed(0) => n_items.div_ceil(8),
        ValueType::Fixed(width) => n_items.saturating_mul(width.into()),
        ValueType::Bytes => n_items.saturating_mul(4),
    }
}
