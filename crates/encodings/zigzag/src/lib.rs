//! Signed integers near zero as unsigned ones near zero, for children that store small unsigned numbers in few bits.
//!
//! Source: Protocol Buffers (`sint32`, `sint64`); Bullion (CIDR 2025), Table 2. Searches do not try it by themselves:
//! bit-packing subtracts a base from all numbers, which is as good where numbers are spread around zero, and better
//! elsewhere; it patches numbers that are far away on either side. What it helps are children that have no such base.
//!
//! # Layout (`n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `values` | the child's unit of `n` values of `S` bytes: `(v << 1) ^ (v >> (8 * S - 1))` for each value `v` |
//!
//! The second shift repeats the sign. The node has no parameters and one child, `values`, of the node's type. `S` is 1,
//! 2, 4 or 8.
//!
//! # Limits
//! `encoded_bytes_max` is the child's bound. Decoding allocates nothing. A range or a single value costs what it costs
//! the child. After an erasure the remaining values fit the old place if those of the child do.
//!
//! # What this crate does not do
//! It packs no bits: the child does. It subtracts no base.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static ZIGZAG: Zigzag = Zigzag;

/// The type of [`ZIGZAG`].
#[derive(Debug, Clone, Copy)]
pub struct Zigzag;
