//! Delta: the difference of each value from the one before, encoded by a child. Every 1,024th value is stored
//! unchanged.
//!
//! Source: "Integrating Compression and Execution in Column-Oriented Database Systems" (SIGMOD 2006), section 4;
//! Bullion (CIDR 2025), Table 2. We differ in: every 1,024th value is stored unchanged, so that a range or a single
//! value decodes at most 1,023 differences before it.
//!
//! # Layout (little-endian; `n` values of `S` bytes, `G = ceil(n / 1024)` groups)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | `G * S` | `bases` | the first value of each group |
//! | `G * S` | the rest | `differences` | the child's unit of `n - G` values of `S` bytes: each value less the one before, modulo 2^(8·`S`), of values that are no base |
//!
//! The node has no parameters and one child, `differences`, of the node's own type. Arithmetic wraps, so signed and
//! unsigned integers, dates and times are handled alike.
//!
//! # Limits
//! `encoded_bytes_max` is the bases + the child's bound. Decoding takes scratch memory for the differences it needs, at
//! most those of the unit. After an erasure the remaining values may take more bytes: the difference across a gap is
//! the sum of the differences that it replaces.
//!
//! # What this crate does not do
//! It holds no differences of differences and no floating-point numbers, and packs nothing: the child does.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{GROUP_VALUES, ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static DELTA: Delta = Delta;

/// The type of [`DELTA`].
#[derive(Debug, Clone, Copy)]
pub struct Delta;
