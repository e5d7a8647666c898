//! Front coding: each byte string as the number of bytes that it shares with the string before, and its suffix behind
//! these. For sorted or clustered strings: keys, URLs, paths.
//!
//! Source: Witten, Moffat and Bell, "Managing Gigabytes" (2nd edition, 1999), section 4.1, where every n-th string is
//! stored whole too; `DELTA_BYTE_ARRAY` of Parquet, which has no such strings. Groups of 16 strings are ours.
//!
//! # Layout (little-endian; `n` values)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 | `prefixes_len` | bytes of `prefixes` |
//! | 4 | 4 | `suffix_bytes` | decoded bytes of `suffixes`, at most those of the unit |
//! | 8 | `prefixes_len` | `prefixes` | unit of the first child: `n` values of 4 bytes, the bytes that each string shares with the one before; at most the bytes of that one, 0 for every 16th string from the first on |
//! | | the rest | `suffixes` | unit of the second child: `n` byte strings, the bytes of each string behind the shared ones |
//!
//! The node has no parameters and the children `prefixes` (fixed width 4) and `suffixes` (byte strings). The prefixes
//! and `suffix_bytes` add up to the unit's decoded bytes.
//!
//! # Limits
//! `encoded_bytes_max` is 8 + the bounds of the children for `n` values, of which the suffixes may have all decoded
//! bytes. Decoding takes scratch memory for the suffixes of a unit, and for 8 bytes per string; single values take it
//! for up to 16 strings each. A range or a single value decodes what is stored of the strings from the start of its
//! group on. After an erasure the remaining values may take more bytes than before: other strings are the first of a
//! group.
//!
//! # What this crate does not do
//! It does not sort, and finds no bytes that a string shares with any but the one before. It does not check UTF-8, and
//! holds no nulls.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod coded;
mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;

pub use layout::{ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static FRONT: Front = Front;

/// The type of [`FRONT`].
#[derive(Debug, Clone, Copy)]
pub struct Front;
