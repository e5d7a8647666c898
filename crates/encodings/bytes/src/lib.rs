//! Byte strings: their lengths encoded by a child, their bytes back to back.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `lengths_len` | bytes of the next field |
//! | 4 | `lengths_len` | `lengths` | the child's unit of `n` values of 4 bytes: the length of each string |
//! | 4 + `lengths_len` | the rest | `data` | the strings; exactly the unit's decoded bytes, and what the lengths add up to |
//!
//! The node has no parameters and one child, `lengths`, of type fixed width 4. Lengths instead of offsets, because a
//! length needs few bits whatever the size of the block, and because removing a string changes no other length.
//!
//! # Limits
//! A unit decodes to at most 2^31 bytes ([`tarsia_codec::limits::UNIT_DECODED_BYTES_MAX`]); one string may take all of
//! them. `encoded_bytes_max` is 4 + the child's bound + the decoded bytes. Decoding all values allocates nothing. A
//! range or a single value decodes the lengths before it, in at most 4 MiB of scratch memory. After an erasure the
//! remaining values fit the old place if those of the child do.
//!
//! # What this crate does not do
//! It does not compress the bytes, does not check UTF-8, and holds no nulls.
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
