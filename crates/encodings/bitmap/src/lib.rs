//! Bitmap: one bit per value. The encoding of validity, and of booleans that nothing shorter fits.
//!
//! # Layout (`n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | ceil(n/8) | bits | value `i` is bit `i % 8` of byte `i / 8`; spare bits of the last byte zero, else `Corrupt` |
//!
//! Nothing stands behind the bits. The node has no parameters and no children. These are also the bytes of `tarsia.plain`
//! for bits; the id says what they are for, and lets the two layouts part later.
//!
//! # Limits
//! A unit takes exactly ceil(n/8) bytes, which is also what `encoded_bytes_max` says. Decoding allocates nothing and
//! copies to any bit offset without touching the bits around. Survivors of an erasure always fit.
//!
//! # What this crate does not do
//! Runs, positions of the few bits that are set, counting.
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
