//! Integers with a common divisor as a remainder and quotients: times in nanoseconds that are whole seconds, prices in
//! steps of five cents.
//!
//! Source: DuckDB and ClickHouse (codec `GCD`) have it for whole columns. The remainder is ours: times of a day that
//! all end on the same second have a common divisor only without it.
//!
//! # Layout (`n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `quotients` | the child's unit of `n` values of `S` bytes |
//!
//! A value is `remainder + divisor * quotient` modulo 2^(8 `S`). The parameters are `divisor` (at least 2) and
//! `remainder` (less than the divisor), of `S` bytes each, little-endian. `S` is 1, 2, 4 or 8. The child `quotients`
//! has the node's type.
//!
//! # Limits
//! `encoded_bytes_max` is the child's bound. Decoding allocates nothing. A range or a single value costs what it costs
//! the child. After an erasure the remaining values fit the old place if those of the child do.
//!
//! # What this crate does not do
//! It packs no bits: the child does. It holds no values of another remainder: such blocks have another tree.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static DIVISOR: Divisor = Divisor;

/// The type of [`DIVISOR`].
#[derive(Debug, Clone, Copy)]
pub struct Divisor;
