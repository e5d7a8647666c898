//! Dictionary: codes that refer to distinct values, which are in the block or shared by the page.
//!
//! # Parameters
//! | byte | field | rule |
//! |---|---|---|
//! | 0 | `scope` | 0 block, 1 page |
//! | 1 | `code_bytes` | 1, 2 or 4 |
//!
//! # Layout of scope 0 (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_entries` | 0 ..= n |
//! | 4 | 4 | `codes_len` | bytes of `codes` |
//! | 8 | 4 | `entries_bytes` | what the entries decode to: n_entries·w, or at most the unit's decoded bytes |
//! | 12 | `codes_len` | `codes` | unit of child 0: `n` values of `code_bytes`, each below `n_entries` |
//! | | 0 ..= 7 | padding | zero, to a multiple of 8 from the unit's start |
//! | | the rest | `values` | unit of child 1: `n_entries` values of the node's type |
//!
//! # Layout of scope 1
//! The unit is the unit of child 0, the codes. The entries are the node's one shared buffer, a dictionary.
//!
//! In scope 0 the encoder writes entries in that one of three orders that takes the fewest bytes: of their first
//! appearance in the block, of their values, or the most frequent first. Every entry is used. In scope 1 it writes them
//! in the order of their first appearance in the page, or in that of their values, which it always does where rows may
//! be erased: any other would tell what stood in erased rows. Values of fixed width count as unsigned numbers there.
//! Readers rely on none of this. Where rows may be erased, searches are also offered dictionaries in the blocks of
//! large pages, for the codes of scope 1 and for numbers of which few are distinct.
//!
//! # Limits
//! Values are of fixed width 1 or more, or byte strings. Decoding a block takes scratch memory for the selected codes
//! and entries: a small multiple of the caller's output. After an erasure the remaining values fit the old place in
//! scope 1 if the child's codes do. In scope 0 they may not: entries are numbered anew, so a value may get a higher
//! code than before.
//!
//! # What this crate does not do
//! It holds no nulls, wipes no entries of a shared dictionary, and keeps no order among codes.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
#[cfg(not(feature = "kernel"))]
mod filter;
mod gather;
mod layout;
#[cfg(feature = "encode")]
mod local;

pub use layout::{CodeBytes, ID, VERSION, block_tree, page_tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static DICT: Dict = Dict;

/// The type of [`DICT`].
#[derive(Debug, Clone, Copy)]
pub struct Dict;
