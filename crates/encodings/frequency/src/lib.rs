//! Values most of which are one value: which rows are exceptions, and the values of these alone.
//!
//! Columns of features are often zeros for most rows, and random numbers for the others. Source: "BtrBlocks: Efficient
//! Columnar Compression for Data Lakes" (SIGMOD 2023), Frequency; Bullion (CIDR 2025), Table 2. Exceptions are found by
//! a bit for each row instead of a Roaring bitmap; the child may store the bits as anything.
//!
//! # Layout (little-endian; `n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `n_exceptions` | the bits that are set in `mask` |
//! | 4 | 4 | `mask_len` | bytes of `mask` |
//! | 8 | `S` | `top` | the frequent value |
//! | 8 + `S` | `mask_len` | `mask` | the child's unit of `n` bits |
//! | 8 + `S` + `mask_len` | the rest | `exceptions` | the child's unit of `n_exceptions` values of `S` bytes |
//!
//! `S` is 1 to 32; there are no parameters. Value `i` is the next of `exceptions` if bit `i` is set, else the frequent
//! value.
//!
//! # Limits
//! `encoded_bytes_max` is 8 bytes and a value above the children's bounds. Decoding takes scratch memory for the mask
//! up to the last selected value and for the selected exceptions. A single value costs counting the bits before it.
//! After an erasure another value may be the frequent one, so that more bytes may be needed.
//!
//! # What this crate does not do
//! It holds no byte strings: few distinct ones are for `tarsia-dict`.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static FREQUENCY: Frequency = Frequency;

/// The type of [`FREQUENCY`].
#[derive(Debug, Clone, Copy)]
pub struct Frequency;
