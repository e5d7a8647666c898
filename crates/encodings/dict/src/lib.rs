//! Dictionary: codes into distinct values, which lie in the block or are shared by the page.
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
//! The entries that we write are in the order in which the values first appear, in scope 0 in the block, else in the page;
//! in scope 0 each is used. Readers ask for neither.
//!
//! # Limits
//! Values are of fixed width 1 or more, or byte strings. Decoding a block allocates scratch memory for the codes and the
//! entries selected: a small multiple of the caller's output. Survivors of an erasure fit in scope 1
//! when the child's codes do, and may not in scope 0: they are numbered afresh, so a value may get a higher code than it
//! had, and entries another order.
//!
//! # What this crate does not do
//! Nulls, wiping entries of a shared dictionary, order among codes.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod gather;
mod layout;

pub use layout::{CodeBytes, ID, VERSION, block_tree, page_tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static DICT: Dict = Dict;

/// The type of [`DICT`].
#[derive(Debug, Clone, Copy)]
pub struct Dict;
