//! The bits of numbers sorted by their place, so that a child finds bits that rarely change next to each other.
//!
//! Source: Masui et al., "A compression scheme for radio data in high performance computing" (Astronomy and Computing
//! 12, 2015), the filter Bitshuffle of HDF5; Bullion (CIDR 2025), Table 2. Where numbers vary in their low bits alone,
//! the bytes of their high bits are all equal, or repeat. A child that stores runs or repeated pieces of bytes makes
//! them short. Searches do not try it by themselves: bit-packing leaves out high bits that are all equal, too.
//!
//! # Layout (`n` values of `S` bytes)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | all | `planes` | the child's unit of `8 * S * ceil(n / 8)` numbers of 1 byte: the planes of all groups |
//!
//! A group is 1,024 values; the last group of a unit may have fewer. Groups follow each other. A group of `m` values
//! has `8 * S` planes of `ceil(m / 8)` bytes each: plane `p` has bit `p` of each value, where bit 0 is the lowest.
//! Value `j` of the group has bit `j % 8` of byte `j / 8` of a plane. Spare bits of the last byte are zero.
//!
//! The node has no parameters and one child, `planes`, for numbers of 1 byte. `S` is 1, 2, 4 or 8.
//!
//! # Limits
//! All planes of a unit have at most 2^31 bytes ([`tarsia_codec::limits::UNIT_VALUES_MAX`]). `encoded_bytes_max` is the
//! child's bound. Decoding takes scratch memory for the planes that it needs. A range decodes the planes of its groups.
//! Single values decode the byte of each plane that has their bit, or, where they are many, all groups from the first
//! to the last of them. After an erasure the remaining values may take more bytes than before: bits move to other
//! bytes.
//!
//! # What this crate does not do
//! It makes nothing shorter: the child does.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;
mod shuffle;

pub use layout::{GROUP_VALUES, ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static BITSHUFFLE: Bitshuffle = Bitshuffle;

/// The type of [`BITSHUFFLE`].
#[derive(Debug, Clone, Copy)]
pub struct Bitshuffle;
