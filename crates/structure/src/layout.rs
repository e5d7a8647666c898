//! Sizes and limits that several parts of a page's layout share. Bytes: `docs/spec/page.md`.

use tarsia_codec::{ValueType, limits};

/// Bytes of a block header, without a salt.
pub const BLOCK_HEADER_BYTES: usize = 32;

/// Blocks start at multiples of this many bytes.
pub const BLOCK_ALIGN: usize = 8;

/// A block of several rows decodes to at most this many bytes. One lookup then never decodes much, and a few hostile
/// bytes cannot ask for gigabytes.
pub const BLOCK_DECODED_BYTES_MAX: u32 = 16 << 20;

/// A block of one row may decode to this many times its payload, beyond [`BLOCK_DECODED_BYTES_MAX`].
pub const ROW_EXPANSION_MAX: u64 = 1024;

/// How many bytes the values of a block of one row may decode to, and the slots of each of its levels, given the bytes
/// of its payload.
pub fn row_decoded_bytes_max(payload_bytes: u64) -> u64 {
    let bytes = payload_bytes.saturating_mul(ROW_EXPANSION_MAX);
    let bytes = bytes.saturating_add(BLOCK_DECODED_BYTES_MAX.into());
    bytes.min(limits::UNIT_DECODED_BYTES_MAX)
}

/// In a chunked block, each run of this many bytes of the payload has a checksum, so that a reader can read it alone.
pub const CHUNK_BYTES: usize = 8 << 10;

/// Bytes of the salt that may follow the header.
pub const SALT_BYTES: usize = 16;

/// Bytes of a block header and of its salt, if it has one.
pub const fn header_bytes(salted: bool) -> usize {
    BLOCK_HEADER_BYTES + if salted { SALT_BYTES } else { 0 }
}

/// Bytes of a checksum. The block's own comes first, so that it covers one run of bytes: the rest of the block.
pub(crate) const CRC_BYTES: usize = 4;

/// In place of a tree's number: every slot or item is valid, and no bytes follow.
pub const LAYER_ALL_VALID: u8 = 255;

/// In place of a tree's number: every slot or item is null, and no bytes follow.
pub const LAYER_ALL_NULL: u8 = 254;

/// In place of a tree's number: all lists have one length, which follows in four bytes.
pub const LAYER_CONSTANT: u8 = 253;

/// Bytes of the header of a level's section.
pub const SECTION_HEADER_BYTES: usize = 16;

/// Bytes of a row's entry in the index of a block of byte strings.
pub const ROW_ENTRY_BYTES: usize = 8;

/// Bytes that `n_items` items take when decoded, null items included: their values, or a bit each where values take
/// none; of byte strings the offsets alone.
pub fn items_bytes(value_type: ValueType, n_items: u64) -> u64 {
    match value_type {
        ValueType::Bits | ValueType::Fixed(0) => n_items.div_ceil(8),
        ValueType::Fixed(width) => n_items.saturating_mul(width.into()),
        ValueType::Bytes => n_items.saturating_mul(4),
    }
}
