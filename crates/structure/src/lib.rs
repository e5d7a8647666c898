//! The layouts of pages, mini-block and full-zip, as readers and kernels decode them.
//!
//! Source: the Lance paper on structural encodings, section 4, with the differences that `docs/spec/page.md`
//! states: a block holds whole rows, layers carry their own counts, the search cache is a table of block starts.
//!
//! Modules in the order of their imports: each uses only those above it, `full_zip` apart, whose files stand in two
//! places.
//!
//! | module | what |
//! |---|---|
//! | [`layout`] | sizes and limits that several parts share |
//! | [`memory`], [`slots`] | memory that columns are decoded into; values moved to the slots that a bitmap says |
//! | [`meta`] | META: what a decoder is told about a page |
//! | `header` | the header of a block ([`BlockHeader`]) |
//! | [`full_zip`] | full-zip pages: rows that can be read alone ([`FullZipForm`], [`RowIndex`]) |
//! | `sections` | the stored levels of a nested block ([`levels::LevelSections`]) |
//! | `checksum` | what the checksums of a block cover ([`block::checksummed`]) |
//! | [`block`] | a block taken apart and checked ([`Block`]) |
//! | `page` | the prepared decoders of a page ([`PageDecoder`]) |
//! | `column` | values of blocks decoded into one run of memory ([`RawColumn`]) |
//! | [`levels`] | levels of blocks decoded ([`RawLevels`]), which says which items are below the rows asked for |
//!
//! # What this crate does not do
//! It reads no file, computes no checksum or digest itself, knows no encoding by name (but `plain` and `bytes`, which
//! full-zip rows are), encodes no page (`tarsia-page-writer`) and makes no Arrow array (`tarsia-arrow`).
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod block;
mod checksum;
mod column;
pub mod full_zip;
mod header;
pub mod layout;
pub mod levels;
pub mod memory;
pub mod meta;
mod page;
mod sections;
pub mod slots;

pub use block::{Block, BlockHeader, Validity};
pub use column::{DecodedRows, RawColumn, RawParts};
pub use full_zip::{FullZipForm, ROW_ENTRY_BYTES, RowIndex};
pub use levels::{Budget, Cut, DecodedForm, DecodedSlots, RawLevel, RawLevels};
pub use memory::Take;
pub use meta::{Layer, LayerKind, Layout, Level, LevelForm, Meta, SHARED_DEPTH_MAX};
pub use page::PageDecoder;
