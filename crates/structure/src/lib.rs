//! Between Arrow arrays and the bytes of pages: layers, leaf values, and the layouts mini-block and full-zip.
//!
//! Source: the Lance paper on structural encodings, section 4, with the differences that `docs/spec/page.md`
//! states: a block holds whole rows, layers carry their own counts, the search cache is a table of block starts.
//!
//! | module | step |
//! |---|---|
//! | [`arrow`] | a leaf column collected from arrays ([`arrow::LeafBuffer`]), and an array made from decoded memory |
//! | `encode` | a run of rows becomes a page of blocks ([`encode_page`]) |
//! | `erase` | rows taken out of a block, the others encoded afresh into its place ([`erase_block`]) |
//! | [`Shape`] | the levels above the items of a nested column's rows, as a writer collects them |
//! | [`meta`] | what a decoder is told about the page |
//! | [`block`] | the parts of one block, checked |
//! | `page` | blocks decoded one after the other into one run of memory ([`RawColumn`]) |
//! | `lent` | byte strings of blocks that stay in memory, as views of them ([`LentStrings`]) |
//! | `zip` | rows of full-zip pages, each of which can be read alone ([`ZipForm`]) |
//! | [`levels`] | the levels of nested blocks decoded ([`RawLevels`]), and which items are below the rows asked for |
//!
//! # What this crate does not do
//! It reads and writes no file, computes no checksum or digest itself, knows no encoding by name (but `plain`, which full-zip
//! rows are) and does not choose between them.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod block;
#[cfg(feature = "encode")]
mod encode;
#[cfg(feature = "encode")]
mod erase;
#[cfg(feature = "arrow")]
mod lent;
pub mod levels;
pub mod meta;
mod page;
#[cfg(feature = "encode")]
mod shape;
mod slots;
mod zip;

pub use block::{Block, BlockHeader, Validity};
#[cfg(feature = "encode")]
pub use encode::{
    BLOCK_PAYLOAD_BYTES_TARGET, BLOCK_ROWS_MIN, BlockRows, Choice, Choose, EncodeContext,
    EncodedPage, FULL_ZIP_BYTES_MIN, PageInput, encode_page,
};
#[cfg(feature = "encode")]
pub use erase::{
    BlockContext, BlockErasure, Outcome, Survivors, decode_survivors, encode_block, erase_block,
    mark_used, wipe_unused,
};
#[cfg(feature = "arrow")]
pub use lent::{LentStrings, Shown};
pub use levels::{Budget, Cut, DecodedForm, DecodedSlots, RawLevel, RawLevels};
pub use meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta, SHARED_DEPTH_MAX};
pub use page::{DecodedRows, PageDecoder, RawColumn, RawParts};
#[cfg(feature = "encode")]
pub use shape::{Shape, ShapeSlice};
pub use zip::{ROW_ENTRY_BYTES, RowIndex, ZipForm};
