//! Every limit of the metadata, in one place. A writer refuses what a reader would refuse.

pub use tarsia_codec::limits::{BLOCK_ROWS_MAX, SCHEMA_DEPTH_MAX};

/// The format version this crate writes and the newest it reads.
pub const VERSION_MAJOR: u16 = 0;

/// See [`VERSION_MAJOR`]. Readers take minors from 1 to their own.
pub const VERSION_MINOR: u16 = 1;

/// Bytes of the header with both state slots. Everything else in a file lies after it.
pub const HEADER_BYTES: usize = 192;

/// Bytes of the postscript.
pub const POSTSCRIPT_BYTES: usize = 64;

/// Largest number of 48 bits. Offsets are stored in 48 bits, so this is also the limit of a file's length.
pub const U48_MAX: u64 = (1 << 48) - 1;

/// Longest footer in bytes, of a table of any size: a reader that fetches the last 64 KiB of a file has it whole.
pub const FOOTER_BYTES_MAX: usize = 16 << 10;

/// Most bytes of META in the footer, [`META_OVERHEAD_BYTES`] counted for each. Other META lies beside the column.
pub const COMMON_METAS_BYTES_MAX: usize = 8 << 10;

/// Estimate of the bytes that the footer needs for a META beside it.
pub const META_OVERHEAD_BYTES: usize = 24;

/// Most bytes of the ids of the encodings that a file uses, [`ENCODING_OVERHEAD_BYTES`] counted for each.
pub const ENCODINGS_BYTES_MAX: usize = 4 << 10;

/// Estimate of the bytes that the footer needs for an encoding beside its id.
pub const ENCODING_OVERHEAD_BYTES: usize = 24;

/// Most kernels that a file carries.
pub const KERNELS_MAX: usize = 16;

/// Longest list of pages that is stored in the record of its column; a longer one has a place of its own.
pub const COLUMN_META_INSIDE_BYTES_MAX: usize = 1 << 10;

/// Most pages of a column, and most shared pages: digests number both in 31 bits.
pub const PAGES_MAX: usize = 1 << 31;

/// Longest name of a writer in bytes.
pub const CREATED_BY_BYTES_MAX: usize = 256;

/// Bytes of a bucket.
pub const BUCKET_BYTES: usize = 4096;

/// Most entries of a bucket.
pub const BUCKET_ENTRIES_MAX: usize = 255;

/// Most entries of nodes of one path: who looks for a path learns from two that it is not the path of one node.
pub const ENTRIES_OF_ONE_PATH_MAX: u32 = 2;

/// Largest log2 of the number of buckets.
pub const BUCKETS_LOG2_MAX: u8 = 24;

/// A writer refuses a schema if its buckets would have fewer entries than this in the mean. Random hashes need a bucket
/// per 150 entries or so; only names made to collide need more.
pub const BUCKET_ENTRIES_MEAN_MIN: usize = 16;

/// Most 8-byte words of a record and its descendants, if the bucket's entry is to store their length.
pub const RECORD_WORDS_IN_ENTRY_MAX: u64 = u16::MAX as u64 - 1;

/// Bytes of the first part of a record, before children, column and strings.
pub const RECORD_HEADER_BYTES: usize = 24;

/// Bytes of a record's children field.
pub const RECORD_CHILDREN_BYTES: usize = 24;

/// Bytes of the number of a column in a record, where it is stored.
pub const RECORD_LEAF_BYTES: usize = 8;

/// Bytes of a column record.
pub const COLUMN_RECORD_BYTES: usize = 72;
/// Bytes of the place of a zone map, or of bloom filters, behind a column record.
pub const REGION_PLACE_BYTES: usize = 16;

/// Bytes of a page's entry in a column's metadata.
pub const PAGE_STRUCT_BYTES: usize = 88;

/// Bytes of a page's smallest block: its header.
pub const BLOCK_BYTES_MIN: u64 = 32;

/// Largest log2 of the rows of a block.
pub const BLOCK_ROWS_LOG2_MAX: u8 = 16;

/// Blocks per group of a block table.
pub const BLOCK_GROUP: u32 = 64;

/// Pages from this many bytes on start at multiples of [`PAGE_ALIGN_LARGE`], smaller ones at multiples of 8.
pub const PAGE_ALIGN_LARGE_FROM: u64 = 4096;

/// See [`PAGE_ALIGN_LARGE_FROM`].
pub const PAGE_ALIGN_LARGE: u64 = 64;

const _: () = assert!(1 << BLOCK_ROWS_LOG2_MAX == BLOCK_ROWS_MAX);
const _: () = assert!(16 + 16 * BUCKET_ENTRIES_MAX == BUCKET_BYTES);
