//! Floating-point numbers that were decimals, as integers: the tarsia.alp encoding.
//!
//! Source: "ALP: Adaptive Lossless floating-Point Compression" (SIGMOD 2024), sections 3.1 and 3.2. We differ in: an
//! integer is divided by a power of ten, not multiplied with two rounded powers, so that every decimal of up to 15
//! digits is restored exactly and is no exception; one power for a page instead of one pair for 1,024 values, so that
//! it stands in the tree; numbers of 4 bytes are computed with 8 bytes.
//!
//! # Layout (little-endian; `n` values of `S` bytes, `x` exceptions)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_exceptions` | `x`, at most `n` |
//! | 4 | `x * P` | `positions` | of the exceptions, rising; `P` is 2 for up to 65,536 values, else 4 |
//! | 4 + `x * P` | `x * S` | `exceptions` | the numbers, bit for bit |
//! | 4 + `x * (P + S)` | the rest | `integers` | the child's unit of `n` values of `S` bytes |
//!
//! The parameter is one byte, `decimals`. An integer `i` stands for `i / 10^decimals`. At the place of an exception an
//! integer has no meaning.
//!
//! # Limits
//! `encoded_bytes_max` has every value as an exception. Decoding allocates nothing; a range or a single value decodes
//! what it selects. After an erasure the remaining values nearly always fit the old place if those of the child do.
//!
//! # What this crate does not do
//! It packs no integers: the child does. Numbers with random digits are left to other encodings.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static ALP: Alp = Alp;

/// The type of [`ALP`].
#[derive(Debug, Clone, Copy)]
pub struct Alp;
