//! Floating-point numbers with random digits as their highest bits, which repeat, and the others.
//!
//! Source: "ALP: Adaptive Lossless floating-Point Compression" (SIGMOD 2024), section 3.4 (ALP for real doubles). The
//! dictionary of the highest bits, which belongs to ALP-RD, is a child here: it may be any tree.
//!
//! # Layout (little-endian; `n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `left_len` | bytes of `left` |
//! | 4 | `left_len` | `left` | the child's unit of `n` values of 2 bytes |
//! | 4 + `left_len` | the rest | `right` | the child's unit of `n` values of `S` bytes |
//!
//! A number has the bits `(left << right_bits) + right`, modulo 2^(8 `S`). The parameter is one byte, `right_bits`: at
//! least 8 `S` - 16, less than 8 `S`. `S` is 4 or 8.
//!
//! # Limits
//! `encoded_bytes_max` is 4 bytes above the children's bounds. Decoding takes scratch memory for the selected left
//! parts. A range or a single value costs what it costs the children. After an erasure the remaining values fit the
//! old place if those of the children do.
//!
//! # What this crate does not do
//! It finds no decimals: that is `tarsia-alp`.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static ALPRD: Alprd = Alprd;

/// The type of [`ALPRD`].
#[derive(Debug, Clone, Copy)]
pub struct Alprd;
