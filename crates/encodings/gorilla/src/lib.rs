//! Gorilla and Chimp: each number as its XOR with the one before, without leading and trailing zeros. Made for
//! floating-point numbers that change little or not at all from one to the next.
//!
//! Source: "Gorilla: A Fast, Scalable, In-Memory Time Series Database" (VLDB 2015), section 4.1.2, and "Chimp:
//! Efficient Lossless Floating Point Compression for Time Series Databases" (VLDB 2022), without the search among the
//! 128 values before. We differ in: every 1,024th value is stored whole, so that a range or a single value decodes at
//! most 1,023 codes before it; bits fill bytes from the lowest on; a code of Chimp may use the leading zeros of any
//! earlier code of the group; values of 4 bytes.
//!
//! # Parameters
//! | byte | field | rule |
//! |---|---|---|
//! | 0 | `scheme` | 0 Gorilla, 1 Chimp |
//!
//! # Layout (little-endian; `n` values of `S` bytes, `G = ceil(n / 1024)` groups)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | `4 G` | `ends` | for each group where its stream ends, in bytes from the start of `streams` |
//! | `4 G` | the last end | `streams` | one for each group |
//!
//! A stream is the group's first value, `S` bytes, then a code for each of its other values, then zero bits up to a
//! whole byte. Bit 0 of a byte is its lowest and comes first. A field of `k` bits is a number whose lowest bit comes
//! first. A code stands for `x`, the XOR of the value with the one before. `B = 8 S` and `L = log2(B)`:
//!
//! | scheme | flags | fields behind them | `x` |
//! |---|---|---|---|
//! | 0 | 0 | none | 0 |
//! | 0 | 1, 0 | `len` bits; `lead` and `len` stay | window |
//! | 0 | 1, 1 | `lead`, 5 bits; `len`, `L` bits (`S` = 4: less 1; `S` = 8: modulo 64); `len` bits | window |
//! | 1 | 0, 0 | none | 0 |
//! | 1 | 1, 0 | number of `lead`, 3 bits; `len` modulo `B`, `L` bits; `len` bits | window |
//! | 1 | 0, 1 | `B - lead` bits; `lead` stays | window |
//! | 1 | 1, 1 | number of `lead`, 3 bits; `B - lead` bits | window |
//!
//! The first flag is the first bit. The window is the last field. `x` has `lead` zeros at the top, then the window,
//! then zeros. `len` is 1 to `B - lead`. Before the first code of a group `lead` is 0 and `len` is `B`. The numbers 0
//! to 7 stand for 0, 8, 12, 16, 18, 20, 22 and 24 leading zeros.
//!
//! # Limits
//! `encoded_bytes_max` is exact: 4 + `S` bytes per group, and for `m` codes of a group, 1 or more, `(B + L + 6) m + 1`
//! bits with Gorilla, `(B + 4) m` with Chimp. Decoding allocates nothing. After an erasure the remaining values may
//! take more bytes: values on both sides of a gap may differ in more bits than each from the value in it.
//!
//! # What this crate does not do
//! It encodes no time stamps, the other half of the Gorilla paper. It compares a value only with the one before.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{GROUP_VALUES, ID, Scheme, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static GORILLA: Gorilla = Gorilla;

/// The type of [`GORILLA`].
#[derive(Debug, Clone, Copy)]
pub struct Gorilla;
