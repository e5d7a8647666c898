//! Byte strings as sequences of tokens from a dictionary of the page: text, URLs, names, logs.
//!
//! Source: Gargiulo and Venturini, "OnPair: Short Strings Compression for Fast Random Access" (arXiv 2508.02280):
//! tokens of up to 16 bytes, fixed-width codes, longest match, decoding by copies of 16 bytes. Tokens are found
//! differently, in rounds over a sample as in FSST (Boncz, Neumann and Leis, VLDB 2020, section 4.3), and there are as
//! many as make the page smallest.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_codes` | at most the unit's decoded bytes |
//! | 4 | 4 | `counts_len` | bytes of the next field |
//! | 8 | `counts_len` | `counts` | unit of the first child: `n` values of 4 bytes, the codes of each string; they add up to `n_codes` |
//! | 8 + `counts_len` | the rest | `codes` | unit of the second child: `n_codes` values of 2 bytes, each the number of a token |
//!
//! The node has no parameters, the children `counts` (fixed width 4) and `codes` (fixed width 2), and one shared buffer
//! of byte strings, the tokens: at most 65,536 of up to 16 bytes. A string is the tokens of its codes, one behind the
//! other.
//!
//! # Limits
//! `encoded_bytes_max` is 8 + the bounds of the children for `n` counts and a code per byte. Decoding takes scratch
//! memory for 2^18 codes at a time. A range or a single value decodes the counts before it, and its own codes. After
//! an erasure the remaining values fit the old place if those of the children do.
//!
//! # What this crate does not do
//! It does not sort or remove repeated strings, does not check UTF-8, and holds no nulls.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
#[cfg(not(feature = "kernel"))]
mod find;
mod layout;
#[cfg(feature = "encode")]
mod pairs;
#[cfg(feature = "encode")]
mod split;
#[cfg(feature = "encode")]
mod token;
#[cfg(feature = "encode")]
mod train;
#[cfg(feature = "encode")]
mod trie;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static ONPAIR: Onpair = Onpair;

/// The type of [`ONPAIR`].
#[derive(Debug, Clone, Copy)]
pub struct Onpair;
