//! Constant: one value that stands for all values of the unit.
//!
//! # Layout (`n` values)
//! | type | offset | bytes | field | rule |
//! |---|---|---|---|---|
//! | any, `n` = 0 | 0 | 0 | | nothing |
//! | bits | 0 | 1 | value | 0 or 1, else `Corrupt` |
//! | fixed width `w` | 0 | w | value | |
//! | byte strings | 0 | L | value | the rest of the unit; n·L is the unit's decoded bytes, else `Corrupt` |
//!
//! Nothing stands behind the value. The node has no parameters and no children.
//!
//! # Limits
//! `encoded_bytes_max` is the size of the value. Decoding allocates nothing; the caller's output bounds what it writes,
//! and the product n·L is compared with the unit's decoded bytes before anything is written. Survivors of an erasure
//! always fit.
//!
//! # What this crate does not do
//! Values that are nearly constant, and pages without any data (a page's layers say when all items are null).
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static CONSTANT: Constant = Constant;

/// The type of [`CONSTANT`].
#[derive(Debug, Clone, Copy)]
pub struct Constant;
