//! Byte strings as their lengths and all their bytes back to back, each encoded by a child.
//!
//! Source: our own; the lengths in front of the bytes are those of Parquet's `DELTA_LENGTH_BYTE_ARRAY`. An encoding of
//! bytes, such as a general-purpose codec, reaches strings through this one: it sees the bytes of all strings of a
//! block as one run.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `lengths_len` | bytes of the next field |
//! | 4 | `lengths_len` | `lengths` | the child's unit of `n` values of 4 bytes: the length of each string |
//! | 4 + `lengths_len` | the rest | `data` | the child's unit of the strings' bytes, one after the other: numbers of 1 byte, as many as the lengths add up to |
//!
//! The node has no parameters and two children: `lengths`, of type fixed width 4, and `data`, of type fixed width 1.
//!
//! # Limits
//! A unit decodes to at most 2^31 bytes ([`tarsia_codec::limits::UNIT_DECODED_BYTES_MAX`]). `encoded_bytes_max` is 4 +
//! the children's bounds. Decoding all values allocates nothing. A range decodes the lengths before it. Single values
//! decode the lengths before them, and the bytes from the first to the last of them, at most those of 2^20 strings at a
//! time. After an erasure the remaining values fit the old place if those of the children do.
//!
//! # What this crate does not do
//! It does not compress the bytes: a child does. It does not check UTF-8, and holds no nulls. Strings that are stored
//! as they are belong into `tarsia.bytes`, where a reader can borrow them.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static CONCAT: Concat = Concat;

/// The type of [`CONCAT`].
#[derive(Debug, Clone, Copy)]
pub struct Concat;
