//! Wide integers (decimals, above all) as a child of the smallest width that holds them.
//!
//! Source: Bullion (CIDR 2025), Table 2 (fixed bit width); BtrBlocks (SIGMOD 2023) leaves decimals to the caller,
//! Vortex has `decimal_byte_parts`. Encodings of integers, such as bit-packing and delta, have fast loops for 1, 2, 4
//! and 8 bytes. This node brings wider values to one of these widths.
//!
//! # Layout (`n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `values` | the child's unit of `n` values of `child_bytes` bytes: the low bytes of each value |
//!
//! The parameters are two bytes: `child_bytes` (1, 2, 4, 8; 16 for values of 32) and `sign` (0: the other bytes of each
//! value are zero; 1: they repeat the child's sign bit). The node has values of 16 or 32 bytes; bit-packing narrows all
//! others itself.
//!
//! # Limits
//! `encoded_bytes_max` is the child's bound. Decoding takes scratch memory for the selected values of the child. A
//! range or a single value costs what it costs the child. After an erasure the remaining values fit the old place if
//! those of the child do.
//!
//! # What this crate does not do
//! It packs no bits: the child does. It holds no value that needs more than 8 bytes, or 16 of 32.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{Extension, ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static NARROW: Narrow = Narrow;

/// The type of [`NARROW`].
#[derive(Debug, Clone, Copy)]
pub struct Narrow;
