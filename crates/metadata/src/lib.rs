//! Everything a file says about its pages: header, postscript, footer, buckets, records, column metadata, block tables.
//!
//! Pure functions between bytes and plain structs. The bytes are in `docs/spec/file.md`, the FlatBuffers in `fbs/`;
//! both are normative. Nothing here does I/O: each parse takes the bytes it needs and says what to read next.
//!
//! # Opening a file, and finding one column of 20,000
//! | read | parse | says |
//! |---|---|---|
//! | bytes 0 .. 192 | [`Header::parse`], [`Header::committed`] | where the file ends |
//! | the last 64 bytes before that | [`Postscript::footer_range`] | where the footer is |
//! | the footer | [`Postscript::parse`], [`Footer::parse`] | rows, buckets, encodings, META blobs |
//! | one bucket of 4 KiB: [`Buckets::range`] | [`Bucket::parse`], [`Bucket::lookup`] | where the column's record is |
//! | the record, about 100 bytes | [`NodeRecord::parse`] | type, and the page or where its metadata is |
//! | of a nested field, the records behind: [`NodeRecord::descendants_range`] | [`read_field`] | its whole type, and the same of all its columns |
//! | the column metadata, if any | [`ColumnMeta::load`] | the pages |
//! | the block table of a page: [`PageDescriptor::table_range`] | [`BlockTable::parse`] | the byte range of any row |
//!
//! The header can be left out where the object's length is known to be the committed length, as in an object store.
//! [`read_schema`] reads all records at once.
//!
//! # Hostile bytes
//! For any bytes, parsing returns an error, or a value whose offsets lie inside the file. It allocates at most a small
//! multiple of the bytes it was given.
//!
//! # What this crate does not do
//! It does no I/O, caches nothing and computes no digests (`tarsia-compliance` does). It does not read META: a reader
//! that does not know a page's layout hands it to a kernel as it is. Of encodings it knows id and version.
#![deny(unsafe_code)]

mod block_table;
mod bucket;
mod bytes;
mod child_range;
mod column;
mod error;
mod footer;
mod generated;
mod header;
mod history;
mod kernel;
mod leaves;
pub mod limits;
mod lookup;
mod moved;
mod path;
mod postscript;
mod record;
mod records;
mod reserved;
mod schema;
mod types;

pub use block_table::{BlockTable, Rows, build_block_table};
pub use bucket::{Bucket, BucketEntry, Buckets, path_hash};
pub use bytes::{crc32c, crc32c_of};
pub use child_range::ChildRange;
pub use column::{
    ColumnMeta, ColumnRecord, ColumnSource, ErasureLevel, FileBounds, MetaRef, PageDescription,
    PageDescriptor, PageMeta, RegionPlace, page_align,
};
pub use error::{Error, FeatureWord, Result};
pub use footer::{
    EncodingUse, Footer, MetaBlob, SECTION_DELETED, SECTION_ERASED, SECTION_HISTORY,
    SECTION_KERNEL, SECTION_MOVED, SECTIONS_KNOWN, Section, SectionFlags,
};
pub use header::{
    Committed, FeatureWords, Header, MAGIC, STATE_JOURNAL, Slot, SlotState, SlotView,
};
pub use history::{History, PastState};
pub use kernel::KernelSection;
pub use leaves::n_leaves;
pub use lookup::check_buckets;
pub use moved::{MovedBlock, moved_blocks, moved_to_bytes};
pub use path::{encode_metadata, encode_path};
pub use postscript::Postscript;
pub use record::NodeRecord;
pub use records::{Records, unique_record};
pub use reserved::{
    LAYOUT_FULL_ZIP, LAYOUT_KEY, LAYOUT_MINI_BLOCK, LAYOUT_PACKED, RESERVED_KEY_PREFIX, is_packed,
    is_reserved_key,
};
pub use schema::{
    EncodedSchema, FieldColumns, TableSchema, check_schema, read_field, read_schema, write_schema,
};
pub use types::{build_type, children, format_string, parse_type};
