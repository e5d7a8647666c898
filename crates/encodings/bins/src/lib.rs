//! Numbers as the bin that each falls into and its offset from the bin's lower end. Made for numbers whose
//! distribution is skewed but smooth: latencies, prices, measurements.
//!
//! Source: Loncaric, Jeppesen and Zinberg, "Pcodec: Better Compression for Numerical Sequences" (arXiv 2502.06112),
//! the binning. We differ in: the numbers of bins are a child's, not coded by tANS here; a table is of
//! a page, so that blocks are small; lower ends are plain numbers in unsigned order, without modes and without
//! differences, which are other encodings.
//!
//! # Parameters
//! | byte | field | rule |
//! |---|---|---|
//! | 0 | `number_bits` | 1 to 8: there are at most `2^number_bits` bins |
//!
//! # Layout (little-endian; `n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `numbers_len` | bytes of `numbers` |
//! | 4 | `numbers_len` | `numbers` | the child's unit: `n` values of 1 byte, the number of each value's bin |
//! | | the rest | `offsets` | the offset of each value, with as many bits as its bin says, lowest bits first |
//!
//! The node has one child, and one shared buffer, the table: an entry of `S + 1` bytes for each bin, its lower end (`S`
//! bytes) and the bits of an offset. Lower ends rise. A value is the lower end of its bin plus its offset, modulo
//! 2^(8 S). Spare bits of the last byte are zero.
//!
//! With 8 bits, bins are chosen for a child that stores frequent numbers in fewer bits, with fewer for one that packs
//! all numbers alike.
//!
//! # Limits
//! `encoded_bytes_max` is 4 + the child's bound + `n` values of `S` bytes. Decoding takes scratch memory for the
//! numbers of 2^20 bins. A range or a single value decodes the numbers up to its own, and its own offsets. After an
//! erasure the remaining values fit the old place if those of the child do.
//!
//! # What this crate does not do
//! It does not make the numbers of bins small: its child does. It subtracts nothing: differences, or quotients by a
//! common divisor, are other encodings, of which bins may be the child.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
#[cfg(feature = "encode")]
mod layers;
mod layout;
#[cfg(feature = "encode")]
mod log2;
mod offsets;
#[cfg(feature = "encode")]
mod page;
#[cfg(feature = "encode")]
mod plan;
#[cfg(feature = "encode")]
mod rising;
#[cfg(feature = "encode")]
mod slices;
mod table;
#[cfg(feature = "encode")]
mod words;
#[cfg(feature = "encode")]
mod write;

pub use layout::{ID, NUMBER_BITS_MAX, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static BINS: Bins = Bins;

/// The type of [`BINS`].
#[derive(Debug, Clone, Copy)]
pub struct Bins;
