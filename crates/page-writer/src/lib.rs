//! Rows of one column encoded as a page of blocks, and rows erased from blocks: the writer's side of
//! `tarsia-structure`.
//!
//! | module | what |
//! |---|---|
//! | `bits`, `collected_levels` | the levels above the items of nested rows, as a writer collects them ([`CollectedLevels`]) |
//! | `page` | what is encoded ([`PageInput`]), who chooses how ([`Choose`]), what comes out ([`EncodedPage`]) |
//! | `nulls` | values whose nulls are dropped or replaced by filler |
//! | `prepare` | encoders, prepared from all values of a page |
//! | `levels`, `mini_block` | levels and validity encoded; pages cut into mini-blocks |
//! | `seal` | headers, salts and checksums in front of payloads |
//! | `full_zip` | pages whose rows lie one by one |
//! | `encode` | a run of rows becomes a page, of one layout or the other ([`encode_page`]) |
//! | `erase` | rows taken out of a block, the others encoded afresh into its place ([`erase_block`]) |
//! | `protect` | blocks with salts, and room to grow, for pages whose rows will be erased ([`protect_page`]) |
//! | `strict` | pages of which an erasure leaves nothing that depends on erased values ([`encode_strict_page`]) |
//!
//! # What this crate does not do
//! It writes no file, computes no checksum or digest itself, decodes no page for readers (`tarsia-structure` does) and
//! chooses no encodings: what implements [`Choose`] does, `tarsia-cascade` first of all.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

mod bits;
mod collected_levels;
mod encode;
mod erase;
mod full_zip;
mod levels;
mod mini_block;
mod nulls;
mod page;
mod prepare;
mod protect;
mod seal;
mod strict;

pub use bits::{Bits, make_room};
pub use collected_levels::{CollectedLevels, LevelsSlice};
pub use encode::encode_page;
pub use erase::{
    BlockContext, BlockErasure, Filler, Outcome, Survivors, are_equal, decode_survivors,
    encode_block, erase_block, erase_block_with, filler_of, is_readable, mark_used, used_entries,
    wipe_unused,
};
pub use page::{
    BLOCK_PAYLOAD_BYTES_TARGET, BLOCK_ROWS_MIN, BlockRows, Choice, Choose, EncodeContext,
    EncodedPage, FULL_ZIP_BYTES_MIN, PageInput,
};
pub use protect::{Room, SLACK_ONE_IN, protect_page};
pub use strict::{encode_strict_page, is_strict, not_strict, strict_place_bytes};
