//! Bytes as codes of 1 to 12 bits: the more frequent a value is in the page, the shorter its code.
//!
//! Source: Huffman, "A Method for the Construction of Minimum-Redundancy Codes" (Proceedings of the IRE 40, 1952);
//! Bullion (CIDR 2025), Table 2. Codes are canonical as in RFC 1951, section 3.2.2, so that their lengths alone define
//! them. The encoder finds the best lengths of at most 12 bits (Larmore and Hirschberg, "A Fast Algorithm for Optimal
//! Length-Limited Huffman Codes", Journal of the ACM 37, 1990). Ours are the streams, and that blocks share a table.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | `3 w` | `stream_bits` | the bits of each stream but the last one |
//! | `3 w` | the rest | `codes` | the codes of all streams, one behind the other, then zero bits up to a whole byte |
//!
//! A unit of fewer than 1,024 values is one stream, and `w` is 0. Any other unit is four: the first three have
//! `m = ceil(n / 4)` values, the last one the rest. There `w` is 2 if `12 m` is less than 2^16, else 4. Bit 0 of a byte
//! is its lowest and comes first; the first bit of a code comes first. A stream starts at the bit behind the one
//! before.
//!
//! The node has no parameters, no children, and one shared buffer of at most 256 numbers of 1 byte, `lengths`: the bits
//! of the code of 0, of 1, and so on, or 0 for a value without a code. The codes use up all sequences of bits: the sum
//! of `2^-length` is 1, so that there are two codes or more.
//!
//! # Limits
//! `encoded_bytes_max` is `3 w + ceil(12 n / 8)`. A stream has fewer than 2^32 bits. A decoder has 16 KiB of tables.
//! Decoding all values allocates nothing. A range or single values decode those before them in their streams to scratch
//! memory. After an erasure the remaining values fit the old place.
//!
//! # What this crate does not do
//! It looks at single values only: that one follows another makes nothing shorter.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "encode")]
mod bit_writer;
mod codes;
mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;
#[cfg(feature = "encode")]
mod optimal;
mod table;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static HUFFMAN: Huffman = Huffman;

/// The type of [`HUFFMAN`].
#[derive(Debug, Clone, Copy)]
pub struct Huffman;
