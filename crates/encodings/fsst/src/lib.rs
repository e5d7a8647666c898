//! Byte strings as one-byte codes of symbols: text, URLs, names, logs that are read fast.
//!
//! Source: Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression" (VLDB 2020). Symbols are found by the
//! crate `fsst-rs`, in rounds over a sample as in section 4.3; the layout and the decoder are this crate's. Strings are
//! split into the longest symbols that fit, not by the lossy hash table of section 5, so that they are split the same
//! way where other symbols are gone.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `lengths_len` | bytes of `lengths` |
//! | 4 | 4 | `counts_len` | bytes of `counts` |
//! | 8 | `lengths_len` | `lengths` | unit of the first child: `n` values of 4 bytes, the length of each string; they add up to the unit's decoded bytes |
//! | | `counts_len` | `counts` | unit of the second child: `n` values of 4 bytes, the bytes of codes of each string; they add up to the bytes of `codes` |
//! | | the rest | `codes` | the codes of all strings |
//!
//! The node has no parameters, the children `lengths` and `counts` (fixed width 4), and one shared buffer of byte
//! strings, the symbols: at most 255 of up to 8 bytes. A code below 255 is the number of a symbol. The code 255, the
//! escape, is followed by a byte that stands for itself. A string is the symbols and bytes of its codes, one behind the
//! other.
//!
//! # Limits
//! `encoded_bytes_max` is 8 + the bounds of the children for `n` values + two codes per byte. A unit has at most
//! 2^32 - 1 bytes of codes. Decoding takes scratch memory for 2^20 counts. A range or a single value decodes the counts
//! before it, and its own codes. After an erasure the remaining values fit the old place if those of the children do.
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
mod split;
mod symbols;
#[cfg(feature = "encode")]
mod train;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static FSST: Fsst = Fsst;

/// The type of [`FSST`].
#[derive(Debug, Clone, Copy)]
pub struct Fsst;
