//! FILL IN: how it encodes values, and for which data.
//!
//! # Layout (`n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `values` | FILL IN: the child's unit of `n` values |
//!
//! The node has no parameters and one child, `values`, of the node's type.
//!
//! # Limits
//! `encoded_bytes_max` is the child's bound. Decoding allocates nothing. After an erasure the remaining values fit the
//! old place if those of the child do.
//!
//! # What this crate does not do
//! FILL IN.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static {{STATIC}}: {{Type}} = {{Type}};

/// The type of [`{{STATIC}}`].
#[derive(Debug, Clone, Copy)]
pub struct {{Type}};
