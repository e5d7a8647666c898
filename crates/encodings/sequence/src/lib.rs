//! Sequences: numbers with the same step from each to the next, such as row numbers and regular times.
//!
//! Source: Bullion (CIDR 2025), Table 2; the encoding Sequence of Vortex.
//!
//! # Layout (little-endian; `n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 1 | `form` | 0: a sequence; 1: other values |
//! | 1 | `S` | `first` | form 0: value 0 |
//! | 1 + `S` | `S` | `step` | form 0: what is added to each value for the next, modulo 2^(8 `S`) |
//! | 1 | `n S` | `values` | form 1: all values |
//!
//! `S` is 1, 2, 4 or 8. The node has no parameters and no children.
//!
//! # Limits
//! `encoded_bytes_max` is 1 byte above the decoded bytes, at least 1 + 2 `S`. Decoding allocates nothing. A single
//! value costs a multiplication. After an erasure the remaining values are no sequence, mostly: they are stored as
//! they are, and do not fit the old place.
//!
//! # What this crate does not do
//! It holds no numbers that are nearly a sequence: `tarsia-delta` does.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static SEQUENCE: Sequence = Sequence;

/// The type of [`SEQUENCE`].
#[derive(Debug, Clone, Copy)]
pub struct Sequence;
