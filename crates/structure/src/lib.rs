//! The layouts of pages, as readers and kernels decode them: mini-block and full-zip.
//!
//! Source: the Lance paper on structural encodings, section 4, with the differences that `docs/spec/page.md`
//! states: a block holds whole rows, layers carry their own counts, the search cache is a table of block starts.
//!
//! | module | step |
//! |---|---|
//! | [`meta`] | what a decoder is told about the page |
//! | [`block`] | the parts of one block, checked |
//! | [`page`] | blocks decoded one after the other into one run of memory ([`RawColumn`]) |
//! | [`zip`] | rows of full-zip pages, each of which can be read alone ([`ZipForm`]) |
//! | [`levels`] | the levels of nested blocks decoded ([`RawLevels`]), and which items are below the rows asked for |
//! | [`slots`] | between dense values and slots |
//!
//! # What this crate does not do
//! It reads no file, computes no checksum or digest itself, knows no encoding by name (but `plain`, which full-zip rows are), encodes no
//! page (`tarsia-page-writer`) and makes no Arrow array (`tarsia-arrow`).
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod block;
pub mod levels;
pub mod meta;
pub mod page;
pub mod slots;
pub mod zip;

pub use block::{Block, BlockHeader, Validity};
pub use levels::{Budget, Cut, DecodedForm, DecodedSlots, RawLevel, RawLevels};
pub use meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta, SHARED_DEPTH_MAX};
pub use page::{DecodedRows, PageDecoder, RawColumn, RawParts};
pub use zip::{ROW_ENTRY_BYTES, RowIndex, ZipForm};
