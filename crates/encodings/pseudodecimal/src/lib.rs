//! Floating-point numbers that were decimals, as digits and an exponent each: the tarsia.pseudodecimal encoding.
//!
//! Source: "BtrBlocks: Efficient Columnar Compression for Data Lakes" (SIGMOD 2023), section 4, Pseudodecimal Encoding.
//! We differ in: digits are divided by an exact power of ten, not multiplied with a rounded one, so that every decimal
//! of up to 15 digits is restored exactly and is no exception; digits are of the width of the numbers, not of 4 bytes;
//! exceptions have positions, not an exponent of their own, and no digits, so that children hold decimals alone.
//!
//! # Layout (little-endian; `n` values of `S` bytes, `x` exceptions)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_exceptions` | `x`, at most `n` |
//! | 4 | `x * P` | `positions` | of the exceptions, rising; `P` is 2 for up to 65,536 values, else 4 |
//! | 4 + `x * P` | `x * S` | `exceptions` | the numbers, bit for bit |
//! | 4 + `x * (P + S)` | 4 | `exponents_len` | bytes of exponents |
//! | 8 + `x * (P + S)` | `exponents_len` | `exponents` | the child's unit of `n - x` values of 1 byte, 0 to 22 |
//! | then | the rest | `digits` | the child's unit of `n - x` values of `S` bytes |
//!
//! The node has no parameters. An integer `d` of digits with the exponent `e` stands for `d / 10^e`.
//!
//! # Limits
//! `encoded_bytes_max` has every value as an exception and as a decimal. Decoding takes scratch memory for the
//! exponents of the selected values; a range or a single value decodes what it selects. After an erasure the remaining
//! values fit the old place if those of the children do.
//!
//! # What this crate does not do
//! It packs no integers: the children do. Numbers with random digits are left to other encodings.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "encode")]
mod decimals;
mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static PSEUDODECIMAL: Pseudodecimal = Pseudodecimal;

/// The type of [`PSEUDODECIMAL`].
#[derive(Debug, Clone, Copy)]
pub struct Pseudodecimal;
