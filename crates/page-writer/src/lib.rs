//! Rows of one column encoded as a page of blocks, and rows erased from blocks.
//!
//! | module | step |
//! |---|---|
//! | [`Shape`] | the levels above the items of a nested column's rows, as a writer collects them |
//! | `encode` | a run of rows becomes a page of blocks ([`encode_page`]) |
//! | `full_zip` | the same for pages whose rows lie one by one |
//! | `erase` | rows taken out of a block, the others encoded afresh into its place ([`erase_block`]) |
//!
//! # What this crate does not do
//! It writes no file, computes no checksum or digest itself, decodes no page for readers (`tarsia-structure`) and chooses no encodings
//! ([`Choose`] is what chooses them; `tarsia-cascade` implements it).
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

mod encode;
mod erase;
mod full_zip;
mod shape;

pub use encode::{
    BLOCK_PAYLOAD_BYTES_TARGET, BLOCK_ROWS_MIN, BlockRows, Choice, Choose, EncodeContext,
    EncodedPage, FULL_ZIP_BYTES_MIN, PageInput, encode_page,
};
pub use erase::{
    BlockContext, BlockErasure, Outcome, Survivors, decode_survivors, encode_block, erase_block,
    mark_used, wipe_unused,
};
pub use shape::{Bits, Shape, ShapeSlice};
