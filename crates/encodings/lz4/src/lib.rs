//! The bytes of all values as one LZ4 block: copies of earlier bytes, and the bytes between them as they are. Faster to
//! write and to read than codecs that also code bits, and larger.
//!
//! Source: the LZ4 block format (Collet, `lz4_Block_format.md` of the LZ4 project); Bullion (CIDR 2025), Table 2, has a
//! general codec on chunks of raw data. Text and other bytes come here as numbers of 1 byte, below an encoding that
//! splits byte strings into lengths and bytes. Searches do not try it by themselves.
//!
//! # Layout (`n` values of `w` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `block` | one LZ4 block, without a size before it, of the `n w` bytes of the values |
//!
//! The node has no parameters and no children. `w` is 1 or more. Blocks are written and read by the crate `lz4_flex`,
//! all of it in safe Rust, natively and in kernels.
//!
//! # Limits
//! The values of a unit have at most 2^24 bytes ([`tarsia_codec::limits::CODEC_DECODED_BYTES_MAX`]), a unit has at most
//! [`UNIT_BYTES_MAX`]. `encoded_bytes_max` is `b + b / 255 + 2` for `b` bytes of values. Decoding takes no memory. A
//! range, or single values, decode the whole unit to scratch memory. After an erasure the remaining values may take
//! more bytes: what was a copy of erased bytes has to be stored.
//!
//! # What this crate does not do
//! It uses no dictionary, and no LZ4 frame.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, UNIT_BYTES_MAX, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static LZ4: Lz4 = Lz4;

/// The type of [`LZ4`].
#[derive(Debug, Clone, Copy)]
pub struct Lz4;
