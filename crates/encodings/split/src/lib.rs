//! Values of fixed width cut into parts of some bytes each, every part of all values together.
//!
//! The bytes of a number are unlike: the highest say sign and size and repeat, the lowest are random. Apart they can
//! have trees of their own. Two halves of 8 bytes make wide decimals numbers that other encodings take; single bytes
//! are the byte-stream split of Parquet (BYTE_STREAM_SPLIT in its encodings).
//!
//! # Layout (little-endian; `n` values of `S` bytes in `k` parts)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 (`k` - 1) | `part_len` | bytes of the unit of each part but the last |
//! | 4 (`k` - 1) | `part_len[0]` | `part[0]` | the child's unit of `n` values of `width[0]` bytes |
//! | … | … | … | the units of the other parts, one after the other; the last takes the rest |
//!
//! The parameters are `width`, one byte for each part: 2 to 16 of at least 1, whose sum is `S`, 2 to 32. A value is its
//! parts one after the other, so the first part has the lowest bytes of a number.
//!
//! # Limits
//! `encoded_bytes_max` is 4 (`k` - 1) bytes above the children's bounds. Decoding takes scratch memory for the selected
//! values once for each time that `k` can be halved. A range or a single value costs what it costs the children. After
//! an erasure the remaining values fit the old place if those of the children do.
//!
//! # What this crate does not do
//! It cuts between bytes only: floating-point numbers are cut between bits by `tarsia-alprd`.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static SPLIT: Split = Split;

/// The type of [`SPLIT`].
#[derive(Debug, Clone, Copy)]
pub struct Split;
