//! SIMD-BP128 and SIMD-FastPFOR: integers bit-packed in groups of 128, each group with a width of its own. Made for
//! small unsigned numbers whose size changes along the column, and for a few large ones among small ones.
//!
//! Source: Lemire and Boytsov, "Decoding billions of integers per second through vectorization" (Software: Practice and
//! Experience 45(1), 2015), section 4 for a group's layout and section 5 for exceptions. We differ in: all widths of a
//! unit lie in front of its groups; highs lie one behind the other, so that those of one group are found without all
//! others; the last values of a unit, fewer than 128, are bit-packed too; values of 1, 2 and 8 bytes.
//!
//! # Parameters
//! | byte | field | rule |
//! |---|---|---|
//! | 0 | `scheme` | 0 SIMD-BP128, 1 SIMD-FastPFOR |
//!
//! # Layout (`n` values of `S` bytes, `G = ceil(n / 128)` groups)
//! | bytes | field | rule |
//! |---|---|---|
//! | `G` | `widths` | bits that each group keeps of its values, 0 ..= 8·`S` |
//! | `G` | `counts` | scheme 1: the number of exceptions of each group, at most its values |
//! | `E` | `high_widths` | scheme 1: for each group with exceptions the bits of their highs, 1 ..= 8·`S` − width |
//! | `N` | `positions` | scheme 1: for each exception its place in its group; they rise strictly in a group |
//! | | `highs` | scheme 1: for each width from 2 on, the highs of that width, as one run of whole bytes |
//! | the rest | `packed` | the groups, back to back |
//!
//! A value is its packed bits, plus its high times `2^width` if it is an exception. Bit 0 of a byte is its lowest.
//! Highs of one bit take no bytes: they are 1.
//!
//! A whole group takes `16 * width` bytes. It has `16 / S` lanes; value `i` is in lane `i mod (16 / S)`. A lane is a
//! stream of `width` words of `S` bytes that holds its values one behind the other. Words of the lanes take turns. A
//! group of `m` < 128 values is packed as `tarsia-bits` says, in `ceil(m * width / 8)` bytes.
//!
//! # Limits
//! `encoded_bytes_max` is exact: `n * S + G` bytes with scheme 0, `n * S + 2 * G` with scheme 1. Decoding allocates
//! nothing. After an erasure the remaining values may take more bytes: they move to other groups.
//!
//! # What this crate does not do
//! It has no frame of reference and no differences: `tarsia.delta`, `tarsia.zigzag` and others stand in front of it.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod decode;
#[cfg(feature = "encode")]
mod encode;
mod group;
mod layout;
#[cfg(feature = "encode")]
mod plan;
mod rows;

pub use layout::{GROUP_VALUES, ID, Scheme, VERSION, tree};

/// The encoding, for a [`tarsia_codec::Registry`].
pub static FASTPFOR: FastPfor = FastPfor;

/// The type of [`FASTPFOR`].
#[derive(Debug, Clone, Copy)]
pub struct FastPfor;
