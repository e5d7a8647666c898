//! All limits that decoders rely on. A writer refuses what a reader would refuse.

use crate::{Error, Result};

/// The most values in a block of several rows, so that a position inside it fits in 16 bits. A block that is one row
/// may hold more (see [`UNIT_VALUES_MAX`]).
pub const BLOCK_VALUES_MAX: u32 = 1 << 16;

/// The most rows in a block.
pub const BLOCK_ROWS_MAX: u32 = 1 << 16;

/// The most values in any unit: one row of up to 2 GiB, or a dictionary.
pub const UNIT_VALUES_MAX: u32 = 1 << 31;

/// The most decoded bytes of one unit (one row of up to 2 GiB).
pub const UNIT_DECODED_BYTES_MAX: u64 = 1 << 31;

/// The most bytes that values of a general-purpose codec have in a unit: as many as those of a block of several rows.
/// Such a decoder has no part of a unit without all of it, so a part takes memory for all, and the unit may be tiny.
pub const CODEC_DECODED_BYTES_MAX: u64 = 16 << 20;

/// Refuses values that have more bytes than a general-purpose codec holds in a unit.
///
/// # Errors
/// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded).
pub fn check_codec_bytes(n_values: u64, value_bytes: usize) -> Result<()> {
    let n_bytes = n_values.saturating_mul(value_bytes as u64);
    match n_bytes <= CODEC_DECODED_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::limit(
            "CODEC_DECODED_BYTES_MAX",
            n_bytes,
            CODEC_DECODED_BYTES_MAX,
        )),
    }
}

/// The size in bytes that writers aim at for a unit.
pub const UNIT_BYTES_TARGET: usize = 8192;

/// The most levels of a tree of encodings, including the root.
pub const TREE_DEPTH_MAX: u32 = 4;

/// The most nodes of a tree.
pub const TREE_NODES_MAX: usize = 32;

/// The longest encoding id, in bytes.
pub const ENCODING_ID_BYTES_MAX: usize = 64;

/// The most parameter bytes of a node.
pub const NODE_PARAMS_BYTES_MAX: usize = 64;

/// The most bytes of all strings of a dictionary that a writer makes: it is read whole before the first code.
pub const STRING_DICTIONARY_BYTES_MAX: u64 = 1 << 20;

/// The most shared buffers of a page.
pub const SHARED_BUFFERS_MAX: usize = 32;

/// The widest fixed-width value, in bytes (a fixed-size binary, or an embedding as one value).
pub const FIXED_WIDTH_BYTES_MAX: u32 = 1 << 28;

/// The deepest nesting of a schema: a top-level field has the depth 1. It bounds recursion over schemas and types.
pub const SCHEMA_DEPTH_MAX: usize = 64;

/// The largest offset of the Arrow types with 32-bit offsets, which are signed.
pub const ARROW_OFFSET_MAX: u32 = i32::MAX as u32;

const _: () = assert!(BLOCK_VALUES_MAX as u64 <= UNIT_VALUES_MAX as u64);
