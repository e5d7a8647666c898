//! Plain: bits or fixed-width values, unchanged. The fallback for every page of fixed-width values.
//!
//! # Layout (little-endian; `n` values)
//! | type | offset | bytes | field | rule |
//! |---|---|---|---|---|
//! | fixed width `w` | 0 | n·w | values | back to back, nothing behind them; `w` may be 0 |
//! | bits | 0 | ceil(n/8) | values | value `i` is bit `i % 8` of byte `i / 8`; spare bits zero, else `Corrupt` |
//!
//! The node has no parameters and no children.
//!
//! # Limits
//! A unit takes exactly the bytes above, which is also its `encoded_bytes_max`. Decoding allocates nothing. After an
//! erasure the remaining values always fit the old place.
//!
//! # What this crate does not do
//! It holds no byte strings (see `tarsia.bytes`) and no nulls, and changes no byte order: numbers are little-endian
//! already.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod gather;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static PLAIN: Plain = Plain;

/// The type of [`PLAIN`].
#[derive(Debug, Clone, Copy)]
pub struct Plain;
