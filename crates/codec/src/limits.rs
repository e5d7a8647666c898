//! Every limit a decoder relies on, in one place. A writer refuses what a reader would refuse.

/// Most values in one unit, so that a position inside a block fits in 16 bits; a block that is one row may
/// hold more (see [`UNIT_VALUES_MAX`]).
pub const BLOCK_VALUES_MAX: u32 = 1 << 16;

/// Most values in any unit: one row of up to 2 GiB, or a dictionary.
pub const UNIT_VALUES_MAX: u32 = 1 << 31;

/// Most decoded bytes of one unit (one row of up to 2 GiB).
pub const UNIT_DECODED_BYTES_MAX: u64 = 1 << 31;

/// Writers aim at units of about so many bytes.
pub const UNIT_BYTES_TARGET: usize = 8192;

/// Hard limit on the depth of a tree of encodings, the root counted.
pub const TREE_DEPTH_MAX: u32 = 4;

/// Most nodes in a tree.
pub const TREE_NODES_MAX: usize = 32;

/// Longest encoding id in bytes.
pub const ENCODING_ID_BYTES_MAX: usize = 64;

/// Most parameter bytes of one node of a tree.
pub const NODE_PARAMS_BYTES_MAX: usize = 64;

/// Most shared buffers of a page.
pub const SHARED_BUFFERS_MAX: usize = 32;

/// Widest fixed-width value in bytes (a fixed-size binary, or an embedding as one value).
pub const FIXED_WIDTH_BYTES_MAX: u32 = 1 << 28;

const _: () = assert!(BLOCK_VALUES_MAX as u64 <= UNIT_VALUES_MAX as u64);
