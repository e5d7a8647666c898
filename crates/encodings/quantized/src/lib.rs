//! Floating-point numbers that a smaller format of numbers holds, in that format: embeddings, weights and features that
//! were rounded to binary16, bfloat16, FP8, or to integers times a scale. The tarsia.quantized encoding.
//!
//! Source: Bullion (CIDR 2025), section 2.4, and "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0. We
//! differ in: the encoding itself loses nothing. It holds those values for which numbers of a format stand, bit for
//! bit; rounding values to them (`round_f32` and others) is a step of its own, for whoever may change values.
//!
//! # Parameters (little-endian; values of `S` bytes: 2, 4 or 8)
//! | byte | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 1 | `format` | the number of a [`Format`]: 0 binary32, 1 binary16, 2 bfloat16, 3 E4M3, 4 E5M2, 5 integers of 8 bits, 6 of 4 bits; of fewer bytes than the values |
//! | 1 | 1 | `scope` | of integers only: 0 a scale for the page, 1 one for each vector |
//! | 2 | 4 or 8 | `scale` | scope 0: a binary64 number if `S` is 8, else a binary32 number; finite, above 0 |
//! | 2 | 4 | `dim` | scope 1: values of a vector, at least 1 |
//!
//! # Layout (`n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `scales_len` | only with vectors: bytes of `scales` |
//! | 4 | `scales_len` | `scales` | only with vectors: child 1's unit of `n / dim` binary32 numbers, finite, above 0 |
//! | | the rest | `numbers` | child 0's unit of `n` numbers of 4, 2 or 1 bytes |
//!
//! With vectors `n` is a multiple of `dim`. An integer of 4 bits is a byte in two's complement, -8 to 7, which a child
//! with a base stores in 4 bits.
//!
//! # Values
//! The value of a floating-point number has the same sign and magnitude. That of a NaN has the payload, followed by
//! zeros; E4M3 has one NaN of each sign, without payload. So bfloat16 is shifted, and signalling NaNs are not made
//! quiet. An integer stands for its product with the scale, computed with binary64 numbers for values of 8 bytes, else
//! with binary32 numbers and, for values of 2 bytes, rounded to binary16, to the largest finite number at most.
//!
//! # Limits
//! `encoded_bytes_max` is the children's bounds, and 4 bytes with vectors. Decoding takes scratch memory for the
//! numbers of the selected values, for a scale of each vector that they are of, and for places of single values. After
//! an erasure the remaining values fit the old place if those of the child do. With vectors only whole vectors are
//! held, so these trees may grow.
//!
//! # What this crate does not do
//! It packs no integers: the child does. It finds only scales that are the largest magnitude over 127 or 7. It changes
//! no value where it encodes.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
#[cfg(feature = "encode")]
mod grid;
mod layout;
#[cfg(feature = "encode")]
mod named;
#[cfg(feature = "encode")]
mod numbers;
#[cfg(feature = "encode")]
mod round;
#[cfg(feature = "encode")]
mod samples;
mod scaled;
mod small;
#[cfg(feature = "encode")]
mod value;
mod widen;

pub use layout::{Format, ID, VERSION, page_tree, tree, vector_tree, wide_page_tree};
#[cfg(feature = "encode")]
pub use round::{RoundError, round_f16, round_f32, round_f64};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static QUANTIZED: Quantized = Quantized;

/// The type of [`QUANTIZED`].
#[derive(Debug, Clone, Copy)]
pub struct Quantized;
