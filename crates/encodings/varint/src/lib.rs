//! Numbers with seven bits in a byte, in as many bytes as each number needs, for small numbers among which some are
//! large.
//!
//! Source: LEB128 of DWARF, the varints of Protocol Buffers; Bullion (CIDR 2025), Table 2. Searches do not try it by
//! themselves: bit-packing stores small numbers with large ones among them, too: it patches the large ones.
//!
//! # Layout (`n` values in `G = ceil(n / 256)` groups, little-endian)
//! | offset | bytes | field | rule |
//! |---|---|---|---|
//! | 0 | 4 * G | `ends` | for each group where it ends in `values`; the last end is the length of `values` |
//! | 4 * G | the rest | `values` | for each value the bytes of it as an unsigned number |
//!
//! A group is 256 values; the last group of a unit may have fewer. It starts where the one before ends, the first at 0.
//! A byte of a value has seven of its bits, the lowest first. Its high bit is set in all bytes but the last. The last
//! of several bytes is not zero: a value has the fewest bytes possible. No bit is set beyond the width of values.
//!
//! The node has no parameters and no children. Values are numbers of 2, 4 or 8 bytes.
//!
//! # Limits
//! All values of a unit take less than 4 GiB. A value of 2, 4 or 8 bytes takes up to 3, 5 or 10; `encoded_bytes_max` is
//! 4 bytes for each group and that for each value. Decoding allocates nothing. A range or a single value costs what it
//! selects, and counting the values before it in its group. After an erasure the remaining values always fit the old
//! place.
//!
//! # What this crate does not do
//! It knows no sign: negative numbers take the most bytes, unless `tarsia.zigzag` is above it. It subtracts no base.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod layout;
mod read;

pub use layout::{GROUP_VALUES, ID, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static VARINT: Varint = Varint;

/// The type of [`VARINT`].
#[derive(Debug, Clone, Copy)]
pub struct Varint;
