//! Constant: one value that is equal to all values of the unit.
//!
//! # Layout (`n` values)
//! | type | offset | bytes | field | rule |
//! |---|---|---|---|---|
//! | any, `n` = 0 | 0 | 0 | | nothing |
//! | bits | 0 | 1 | value | 0 or 1, else `Corrupt` |
//! | fixed width `w` | 0 | w | value | |
//! | byte strings | 0 | L | value | the rest of the unit; n·L is the unit's decoded bytes, else `Corrupt` |
//!
//! No bytes follow the value. The node has no parameters and no children.
//!
//! # Limits
//! `encoded_bytes_max` is the size of the value. Decoding allocates nothing. It writes no more than the caller's output
//! holds, and compares n·L with the unit's decoded bytes before it writes. After an erasure the remaining values always
//! fit the old place.
//!
//! # What this crate does not do
//! It does not hold values that are only nearly constant. Pages without data do not need it: their layers say that all
//! items are null.
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
