//! Bitmap: one bit per value. For validity, and for booleans that no other encoding makes smaller.
//!
//! # Layout (`n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | ceil(n/8) | bits | value `i` is bit `i % 8` of byte `i / 8`; spare bits of the last byte zero, else `Corrupt` |
//!
//! No bytes follow the bits. The node has no parameters and no children. `tarsia.plain` has the same bytes for bits; a
//! separate id allows the two layouts to differ later.
//!
//! # Limits
//! A unit takes exactly ceil(n/8) bytes, which is also its `encoded_bytes_max`. Decoding allocates nothing and copies
//! to any bit offset without changing other bits. After an erasure the remaining values always fit the old place.
//!
//! # What this crate does not do
//! It stores no runs and no positions of set bits, and counts nothing.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static BITMAP: Bitmap = Bitmap;

/// The type of [`BITMAP`].
#[derive(Debug, Clone, Copy)]
pub struct Bitmap;
