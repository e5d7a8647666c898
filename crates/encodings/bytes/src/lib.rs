//! Byte strings: their lengths as a child, their bytes back to back.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `lengths_len` | bytes of the next field |
//! | 4 | `lengths_len` | `lengths` | the child's unit of `n` values of 4 bytes: the length of each string |
//! | 4 + `lengths_len` | the rest | `data` | the strings; exactly the unit's decoded bytes, and what the lengths add up to |
//!
//! The node has no parameters and one child, `lengths`, of type fixed width 4. Lengths and not offsets: a length costs
//! few bits whatever the size of the block, and removing a string changes no other number.
//!
//! # Limits
//! A unit decodes to at most 2^31 bytes ([`tarsia_codec::limits::UNIT_DECODED_BYTES_MAX`]); one string may have them all.
//! `encoded_bytes_max` is 4 + the child's bound + the decoded bytes. Decoding all allocates nothing; ranges and single
//! values pass the lengths in front of them through at most 4 MiB of scratch memory. Survivors of an erasure fit when
//! the child's do.
//!
//! # What this crate does not do
//! Compression of the bytes, UTF-8 checks, nulls.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static BYTES: Bytes = Bytes;

/// The type of [`BYTES`].
#[derive(Debug, Clone, Copy)]
pub struct Bytes;
